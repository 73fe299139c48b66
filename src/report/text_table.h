// Small aligned tables for terminals.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wavefill::report {

enum class Align : std::uint8_t { left, right };

// What a cell says beyond its text; shown by colour where there is colour, never by colour alone.
enum class Tone : std::uint8_t { plain, good, bad, dim };

struct Column {
  std::string title;
  Align align = Align::right;
};

struct Cell {
  std::string text;
  Tone tone = Tone::plain;

  Cell(std::string value, Tone how = Tone::plain) : text(std::move(value)), tone(how) {}  // NOLINT
  Cell(const char* value, Tone how = Tone::plain) : text(value), tone(how) {}             // NOLINT
};

// What the reader's terminal can show; the default suits a file or a pipe.
struct TerminalStyle {
  bool color = false;
  bool unicode = false;
};

class TextTable {
 public:
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // A row shorter than the header is filled up with empty cells; one longer is cut.
  void add_row(std::vector<Cell> cells);

  // Each line ends in '\n' and has no trailing blanks. Control characters in cells become '?', so that
  // no name read from a driver or a file can steer the terminal.
  std::string render(const TerminalStyle& style) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// Columns a terminal needs for UTF-8 `text`, counting one a code point.
std::size_t display_width(std::string_view text);

// `text` in bold or in the colour of `tone` where style.color, else unchanged.
std::string emphasised(std::string_view text, const TerminalStyle& style);
std::string toned(std::string_view text, Tone tone, const TerminalStyle& style);

// A bar of `width` columns, filled to `fraction` (clamped to 0..1).
std::string bar(double fraction, std::size_t width, const TerminalStyle& style);

}  // namespace wavefill::report
