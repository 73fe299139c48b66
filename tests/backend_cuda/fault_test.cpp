// Faults of callers on the GPU: each a Status, after which the device is still usable; and captured graphs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "backend_cuda/gpu_fixture.h"
#include "core/bf16.h"
#include "kv/token_codec.h"
#include "oracle/case.h"
#include "wavefill/plan.h"

namespace wavefill::test {
namespace {

using ::testing::HasSubstr;

oracle::Case small_case() {
  oracle::Case c;
  c.name = "fault";
  c.shape = {.batch = 3, .num_heads = 16, .topk = 128, .extra_topk = 64};
  c.lengths = c.extra_lengths = oracle::Lengths::random;
  c.sink = oracle::Sink::random;
  return c;
}

// A token that row 0 uses in the main cache and row 1 does not.
std::int32_t token_of_row_0_alone(const DecodeArgs& args) {
  const IndexView& indices = args.main.indices;
  for (std::int64_t column = 0; column < args.shape.topk; ++column) {
    const std::int32_t token = indices.data[column];
    const std::int32_t* other = indices.data + indices.stride_batch;
    if (std::find(other, other + args.shape.topk, token) == other + args.shape.topk) return token;
  }
  throw std::runtime_error("the rows use the same tokens");
}

class FaultTest : public GpuTest {
 protected:
  SplitPlan plan(const oracle::Inputs& host, const DecodeShape& shape, const char* setting) {
    for (const KernelSpec& kernel : backend().kernels()) {
      if (!backend().supports(kernel, shape).ok()) continue;
      return make_plan({.device = backend().device(),
                        .kernel = kernel,
                        .shape = shape,
                        .lengths = host.row_lengths(),
                        .extra_lengths = host.extra_row_lengths(),
                        .setting = parse_setting(setting).value(),
                        .cost_model = {},
                        .batch_invariant = false})
          .value();
    }
    return {};
  }

  // The device still gives the right answer.
  void expect_usable() {
    oracle::Inputs host(small_case());
    DeviceInputs device(host);
    const oracle::Reference expected = oracle::reference(host.args());
    ASSERT_TRUE(backend().run(plan(host, small_case().shape, "fixed=1"), device.args(), nullptr).ok());
    EXPECT_TRUE(oracle::compare(expected, device.fetch_outputs()).passed);
  }

  // With a NaN at some bytes, one after another, of a token that row 0 alone uses.
  void expect_nan_in_row_0(const oracle::Case& c) {
    oracle::Inputs host(c);
    DeviceInputs device(host);
    const std::int32_t token = token_of_row_0_alone(host.args());
    const KvCacheView& kv = device.args().main.kv;
    const TokenOffsets offsets = token_offsets(byte_map_of(c.shape.kv_format, c.shape.d_qk), token,
                                               kv.page_size, kv.page_stride_bytes);
    const std::byte* data = kv.data + offsets.data;
    for (const auto& [dim, byte] : {std::pair{3, 0x7F}, {130, 0xFF}, {200, 0x7F}, {330, 0xFF}, {447, 0x7F}}) {
      auto* at = const_cast<std::byte*>(data) + dim;
      std::byte before{};
      check_cuda(cudaMemcpy(&before, at, 1, cudaMemcpyDeviceToHost));
      check_cuda(cudaMemset(at, byte, 1));
      for (const KernelSpec& kernel : backend().kernels()) {
        if (!backend().supports(kernel, c.shape).ok()) continue;
        const SplitPlan plan = full_plan(kernel, c.shape, "fixed=1");
        ASSERT_TRUE(backend().run(plan, device.args(), nullptr).ok());
        device.fetch_outputs();
        const auto out = host.out_buffer();
        const std::size_t row = static_cast<std::size_t>(c.shape.num_heads) * kValueDim;
        for (std::size_t i = 0; i < 2 * row; i += kValueDim) {
          EXPECT_EQ(std::isnan(bf16_to_float(out[i + static_cast<std::size_t>(dim)])), i < row)
              << kernel.name << ", byte " << dim << ", head " << i / kValueDim;
        }
      }
      check_cuda(cudaMemset(at, static_cast<int>(before), 1));
    }
  }
};

TEST_F(FaultTest, MisalignedStrideIsNamed) {
  oracle::Inputs host(small_case());
  DeviceInputs device(host);
  DecodeArgs args = device.args();
  args.q.stride_head += 1;
  const Status status = backend().run(plan(host, small_case().shape, "fixed=1"), args, nullptr);
  EXPECT_EQ(status.code(), StatusCode::invalid_argument);
  EXPECT_THAT(status.message(), HasSubstr("q.stride_head is 513"));
  expect_usable();
}

TEST_F(FaultTest, IndexBeyondThePoolIsAnErrorInCheckedMode) {
  oracle::Inputs host(small_case());
  DeviceInputs device(host);
  DecodeArgs args = device.args();
  args.check_indices = true;
  EXPECT_TRUE(backend().run(plan(host, small_case().shape, "fixed=1"), args, nullptr).ok());
  args.extra.kv.num_pages = 0;  // now every index is beyond
  const Status status = backend().run(plan(host, small_case().shape, "fixed=1"), args, nullptr);
  EXPECT_EQ(status.code(), StatusCode::invalid_argument);
  EXPECT_THAT(status.message(), HasSubstr("< 0 (extra)"));
  expect_usable();
}

TEST_F(FaultTest, PlanWithoutMemoryForItsImageIsRefused) {
  oracle::Case uneven = small_case();
  uneven.shape.batch = 5;
  uneven.lengths = oracle::Lengths::skewed;
  oracle::Inputs host(uneven);
  DeviceInputs device(host);
  const SplitPlan split = plan(host, uneven.shape, "fixed=4");
  ASSERT_GT(backend().plan_memory_bytes(split), 0U);
  const DeviceBuffer partials(workspace_bytes(split));
  DecodeArgs args = device.args();
  args.workspace = partials.as();
  args.workspace_size_bytes = partials.bytes();
  const Status checked = check_run(backend(), split, args);
  EXPECT_EQ(checked.code(), StatusCode::resource_exhausted);
  EXPECT_THAT(checked.message(), HasSubstr(std::to_string(backend().workspace_bytes(split))));
  const Status status = backend().run(split, args, nullptr);
  EXPECT_EQ(status.code(), StatusCode::resource_exhausted);
  EXPECT_THAT(status.message(), HasSubstr("memory for the plan"));
  const Status prepared = backend().prepare(split, partials.as(), 16, nullptr);
  EXPECT_EQ(prepared.code(), StatusCode::resource_exhausted);
  expect_usable();
}

TEST_F(FaultTest, PlanForAnotherKernelIsRefused) {
  oracle::Inputs host(small_case());
  DeviceInputs device(host);
  SplitPlan other = plan(host, small_case().shape, "fixed=1");
  other.kernel.ctas_per_sm += 1;
  EXPECT_EQ(check_run(backend(), other, device.args()).code(), StatusCode::mismatch);
  EXPECT_EQ(backend().run(other, device.args(), nullptr).code(), StatusCode::mismatch);
  expect_usable();
}

TEST_F(FaultTest, NoSuchDeviceIsNotFound) {
  EXPECT_EQ(make_cuda_backend(1000).status().code(), StatusCode::not_found);
  EXPECT_EQ(make_cuda_backend(-1).status().code(), StatusCode::not_found);
}

// A graph captured with one set of lengths is replayed with others within the plan's bound, with the plan and
// everything else of the host gone.
TEST_F(FaultTest, CapturedGraphReplaysWithOtherLengthsAndNothingOfTheHost) {
  oracle::Case captured = small_case();
  captured.lengths = captured.extra_lengths = oracle::Lengths::full;
  oracle::Inputs host(captured);
  DeviceInputs device(host);
  cudaStream_t stream = nullptr;
  check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  DeviceBuffer workspace;
  cudaGraphExec_t exec = nullptr;
  {
    const SplitPlan balanced = plan(host, captured.shape, "balanced");
    workspace = DeviceBuffer(backend().workspace_bytes(balanced));
    DecodeArgs args = device.args();
    args.workspace = workspace.as();
    args.workspace_size_bytes = workspace.bytes();
    check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    ASSERT_TRUE(backend().run(balanced, args, stream).ok());
    cudaGraph_t graph = nullptr;
    check_cuda(cudaStreamEndCapture(stream, &graph));
    check_cuda(cudaGraphInstantiate(&exec, graph, 0));
    check_cuda(cudaGraphDestroy(graph));
  }
  const std::int32_t lengths[][3] = {{128, 128, 128}, {0, 1, 65}, {33, 0, 128}};
  for (const auto& row_lengths : lengths) {
    auto* on_device = const_cast<std::int32_t*>(device.args().main.lengths.data);
    check_cuda(cudaMemcpy(on_device, row_lengths, sizeof(row_lengths), cudaMemcpyHostToDevice));
    auto* on_host = const_cast<std::int32_t*>(host.args().main.lengths.data);
    std::memcpy(on_host, row_lengths, sizeof(row_lengths));
    device.poison_outputs();
    check_cuda(cudaDeviceSynchronize());
    check_cuda(cudaGraphLaunch(exec, stream));
    const oracle::Reference expected = oracle::reference(host.args());
    const auto comparison = oracle::compare(expected, device.fetch_outputs());
    EXPECT_TRUE(comparison.passed) << row_lengths[0] << ": " << comparison.first_failure;
  }
  check_cuda(cudaGraphExecDestroy(exec));
  check_cuda(cudaStreamDestroy(stream));
}

// The same row alone and in a batch, in batch_invariant mode. So large a batch is combined by other kernels.
TEST_F(FaultTest, RowHasTheSameBitsAloneAndInItsBatch) {
  constexpr int kBatch = 70;
  oracle::Case c = small_case();
  c.shape.batch = kBatch;
  c.lengths = c.extra_lengths = oracle::Lengths::absent;
  oracle::Inputs host(c);
  DeviceInputs device(host);
  const auto run = [&](int batch, const KernelSpec& kernel, const char* setting) {
    DecodeShape shape = c.shape;
    shape.batch = batch;
    const SplitPlan split = full_plan(kernel, shape, setting, true);
    const DeviceBuffer workspace(backend().workspace_bytes(split));
    DecodeArgs args = device.args();
    args.shape = shape;
    args.workspace = workspace.as();
    args.workspace_size_bytes = workspace.bytes();
    device.poison_outputs();
    EXPECT_TRUE(backend().run(split, args, nullptr).ok());
    device.fetch_outputs();
    const auto out = host.out_buffer().first(static_cast<std::size_t>(shape.num_heads) * kValueDim);
    return std::vector<Bf16Bits>(out.begin(), out.end());
  };
  for (const KernelSpec& kernel : backend().kernels()) {
    if (!backend().supports(kernel, c.shape).ok()) continue;
    for (const char* setting : {"efficiency", "fixed=2", "fixed=3"}) {
      EXPECT_EQ(run(1, kernel, setting), run(kBatch, kernel, setting)) << kernel.name << ' ' << setting;
    }
  }
}

// An e4m3 NaN is not read as a number, wherever in the token it stands, and stays in its row.
TEST_F(FaultTest, NanOfATokenReachesItsRowAndNoOther) {
  struct Tokens {
    KvFormat format;
    int d_qk;
    bool odd_scales;
  };
  for (const Tokens& tokens : {Tokens{KvFormat::fp8_tile64_rope_bf16_footer, 512, false},
                               {KvFormat::fp8_tile128_rope_bf16_inline, 576, false},
                               {KvFormat::fp8_tile128_rope_bf16_inline, 576, true}}) {
    for (const int num_heads : {16, 64}) {
      oracle::Case c = small_case();
      c.shape.batch = 2;
      c.shape.kv_format = tokens.format;
      c.shape.d_qk = tokens.d_qk;
      c.shape.num_heads = num_heads;
      c.odd_scales = tokens.odd_scales;
      c.lengths = c.extra_lengths = oracle::Lengths::absent;
      expect_nan_in_row_0(c);
    }
  }
}

}  // namespace
}  // namespace wavefill::test
