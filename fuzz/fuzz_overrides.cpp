// Fuzzes the environment overrides: any bytes as the values of any of the variables.
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "require.h"
#include "runtime/overrides.h"

namespace {

using namespace wavefill;

// The first byte says which variables are set; the rest, cut at each '\n', are their values.
std::map<std::string_view, std::string> environment_of(std::string_view bytes) {
  std::map<std::string_view, std::string> environment;
  if (bytes.empty()) return environment;
  const int which = bytes.front();
  bytes.remove_prefix(1);
  int bit = 1;
  for (const auto name : {kTargetCtasVariable, kTargetCtasAlias, kNumSplitsVariable, kProfileVariable}) {
    if ((which & bit) != 0) {
      const std::size_t end = bytes.find('\n');
      environment[name] = bytes.substr(0, end);
      bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
    }
    bit *= 2;
  }
  return environment;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto environment = environment_of({reinterpret_cast<const char*>(data), size});
  const auto lookup = [&](std::string_view variable) -> std::optional<std::string> {
    const auto found = environment.find(variable);
    if (found == environment.end()) return std::nullopt;
    return found->second;
  };
  const auto found = find_override(lookup);
  if (!found.ok()) {
    // Refused by name: the message has a variable that is set.
    require(found.status().code() == StatusCode::invalid_argument, "refused as invalid_argument");
    bool named = false;
    for (const auto& [variable, value] : environment) {
      named = named || found.status().message().find(variable) != std::string::npos;
    }
    require(named, "the message names a variable");
    return 0;
  }
  require(found->has_value() == !environment.empty(), "an override exists if a variable does");
  if (!found->has_value() || environment.contains(kProfileVariable)) return 0;
  // Taken: it is a setting, and is written as it was read.
  const auto setting = parse_setting((*found)->setting_text);
  require(setting.ok() && to_string(*setting) == (*found)->setting_text, "the setting reads back as itself");
  return 0;
}
