// Profiles as strict JSON.
#include <cmath>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "core/errors.h"
#include "core/parse.h"
#include "core/strict_json.h"
#include "core/utf8.h"
#include "plan/profile_file.h"
#include "plan/setting.h"
#include "wavefill/profile.h"

namespace wavefill {
namespace {

using Json = nlohmann::json;

template <typename... Args>
Status corrupt(fmt::format_string<Args...> format, Args&&... args) {
  return make_status(StatusCode::corrupt_data, format, std::forward<Args>(args)...);
}

constexpr int kMaxDepth = 3;  // document, entries, entry

Result<Json> parse_document(std::string_view text) {
  if (text.size() > kMaxProfileBytes) {
    return corrupt("more than {} bytes; allowed: <= {}", kMaxProfileBytes, kMaxProfileBytes);
  }
  Result<Json> document = parse_strict_json(text, kMaxDepth);
  if (!document.ok()) return corrupt("the document {}", document.status().message());
  return document;
}

// Reads the fields of one object. The first fault stays; later reads then return defaults. `where` is
// "key" or "entries[3]".
class ObjectReader {
 public:
  ObjectReader(const Json& value, std::string where) : value_(value), where_(std::move(where)) {
    if (!value.is_object()) status_ = corrupt("{} is {}; allowed: an object", where_, value.type_name());
  }

  const Json* field(const char* name) {
    if (!status_.ok()) return nullptr;
    const auto found = value_.find(name);
    if (found == value_.end()) {
      status_ = corrupt("{} has no field {}", where_, name);
      return nullptr;
    }
    ++fields_read_;
    return &*found;
  }

  std::string text(const char* name) {
    const Json* json = field(name);
    if (json == nullptr) return {};
    if (!json->is_string()) {
      return fail_type(name, *json, "a string");
    }
    const auto& text = json->get_ref<const std::string&>();
    // It is printed: what a terminal would obey must not come that far.
    if (find_control_character(text) != std::string::npos) {
      status_ =
          corrupt("{}.{} is {}; allowed: text without control characters", where_, name, quote_text(text));
      return {};
    }
    return text;
  }

  std::int32_t integer(const char* name, std::int32_t min) {
    return static_cast<std::int32_t>(integer64(name, min, INT32_MAX));
  }

  std::int64_t integer64(const char* name, std::int64_t min, std::int64_t max) {
    const Json* json = field(name);
    if (json == nullptr) return 0;
    if (!json->is_number_integer()) {
      fail_type(name, *json, "an integer");
      return 0;
    }
    // Unsigned values beyond int64 become negative here, and are refused like those.
    const auto value = json->get<std::int64_t>();
    if (value < min || value > max) {
      status_ = corrupt("{}.{} is {}; allowed: {}..{}", where_, name, json->dump(), min, max);
      return 0;
    }
    return value;
  }

  double positive(const char* name) {
    const Json* json = field(name);
    if (json == nullptr) return 0.0;
    if (!json->is_number()) {
      fail_type(name, *json, "a number");
      return 0.0;
    }
    const auto value = json->get<double>();
    if (!std::isfinite(value) || value <= 0.0) {
      status_ = corrupt("{}.{} is {}; allowed: finite and > 0", where_, name, json->dump());
    }
    return value;
  }

  // Status of all reads, and whether the object holds nothing else.
  Status finish() const {
    if (status_.ok() && fields_read_ != value_.size()) {
      return corrupt("{} has {} fields; allowed: the {} of this schema and no other", where_, value_.size(),
                     fields_read_);
    }
    return status_;
  }

  void fail(Status status) {
    if (status_.ok()) status_ = std::move(status);
  }
  bool ok() const { return status_.ok(); }
  const std::string& where() const { return where_; }

 private:
  std::string fail_type(const char* name, const Json& json, std::string_view allowed) {
    status_ = corrupt("{}.{} is {}; allowed: {}", where_, name, json.type_name(), allowed);
    return {};
  }

  const Json& value_;
  std::string where_;
  Status status_;
  std::size_t fields_read_ = 0;
};

ProfileKey read_key(ObjectReader& reader) {
  ProfileKey key;
  for_each_key_field([&](const char* name, auto field, std::int32_t min) {
    if constexpr (std::is_same_v<decltype(field), std::string ProfileKey::*>) {
      key.*field = reader.text(name);
    } else if constexpr (std::is_same_v<decltype(field), std::int64_t ProfileKey::*>) {
      key.*field = reader.integer64(name, min, INT64_MAX);
    } else {
      key.*field = reader.integer(name, min);
    }
  });
  return key;
}

ProfileEntry read_entry(ObjectReader& reader) {
  ProfileEntry entry;
  entry.batch = reader.integer("batch", 1);
  const std::string setting_text = reader.text("setting");
  entry.us = reader.positive("us");
  entry.us_low = reader.positive("us_low");
  entry.us_high = reader.positive("us_high");
  entry.samples = reader.integer("samples", 1);
  if (!reader.ok()) return entry;
  if (entry.us < entry.us_low || entry.us > entry.us_high) {
    reader.fail(corrupt("{}.us is {}; allowed: us_low..us_high, {}..{}", reader.where(), entry.us,
                        entry.us_low, entry.us_high));
  }
  Result<Setting> setting = parse_unmeasured_setting(setting_text);
  if (setting.ok()) {
    entry.setting = *std::move(setting);
  } else {
    reader.fail(corrupt("{}.{}", reader.where(), setting.status().message()));
  }
  return entry;
}

Result<std::vector<ProfileEntry>> read_entries(const Json& json) {
  if (!json.is_array() || json.empty()) {
    return corrupt("entries is {}; allowed: an array with at least one entry",
                   json.is_array() ? "empty" : json.type_name());
  }
  std::vector<ProfileEntry> entries;
  entries.reserve(json.size());
  for (const Json& element : json) {
    ObjectReader reader(element, fmt::format("entries[{}]", entries.size()));
    ProfileEntry entry = read_entry(reader);
    WAVEFILL_RETURN_IF_ERROR(reader.finish());
    if (!entries.empty() && entry.batch <= entries.back().batch) {
      return corrupt("{}.batch is {}; allowed: > {}, the batch before it", reader.where(), entry.batch,
                     entries.back().batch);
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace

Result<Profile> Profile::parse(std::string_view json) {
  const Result<Json> document = parse_document(json);
  if (!document.ok()) return document.status();
  ObjectReader reader(*document, "the document");
  // The schema first: a foreign file is named as such, not by the first field it happens to lack.
  if (const std::string schema = reader.text("schema"); reader.ok() && schema != kProfileSchema) {
    return corrupt("schema is {}; allowed: '{}'", quote_text(schema), kProfileSchema);
  }
  const Json* key_json = reader.field("key");
  const Json* entries_json = reader.field("entries");
  WAVEFILL_RETURN_IF_ERROR(reader.finish());

  ObjectReader key_reader(*key_json, "key");
  ProfileKey key = read_key(key_reader);
  WAVEFILL_RETURN_IF_ERROR(key_reader.finish());
  Result<std::vector<ProfileEntry>> entries = read_entries(*entries_json);
  if (!entries.ok()) return entries.status();
  return Profile(std::move(key), *std::move(entries));
}

std::string Profile::to_json() const {
  using Ordered = nlohmann::ordered_json;
  Ordered entries = Ordered::array();
  for (const ProfileEntry& entry : entries_) {
    entries.push_back({{"batch", entry.batch},
                       {"setting", to_string(entry.setting)},
                       {"us", entry.us},
                       {"us_low", entry.us_low},
                       {"us_high", entry.us_high},
                       {"samples", entry.samples}});
  }
  Ordered key = Ordered::object();
  for_each_key_field([&](const char* name, auto field, std::int32_t) { key[name] = key_.*field; });
  const Ordered document = {
      {"schema", kProfileSchema}, {"key", std::move(key)}, {"entries", std::move(entries)}};
  // A device name that is not UTF-8 becomes one that no lookup matches, rather than an exception.
  return document.dump(2, ' ', /*ensure_ascii=*/true, Ordered::error_handler_t::replace) + "\n";
}

}  // namespace wavefill
