// Any request: refused with a message, or a plan that keeps every invariant.
#include <fuzzer/FuzzedDataProvider.h>

#include <vector>

#include "plan/plan_invariants.h"
#include "require.h"
#include "wavefill/plan.h"

namespace {

using wavefill::PlanRequest;

// Mostly in range, sometimes anything at all.
std::int32_t consume(FuzzedDataProvider& bytes, std::int32_t low, std::int32_t high) {
  if (bytes.ConsumeIntegral<std::uint8_t>() == 0) return bytes.ConsumeIntegral<std::int32_t>();
  return bytes.ConsumeIntegralInRange(low, high);
}

PlanRequest consume_request(FuzzedDataProvider& bytes) {
  PlanRequest request;
  request.device.num_sms = consume(bytes, 1, 300);
  request.device.compute_capability = bytes.ConsumeBool() ? 90 : 0;
  request.device.memory_bandwidth_gbps = bytes.ConsumeBool() ? 4000.0 : 0.0;
  request.kernel.heads_per_cta = consume(bytes, 1, 128);
  request.kernel.kv_tile = consume(bytes, 1, 256);
  request.kernel.ctas_per_sm = consume(bytes, 1, 4);
  wavefill::DecodeShape& shape = request.shape;
  shape.batch = consume(bytes, 1, 64);
  shape.s_q = consume(bytes, 1, 3);
  shape.num_heads = consume(bytes, 1, wavefill::kMaxHeads);
  shape.topk = consume(bytes, 0, 2048);
  shape.extra_topk = consume(bytes, 0, 8320);
  request.setting.kind = static_cast<wavefill::PolicyKind>(bytes.ConsumeIntegralInRange(0, 8));
  request.setting.value = bytes.ConsumeIntegral<std::int32_t>() >> bytes.ConsumeIntegralInRange(0, 31);
  request.batch_invariant = bytes.ConsumeBool();
  if (bytes.ConsumeBool()) {
    request.cost_model = wavefill::CostModel{};
    for (double* us :
         {&request.cost_model->tile_us, &request.cost_model->tile_stream_us, &request.cost_model->cta_us,
          &request.cost_model->combine_us, &request.cost_model->partial_us, &request.cost_model->launch_us}) {
      *us = bytes.ConsumeBool() ? bytes.ConsumeFloatingPointInRange(0.0, 100.0)
                                : bytes.ConsumeFloatingPoint<double>();
    }
  }
  return request;
}

// A valid request may honestly be large; here it only costs time.
bool is_large(const PlanRequest& request) {
  constexpr std::int64_t kMostItems = 20'000;
  const std::int64_t rows = request.shape.rows();
  if (rows > kMostItems) return validate(request.shape).ok();
  if (!validate(request.shape).ok() || request.kernel.kv_tile < 1 || request.kernel.heads_per_cta < 1) {
    return false;
  }
  const std::int64_t tiles =
      wavefill::num_kv_tiles(request.shape.topk, request.shape.extra_topk, request.kernel.kv_tile);
  const std::int64_t head_tiles = (request.shape.num_heads - 1) / request.kernel.heads_per_cta + 1;
  return rows * (tiles + 1) > kMostItems / head_tiles;
}

std::vector<std::int32_t> consume_lengths(FuzzedDataProvider& bytes, std::int64_t rows, std::int32_t width) {
  std::vector<std::int32_t> lengths;
  if (!bytes.ConsumeBool()) return lengths;
  for (std::int64_t row = 0; row < rows; ++row) lengths.push_back(consume(bytes, 0, width));
  return lengths;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzedDataProvider bytes(data, size);
  PlanRequest request = consume_request(bytes);
  if (is_large(request)) return 0;
  std::vector<std::int32_t> lengths;
  std::vector<std::int32_t> extra_lengths;
  if (validate(request.shape).ok()) {
    lengths = consume_lengths(bytes, request.shape.rows(), request.shape.topk);
    extra_lengths = consume_lengths(bytes, request.shape.rows(), request.shape.extra_topk);
  }
  request.lengths = lengths;
  request.extra_lengths = extra_lengths;

  const wavefill::Result<wavefill::SplitPlan> plan = make_plan(request);
  std::string fault;
  if (plan.ok()) {
    fault = broken_invariant(request, *plan);
    const double efficiency = wave_stats(*plan).wave_efficiency;
    if (!(efficiency > 0.0 && efficiency <= 1.0)) fault = "wave efficiency outside (0, 1]";
  } else if (plan.status().message().empty()) {
    fault = "refused without a message";
  }
  require(fault.empty(), fault.c_str());
  return 0;
}
