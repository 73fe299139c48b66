#include "core/parse.h"

#include <charconv>

#include "core/errors.h"

namespace wavefill {
namespace {

constexpr std::size_t kMaxQuotedBytes = 64;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// from_chars itself takes a minus sign and stops at the first odd character; both are refused here.
bool is_decimal(std::string_view text) {
  if (text.empty() || (text.size() > 1 && text.front() == '0')) return false;
  for (const char c : text) {
    if (!is_digit(c)) return false;
  }
  return true;
}

}  // namespace

std::string quote_text(std::string_view text) {
  std::string result = "'";
  for (const char c : text.substr(0, kMaxQuotedBytes)) {
    if (c >= ' ' && c <= '~') {
      result += c;
    } else {
      result += fmt::format("\\x{:02X}", static_cast<unsigned char>(c));
    }
  }
  result += text.size() > kMaxQuotedBytes ? "...'" : "'";
  return result;
}

Result<std::int64_t> parse_integer(std::string_view name, std::string_view text, std::int64_t min,
                                   std::int64_t max) {
  std::int64_t value = 0;
  const bool fits =
      is_decimal(text) && std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc{};
  if (!fits || value < min || value > max) {
    return invalid_argument("{} is {}; allowed: an integer {}..{}", name, quote_text(text), min, max);
  }
  return value;
}

}  // namespace wavefill
