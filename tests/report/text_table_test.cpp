#include "report/text_table.h"

#include <gtest/gtest.h>

namespace wavefill::report {
namespace {

TextTable sample_table() {
  TextTable table({{"batch"}, {"setting", Align::left}, {"us"}});
  table.add_row({"8", "fixed=4", "12.5"});
  table.add_row({"128", "balanced", "7.25"});
  return table;
}

TEST(TextTable, ColumnsLineUp) {
  EXPECT_EQ(sample_table().render({}),
            "batch  setting     us\n"
            "-----  --------  ----\n"
            "    8  fixed=4   12.5\n"
            "  128  balanced  7.25\n");
}

TEST(TextTable, LastColumnLeavesNoTrailingBlanks) {
  TextTable table({{"a"}, {"note", Align::left}});
  table.add_row({"1", "long note"});
  table.add_row({"2", ""});
  EXPECT_EQ(table.render({}), "a  note\n-  ---------\n1  long note\n2\n");
}

TEST(TextTable, ShortRowsAreFilledUp) {
  TextTable table({{"a"}, {"b"}});
  table.add_row({"1"});
  EXPECT_EQ(table.render({}), "a  b\n-  -\n1\n");
}

TEST(TextTable, ColourDoesNotMoveColumns) {
  TextTable table({{"verdict", Align::left}, {"us"}});
  table.add_row({Cell("FASTER", Tone::good), "1"});
  table.add_row({Cell("SAME", Tone::dim), "10"});
  std::string text = table.render({.color = true, .unicode = false});
  EXPECT_NE(text.find("\x1b[32mFASTER\x1b[0m"), std::string::npos);
  for (const char* escape : {"\x1b[32m", "\x1b[2m", "\x1b[1m", "\x1b[0m"}) {
    for (std::size_t at; (at = text.find(escape)) != std::string::npos;)
      text.erase(at, std::string(escape).size());
  }
  TextTable plain({{"verdict", Align::left}, {"us"}});
  plain.add_row({"FASTER", "1"});
  plain.add_row({"SAME", "10"});
  EXPECT_EQ(text, plain.render({}));
}

TEST(TextTable, EscapeSequencesInNamesDoNotReachTheTerminal) {
  TextTable table({{"device", Align::left}});
  table.add_row({"evil\x1b[2J\r\nname"});
  const std::string text = table.render({});
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\r'), std::string::npos);
  EXPECT_NE(text.find("evil?[2J??name"), std::string::npos);
}

TEST(TextTable, Utf8CountsColumnsNotBytes) {
  EXPECT_EQ(display_width("\u00b5s"), 2u);
  TextTable table({{"unit", Align::left}, {"n"}});
  table.add_row({"\u00b5s", "1"});
  EXPECT_EQ(table.render({}), "unit  n\n----  -\n\u00b5s    1\n");
}

TEST(Bar, FillsInProportionAndClamps) {
  EXPECT_EQ(bar(0.5, 8, {}), "####....");
  EXPECT_EQ(bar(-1.0, 4, {}), "....");
  EXPECT_EQ(bar(7.0, 4, {}), "####");
  EXPECT_EQ(bar(1.0, 2, {.color = false, .unicode = true}), "\u2588\u2588");
}

}  // namespace
}  // namespace wavefill::report
