#include "tune/record_import.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "core/errors.h"
#include "core/parse.h"
#include "core/strict_json.h"
#include "core/utf8.h"
#include "wavefill/plan.h"

namespace wavefill {
namespace {

constexpr std::int64_t kMaxBatch = 1 << 20;
constexpr int kMaxDepth = 2;  // an object, and what a message can say of one inside it

// One record before it is evidence.
struct Record {
  std::string setting;
  std::int64_t batch = 0;
  std::optional<double> tokens_per_s;
  std::optional<double> us;
  bool is_blank = false;  // the figure's place is there and empty: proposed, not measured
};

template <typename... Args>
Status bad_line(std::size_t line, fmt::format_string<Args...> format, Args&&... args) {
  return make_status(StatusCode::corrupt_data, "line {}: {}", line,
                     fmt::format(format, std::forward<Args>(args)...));
}

// What begins with the name of one of our policies must be one of our settings: "target-ctas=51 2" is a slip
// of the pen, not somebody else's setting. Profiles are not opened: the records say what was measured.
Status check_setting(std::size_t line, const std::string& text) {
  if (text.empty()) return bad_line(line, "setting is empty; allowed: any other text");
  if (find_control_character(text) != std::string::npos) {
    return bad_line(line, "setting is {}; allowed: text without control characters", quote_text(text));
  }
  const std::string_view name = std::string_view(text).substr(0, text.find('='));
  const auto policy = std::ranges::find(all_policies(), name, &PolicyInfo::name);
  if (policy == all_policies().end() || policy->kind == PolicyKind::measured) return {};
  const auto setting = parse_setting(text);
  return setting.ok() ? Status{} : bad_line(line, "{}", setting.status().message());
}

// Collects records as evidence, one a (setting, batch), in the order first seen.
class Collector {
 public:
  Status add(std::size_t line, const Record& record) {
    WAVEFILL_RETURN_IF_ERROR(check_setting(line, record.setting));
    if (record.batch < 1 || record.batch > kMaxBatch) {
      return bad_line(line, "batch is {}; allowed: 1..{}", record.batch, kMaxBatch);
    }
    if (record.is_blank && !record.us && !record.tokens_per_s) {
      evidence_for(record);
      return {};
    }
    if (record.us.has_value() == record.tokens_per_s.has_value()) {
      return bad_line(line, "{} of us and tokens_per_s; allowed: one", record.us ? "both" : "none");
    }
    const double figure = record.us ? *record.us : *record.tokens_per_s;
    const double us = record.us ? figure : static_cast<double>(record.batch) * 1e6 / figure;
    if (!std::isfinite(figure) || figure <= 0.0 || !std::isfinite(us) || us <= 0.0) {
      return bad_line(line, "{} is {}; allowed: finite and > 0", record.us ? "us" : "tokens_per_s", figure);
    }
    // What a serving stack reports as tokens/s need not be batch / time of a step, so times of one kind
    // cannot be held against those of the other.
    if (in_us_.value_or(record.us.has_value()) != record.us.has_value()) {
      return bad_line(line, "{} after {} in the lines before; allowed: one of them in the whole file",
                      record.us ? "us" : "tokens_per_s", record.us ? "tokens_per_s" : "us");
    }
    in_us_ = record.us.has_value();
    evidence_for(record).samples.push_back({-1, us});
    return {};
  }

  Result<std::vector<Evidence>> take() {
    if (std::ranges::all_of(evidence_, [](const Evidence& item) { return item.samples.empty(); })) {
      return make_status(StatusCode::corrupt_data, "there is no record{}",
                         evidence_.empty() ? "" : " with a figure");
    }
    return std::move(evidence_);
  }

 private:
  Evidence& evidence_for(const Record& record) {
    const auto [place, is_new] = places_.try_emplace({record.setting, record.batch}, evidence_.size());
    if (is_new) {
      evidence_.push_back({});
      evidence_.back().setting = record.setting;
      evidence_.back().batch = static_cast<std::int32_t>(record.batch);
    }
    return evidence_[place->second];
  }

  std::vector<Evidence> evidence_;
  std::map<std::pair<std::string, std::int64_t>, std::size_t> places_;  // in evidence_
  std::optional<bool> in_us_;                                           // the unit of the records so far
};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// The text without the mark that some editors and spreadsheets put before UTF-8.
std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  return text.starts_with(kMark) ? text.substr(kMark.size()) : text;
}

Status check_utf8(std::string_view text) {
  const std::size_t at = find_invalid_utf8(text);
  if (at == std::string_view::npos) return {};
  const auto line = static_cast<std::size_t>(std::ranges::count(text.substr(0, at), '\n')) + 1;
  return bad_line(line, "byte {} is not UTF-8; allowed: UTF-8", quote_text(text.substr(at, 1)));
}

// Calls visit(line number, line) for each line that says something; stops at the first error.
template <typename Visit>
Status for_each_line(std::string_view text, Visit visit) {
  text = without_byte_order_mark(text);
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.empty() || line.front() == '#') continue;
    WAVEFILL_RETURN_IF_ERROR(visit(number, line));
  }
  return {};
}

// The fields of one CSV line; a record does not go over several lines.
Result<std::vector<std::string>> split_fields(std::size_t number, std::string_view line) {
  std::vector<std::string> fields(1);
  bool in_quotes = false;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char byte = line[at];
    if (in_quotes && byte == '"' && at + 1 < line.size() && line[at + 1] == '"') {
      fields.back() += line[++at];
    } else if (byte == '"' && (in_quotes || trimmed(fields.back()).empty())) {
      in_quotes = !in_quotes;
    } else if (byte == ',' && !in_quotes) {
      fields.emplace_back();
    } else {
      fields.back() += byte;
    }
  }
  if (in_quotes) return bad_line(number, "a quote is not closed");
  for (std::string& field : fields) field = std::string(trimmed(field));
  return fields;
}

// Where the columns are. -1: not there.
struct Columns {
  std::ptrdiff_t setting = -1;
  std::ptrdiff_t batch = -1;
  std::ptrdiff_t tokens_per_s = -1;
  std::ptrdiff_t us = -1;
  std::size_t count = 0;
};

Result<Columns> read_header(std::size_t number, const std::vector<std::string>& names) {
  const auto place = [&](std::string_view name) {
    const auto found = std::ranges::find(names, name);
    return found == names.end() ? std::ptrdiff_t{-1} : found - names.begin();
  };
  const Columns columns{.setting = place("setting"),
                        .batch = place("batch"),
                        .tokens_per_s = place("tokens_per_s"),
                        .us = place("us"),
                        .count = names.size()};
  for (const std::string& name : names) {
    const bool known = name == "setting" || name == "batch" || name == "tokens_per_s" || name == "us";
    if (!known || std::ranges::count(names, name) > 1) {
      return bad_line(number, "column {}{}; allowed: setting, batch, and tokens_per_s or us, each once",
                      quote_text(name), known ? " stands twice" : "");
    }
  }
  if (columns.setting < 0 || columns.batch < 0 || (columns.tokens_per_s < 0) == (columns.us < 0)) {
    return bad_line(number, "columns are {}; allowed: setting, batch, and one of tokens_per_s and us",
                    fmt::join(names, ","));
  }
  return columns;
}

Result<double> parse_figure(std::size_t line, std::string_view name, std::string_view text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return bad_line(line, "{} is {}; allowed: a number > 0", name, quote_text(text));
  }
  return value;
}

Result<Record> read_row(std::size_t line, const Columns& columns, const std::vector<std::string>& fields) {
  if (fields.size() != columns.count) {
    return bad_line(line, "{} fields; allowed: {}, as in the header", fields.size(), columns.count);
  }
  const auto field = [&](std::ptrdiff_t column) { return fields[static_cast<std::size_t>(column)]; };
  Record record;
  record.setting = field(columns.setting);
  const auto batch = parse_integer("batch", field(columns.batch), 1, kMaxBatch);
  if (!batch.ok()) return bad_line(line, "{}", batch.status().message());
  record.batch = *batch;
  const bool has_us = columns.us >= 0;
  const std::string text = field(has_us ? columns.us : columns.tokens_per_s);
  record.is_blank = text.empty();
  if (record.is_blank) return record;
  const auto figure = parse_figure(line, has_us ? "us" : "tokens_per_s", text);
  if (!figure.ok()) return figure.status();
  (has_us ? record.us : record.tokens_per_s) = *figure;
  return record;
}

// Structures are named rather than shown, since they may be long.
std::string shown(const nlohmann::json& value) {
  if (value.is_structured()) return value.type_name();
  return quote_text(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

Result<Record> read_object(std::size_t line, std::string_view text) {
  const auto json = parse_strict_json(text, kMaxDepth);
  if (!json.ok()) return bad_line(line, "{} {}", quote_text(text), json.status().message());
  if (!json->is_object()) return bad_line(line, "{} is not a JSON object", quote_text(text));
  Record record;
  for (const auto& [name, value] : json->items()) {
    if (name == "setting" && value.is_string()) {
      record.setting = value.get<std::string>();
    } else if (name == "batch" && value.is_number_integer()) {
      record.batch = value.get<std::int64_t>();
      // Unsigned values beyond int64 would be shown as the negative ones that they become.
      if (value.is_number_unsigned() && record.batch < 0) record.batch = INT64_MAX;
    } else if (name == "tokens_per_s" && value.is_number()) {
      record.tokens_per_s = value.get<double>();
    } else if (name == "us" && value.is_number()) {
      record.us = value.get<double>();
    } else if ((name == "us" || name == "tokens_per_s") && value.is_null()) {
      record.is_blank = true;
    } else {
      return bad_line(
          line, "{} is {}; allowed: setting (text), batch (integer), and tokens_per_s or us (number or null)",
          quote_text(name), shown(value));
    }
  }
  return record;
}

}  // namespace

Result<std::vector<Evidence>> parse_records_csv(std::string_view text) {
  WAVEFILL_RETURN_IF_ERROR(check_utf8(text));
  Collector collector;
  std::optional<Columns> columns;
  const Status status = for_each_line(text, [&](std::size_t number, std::string_view line) -> Status {
    const auto fields = split_fields(number, line);
    if (!fields.ok()) return fields.status();
    if (!columns) {
      const auto header = read_header(number, *fields);
      if (!header.ok()) return header.status();
      columns = *header;
      return {};
    }
    const auto record = read_row(number, *columns, *fields);
    return record.ok() ? collector.add(number, *record) : record.status();
  });
  if (!status.ok()) return status;
  return collector.take();
}

Result<std::vector<Evidence>> parse_records_jsonl(std::string_view text) {
  WAVEFILL_RETURN_IF_ERROR(check_utf8(text));
  Collector collector;
  const Status status = for_each_line(text, [&](std::size_t number, std::string_view line) -> Status {
    const auto record = read_object(number, line);
    return record.ok() ? collector.add(number, *record) : record.status();
  });
  if (!status.ok()) return status;
  return collector.take();
}

Result<std::vector<Evidence>> parse_records(std::string_view text) {
  bool is_json = false;
  bool is_first = true;
  static_cast<void>(for_each_line(text, [&](std::size_t, std::string_view line) -> Status {
    is_json = is_first ? line.front() == '{' : is_json;
    is_first = false;
    return {};
  }));
  return is_json ? parse_records_jsonl(text) : parse_records_csv(text);
}

}  // namespace wavefill
