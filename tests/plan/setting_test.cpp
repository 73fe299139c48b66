// Settings as text: strict on the way in, exact on the way out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "plan/setting.h"
#include "wavefill/plan.h"

namespace wavefill {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(ParseSetting, ReadsEveryPolicyAndWritesItBack) {
  for (const char* text :
       {"fixed=1", "fixed=4096", "target-ctas=512", "target-ctas=1048576", "efficiency", "tail-gap",
        "last-wave", "list-schedule", "balanced", "balanced=1", "balanced=64"}) {
    const Result<Setting> setting = parse_setting(text);
    ASSERT_TRUE(setting.ok()) << text << ": " << setting.status().message();
    EXPECT_EQ(to_string(*setting), text);
    EXPECT_EQ(*parse_setting(to_string(*setting)), *setting);
  }
  EXPECT_EQ(parse_setting("target-ctas=512")->kind, PolicyKind::target_ctas);
  EXPECT_EQ(parse_setting("target-ctas=512")->value, 512);
}

// The class "an override out of range silently dropped", and every looseness of a number.
TEST(ParseSetting, RefusesAllElseAndSaysWhatIsAllowed) {
  for (const char* text : {"",
                           " ",
                           "=",
                           "fixed",
                           "fixed=",
                           "fixed= 4",
                           "fixed=4 ",
                           "fixed=+4",
                           "fixed=-4",
                           "fixed=4x",
                           "fixed=0",
                           "fixed=04",
                           "fixed=4.0",
                           "fixed=1e3",
                           "fixed=0x4",
                           "fixed=4097",
                           "fixed=99999999999999999999",
                           "fixed=4=4",
                           "fixed=4\n",
                           "FIXED=4",
                           "target-ctas=512 ",
                           "target-ctas",
                           "target-ctas=0",
                           "target-ctas=1048577",
                           "target_ctas=512",
                           "Balanced",
                           "balanced=0",
                           "balanced=65",
                           "efficiency=3",
                           "balanced=",
                           " balanced",
                           "balanced ",
                           "efficiency=0.85",
                           "tail-gap=",
                           "measured",
                           "measured=",
                           "auto",
                           "\xff"}) {
    const Result<Setting> setting = parse_setting(text);
    ASSERT_FALSE(setting.ok()) << "'" << text << "'";
    EXPECT_EQ(setting.status().code(), StatusCode::invalid_argument) << "'" << text << "'";
    EXPECT_THAT(setting.status().message(), HasSubstr("allowed: ")) << "'" << text << "'";
  }
}

TEST(ParseSetting, MessagesNameValueAndRange) {
  EXPECT_THAT(parse_setting("fixed=4x").status().message(), AllOf(HasSubstr("'4x'"), HasSubstr("1..4096")));
  EXPECT_THAT(parse_setting("efficiency=3").status().message(),
              AllOf(HasSubstr("'efficiency=3'"), HasSubstr("takes no value")));
  EXPECT_THAT(parse_setting("balanced=65").status().message(),
              AllOf(HasSubstr("'65'"), HasSubstr("balanced=N"), HasSubstr("1..64")));
  const std::string unknown = parse_setting("Balanced").status().message();
  for (const PolicyInfo& policy : all_policies()) EXPECT_THAT(unknown, HasSubstr(policy.name));
}

// A profile may not name a profile: reading one must never open another file.
TEST(ParseSetting, UnmeasuredFormRefusesMeasuredUnread) {
  const Result<Setting> setting = parse_unmeasured_setting("measured=/does/not/exist");
  ASSERT_FALSE(setting.ok());
  EXPECT_EQ(setting.status().code(), StatusCode::invalid_argument);
  EXPECT_THAT(setting.status().message(), Not(HasSubstr("exist,")));
  EXPECT_EQ(parse_setting("measured=/does/not/exist").status().code(), StatusCode::not_found);
}

TEST(Policies, TableHasEachKindOnceWithAText) {
  std::set<PolicyKind> kinds;
  std::set<std::string_view> names;
  for (const PolicyInfo& policy : all_policies()) {
    kinds.insert(policy.kind);
    names.insert(policy.name);
    EXPECT_FALSE(policy.summary.empty()) << policy.name;
  }
  EXPECT_EQ(kinds.size(), 8U);
  EXPECT_EQ(names.size(), all_policies().size());
}

}  // namespace
}  // namespace wavefill
