// Timing on a GPU, for make_workbench() to choose.
#pragma once

#include <memory>

#include "backend/backend.h"
#include "measure/workbench.h"

namespace wavefill {

// Precondition: the backend's memory is a GPU's. Errors: not_found (kernel), those of the driver.
Result<std::unique_ptr<Workbench>> make_cuda_workbench(std::unique_ptr<Backend> backend,
                                                       const WorkbenchOptions& options);

}  // namespace wavefill
