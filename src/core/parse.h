// Strict reading of the numbers that users write: settings, environment variables, options, lists.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "wavefill/status.h"

namespace wavefill {

// `text` in single quotes, fit for a message: bytes outside printable ASCII as \xHH, and no more than the
// first 64 bytes, so that a binary or endless value cannot flood a terminal or a log.
std::string quote_text(std::string_view text);

// The decimal integer that `text` is, all of it: no sign, blank, unit, separator or leading zero, so
// that one value has one spelling. Precondition: 0 <= min <= max.
// Errors: invalid_argument, "<name> is '<text>'; allowed: an integer <min>..<max>".
Result<std::int64_t> parse_integer(std::string_view name, std::string_view text, std::int64_t min,
                                   std::int64_t max);

}  // namespace wavefill
