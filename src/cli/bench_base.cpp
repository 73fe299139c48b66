#include "cli/bench_base.h"

#include <cmath>
#include <set>
#include <utility>

#include "cli/files.h"
#include "cli/number_list.h"
#include "core/errors.h"
#include "core/parse.h"
#include "core/strict_json.h"
#include "core/utf8.h"

namespace wavefill::cli {
namespace {

using Json = nlohmann::json;

constexpr int kMaxDepth = 4;  // document, results, row, samples

template <typename... Args>
Status corrupt(fmt::format_string<Args...> format, Args&&... args) {
  return make_status(StatusCode::corrupt_data, format, std::forward<Args>(args)...);
}

// The value of `name` in the object called `where`; nullptr with a fault if there is none of that type.
template <typename IsType>
Result<const Json*> read_field(const Json& object, const std::string& where, const char* name,
                               std::string_view allowed, IsType is_type) {
  const auto found = object.find(name);
  if (found == object.end()) return corrupt("{} has no {}", where, name);
  if (!is_type(*found)) return corrupt("{}.{} is {}; allowed: {}", where, name, found->type_name(), allowed);
  return &*found;
}

Status read_text(const Json& object, const std::string& where, const char* name, std::string& text) {
  const auto json =
      read_field(object, where, name, "text", [](const Json& value) { return value.is_string(); });
  if (!json.ok()) return json.status();
  text = (*json)->get_ref<const std::string&>();
  // It is printed: what a terminal would obey must not come that far.
  if (find_control_character(text) == std::string::npos) return {};
  return corrupt("{}.{} is {}; allowed: text without control characters", where, name, quote_text(text));
}

Status read_batch(const Json& row, const std::string& where, std::int32_t& batch) {
  const auto json = read_field(row, where, "batch", "an integer",
                               [](const Json& value) { return value.is_number_integer(); });
  if (!json.ok()) return json.status();
  // Unsigned values beyond int64 become negative here, and are refused like those.
  const auto value = (*json)->get<std::int64_t>();
  if (value < 1 || value > kMaxBatch) {
    return corrupt("{}.batch is {}; allowed: 1..{}", where, (*json)->dump(), kMaxBatch);
  }
  batch = static_cast<std::int32_t>(value);
  return {};
}

Status read_samples(const Json& row, const std::string& where, std::vector<double>& samples_us) {
  const auto json =
      read_field(row, where, "samples_us", "an array", [](const Json& value) { return value.is_array(); });
  if (!json.ok()) return json.status();
  for (const Json& sample : **json) {
    if (!sample.is_number())
      return corrupt("a sample of {} is {}; allowed: a number", where, sample.type_name());
    const auto us = sample.get<double>();
    if (!std::isfinite(us) || us <= 0.0)
      return corrupt("a sample of {} is {}; allowed: finite and > 0", where, us);
    samples_us.push_back(us);
  }
  return {};
}

Result<BenchBase::Row> read_row(const Json& json, const std::string& where) {
  if (!json.is_object()) return corrupt("{} is {}; allowed: an object", where, json.type_name());
  BenchBase::Row row;
  WAVEFILL_RETURN_IF_ERROR(read_batch(json, where, row.batch));
  WAVEFILL_RETURN_IF_ERROR(read_text(json, where, "setting", row.setting));
  WAVEFILL_RETURN_IF_ERROR(read_samples(json, where, row.samples_us));
  return row;
}

Result<std::vector<BenchBase::Row>> read_rows(const Json& document) {
  const auto results = read_field(document, "the document", "results", "an array",
                                  [](const Json& value) { return value.is_array(); });
  if (!results.ok()) return results.status();
  std::vector<BenchBase::Row> rows;
  std::set<std::pair<std::int32_t, std::string>> seen;
  std::size_t number = 0;
  for (const Json& json : **results) {
    const std::string where = fmt::format("results[{}]", number++);
    Result<BenchBase::Row> row = read_row(json, where);
    if (!row.ok()) return row.status();
    // Which of the two a run was held against would be chance.
    if (!seen.emplace(row->batch, row->setting).second) {
      return corrupt("{} is {} at batch {} again", where, quote_text(row->setting), row->batch);
    }
    // Without samples its output was wrong, or the machine was never quiet.
    if (!row->samples_us.empty()) rows.push_back(*std::move(row));
  }
  if (rows.empty()) return corrupt("it has no samples");
  return rows;
}

Result<BenchBase> read_document(std::string_view text) {
  const Result<Json> document = parse_strict_json(text, kMaxDepth);
  if (!document.ok()) return corrupt("it {}", document.status().message());
  if (!document->is_object()) return corrupt("not a JSON object");
  BenchBase base;
  for (const auto& [name, field] : {std::pair{"title", &base.title},
                                    {"device", &base.device},
                                    {"kernel", &base.kernel},
                                    {"timing", &base.timing}}) {
    WAVEFILL_RETURN_IF_ERROR(read_text(*document, "the document", name, *field));
  }
  Result<std::vector<BenchBase::Row>> rows = read_rows(*document);
  if (!rows.ok()) return rows.status();
  base.rows = *std::move(rows);
  return base;
}

}  // namespace

Result<BenchBase> parse_bench_base(const std::string& path, std::string_view text) {
  Result<BenchBase> base = read_document(text);
  if (!base.ok()) {
    return corrupt("--compare {} is not what wavefill bench --json writes: {}", quote_text(path),
                   base.status().message());
  }
  base->path = path;
  return base;
}

Result<BenchBase> read_bench_base(const std::string& path) {
  const Result<std::string> text = read_file("--compare", path);
  if (!text.ok()) return text.status();
  return parse_bench_base(path, *text);
}

}  // namespace wavefill::cli
