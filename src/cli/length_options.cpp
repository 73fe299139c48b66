#include "cli/length_options.h"

#include <fmt/format.h>

#include "cli/files.h"
#include "core/errors.h"
#include "core/parse.h"

namespace wavefill::cli {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

// One line of the file, without its comment.
Status append_row(std::string_view line, const DecodeShape& shape, RowLengths& rows) {
  const std::size_t comma = line.find(',');
  const Result<std::int64_t> length = parse_integer("length", trimmed(line.substr(0, comma)), 0, shape.topk);
  if (!length.ok()) return length.status();
  std::int64_t extra = shape.extra_topk;
  if (comma != line.npos) {
    const Result<std::int64_t> given =
        parse_integer("extra length", trimmed(line.substr(comma + 1)), 0, shape.extra_topk);
    if (!given.ok()) return given.status();
    extra = *given;
  }
  rows.main.push_back(static_cast<std::int32_t>(*length));
  rows.extra.push_back(static_cast<std::int32_t>(extra));
  return {};
}

Result<RowLengths> parse_rows(const std::string& path, std::string_view text, const DecodeShape& shape) {
  RowLengths rows;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = trimmed(text.substr(0, end).substr(0, text.substr(0, end).find('#')));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    if (line.empty()) continue;
    if (const Status status = append_row(line, shape, rows); !status.ok()) {
      return make_status(StatusCode::corrupt_data, "{} line {}: {}", quote_text(path), number,
                         status.message());
    }
  }
  if (static_cast<std::int64_t>(rows.main.size()) < shape.rows()) {
    return make_status(StatusCode::corrupt_data, "{} has {} rows; allowed: at least {} (batch * s_q)",
                       quote_text(path), rows.main.size(), shape.rows());
  }
  return rows;
}

Result<std::vector<std::int32_t>> same_length(std::string_view option, const std::string& text,
                                              std::int64_t width, std::int64_t num_rows) {
  if (text.empty()) return std::vector<std::int32_t>{};
  const Result<std::int64_t> length = parse_integer(option, text, 0, width);
  if (!length.ok()) return length.status();
  return std::vector<std::int32_t>(static_cast<std::size_t>(num_rows), static_cast<std::int32_t>(*length));
}

}  // namespace

void add_length_options(OptionSet& set, LengthOptions& options) {
  set.begin_group("Lengths");
  set.text("--length", options.length, "N", "tokens of the main cache each row has (default: topk)");
  set.text("--extra-length", options.extra_length, "N",
           "tokens of the extra cache each row has (default: extra-topk)");
  set.text("--lengths", options.file, "FILE",
           "one row a line: length, or length,extra_length; # starts a comment");
}

Result<RowLengths> read_lengths(const LengthOptions& options, const DecodeShape& shape) {
  if (!options.file.empty()) {
    if (!options.length.empty() || !options.extra_length.empty()) {
      return invalid_argument("--lengths is given with --length or --extra-length; allowed: one of them");
    }
    const Result<std::string> text = read_file("--lengths", options.file);
    if (!text.ok()) return text.status();
    return parse_rows(options.file, *text, shape);
  }
  Result<std::vector<std::int32_t>> main = same_length("--length", options.length, shape.topk, shape.rows());
  if (!main.ok()) return main.status();
  Result<std::vector<std::int32_t>> extra =
      same_length("--extra-length", options.extra_length, shape.extra_topk, shape.rows());
  if (!extra.ok()) return extra.status();
  return RowLengths{.main = *std::move(main), .extra = *std::move(extra)};
}

}  // namespace wavefill::cli
