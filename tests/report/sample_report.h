// Reports to test with: made up, but shaped as a tuning run makes them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/report.h"

namespace wavefill::report {

// One arm with samples whose median is `us`; everything else is consistent with them. Each `session` has
// samples of its own.
Arm sample_arm(std::int32_t batch, const std::string& setting, std::int32_t num_splits, double us,
               double deployed_us, int session = 0);

// Batches 1..num_batches on a device of 188 slots; 4 splits are deployed, the choice is a per-batch table.
Report sample_report(std::int32_t num_batches);

// Two batches and few samples: small enough to read its goldens.
Report tiny_report();

}  // namespace wavefill::report
