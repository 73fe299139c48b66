#include "measure/workbench.h"

#if WAVEFILL_HAS_CUDA
#include "measure/cuda_workbench.h"
#endif

namespace wavefill {

// On a CPU the rows are one kernel in several instruction sets, the widest first.
Result<std::vector<KernelSpec>> Workbench::kernels_for(const DecodeShape& shape) const {
  auto kernel = kernel_for(shape);
  if (!kernel.ok()) return kernel.status();
  return std::vector<KernelSpec>{*std::move(kernel)};
}

Result<Bandwidth> Workbench::bandwidth() { return measure_bandwidth(); }

Result<std::unique_ptr<Workbench>> make_workbench(std::unique_ptr<Backend> backend,
                                                  const WorkbenchOptions& options) {
#if WAVEFILL_HAS_CUDA
  if (backend->memory_device() != kHostMemory) return make_cuda_workbench(std::move(backend), options);
#endif
  // On a CPU a slot is a thread.
  return make_cpu_workbench(backend->device().num_sms, options);
}

}  // namespace wavefill
