#include "core/strict_json.h"

#include <gtest/gtest.h>

#include <string>

namespace wavefill {
namespace {

std::string fault_of(const std::string& text, int max_depth = 3) {
  const auto document = parse_strict_json(text, max_depth);
  if (document.ok()) return "";
  EXPECT_EQ(document.status().code(), StatusCode::corrupt_data);
  return document.status().message();
}

TEST(StrictJson, WholeDocumentsAreRead) {
  EXPECT_EQ((*parse_strict_json(R"({"a": [1, 2.5, {"b": "c"}], "b": null})", 3))["a"][2]["b"], "c");
  EXPECT_EQ(fault_of(R"([{"a": 1}, {"a": 1}])"), "") << "a key of another object is another key";
  EXPECT_EQ(fault_of(R"({"a": {"a": 1}, "b": {"a": 1}})"), "");
  EXPECT_EQ(fault_of("7"), "");
}

TEST(StrictJson, AKeyThatStandsTwiceIsNamed) {
  EXPECT_EQ(fault_of(R"({"a": 1, "b": 2, "a": 1})"), "has the key 'a' twice");
  EXPECT_EQ(fault_of(R"([{"x": {"a": 1, "a": [[[[[]]]]]}}])"), "has the key 'a' twice");
}

TEST(StrictJson, DepthIsRefusedNotFollowed) {
  EXPECT_EQ(fault_of("[[[1]]]"), "");
  EXPECT_EQ(fault_of("[[[[]]]]"), "is nested deeper than 3");
  EXPECT_EQ(fault_of(std::string(1'000'000, '[')), "is nested deeper than 3");
  EXPECT_EQ(fault_of("{}", 0), "is nested deeper than 0");
}

TEST(StrictJson, WhatIsNoJsonIsSaidToBeNone) {
  EXPECT_EQ(fault_of("{"), "is not valid JSON at byte 2 of 1");
  EXPECT_NE(fault_of("").find("not valid JSON"), std::string::npos);
  EXPECT_NE(fault_of("[1] [2]").find("not valid JSON"), std::string::npos);
  EXPECT_NE(fault_of("\"\xff\"").find("not valid JSON"), std::string::npos);
  EXPECT_NE(fault_of("[1e999]").find("too large"), std::string::npos);
}

}  // namespace
}  // namespace wavefill
