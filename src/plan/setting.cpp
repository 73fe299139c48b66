#include "plan/setting.h"

#include <memory>

#include "core/errors.h"
#include "core/parse.h"
#include "plan/policies.h"
#include "wavefill/profile.h"

namespace wavefill {
namespace {

const PolicyInfo* find_info(std::string_view name) {
  for (const PolicyInfo& info : all_policies()) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

// "fixed=4" -> {"fixed", "4"}; has_value tells "fixed=" from "fixed".
struct SettingText {
  std::string_view name;
  bool has_value = false;
  std::string_view value = {};
};

SettingText split_text(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return {.name = text};
  return {.name = text.substr(0, equals), .has_value = true, .value = text.substr(equals + 1)};
}

Result<Setting> parse_plain(const PolicyInfo& info, const SettingText& parts, std::string_view text) {
  if (info.parameter.empty()) {
    if (parts.has_value) {
      return invalid_argument("setting is {}; allowed: {} (it takes no value)", quote_text(text), info.name);
    }
    return Setting{.kind = info.kind};
  }
  const std::int64_t max_value = find_policy(info.kind)->max_value;
  if (!parts.has_value) {
    if (info.is_parameter_optional) return Setting{.kind = info.kind};
    return invalid_argument("setting is {}; allowed: {}={} with an integer {} of 1..{}", quote_text(text),
                            info.name, info.parameter, info.parameter, max_value);
  }
  const Result<std::int64_t> value = parse_integer(
      fmt::format("{} of {}={}", info.parameter, info.name, info.parameter), parts.value, 1, max_value);
  if (!value.ok()) return value.status();
  return Setting{.kind = info.kind, .value = *value};
}

Result<Setting> read_measured(const SettingText& parts, std::string_view text) {
  if (parts.value.empty()) {
    return invalid_argument("setting is {}; allowed: measured=PROFILE with the path of a profile",
                            quote_text(text));
  }
  const std::string path(parts.value);
  Result<Profile> profile = Profile::read(path);
  if (!profile.ok()) return profile.status();
  return Setting{.kind = PolicyKind::measured,
                 .profile = std::make_shared<const Profile>(*std::move(profile)),
                 .profile_path = path};
}

Status unknown_setting(std::string_view text, bool with_measured) {
  return invalid_argument("setting is {}; allowed: {}", quote_text(text), allowed_settings(with_measured));
}

}  // namespace

Result<Setting> parse_unmeasured_setting(std::string_view text) {
  const SettingText parts = split_text(text);
  const PolicyInfo* info = find_info(parts.name);
  if (info == nullptr || info->kind == PolicyKind::measured) {
    return unknown_setting(text, /*with_measured=*/false);
  }
  return parse_plain(*info, parts, text);
}

Result<Setting> parse_setting(std::string_view text) {
  const SettingText parts = split_text(text);
  const PolicyInfo* info = find_info(parts.name);
  if (info == nullptr) return unknown_setting(text, /*with_measured=*/true);
  if (info->kind == PolicyKind::measured) return read_measured(parts, text);
  return parse_plain(*info, parts, text);
}

std::string to_string(const Setting& setting) {
  const Policy* policy = find_policy(setting.kind);
  if (policy == nullptr) return fmt::format("unknown policy {}", static_cast<int>(setting.kind));
  if (setting.kind == PolicyKind::measured) {
    return fmt::format("{}={}", policy->info.name, setting.profile_path);
  }
  const PolicyInfo& info = policy->info;
  const bool stands_alone = info.parameter.empty() || (info.is_parameter_optional && setting.value == 0);
  return stands_alone ? std::string(info.name) : fmt::format("{}={}", info.name, setting.value);
}

}  // namespace wavefill
