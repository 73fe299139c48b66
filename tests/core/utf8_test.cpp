#include "core/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace wavefill {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

TEST(Utf8, WellFormedTextIsWhole) {
  for (const char* text : {"", "plain", "\x7F", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF",
                           "\xEE\x80\x80", "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_EQ(find_invalid_utf8(text), kNone) << text;
  }
  EXPECT_EQ(find_invalid_utf8(std::string(3, '\0')), kNone);
}

TEST(Utf8, TheFirstBadSequenceIsFound) {
  for (const char* bad : {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80",
                          "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "\xC2",
                          "\xE2\x82", "\xF0\x9F\x98", "\xC2\x41", "\xE2\x82\x41"}) {
    EXPECT_EQ(find_invalid_utf8("ab" + std::string(bad)), 2U) << bad;
  }
}

TEST(Utf8, WhatATerminalObeysIsFound) {
  for (const char* plain : {"", "a b~", "\xC2\xA0", "\xC3\x9B", "\xE2\x9B\x84", "\xF0\x9F\x98\x80"}) {
    EXPECT_EQ(find_control_character(plain), kNone) << plain;
  }
  for (const char* control : {"\x01", "\n", "\x1B[31m", "\x7F", "\xC2\x80", "\xC2\x9B", "\xC2\x9F"}) {
    EXPECT_EQ(find_control_character("ab" + std::string(control)), 2U) << control;
  }
  EXPECT_EQ(find_control_character(std::string(1, '\0')), 0U);
}

}  // namespace
}  // namespace wavefill
