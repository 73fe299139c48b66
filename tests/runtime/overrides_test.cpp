// Environment overrides: every way to write one wrong is an error that names the variable.
#include "runtime/overrides.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>  // setenv, unsetenv: POSIX, not in <cstdlib>

#include <fstream>
#include <map>

namespace wavefill {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using Environment = std::map<std::string, std::string, std::less<>>;

EnvironmentLookup lookup_in(const Environment& environment) {
  return [&environment](std::string_view variable) -> std::optional<std::string> {
    const auto found = environment.find(variable);
    if (found == environment.end()) return std::nullopt;
    return found->second;
  };
}

TEST(Overrides, AnEmptyEnvironmentOverridesNothing) {
  const Environment none;
  EXPECT_EQ(find_override(lookup_in(none)).value(), std::nullopt);
  EXPECT_EQ(setting_from_environment(lookup_in(none)).value(), std::nullopt);
}

TEST(Overrides, GoodValuesBecomeTheSettingTheyName) {
  const std::vector<std::tuple<std::string, std::string, Setting>> good = {
      {"WAVEFILL_TARGET_CTAS", "1", {.kind = PolicyKind::target_ctas, .value = 1}},
      {"WAVEFILL_TARGET_CTAS", "512", {.kind = PolicyKind::target_ctas, .value = 512}},
      {"WAVEFILL_TARGET_CTAS", "1048576", {.kind = PolicyKind::target_ctas, .value = kMaxTargetCtas}},
      {"SGLANG_SM120_MMA_TARGET_CTAS", "768", {.kind = PolicyKind::target_ctas, .value = 768}},
      {"WAVEFILL_NUM_SPLITS", "4", {.kind = PolicyKind::fixed, .value = 4}},
      {"WAVEFILL_NUM_SPLITS", "4096", {.kind = PolicyKind::fixed, .value = kMaxNumSplits}},
  };
  for (const auto& [variable, value, setting] : good) {
    const Environment environment = {{variable, value}};
    const auto read = setting_from_environment(lookup_in(environment));
    ASSERT_TRUE(read.ok()) << variable << "=" << value << ": " << read.status().message();
    EXPECT_EQ(*read, setting) << variable << "=" << value;
  }
}

struct BadValue {
  std::string what;
  std::string value;
};

class BadNumber : public ::testing::TestWithParam<BadValue> {};

TEST_P(BadNumber, IsRefusedNamingVariableValueAndRange) {
  for (const auto& [variable, range] : {std::pair{"WAVEFILL_TARGET_CTAS", "1..1048576"},
                                        std::pair{"SGLANG_SM120_MMA_TARGET_CTAS", "1..1048576"},
                                        std::pair{"WAVEFILL_NUM_SPLITS", "1..4096"}}) {
    const Environment environment = {{variable, GetParam().value}};
    const auto found = find_override(lookup_in(environment));
    ASSERT_FALSE(found.ok()) << variable;
    EXPECT_EQ(found.status().code(), StatusCode::invalid_argument);
    EXPECT_THAT(found.status().message(), AllOf(HasSubstr(variable), HasSubstr(range)));
    if (!GetParam().value.empty() && GetParam().value.size() < 40 && GetParam().what != "Control") {
      EXPECT_THAT(found.status().message(), HasSubstr("'" + GetParam().value + "'"));
    }
    EXPECT_EQ(setting_from_environment(lookup_in(environment)).status(), found.status());
  }
}

INSTANTIATE_TEST_SUITE_P(
    Values, BadNumber,
    ::testing::Values(BadValue{"Empty", ""}, BadValue{"Zero", "0"}, BadValue{"Plus", "+512"},
                      BadValue{"Minus", "-1"}, BadValue{"MinusZero", "-0"}, BadValue{"Unit", "512k"},
                      BadValue{"Hex", "0x200"}, BadValue{"Decimal", "512.0"}, BadValue{"Exponent", "5e2"},
                      BadValue{"Separator", "1,024"}, BadValue{"LeadingBlank", " 512"},
                      BadValue{"TrailingBlank", "512 "}, BadValue{"InnerBlank", "5 12"},
                      BadValue{"Control", "512\n"}, BadValue{"LeadingZero", "0512"},
                      BadValue{"AboveMost", "1048577"}, BadValue{"Int64Overflow", "9223372036854775808"},
                      BadValue{"Uint64Wrap", "18446744073709551617"}, BadValue{"Long", std::string(300, '9')},
                      BadValue{"InlineComment", "512 # splits"}, BadValue{"Word", "auto"},
                      BadValue{"Quoted", "\"512\""}, BadValue{"Setting", "target-ctas=512"}),
    [](const auto& test) { return test.param.what; });

TEST(Overrides, TheOneSplitLimitIsNotTheTargetLimit) {
  const Environment environment = {{"WAVEFILL_NUM_SPLITS", "4097"}};
  EXPECT_THAT(find_override(lookup_in(environment)).status().message(),
              AllOf(HasSubstr("WAVEFILL_NUM_SPLITS"), HasSubstr("'4097'"), HasSubstr("1..4096")));
}

TEST(Overrides, VariableAndAliasMayAgreeButNotDisagree) {
  const Environment agreeing = {{"WAVEFILL_TARGET_CTAS", "512"}, {"SGLANG_SM120_MMA_TARGET_CTAS", "512"}};
  const auto agreed = find_override(lookup_in(agreeing));
  ASSERT_TRUE(agreed.ok());
  EXPECT_EQ(agreed.value(),
            (Override{.variable = "WAVEFILL_TARGET_CTAS", .setting_text = "target-ctas=512"}));

  const Environment disagreeing = {{"WAVEFILL_TARGET_CTAS", "512"}, {"SGLANG_SM120_MMA_TARGET_CTAS", "768"}};
  const auto refused = find_override(lookup_in(disagreeing));
  EXPECT_EQ(refused.status().code(), StatusCode::invalid_argument);
  EXPECT_THAT(refused.status().message(),
              AllOf(HasSubstr("WAVEFILL_TARGET_CTAS"), HasSubstr("SGLANG_SM120_MMA_TARGET_CTAS"),
                    HasSubstr("512"), HasSubstr("768")));
}

TEST(Overrides, AMalformedAliasIsNotHiddenByAGoodVariable) {
  const Environment environment = {{"WAVEFILL_TARGET_CTAS", "512"}, {"SGLANG_SM120_MMA_TARGET_CTAS", ""}};
  EXPECT_THAT(find_override(lookup_in(environment)).status().message(),
              HasSubstr("SGLANG_SM120_MMA_TARGET_CTAS is ''"));
}

TEST(Overrides, TwoDifferentOverridesNameBoth) {
  const std::vector<Environment> pairs = {
      {{"WAVEFILL_TARGET_CTAS", "512"}, {"WAVEFILL_NUM_SPLITS", "4"}},
      {{"SGLANG_SM120_MMA_TARGET_CTAS", "512"}, {"WAVEFILL_PROFILE", "p.json"}},
      {{"WAVEFILL_NUM_SPLITS", "4"}, {"WAVEFILL_PROFILE", "p.json"}},
  };
  for (const Environment& environment : pairs) {
    const auto refused = find_override(lookup_in(environment));
    ASSERT_EQ(refused.status().code(), StatusCode::invalid_argument);
    for (const auto& [variable, value] : environment) {
      EXPECT_THAT(refused.status().message(), AllOf(HasSubstr(variable), HasSubstr(value)));
    }
  }
}

TEST(Overrides, ProfileErrorsNameTheVariable) {
  const Environment empty = {{"WAVEFILL_PROFILE", ""}};
  EXPECT_THAT(find_override(lookup_in(empty)).status().message(), HasSubstr("WAVEFILL_PROFILE is ''"));

  const Environment missing = {{"WAVEFILL_PROFILE", "/nonexistent/profile.json"}};
  const auto not_found = setting_from_environment(lookup_in(missing));
  EXPECT_EQ(not_found.status().code(), StatusCode::not_found);
  EXPECT_THAT(not_found.status().message(),
              AllOf(HasSubstr("WAVEFILL_PROFILE"), HasSubstr("/nonexistent/profile.json")));

  const std::string path = ::testing::TempDir() + "/truncated_profile.json";
  std::ofstream(path) << "{\"schema\":";
  const Environment truncated = {{"WAVEFILL_PROFILE", path}};
  const auto corrupt = setting_from_environment(lookup_in(truncated));
  EXPECT_EQ(corrupt.status().code(), StatusCode::corrupt_data);
  EXPECT_THAT(corrupt.status().message(), HasSubstr("WAVEFILL_PROFILE"));
}

TEST(Overrides, TheProcessEnvironmentTellsEmptyFromUnset) {
  ASSERT_EQ(setenv("WAVEFILL_NUM_SPLITS", "", 1), 0);
  EXPECT_EQ(lookup_environment("WAVEFILL_NUM_SPLITS"), "");
  ASSERT_EQ(unsetenv("WAVEFILL_NUM_SPLITS"), 0);
  EXPECT_EQ(lookup_environment("WAVEFILL_NUM_SPLITS"), std::nullopt);
}

}  // namespace
}  // namespace wavefill
