#include "tune/fake_workbench.h"

#include <algorithm>

namespace wavefill::testing {

FakeWorkbench::FakeWorkbench() {
  device_spec.name = "fake/device \"7\"";
  device_spec.num_sms = 4;
  device_spec.source = "test";
  kernel.name = "fake-kernel";
  kernel.heads_per_cta = 8;
  kernel.kv_tile = 64;
  true_us = waves_us;
}

Result<KernelSpec> FakeWorkbench::kernel_for(const DecodeShape&) const { return kernel; }

Result<std::vector<KernelSpec>> FakeWorkbench::kernels_for(const DecodeShape&) const {
  std::vector<KernelSpec> kernels = {kernel};
  kernels.insert(kernels.end(), other_kernels.begin(), other_kernels.end());
  return kernels;
}

Environment FakeWorkbench::environment() {
  Environment environment;
  environment.set("device", device_spec.name);
  return environment;
}

Result<Rotation> FakeWorkbench::prepare(const DecodeShape& shape) {
  if (prepare_us) clock_us_ += prepare_us(shape.batch);
  Rotation rotation;
  rotation.num_sets = 4;
  rotation.kv_bytes_per_set = 1000;
  rotation.bytes_between_uses = 3000;
  rotation.cache_bytes = warm ? 3000 : 1000;
  return rotation;
}

Result<VerifyOutcome> FakeWorkbench::verify(const SplitPlan& plan) {
  ++verified;
  clock_us_ += verify_us;
  VerifyOutcome outcome;
  outcome.passed = !is_wrong || !is_wrong(plan);
  outcome.max_o_error = outcome.passed ? 1e-3 : 0.5;
  outcome.message = outcome.passed ? "" : "row 0, head 0: 1 instead of 2";
  return outcome;
}

Result<double> FakeWorkbench::time_calls(const SplitPlan& plan, std::int32_t calls_in_burst) {
  if (seeded_with_ != seed) generator_.seed(seeded_with_ = seed);
  ++calls;
  std::normal_distribution<double> normal(1.0, noise);
  const double us = true_us(plan) * std::max(0.05, normal(generator_)) * (drift ? drift(clock_us_) : 1.0);
  clock_us_ += us * calls_in_burst;
  return us;
}

WatchReport FakeWorkbench::end_watch() {
  const std::int32_t round = rounds++;
  const double mhz = clock_mhz ? clock_mhz(clock_us_) : 0.0;
  if (!is_contaminated || !is_contaminated(round))
    return {.contaminated = false, .reason = {}, .clock_mhz = mhz};
  return {.contaminated = true, .reason = "simulated neighbour", .clock_mhz = mhz};
}

double waves_us(const SplitPlan& plan) {
  constexpr double kTileUs = 100.0;
  constexpr double kCombineUs = 30.0;
  return kTileUs * static_cast<double>(wave_stats(plan).max_tiles_per_slot) +
         (plan.num_partials() > 0 ? kCombineUs : 0.0);
}

std::int32_t splits_of(const SplitPlan& plan) { return wave_stats(plan).num_splits; }

TuneRequest request_for(std::vector<std::int32_t> batches) {
  TuneRequest request;
  request.shape.num_heads = 8;
  request.shape.topk = 128;
  request.shape.extra_topk = 512;
  request.batches = std::move(batches);
  request.deployed = *parse_setting("fixed=1");
  request.budget_us = 60e6;
  request.verdict.resamples = 800;  // for the tests' speed
  return request;
}

}  // namespace wavefill::testing
