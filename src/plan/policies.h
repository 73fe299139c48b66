// The table of policies, and the rules that give every row the same number of splits.
#pragma once

#include "plan/split_problem.h"

namespace wavefill {

struct Policy {
  PolicyInfo info;
  std::int64_t max_value = 0;  // the parameter's range is 1..max_value; 0: none, or not a number
  Result<Schedule> (*split)(const SplitProblem&) = nullptr;  // nullptr: `measured`, which names another

  bool takes(std::int64_t value) const {
    return max_value == 0 || (value == 0 && info.is_parameter_optional) || (value >= 1 && value <= max_value);
  }
};

// nullptr for a kind that is not in the table (a stray integer cast to PolicyKind).
const Policy* find_policy(PolicyKind kind);

// "fixed=N, target-ctas=T, efficiency, ...", for messages.
std::string allowed_settings(bool with_measured);

// clamp(ceil(target / units), 1, kv_tiles).
std::int64_t target_ctas_splits(std::int64_t units, std::int64_t kv_tiles, std::int64_t target);

// FlashAttention-2's num_splits_heuristic on slots: the fewest splits whose wave efficiency is within 85 %
// of the best; 1 where the unsplit launch fills 80 % of the slots.
std::int64_t efficiency_splits(std::int64_t units, std::int64_t kv_tiles, std::int64_t slots);

// The rows beyond the last full wave of whole rows, and in how many splits they fill its slots.
struct LastWave {
  std::int64_t rows = 0;
  std::int64_t num_splits = 1;
};
LastWave last_wave(std::int64_t rows, std::int64_t head_tiles, std::int64_t slots);

// FlashInfer's rule for SM120: kv tiles a CTA such that the launch takes at most 3 waves and leaves the
// least of its last wave unfilled; ties to the larger chunk. kv_tiles (no split) where even the unsplit
// launch takes more than 3 waves: there, splitting cannot fill anything and would only add partials.
std::int64_t tail_gap_chunk(std::int64_t units, std::int64_t kv_tiles, std::int64_t slots);

}  // namespace wavefill
