// The options that say which settings to look at.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/option_set.h"
#include "wavefill/plan.h"
#include "wavefill/status.h"

namespace wavefill::cli {

struct SettingOptions {
  std::vector<std::string> policies;  // as written: settings, or "all"
  std::string profile;                // empty = none
};

void add_setting_options(OptionSet& set, SettingOptions& options);

// In the order written, each once. "all" stands for every policy: those that take a parameter with one
// that needs no choice (fixed=1 does not split, target-ctas=SLOTS fills one wave), `measured` only with a
// profile. Nothing given: the environment's override, or the default policy.
// Errors: those of parse_setting, with the option or variable named.
Result<std::vector<Setting>> read_settings(const SettingOptions& options, std::int64_t slots);

}  // namespace wavefill::cli
