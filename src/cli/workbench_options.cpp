#include "cli/workbench_options.h"

#include <fmt/format.h>

#include "cli/interrupt.h"
#include "core/errors.h"

namespace wavefill::cli {

Result<std::unique_ptr<Workbench>> open_workbench(const DeviceOptions& options) {
  const Result<std::int32_t> threads = read_threads(options);
  if (!threads.ok()) return threads.status();
  const Result<std::unique_ptr<Backend>> backend = open_device(options);
  if (!backend.ok()) return backend.status();
  if ((*backend)->device().compute_capability != 0) {
    return make_status(StatusCode::unavailable,
                       "device is '{}'; allowed: cpu (this build measures on no GPU)", options.device);
  }
  CpuWorkbenchOptions workbench;
  workbench.num_threads = *threads;
  return make_cpu_workbench(workbench);
}

void ConsoleProgress::update(const ProgressUpdate& update) {
  const double total_us = update.elapsed_us + update.remaining_us;
  std::string what = update.phase == Phase::search
                         ? update.activity
                         : fmt::format("{}: {}", to_string(update.phase), update.activity);
  what += fmt::format(" batch {} ({} of {})", update.batch, update.batch_idx + 1, update.num_batches);
  if (update.active_arms > 0) what += fmt::format(", {} settings", update.active_arms);
  if (update.samples > 0) what += fmt::format(", {} samples", update.samples);
  console_.progress(what, total_us > 0.0 ? update.elapsed_us / total_us : 0.0);
}

bool ConsoleProgress::cancelled() const { return interrupted(); }

}  // namespace wavefill::cli
