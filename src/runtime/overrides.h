// The environment's say in how num_splits is chosen, read strictly.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "wavefill/plan.h"
#include "wavefill/status.h"

namespace wavefill {

inline constexpr std::string_view kTargetCtasVariable = "WAVEFILL_TARGET_CTAS";
inline constexpr std::string_view kTargetCtasAlias = "SGLANG_SM120_MMA_TARGET_CTAS";
inline constexpr std::string_view kNumSplitsVariable = "WAVEFILL_NUM_SPLITS";
inline constexpr std::string_view kProfileVariable = "WAVEFILL_PROFILE";

// The value of a variable, or none where it is not set. Set but empty is a value.
using EnvironmentLookup = std::function<std::optional<std::string>(std::string_view variable)>;

// std::getenv.
std::optional<std::string> lookup_environment(std::string_view variable);

// A variable that is set, and the setting it stands for as parse_setting() reads it.
struct Override {
  std::string_view variable;
  std::string setting_text;  // "target-ctas=512"

  friend bool operator==(const Override&, const Override&) = default;
};

// At most one override may be in force; the variable and its alias may both be set if they agree. No file
// is opened: whether a profile can be read is for setting_from_environment() to say.
// Errors: invalid_argument, naming the variable, its value and the values allowed, or both variables where
// two are set.
Result<std::optional<Override>> find_override(const EnvironmentLookup& lookup);

// The setting of find_override(), its profile read. Errors: as find_override(), and those of
// parse_setting() with the variable named.
Result<std::optional<Setting>> setting_from_environment(const EnvironmentLookup& lookup);

}  // namespace wavefill
