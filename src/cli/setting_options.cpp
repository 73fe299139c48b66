#include "cli/setting_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/errors.h"
#include "runtime/overrides.h"

namespace wavefill::cli {
namespace {

void add_once(std::vector<Setting>& settings, const Setting& setting) {
  const std::string text = to_string(setting);
  const auto is_same = [&](const Setting& other) { return to_string(other) == text; };
  if (std::ranges::none_of(settings, is_same)) settings.push_back(setting);
}

// A policy without a parameter, or with the one that needs no choice.
Setting plain_setting(const PolicyInfo& policy, std::int64_t slots) {
  Setting setting{.kind = policy.kind};
  if (policy.kind == PolicyKind::fixed) setting.value = 1;
  if (policy.kind == PolicyKind::target_ctas)
    setting.value = std::clamp<std::int64_t>(slots, 1, kMaxTargetCtas);
  return setting;
}

Result<Setting> parse_option(std::string_view option, std::string_view text) {
  Result<Setting> setting = parse_setting(text);
  if (setting.ok()) return setting;
  return Status(setting.status().code(), fmt::format("{}: {}", option, setting.status().message()));
}

Result<Setting> default_setting() {
  const Result<std::optional<Setting>> overridden = setting_from_environment(lookup_environment);
  if (!overridden.ok()) return overridden.status();
  return overridden->value_or(Setting{});
}

}  // namespace

void add_setting_options(OptionSet& set, SettingOptions& options) {
  set.begin_group("Settings");
  std::string help = "setting to use, may be repeated: all, or";
  for (const PolicyInfo& policy : all_policies()) {
    help += fmt::format(" {}", to_string(policy));
  }
  set.texts("--policy", options.policies, "SETTING", help);
  set.text("--profile", options.profile, "FILE", "look at the settings of this profile too");
}

Result<std::vector<Setting>> read_settings(const SettingOptions& options, std::int64_t slots) {
  std::vector<Setting> settings;
  for (const std::string& text : options.policies) {
    if (text == "all") {
      for (const PolicyInfo& policy : all_policies()) {
        if (policy.kind != PolicyKind::measured) add_once(settings, plain_setting(policy, slots));
      }
      continue;
    }
    const Result<Setting> setting = parse_option("--policy", text);
    if (!setting.ok()) return setting.status();
    add_once(settings, *setting);
  }
  if (!options.profile.empty()) {
    const Result<Setting> measured = parse_option("--profile", "measured=" + options.profile);
    if (!measured.ok()) return measured.status();
    add_once(settings, *measured);
  }
  if (settings.empty()) {
    const Result<Setting> fallback = default_setting();
    if (!fallback.ok()) return fallback.status();
    settings.push_back(*fallback);
  }
  return settings;
}

}  // namespace wavefill::cli
