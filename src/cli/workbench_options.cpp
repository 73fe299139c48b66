#include "cli/workbench_options.h"

#include <fmt/format.h>

#include "cli/interrupt.h"

namespace wavefill::cli {

Result<std::unique_ptr<Workbench>> open_workbench(const DeviceOptions& options) {
  Result<std::unique_ptr<Backend>> backend = open_device(options);
  if (!backend.ok()) return backend.status();
  return make_workbench(*std::move(backend), {.kernel = options.kernel});
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
