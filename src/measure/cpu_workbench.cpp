// Timing on the CPU: the decoder that users hold, on tensors whose cache lines are cold.
#include <optional>
#include <vector>

#include "core/errors.h"
#include "measure/host_workspace.h"
#include "measure/rotating_cache.h"
#include "measure/rotation_tensors.h"
#include "measure/system.h"
#include "measure/timers.h"
#include "measure/workbench.h"
#include "oracle/inputs.h"
#include "wavefill/decoder.h"

namespace wavefill {
namespace {

class CpuWorkbench final : public Workbench {
 public:
  CpuWorkbench(Decoder decoder, const WorkbenchOptions& options)
      : decoder_(std::move(decoder)), options_(options) {}

  const DeviceSpec& device() const override { return decoder_.device(); }
  Result<KernelSpec> kernel_for(const DecodeShape& shape) const override;
  std::string timing() const override;
  Environment environment() override;
  Result<Bandwidth> bandwidth() override;
  Result<Rotation> prepare(const DecodeShape& shape) override;
  Result<VerifyOutcome> verify(const SplitPlan& plan) override;
  Result<double> time_calls(const SplitPlan& plan, std::int32_t calls) override;
  void begin_watch() override { watch_begin_ = read_cpu(); }
  WatchReport end_watch() override { return judge(watch_begin_, read_cpu()); }
  double now_us() override { return monotonic_us(); }

 private:
  RotationLimits limits() const;
  std::int64_t cache_bytes() const;
  // The call of the next index set, with room for the plan's partials.
  Result<DecodeArgs> args_for(const SplitPlan& plan, std::int32_t set);

  Decoder decoder_;
  WorkbenchOptions options_;
  CpuReadings watch_begin_;
  std::optional<oracle::Inputs> inputs_;
  std::optional<oracle::Reference> reference_;  // of index set 0, made when first needed
  RotatingCache main_;
  RotatingCache extra_;
  HostWorkspace workspace_;
  Rotation rotation_;
  std::int32_t next_set_ = 0;
};

Result<KernelSpec> CpuWorkbench::kernel_for(const DecodeShape& shape) const {
  WAVEFILL_RETURN_IF_ERROR(decoder_.supports(shape));
  // The decoder's own choice, seen on the simplest plan there is.
  auto plan = decoder_.plan(shape);
  if (!plan.ok()) return plan.status();
  return plan->kernel;
}

std::string CpuWorkbench::timing() const {
  return fmt::format("cpu, {} threads, full lengths, rotating index sets", device().num_sms);
}

Environment CpuWorkbench::environment() {
  constexpr double kWindowUs = 200e3;
  Environment environment = describe_environment(device());
  environment.set("other_processes_cpu_share", fmt::format("{:.3f}", others_cpu_share(kWindowUs)));
  return environment;
}

Result<Bandwidth> CpuWorkbench::bandwidth() {
  BandwidthOptions options;
  options.num_threads = device().num_sms;
  return measure_bandwidth(options);
}

std::int64_t CpuWorkbench::cache_bytes() const {
  if (options_.cache_bytes > 0) return options_.cache_bytes;
  return device().l2_bytes > 0 ? device().l2_bytes : last_level_cache_bytes();
}

RotationLimits CpuWorkbench::limits() const {
  constexpr std::int64_t kUnknownMemoryPool = std::int64_t{2} << 30;
  const std::int64_t memory = available_memory_bytes() + rotation_.pool_bytes;  // our own pool is replaced
  const std::int64_t affordable = memory > 0 ? memory / kMemoryShare : kUnknownMemoryPool;
  return {.page_size = RotatingCache::kPageSize,
          .extra_page_size = RotatingCache::kPageSize,
          .cache_bytes = cache_bytes(),
          .min_pool_bytes = options_.min_pool_bytes,
          .max_pool_bytes = options_.max_pool_bytes > 0 ? options_.max_pool_bytes : affordable};
}

Result<Rotation> CpuWorkbench::prepare(const DecodeShape& shape) {
  WAVEFILL_RETURN_IF_ERROR(decoder_.supports(shape));
  const auto rotation = plan_rotation(shape, limits());
  if (!rotation.ok()) return rotation;
  inputs_.emplace(pattern_pool(shape, options_.seed));
  reference_.reset();
  next_set_ = 0;
  rotation_ = *rotation;
  const DecodeArgs pattern = inputs_->args();
  WAVEFILL_RETURN_IF_ERROR(
      main_.prepare(shape, pattern.main.kv, main_cache_options(shape, rotation_, options_.seed)));
  WAVEFILL_RETURN_IF_ERROR(
      extra_.prepare(shape, pattern.extra.kv, extra_cache_options(shape, rotation_, options_.seed)));
  return rotation_;
}

Result<DecodeArgs> CpuWorkbench::args_for(const SplitPlan& plan, std::int32_t set) {
  if (!inputs_) return make_status(StatusCode::internal, "nothing was prepared to run on");
  WAVEFILL_RETURN_IF_ERROR(workspace_.reserve(decoder_.workspace_bytes(plan)));
  DecodeArgs args = inputs_->args();
  args.main = main_.view(set);
  args.extra = extra_.view(set);
  args.workspace = workspace_.data();
  args.workspace_size_bytes = workspace_.size_bytes();
  return args;
}

Result<VerifyOutcome> CpuWorkbench::verify(const SplitPlan& plan) {
  auto args = args_for(plan, 0);
  if (!args.ok()) return args.status();
  if (!reference_) reference_ = oracle::reference(*args);
  inputs_->poison_outputs();
  WAVEFILL_RETURN_IF_ERROR(decoder_.run(plan, *args));
  const oracle::Comparison comparison = oracle::compare(*reference_, *args);
  return VerifyOutcome{.passed = comparison.passed,
                       .max_o_error = comparison.max_o_error,
                       .max_lse_error = comparison.max_lse_error,
                       .message = comparison.first_failure};
}

Result<double> CpuWorkbench::time_calls(const SplitPlan& plan, std::int32_t calls) {
  if (calls < 1) return invalid_argument("calls is {}; allowed: >= 1", calls);
  std::vector<DecodeArgs> args;
  args.reserve(static_cast<std::size_t>(calls));
  for (std::int32_t call = 0; call < calls; ++call) {
    auto next = args_for(plan, next_set_);
    if (!next.ok()) return next.status();
    args.push_back(*next);
    next_set_ = (next_set_ + 1) % rotation_.num_sets;
  }
  const double begin = monotonic_us();
  for (const DecodeArgs& call : args) WAVEFILL_RETURN_IF_ERROR(decoder_.run(plan, call));
  return (monotonic_us() - begin) / calls;
}

}  // namespace

Result<std::unique_ptr<Workbench>> make_cpu_workbench(std::int32_t num_threads,
                                                      const WorkbenchOptions& options) {
  // A setting of our own keeps the environment's override out of what is measured; plans are made by the
  // caller, and this one is used only to see which kernel the decoder takes.
  DecoderOptions decoder_options;
  decoder_options.device = "cpu";
  decoder_options.num_threads = num_threads;
  decoder_options.kernel = options.kernel;
  decoder_options.setting = Setting{};
  auto decoder = Decoder::create(decoder_options);
  if (!decoder.ok()) return decoder.status();
  return std::unique_ptr<Workbench>(std::make_unique<CpuWorkbench>(std::move(*decoder), options));
}

}  // namespace wavefill
