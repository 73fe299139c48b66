// The decoder: what was decided at creation, and the checks between a caller and a backend.
#include "wavefill/decoder.h"

#include <mutex>
#include <new>
#include <utility>

#include "backend/backend.h"
#include "core/errors.h"
#include "plan/plan_frame.h"
#include "runtime/devices.h"
#include "runtime/kernel_choice.h"
#include "runtime/overrides.h"
#include "wavefill/profile.h"

namespace wavefill {

struct Decoder::Impl {
  std::unique_ptr<Backend> backend;
  Setting setting;
  std::span<const KernelSpec> kernels;  // what plan() chooses from: the backend's table, or the row asked for
  bool batch_invariant = false;
  std::optional<Setting> fallback;

  // plan() may be called from several threads.
  mutable std::mutex counters_mutex;
  mutable ProfileCounters counters;

  void count_hit(bool is_exact) const {
    const std::lock_guard lock(counters_mutex);
    ++(is_exact ? counters.hits : counters.rounded_up);
  }

  void count_miss(const Status& why) const {
    const std::lock_guard lock(counters_mutex);
    ++counters.misses;
    if (fallback) ++counters.fallbacks;
    counters.last_miss = why.message();
  }

  Result<const KernelSpec*> choose(const DecodeShape& shape) const {
    return choose_kernel(*backend, kernels, shape, kernel_of(setting));
  }

  // By the decoder's setting, for full lengths.
  Result<PlanRequest> request_for(const DecodeShape& shape) const {
    const Result<const KernelSpec*> kernel = choose(shape);
    if (!kernel.ok()) return kernel.status();
    PlanRequest request;
    request.device = backend->device();
    request.kernel = **kernel;
    request.shape = shape;
    request.setting = setting;
    request.batch_invariant = batch_invariant;
    return request;
  }
};

namespace {

Result<Setting> choose_setting(const std::optional<Setting>& wanted) {
  if (wanted) return *wanted;
  Result<std::optional<Setting>> found = setting_from_environment(lookup_environment);
  if (!found.ok()) return found.status();
  return found->value_or(Setting{});
}

}  // namespace

Decoder::Decoder(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Decoder::Decoder(Decoder&&) noexcept = default;
Decoder& Decoder::operator=(Decoder&&) noexcept = default;
Decoder::~Decoder() = default;

Result<Decoder> Decoder::create(const DecoderOptions& options) {
  try {
    Result<Setting> setting = choose_setting(options.setting);
    if (!setting.ok()) return setting.status();
    if (options.fallback && options.fallback->kind == PolicyKind::measured) {
      return invalid_argument("fallback is {}; allowed: any policy but measured",
                              to_string(*options.fallback));
    }
    Result<std::unique_ptr<Backend>> backend = make_backend(options.device, options.num_threads);
    if (!backend.ok()) return backend.status();
    const Result<std::span<const KernelSpec>> kernels = select_kernels(**backend, options.kernel);
    if (!kernels.ok()) return kernels.status();
    auto impl = std::make_unique<Impl>();
    impl->backend = *std::move(backend);
    impl->setting = *std::move(setting);
    impl->kernels = *kernels;
    impl->batch_invariant = options.batch_invariant;
    impl->fallback = options.fallback;
    return Decoder(std::move(impl));
  } catch (const std::bad_alloc&) {
    return Status(StatusCode::resource_exhausted, "out of memory for a decoder");
  }
}

const DeviceSpec& Decoder::device() const { return impl_->backend->device(); }

const Setting& Decoder::setting() const { return impl_->setting; }

ProfileCounters Decoder::profile_counters() const {
  const std::lock_guard lock(impl_->counters_mutex);
  return impl_->counters;
}

std::vector<KernelSpec> Decoder::kernels() const {
  const std::span<const KernelSpec> table = impl_->backend->kernels();
  return {table.begin(), table.end()};
}

Status Decoder::supports(const DecodeShape& shape) const { return impl_->choose(shape).status(); }

Result<SplitPlan> Decoder::plan(const DecodeShape& shape, std::span<const std::int32_t> lengths,
                                std::span<const std::int32_t> extra_lengths) const {
  Result<PlanRequest> request = impl_->request_for(shape);
  if (!request.ok()) return request.status();
  request->lengths = lengths;
  request->extra_lengths = extra_lengths;
  Result<SplitPlan> plan = make_plan(*request);
  if (impl_->setting.kind != PolicyKind::measured) return plan;
  if (plan.ok()) {
    impl_->count_hit(impl_->setting.profile->has_batch(impl_->batch_invariant ? 1 : shape.batch));
    return plan;
  }
  const StatusCode code = plan.status().code();
  if (code != StatusCode::mismatch && code != StatusCode::not_found) return plan;
  impl_->count_miss(plan.status());
  if (!impl_->fallback) return plan;
  request->setting = *impl_->fallback;
  return make_plan(*request);
}

std::size_t Decoder::workspace_bytes(const SplitPlan& plan) const {
  return impl_->backend->workspace_bytes(plan);
}

std::size_t Decoder::plan_memory_bytes(const SplitPlan& plan) const {
  return impl_->backend->plan_memory_bytes(plan);
}

Status Decoder::prepare(const SplitPlan& plan, void* memory, std::size_t memory_size_bytes,
                        void* stream) const {
  return impl_->backend->prepare(plan, memory, memory_size_bytes, stream);
}

Result<SplitPlan> Decoder::plan_frame(const DecodeShape& shape) const {
  const Result<PlanRequest> request = impl_->request_for(shape);
  if (!request.ok()) return request.status();
  return make_plan_frame(*request);
}

Status Decoder::replan(const SplitPlan& frame, const LengthView& lengths, const LengthView& extra_lengths,
                       void* memory, std::size_t memory_size_bytes, void* stream) const {
  return impl_->backend->replan(frame, lengths, extra_lengths, memory, memory_size_bytes, stream);
}

Status Decoder::run(const SplitPlan& plan, const DecodeArgs& args, void* stream) const {
  WAVEFILL_RETURN_IF_ERROR(check_run(*impl_->backend, plan, args));
  return impl_->backend->run(plan, args, stream);
}

}  // namespace wavefill
