#include "runtime/overrides.h"

#include <array>
#include <cstdlib>
#include <vector>

#include "core/errors.h"
#include "core/parse.h"

namespace wavefill {
namespace {

// One row a variable. `max` is 0 where the value is the path of a profile.
struct Variable {
  std::string_view name;
  std::string_view policy;
  std::int64_t max = 0;
};

constexpr std::array kVariables = {
    Variable{.name = kTargetCtasVariable, .policy = "target-ctas", .max = kMaxTargetCtas},
    Variable{.name = kTargetCtasAlias, .policy = "target-ctas", .max = kMaxTargetCtas},
    Variable{.name = kNumSplitsVariable, .policy = "fixed", .max = kMaxNumSplits},
    Variable{.name = kProfileVariable, .policy = "measured"},
};

Result<Override> parse(const Variable& variable, const std::string& value) {
  if (variable.max > 0) {
    const Result<std::int64_t> number = parse_integer(variable.name, value, 1, variable.max);
    if (!number.ok()) return number.status();
  } else if (value.empty()) {
    return invalid_argument("{} is ''; allowed: the path of a profile, or unset", variable.name);
  }
  return Override{.variable = variable.name, .setting_text = fmt::format("{}={}", variable.policy, value)};
}

}  // namespace

std::optional<std::string> lookup_environment(std::string_view variable) {
  const char* value = std::getenv(std::string(variable).c_str());
  if (value == nullptr) return std::nullopt;
  return std::string(value);
}

Result<std::optional<Override>> find_override(const EnvironmentLookup& lookup) {
  std::optional<Override> found;
  for (const Variable& variable : kVariables) {
    const std::optional<std::string> value = lookup(variable.name);
    if (!value) continue;
    Result<Override> parsed = parse(variable, *value);
    if (!parsed.ok()) return parsed.status();
    // Numbers have one spelling, so equal settings are equal texts.
    if (found && found->setting_text != parsed->setting_text) {
      return invalid_argument("{} asks for {} and {} for {}; allowed: one of them", found->variable,
                              quote_text(found->setting_text), parsed->variable,
                              quote_text(parsed->setting_text));
    }
    if (!found) found = std::move(*parsed);
  }
  return found;
}

Result<std::optional<Setting>> setting_from_environment(const EnvironmentLookup& lookup) {
  const Result<std::optional<Override>> found = find_override(lookup);
  if (!found.ok()) return found.status();
  if (!found->has_value()) return std::optional<Setting>();
  const Override& override = **found;
  Result<Setting> setting = parse_setting(override.setting_text);
  if (!setting.ok()) {
    return make_status(setting.status().code(), "{}: {}", override.variable, setting.status().message());
  }
  return std::optional<Setting>(*std::move(setting));
}

}  // namespace wavefill
