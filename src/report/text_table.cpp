#include "report/text_table.h"

#include <algorithm>
#include <cmath>

namespace wavefill::report {
namespace {

constexpr std::string_view kGap = "  ";
constexpr std::string_view kReset = "\x1b[0m";

std::string_view escape_of(Tone tone) {
  switch (tone) {
    case Tone::plain: return "";
    case Tone::good: return "\x1b[32m";
    case Tone::bad: return "\x1b[31m";
    case Tone::dim: return "\x1b[2m";
  }
  return "";
}

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

std::string without_control_characters(std::string_view text) {
  std::string clean(text);
  std::ranges::replace_if(
      clean, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, '?');
  return clean;
}

std::string repeated(std::string_view unit, std::size_t count) {
  std::string result;
  for (std::size_t i = 0; i < count; ++i) result += unit;
  return result;
}

std::string without_trailing_blanks(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

// `shown` is `text` with escapes, which take no columns; the last column is not padded on the right.
std::string aligned(std::string_view shown, std::string_view text, std::size_t width, Align align,
                    bool is_last) {
  const std::string padding(width - std::min(width, display_width(text)), ' ');
  if (align == Align::right) return padding + std::string(shown);
  return std::string(shown) + (is_last ? "" : padding);
}

}  // namespace

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return !is_continuation(c); }));
}

std::string emphasised(std::string_view text, const TerminalStyle& style) {
  if (!style.color || text.empty()) return std::string(text);
  return "\x1b[1m" + std::string(text) + std::string(kReset);
}

std::string toned(std::string_view text, Tone tone, const TerminalStyle& style) {
  if (!style.color || tone == Tone::plain || text.empty()) return std::string(text);
  return std::string(escape_of(tone)) + std::string(text) + std::string(kReset);
}

std::string bar(double fraction, std::size_t width, const TerminalStyle& style) {
  const double clamped = std::clamp(fraction, 0.0, 1.0);
  const auto filled = static_cast<std::size_t>(std::lround(clamped * static_cast<double>(width)));
  return style.unicode ? repeated("\u2588", filled) + repeated("\u2591", width - filled)
                       : repeated("#", filled) + repeated(".", width - filled);
}

void TextTable::add_row(std::vector<Cell> cells) {
  for (Cell& cell : cells) cell.text = without_control_characters(cell.text);
  cells.resize(columns_.size(), Cell(""));
  rows_.push_back(std::move(cells));
}

std::string TextTable::render(const TerminalStyle& style) const {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t width = display_width(columns_[c].title);
    for (const auto& row : rows_) width = std::max(width, display_width(row[c].text));
    widths.push_back(width);
  }

  std::string header;
  std::string rule;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const bool is_last = c + 1 == columns_.size();
    const std::string& title = columns_[c].title;
    header += aligned(emphasised(title, style), title, widths[c], columns_[c].align, is_last);
    rule += title.empty() ? std::string(widths[c], ' ') : repeated(style.unicode ? "\u2500" : "-", widths[c]);
    if (!is_last) {
      header += kGap;
      rule += kGap;
    }
  }
  std::string text = without_trailing_blanks(header) + "\n" + without_trailing_blanks(rule) + "\n";

  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const bool is_last = c + 1 == columns_.size();
      line +=
          aligned(toned(row[c].text, row[c].tone, style), row[c].text, widths[c], columns_[c].align, is_last);
      if (!is_last) line += kGap;
    }
    text += without_trailing_blanks(line) + "\n";
  }
  return text;
}

}  // namespace wavefill::report
