// JSON as this project reads it from files: what JSON leaves open is refused. For source files alone: it
// brings nlohmann/json with it.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "wavefill/status.h"

namespace wavefill {

// The one document that `text` is. No object may have a key twice, of which parsers keep either; nothing is
// nested deeper than `max_depth` objects and arrays, so that what reads it may recurse; and no text has a
// control character, which a terminal would obey when the text is printed. Errors: corrupt_data, with the
// fault as the predicate of "the document".
Result<nlohmann::json> parse_strict_json(std::string_view text, int max_depth);

}  // namespace wavefill
