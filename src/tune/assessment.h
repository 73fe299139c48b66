// Whether one setting may be deployed as a whole, and what it would gain.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tune/judged_evidence.h"

namespace wavefill {

// What the evidence says about one setting as a whole.
struct Assessment {
  std::string setting;
  std::optional<Rejected> rejected;  // absent: admissible, and FASTER somewhere
  double gain = 0.0;                 // workload-weighted
  std::int64_t total_splits = 0;     // over the batches to serve; 0 = unknown
  std::vector<Dip> dips;
};

Assessment assess(const JudgedEvidence& evidence, const DecisionInput& input, const std::string& setting);

// The batches that matter to `setting` at which its samples do not exclude a loss beyond the regress guard.
std::vector<std::int32_t> unguarded_batches(const JudgedEvidence& evidence, const VerdictRule& rule,
                                            std::string_view setting);

// The batches at which there is nothing to compare with.
std::vector<std::int32_t> batches_without_deployed(const JudgedEvidence& evidence);

// "+5.4 %"
std::string percent(double effect);

}  // namespace wavefill
