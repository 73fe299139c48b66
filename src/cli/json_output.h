// How commands write JSON. For source files of commands only: it brings nlohmann/json with it.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/option_set.h"

namespace wavefill::cli {

using Json = nlohmann::ordered_json;

// One document, indented, ending in a newline. Bytes that are not UTF-8 become U+FFFD.
std::string json_text(const Json& json);

void add_json_option(OptionSet& set, bool& json);

// `value` to so many decimals: 0.907801 -> 0.908.
inline double rounded(double value, int decimals) {
  const double scale = std::pow(10.0, decimals);
  return std::round(value * scale) / scale;
}

}  // namespace wavefill::cli
