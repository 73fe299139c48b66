#include "cli/number_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/errors.h"
#include "core/parse.h"

namespace wavefill::cli {
namespace {

constexpr std::int64_t kDayS = 24 * 60 * 60;

// A number, "first-last" or "first-last:step", appended to `numbers`.
Status append_part(std::string_view option, std::string_view part, std::int32_t max,
                   std::vector<std::int32_t>& numbers) {
  const std::size_t dash = part.find('-', 1);  // a leading '-' is a sign, which the number refuses
  const std::string_view first_text = part.substr(0, dash);
  const Result<std::int64_t> first = parse_integer(option, first_text, 1, max);
  if (!first.ok()) return first.status();
  if (dash == part.npos) {
    numbers.push_back(static_cast<std::int32_t>(*first));
    return {};
  }
  const std::string_view rest = part.substr(dash + 1);
  const std::size_t colon = rest.find(':');
  const Result<std::int64_t> last = parse_integer(option, rest.substr(0, colon), 1, max);
  if (!last.ok()) return last.status();
  if (*last < *first) {
    return invalid_argument("{} has the range {}; allowed: first-last with first <= last", option,
                            quote_text(part));
  }
  std::int64_t step = 1;
  if (colon != rest.npos) {
    const Result<std::int64_t> given =
        parse_integer(fmt::format("{} step", option), rest.substr(colon + 1), 1, max);
    if (!given.ok()) return given.status();
    step = *given;
  }
  for (std::int64_t number = *first; number <= *last && numbers.size() <= kMaxListSize; number += step) {
    numbers.push_back(static_cast<std::int32_t>(number));
  }
  return {};
}

}  // namespace

Result<std::vector<std::int32_t>> parse_number_list(std::string_view option, std::string_view text,
                                                    std::int32_t max) {
  std::vector<std::int32_t> numbers;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    WAVEFILL_RETURN_IF_ERROR(append_part(option, rest.substr(0, comma), max, numbers));
    if (numbers.size() > kMaxListSize) {
      return invalid_argument("{} has more than {} numbers; allowed: at most that many", option,
                              kMaxListSize);
    }
    if (comma == rest.npos) break;
    rest.remove_prefix(comma + 1);
  }
  std::ranges::sort(numbers);
  const auto repeated = std::ranges::adjacent_find(numbers);
  if (repeated != numbers.end()) {
    return invalid_argument("{} names {} twice; allowed: each once", option, *repeated);
  }
  return numbers;
}

Result<std::vector<std::int32_t>> parse_batch_list(std::string_view option, std::string_view text) {
  return parse_number_list(option, text, kMaxBatch);
}

Result<std::int64_t> parse_duration_s(std::string_view option, std::string_view text) {
  const auto wrong = [&] {
    return invalid_argument(
        "{} is {}; allowed: whole seconds or minutes with their unit, 1s..{}s, as in 90s or 2m", option,
        quote_text(text), kDayS);
  };
  if (!text.ends_with('s') && !text.ends_with('m')) return wrong();
  const std::int64_t unit_s = text.ends_with('m') ? 60 : 1;
  const Result<std::int64_t> count =
      parse_integer(option, text.substr(0, text.size() - 1), 1, kDayS / unit_s);
  if (!count.ok()) return wrong();
  return *count * unit_s;
}

}  // namespace wavefill::cli
