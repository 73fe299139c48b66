// An OracleCall on a GPU.
#include <cuda_runtime_api.h>

#include "backend_cuda/cuda_status.h"
#include "measure/call_kinds.h"
#include "measure/cuda_tensors.h"
#include "measure/device_buffer.h"

namespace wavefill {
namespace {

class CudaCall final : public OracleCall {
 public:
  explicit CudaCall(const Backend& backend) : backend_(backend) {}

  Status copy_from(oracle::Inputs& inputs) {
    WAVEFILL_CUDA_RETURN_IF_ERROR(cudaSetDevice(backend_.memory_device()));
    return tensors_.copy_from(inputs);
  }

  Status run(const SplitPlan& plan, bool check_indices) override {
    DeviceBuffer workspace;
    WAVEFILL_RETURN_IF_ERROR(workspace.reserve(backend_.workspace_bytes(plan)));
    WAVEFILL_RETURN_IF_ERROR(tensors_.poison_outputs());
    DecodeArgs args = tensors_.args();
    args.workspace = workspace.as();
    args.workspace_size_bytes = workspace.size_bytes();
    args.check_indices = check_indices;
    WAVEFILL_RETURN_IF_ERROR(check_run(backend_, plan, args));
    WAVEFILL_RETURN_IF_ERROR(backend_.run(plan, args, nullptr));
    WAVEFILL_CUDA_RETURN_IF_ERROR(cudaDeviceSynchronize());
    return tensors_.fetch_outputs();
  }

 private:
  const Backend& backend_;
  CudaTensors tensors_;
};

}  // namespace

Result<std::unique_ptr<OracleCall>> make_cuda_call(const Backend& backend, oracle::Inputs& inputs) {
  auto call = std::make_unique<CudaCall>(backend);
  WAVEFILL_RETURN_IF_ERROR(call->copy_from(inputs));
  return std::unique_ptr<OracleCall>(std::move(call));
}

}  // namespace wavefill
