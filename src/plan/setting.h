// Settings as text, apart from files.
#pragma once

#include <string_view>

#include "wavefill/plan.h"

namespace wavefill {

// parse_setting() for every policy but `measured`, which it refuses without looking at any file: what a
// profile may contain.
Result<Setting> parse_unmeasured_setting(std::string_view text);

}  // namespace wavefill
