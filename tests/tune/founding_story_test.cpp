// The decision that this project started from, as data: an RTX PRO 6000 (188 SMs), 32 heads in tiles of 16,
// tokens/s in production. 512 was kept, 768 refused for its loss at concurrency 64, and 8 splits at 96, which
// a wave model proposed, were not shipped because nobody had timed them.
#include <gtest/gtest.h>

#include <algorithm>

#include "tune/decision.h"
#include "tune/decision_json.h"

namespace wavefill {
namespace {

Evidence figure(const char* setting, std::int32_t batch, double tokens_per_s, std::int32_t num_splits) {
  Evidence evidence;
  evidence.setting = setting;
  evidence.batch = batch;
  evidence.samples = {{-1, batch * 1e6 / tokens_per_s}};
  evidence.num_splits = num_splits;
  return evidence;
}

DecisionInput founding_story() {
  DecisionInput input;
  input.deployed = "target-ctas=512";
  input.evidence = {figure("target-ctas=256", 64, 719.0, 2), figure("target-ctas=256", 96, 799.4, 2),
                    figure("target-ctas=512", 64, 811.0, 4), figure("target-ctas=512", 96, 845.0, 3),
                    figure("target-ctas=768", 64, 767.5, 6), figure("target-ctas=768", 80, 828.8, 5),
                    figure("target-ctas=768", 96, 872.3, 4)};
  for (std::int32_t batch = 48; batch <= 80; ++batch) input.workload.push_back({batch, 1.0});
  input.proposals = {{"fixed=8", 96, "the wave model", 8}};
  return input;
}

const Rejected* find_rejected(const Decision& decision, std::string_view setting) {
  for (const Rejected& rejected : decision.rejected) {
    if (rejected.setting == setting) return &rejected;
  }
  return nullptr;
}

TEST(FoundingStory, Keeps512) {
  const auto decision = decide(founding_story());
  ASSERT_TRUE(decision.ok()) << decision.status().message();
  EXPECT_EQ(decision->decision, "target-ctas=512");
  EXPECT_TRUE(decision->keeps_deployed);
}

TEST(FoundingStory, Rejects768ForItsLossAt64) {
  const auto decision = decide(founding_story());
  ASSERT_TRUE(decision.ok());
  const Rejected* rejected = find_rejected(*decision, "target-ctas=768");
  ASSERT_NE(rejected, nullptr);
  EXPECT_EQ(rejected->reason, RejectReason::slower);
  EXPECT_EQ(rejected->batch, 64);
  EXPECT_NEAR(rejected->effect, -0.054, 0.0005);
  EXPECT_EQ(rejected->detail, "-5.4 % throughput at batch 64");
}

TEST(FoundingStory, RejectsWhatOnlyTheWaveModelLikes) {
  const auto decision = decide(founding_story());
  ASSERT_TRUE(decision.ok());
  const Rejected* rejected = find_rejected(*decision, "fixed=8");
  ASSERT_NE(rejected, nullptr);
  EXPECT_EQ(rejected->reason, RejectReason::not_measured);
  EXPECT_EQ(rejected->batch, 96);
  EXPECT_EQ(rejected->num_splits, 8);
  EXPECT_EQ(rejected->detail,
            "fixed=8 was proposed by the wave model for batch 96, but never measured there");
}

TEST(FoundingStory, ProposesTheCompositeAsTheNextMeasurement) {
  const auto decision = decide(founding_story());
  ASSERT_TRUE(decision.ok());
  ASSERT_TRUE(decision->next.has_value());
  EXPECT_EQ(decision->next->setting, kPerBatchTable);
  const std::vector<TableEntry>& table = decision->next->table;
  const auto at_64 = std::ranges::find(table, 64, &TableEntry::batch);
  const auto at_96 = std::ranges::find(table, 96, &TableEntry::batch);
  ASSERT_NE(at_64, table.end());
  ASSERT_NE(at_96, table.end());
  EXPECT_EQ(*at_64, (TableEntry{64, "target-ctas=512", 4}));
  EXPECT_EQ(*at_96, (TableEntry{96, "target-ctas=768", 4}));
}

TEST(FoundingStory, TheSettingBeforeIsSlowerToo) {
  const auto decision = decide(founding_story());
  ASSERT_TRUE(decision.ok());
  const Rejected* rejected = find_rejected(*decision, "target-ctas=256");
  ASSERT_NE(rejected, nullptr);
  EXPECT_EQ(rejected->reason, RejectReason::slower);
  EXPECT_EQ(rejected->batch, 64);
}

// With all the load at 96, 768 would have been right there; it is still not measured where 64 matters.
TEST(FoundingStory, AnotherWorkloadIsAnotherDecision) {
  DecisionInput input = founding_story();
  input.evidence.push_back(figure("target-ctas=512", 80, 822.0, 4));
  input.workload = {{96, 1.0}};
  const auto decision = decide(input);
  ASSERT_TRUE(decision.ok());
  EXPECT_EQ(decision->decision, "target-ctas=768");
  EXPECT_NEAR(decision->weighted_gain, 872.3 / 845.0 - 1.0, 1e-9);
}

TEST(FoundingStory, AsJson) {
  const auto decision = decide(founding_story());
  ASSERT_TRUE(decision.ok());
  const std::string json = to_json(*decision);
  for (const char* expected :
       {R"("decision": "target-ctas=512")", R"("keeps_deployed": true)", R"("reason": "not_measured")",
        R"("reason": "slower")", R"("verdict": "SLOWER")", R"("setting": "measured")"}) {
    EXPECT_NE(json.find(expected), std::string::npos) << expected << " in\n" << json;
  }
}

}  // namespace
}  // namespace wavefill
