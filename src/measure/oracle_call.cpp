#include "measure/oracle_call.h"

#include "core/errors.h"
#include "measure/call_kinds.h"
#include "measure/host_workspace.h"

namespace wavefill {
namespace {

class HostCall final : public OracleCall {
 public:
  HostCall(const Backend& backend, oracle::Inputs& inputs) : backend_(backend), inputs_(inputs) {}

  Status run(const SplitPlan& plan, bool check_indices) override {
    HostWorkspace workspace;
    WAVEFILL_RETURN_IF_ERROR(workspace.reserve(backend_.workspace_bytes(plan)));
    inputs_.poison_outputs();
    DecodeArgs args = inputs_.args();
    args.workspace = workspace.data();
    args.workspace_size_bytes = workspace.size_bytes();
    args.check_indices = check_indices;
    WAVEFILL_RETURN_IF_ERROR(check_run(backend_, plan, args));
    return backend_.run(plan, args, nullptr);
  }

 private:
  const Backend& backend_;
  oracle::Inputs& inputs_;
};

}  // namespace

std::unique_ptr<OracleCall> make_host_call(const Backend& backend, oracle::Inputs& inputs) {
  return std::make_unique<HostCall>(backend, inputs);
}

Result<std::unique_ptr<OracleCall>> make_oracle_call(const Backend& backend, oracle::Inputs& inputs) {
  if (backend.memory_device() == kHostMemory) return make_host_call(backend, inputs);
#if WAVEFILL_HAS_CUDA
  return make_cuda_call(backend, inputs);
#else
  return make_status(StatusCode::unavailable, "{} is a GPU; allowed: a CPU (this build has no CUDA)",
                     backend.device().name);
#endif
}

}  // namespace wavefill
