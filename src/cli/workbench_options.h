// Opening a device for measuring, and following a measurement on the console.
#pragma once

#include <memory>

#include "cli/console.h"
#include "cli/device_options.h"
#include "measure/workbench.h"
#include "tune/tuner.h"
#include "wavefill/status.h"

namespace wavefill::cli {

// Errors: those of open_device and make_workbench.
Result<std::unique_ptr<Workbench>> open_workbench(const DeviceOptions& options);

// Shows updates on the console; cancelled() after Ctrl-C while an InterruptGuard lives.
class ConsoleProgress final : public Progress {
 public:
  explicit ConsoleProgress(Console& console) : console_(console) {}

  void update(const ProgressUpdate& update) override;
  bool cancelled() const override;

 private:
  Console& console_;
};

}  // namespace wavefill::cli
