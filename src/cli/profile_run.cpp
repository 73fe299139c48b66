#include "cli/profile_run.h"

#include <fmt/format.h>

#include <memory>
#include <set>

#include "core/errors.h"
#include "plan/profile_file.h"
#include "wavefill/kv_format.h"

namespace wavefill::cli {
namespace {

// The shape that a key stands for.
Result<DecodeShape> shape_of(const ProfileKey& key) {
  const Result<KvFormat> format = parse_kv_format(key.kv_format);
  if (!format.ok()) return format.status();
  const DecodeShape shape{.batch = 1,
                          .s_q = key.s_q,
                          .num_heads = key.num_heads,
                          .kv_format = *format,
                          .d_qk = key.d_qk,
                          .topk = key.topk,
                          .extra_topk = key.extra_topk};
  WAVEFILL_RETURN_IF_ERROR(validate(shape));
  return shape;
}

// Plans every batch as the runtime would.
Status plan_all(const std::string& path, const std::shared_ptr<const Profile>& profile, PlanRequest request) {
  request.setting = Setting{.kind = PolicyKind::measured, .profile = profile, .profile_path = path};
  for (const ProfileEntry& entry : profile->entries()) {
    request.shape.batch = entry.batch;
    if (const auto plan = make_plan(request); !plan.ok()) return plan.status();
  }
  return {};
}

Json key_json(const std::vector<KeyDifference>& differing) {
  Json json = Json::array();
  for (const KeyDifference& field : differing) {
    json.push_back({{"field", field.field}, {"a", field.a}, {"b", field.b}});
  }
  return json;
}

Json entry_json(const std::optional<ProfileEntry>& entry) {
  if (!entry) return nullptr;
  return {{"setting", to_string(entry->setting)}, {"us", entry->us}};
}

std::string entry_text(const std::optional<ProfileEntry>& entry) {
  return entry ? to_string(entry->setting) : std::string("nothing");
}

std::string us_text(const std::optional<ProfileEntry>& entry) {
  return entry ? fmt::format("{:.1f}", entry->us) : std::string("-");
}

std::string differences_text(const std::vector<KeyDifference>& differing, std::string_view a,
                             std::string_view b) {
  std::string text;
  for (const KeyDifference& field : differing) {
    text += fmt::format("{}: {} {}, {} {}\n", field.field, a, field.a, b, field.b);
  }
  return text;
}

}  // namespace

Json show_document(const Profile& profile) { return Json::parse(profile.to_json()); }

std::string show_text(const Profile& profile, const report::TerminalStyle& style) {
  std::string text;
  for_each_key_field([&](const char* name, auto field, std::int32_t) {
    text += fmt::format("{:<27}{}\n", name, profile.key().*field);
  });
  report::TextTable table(
      {{"batch"}, {"setting", report::Align::left}, {"us"}, {"low"}, {"high"}, {"samples"}});
  for (const ProfileEntry& entry : profile.entries()) {
    table.add_row({std::to_string(entry.batch), to_string(entry.setting), fmt::format("{:.1f}", entry.us),
                   fmt::format("{:.1f}", entry.us_low), fmt::format("{:.1f}", entry.us_high),
                   std::to_string(entry.samples)});
  }
  return text + "\n" + table.render(style);
}

Result<ProfileCheck> check_profile(const std::string& path, const DeviceOptions& device) {
  ProfileCheck check;
  check.path = path;
  Result<Profile> read = Profile::read(path);
  if (!read.ok() && read.status().code() != StatusCode::corrupt_data) return read.status();
  if (!read.ok()) {
    check.problem = read.status().message();
    return check;
  }
  const auto profile = std::make_shared<const Profile>(*std::move(read));
  const Result<DecodeShape> shape = shape_of(profile->key());
  if (!shape.ok()) {
    check.problem = shape.status().message();
    return check;
  }
  const Result<std::unique_ptr<Backend>> backend = open_device(device);
  if (!backend.ok()) return backend.status();
  const Result<KernelSpec> kernel = read_kernel(**backend, device, *shape, profile->key().kernel);
  if (!kernel.ok() && kernel.status().code() != StatusCode::unsupported) return kernel.status();
  if (!kernel.ok()) {
    check.problem = kernel.status().message();
    return check;
  }
  PlanRequest request;
  request.device = (*backend)->device();
  request.kernel = *kernel;
  request.shape = *shape;
  check.differing = differences(profile->key(), key_of(request.device, request.kernel, request.shape));
  check.problem = plan_all(path, profile, request).message();
  check.batches = profile->entries().size();
  return check;
}

Json document(const ProfileCheck& check) {
  return {{"profile", check.path},
          {"served", check.problem.empty()},
          {"problem", check.problem.empty() ? Json() : Json(check.problem)},
          {"differences", key_json(check.differing)},
          {"batches", check.batches}};
}

std::string text_of(const ProfileCheck& check) {
  if (check.problem.empty())
    return fmt::format("{} would be served here: {} batch sizes\n", check.path, check.batches);
  return fmt::format("{} would not be served here: {}\n{}", check.path, check.problem,
                     differences_text(check.differing, "measured for", "here"));
}

ProfileDiff diff_profiles(const Profile& a, const Profile& b) {
  ProfileDiff diff;
  diff.key = differences(a.key(), b.key());
  std::set<std::int32_t> batches;
  for (const Profile* profile : {&a, &b}) {
    for (const ProfileEntry& entry : profile->entries()) batches.insert(entry.batch);
  }
  for (const std::int32_t batch : batches) {
    const ProfileEntry* in_a = a.serving(batch);
    const ProfileEntry* in_b = b.serving(batch);
    if (in_a != nullptr && in_b != nullptr && in_a->setting == in_b->setting) continue;
    ProfileDiff::Row row{.batch = batch, .a = {}, .b = {}};
    if (in_a != nullptr) row.a = *in_a;
    if (in_b != nullptr) row.b = *in_b;
    diff.rows.push_back(std::move(row));
  }
  return diff;
}

Json document(const ProfileDiff& diff) {
  Json rows = Json::array();
  for (const ProfileDiff::Row& row : diff.rows) {
    rows.push_back({{"batch", row.batch}, {"a", entry_json(row.a)}, {"b", entry_json(row.b)}});
  }
  return {{"key", key_json(diff.key)}, {"batches", std::move(rows)}};
}

std::string text_of(const ProfileDiff& diff, const report::TerminalStyle& style) {
  if (diff.key.empty() && diff.rows.empty()) return "the same is served at every batch size\n";
  std::string text = differences_text(diff.key, "a", "b");
  if (diff.rows.empty()) return text;
  using report::Align;
  report::TextTable table({{"batch"}, {"a", Align::left}, {"us"}, {"b", Align::left}, {"us"}});
  for (const ProfileDiff::Row& row : diff.rows) {
    table.add_row(
        {std::to_string(row.batch), entry_text(row.a), us_text(row.a), entry_text(row.b), us_text(row.b)});
  }
  return text + (text.empty() ? "" : "\n") + table.render(style);
}

}  // namespace wavefill::cli
