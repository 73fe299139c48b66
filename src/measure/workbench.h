// The seam under measuring: a device on which plans can be checked and timed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "measure/bandwidth.h"
#include "measure/environment.h"
#include "measure/machine_watch.h"
#include "measure/rotation.h"
#include "wavefill/device.h"
#include "wavefill/plan.h"
#include "wavefill/status.h"

namespace wavefill {

// The outcome of one call against the fp64 oracle.
struct VerifyOutcome {
  bool passed = false;
  double max_o_error = 0.0;
  double max_lse_error = 0.0;
  std::string message;  // the first failure, or why the call failed
};

// Used from one thread. Rows have full lengths: what a captured graph is tuned for.
class Workbench {
 public:
  virtual ~Workbench() = default;

  virtual const DeviceSpec& device() const = 0;

  // The kernel that runs this shape. Errors: unsupported (names the parameter).
  virtual Result<KernelSpec> kernel_for(const DecodeShape& shape) const = 0;

  // The kernels worth comparing for this shape, kernel_for() first: all that run it, unless it is known
  // without timing which is fastest. Plans may be made for each. Errors: as kernel_for().
  virtual Result<std::vector<KernelSpec>> kernels_for(const DecodeShape& shape) const;

  // How calls are timed, for the run key and the report: "cpu, cold caches".
  virtual std::string timing() const = 0;

  virtual Environment environment() = 0;

  // What the device's memory can do, measured now. Here: measure_bandwidth() of the host.
  virtual Result<Bandwidth> bandwidth();

  // Makes the tensors of `shape` and the index sets that are used in turn; verify() and time_calls() are
  // for this shape until the next prepare(). The use of index sets goes on across plans and calls, so that
  // what is between two uses of a line does not depend on which plans are timed.
  // Errors: unsupported, resource_exhausted.
  virtual Result<Rotation> prepare(const DecodeShape& shape) = 0;

  // Runs `plan` once into poisoned outputs and compares with the oracle. A wrong result is an outcome; an
  // error means that nothing could be run.
  virtual Result<VerifyOutcome> verify(const SplitPlan& plan) = 0;

  // Mean time of one call in a burst, in microseconds; split and combine together. The first call of a
  // plan may set things up (workspace, a captured graph) outside the timing.
  virtual Result<double> time_calls(const SplitPlan& plan, std::int32_t calls) = 0;

  // Around the bursts of one round.
  virtual void begin_watch() = 0;
  virtual WatchReport end_watch() = 0;

  // Monotonic; budgets are counted in it.
  virtual double now_us() = 0;
};

struct WorkbenchOptions {
  std::string kernel = {};          // of the kernel table; empty: the first that takes a shape
  std::int64_t min_pool_bytes = 0;  // kv pool; beyond what cold caches need. On a GPU, 0 = 1 GiB
  std::int64_t max_pool_bytes = 0;  // 0 = a quarter of the available memory
  std::int64_t cache_bytes = 0;     // 0 = the last-level cache as reported
  std::uint64_t seed = 1;
};

// The workbench of the device that `backend` runs on. Errors: not_found (kernel), those of
// make_cpu_workbench() and of the GPU's driver.
Result<std::unique_ptr<Workbench>> make_workbench(std::unique_ptr<Backend> backend,
                                                  const WorkbenchOptions& options);

// num_threads: 0 = all hardware threads. Errors: those of Decoder::create.
Result<std::unique_ptr<Workbench>> make_cpu_workbench(std::int32_t num_threads,
                                                      const WorkbenchOptions& options);

}  // namespace wavefill
