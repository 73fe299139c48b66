// Running one case of the case table under several settings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "cli/device_options.h"
#include "oracle/case.h"
#include "wavefill/plan.h"
#include "wavefill/status.h"

namespace wavefill::cli {

struct VerifyFailure {
  std::string name;  // "case, setting"
  std::string message;
};

struct VerifySummary {
  std::int64_t num_run = 0;
  std::int64_t num_passed = 0;
  double worst_o_error = 0.0;
  std::string worst_o_case = "none";
  double worst_lse_error = 0.0;
  std::string worst_lse_case = "none";
  std::vector<VerifyFailure> failures;
  std::vector<VerifyFailure> unsupported;  // cases that no kernel takes: neither passed nor failed
};

// Runs the case once a setting, into poisoned outputs, and adds what came out to `summary`. Errors: those
// that say nothing about the device (a kernel name, a setting that cannot be planned).
Status verify_case(const Backend& backend, const DeviceOptions& device, const oracle::Case& test_case,
                   const std::vector<Setting>& settings, VerifySummary& summary);

}  // namespace wavefill::cli
