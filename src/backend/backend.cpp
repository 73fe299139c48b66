#include "backend/backend.h"

#include <algorithm>

#include "core/errors.h"
#include "plan/plan_frame.h"

namespace wavefill {
namespace {

constexpr std::uintptr_t kWorkspaceAlignment = 256;

template <typename T>
Status same(std::string_view field, const T& planned, const T& seen) {
  if (planned == seen) return {};
  return make_status(StatusCode::mismatch, "the plan was made for {} {}; this call has {}", field, planned,
                     seen);
}

Status check_shape(const DecodeShape& planned, const DecodeShape& seen) {
  WAVEFILL_RETURN_IF_ERROR(same("batch", planned.batch, seen.batch));
  WAVEFILL_RETURN_IF_ERROR(same("s_q", planned.s_q, seen.s_q));
  WAVEFILL_RETURN_IF_ERROR(same("num_heads", planned.num_heads, seen.num_heads));
  WAVEFILL_RETURN_IF_ERROR(same("kv_format", to_string(planned.kv_format), to_string(seen.kv_format)));
  WAVEFILL_RETURN_IF_ERROR(same("d_qk", planned.d_qk, seen.d_qk));
  WAVEFILL_RETURN_IF_ERROR(same("topk", planned.topk, seen.topk));
  return same("extra_topk", planned.extra_topk, seen.extra_topk);
}

Status check_kernel(const Backend& backend, const KernelSpec& planned) {
  const auto kernels = backend.kernels();
  if (std::ranges::find(kernels, planned) != kernels.end()) return {};
  return make_status(
      StatusCode::mismatch,
      "the plan was made for kernel {} (heads_per_cta {}, kv_tile {}, ctas_per_sm {}), which is not "
      "in the kernel table of {}",
      planned.name, planned.heads_per_cta, planned.kv_tile, planned.ctas_per_sm, backend.device().name);
}

Status check_workspace(const Backend& backend, const SplitPlan& plan, const DecodeArgs& args) {
  const std::size_t needed =
      args.plan_memory != nullptr ? workspace_bytes(plan) : backend.workspace_bytes(plan);
  if (needed == 0) return {};
  if (args.workspace == nullptr || args.workspace_size_bytes < needed) {
    return make_status(StatusCode::resource_exhausted,
                       "workspace is {} bytes; allowed: >= {} for {} partials of {} work items",
                       args.workspace == nullptr ? 0 : args.workspace_size_bytes, needed, plan.num_partials(),
                       plan.items.size());
  }
  if (reinterpret_cast<std::uintptr_t>(args.workspace) % kWorkspaceAlignment != 0) {
    return invalid_argument("workspace is at {}; allowed: a multiple of {} bytes", args.workspace,
                            kWorkspaceAlignment);
  }
  return {};
}

}  // namespace

std::size_t Backend::workspace_bytes(const SplitPlan& plan) const { return wavefill::workspace_bytes(plan); }

std::size_t Backend::plan_memory_bytes(const SplitPlan&) const { return 0; }

Status Backend::prepare(const SplitPlan&, void*, std::size_t, void*) const { return {}; }

Status Backend::replan(const SplitPlan&, const LengthView&, const LengthView&, void*, std::size_t,
                       void*) const {
  return make_status(StatusCode::unsupported, "{} makes no plans itself; allowed: plans of the host",
                     device().name);
}

int Backend::memory_device() const { return kHostMemory; }

Status check_run(const Backend& backend, const SplitPlan& plan, const DecodeArgs& args) {
  WAVEFILL_RETURN_IF_ERROR(validate(args));
  WAVEFILL_RETURN_IF_ERROR(same("device", plan.device.name, backend.device().name));
  WAVEFILL_RETURN_IF_ERROR(same("num_sms", plan.device.num_sms, backend.device().num_sms));
  WAVEFILL_RETURN_IF_ERROR(check_kernel(backend, plan.kernel));
  WAVEFILL_RETURN_IF_ERROR(check_shape(plan.shape, args.shape));
  if (is_plan_frame(plan) && (args.plan_memory == nullptr || backend.memory_device() == kHostMemory)) {
    return invalid_argument("the plan is a frame; allowed: on a GPU, with plan_memory that replan() filled");
  }
  return check_workspace(backend, plan, args);
}

}  // namespace wavefill
