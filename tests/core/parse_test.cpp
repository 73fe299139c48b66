// The strict integer that settings, the environment and the command line share.
#include "core/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wavefill {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(ParseInteger, TakesPlainDecimalsWithinTheRange) {
  EXPECT_EQ(*parse_integer("n", "1", 1, 10), 1);
  EXPECT_EQ(*parse_integer("n", "10", 1, 10), 10);
  EXPECT_EQ(*parse_integer("n", "0", 0, 10), 0);
  EXPECT_EQ(*parse_integer("n", "9223372036854775807", 0, INT64_MAX), INT64_MAX);
}

// The classes "empty, signed, with units or blanks, overflowing".
TEST(ParseInteger, RefusesEverythingElseNamingValueAndRange) {
  using namespace std::string_view_literals;
  for (const std::string_view text : {""sv,
                                      " "sv,
                                      "+4"sv,
                                      "-4"sv,
                                      "-0"sv,
                                      " 4"sv,
                                      "4 "sv,
                                      "4\t"sv,
                                      "4\n"sv,
                                      "4\0"sv,
                                      "\0"sv,
                                      "4x"sv,
                                      "0x4"sv,
                                      "4k"sv,
                                      "4.0"sv,
                                      "4e0"sv,
                                      "1_000"sv,
                                      "1,000"sv,
                                      "04"sv,
                                      "00"sv,
                                      "four"sv,
                                      "0"sv,
                                      "11"sv,
                                      "9223372036854775808"sv,
                                      "18446744073709551617"sv,
                                      "99999999999999999999"sv,
                                      "\xd9\xa4"sv}) {
    const Result<std::int64_t> value = parse_integer("WAVEFILL_NUM_SPLITS", text, 1, 10);
    ASSERT_FALSE(value.ok()) << quote_text(text);
    EXPECT_EQ(value.status().code(), StatusCode::invalid_argument);
    EXPECT_THAT(value.status().message(),
                AllOf(HasSubstr("WAVEFILL_NUM_SPLITS"), HasSubstr(quote_text(text)), HasSubstr("1..10")));
  }
}

TEST(QuoteText, KeepsMessagesPrintableAndShort) {
  EXPECT_EQ(quote_text("fixed=4"), "'fixed=4'");
  EXPECT_EQ(quote_text(""), "''");
  EXPECT_EQ(quote_text(std::string_view("a\0\n\x1b\xff", 5)), "'a\\x00\\x0A\\x1B\\xFF'");
  EXPECT_EQ(quote_text(std::string(64, 'a')), "'" + std::string(64, 'a') + "'");
  EXPECT_EQ(quote_text(std::string(65, 'a')), "'" + std::string(64, 'a') + "...'");
}

}  // namespace
}  // namespace wavefill
