#include "measure/records.h"

#include <gtest/gtest.h>

#include <array>

namespace wavefill {
namespace {

RunKey key_for(const std::string& device) {
  RunKey key;
  key.profile.device = device;
  key.deployed = "efficiency";
  key.batches = "1-4";
  key.timing = "test";
  return key;
}

std::array<Measurement, 2> round_of(RunId run, std::int32_t round) {
  Measurement first;
  first.run = run;
  first.batch = 4;
  first.setting = "fixed=1";
  first.round = round;
  first.us = 10.0;
  Measurement second = first;
  second.setting = "fixed=2";
  return {first, second};
}

TEST(Records, NamesGoRoundTrip) {
  for (const Phase phase : {Phase::search, Phase::confirm, Phase::dip, Phase::kernels}) {
    EXPECT_EQ(*parse_phase(to_string(phase)), phase);
  }
  for (const StopReason reason :
       {StopReason::none, StopReason::precision, StopReason::max_samples, StopReason::time_budget,
        StopReason::eliminated, StopReason::rejected, StopReason::cancelled}) {
    EXPECT_EQ(*parse_stop_reason(to_string(reason)), reason);
  }
  EXPECT_EQ(parse_phase("Search").status().message(),
            "phase is 'Search'; allowed: search, confirm, dip, kernels");
}

// A device's name can be anything: it must not be able to pass for another field.
TEST(Records, OddDeviceNamesCannotForgeAnotherKey) {
  RunKey honest = key_for("gpu");
  honest.profile.num_sms = 1;
  RunKey forged = key_for("gpu\nnum_sms=1");
  EXPECT_NE(to_string(honest), to_string(forged));
  EXPECT_NE(to_string(key_for("a\\x0a")), to_string(key_for("a\n")));
  EXPECT_NE(to_string(key_for("a/b")), to_string(key_for("a_b")));
}

TEST(Records, EveryFieldOfTheKeyCounts) {
  const RunKey base = key_for("gpu");
  std::vector<RunKey> others(11, base);
  others[0].profile.heads_per_cta = 16;
  others[1].profile.kv_format = "bf16";
  others[2].profile.library_version = "9";
  others[3].profile.extra_topk = 512;
  others[4].deployed = "fixed=1";
  others[5].batches = "1-5";
  others[6].timing = "eager";
  others[7].seed = 2;
  others[8].profile.driver_version = "580";
  others[9].profile.timing = "eager";  // apart from how the tuner describes its timing
  others[10].profile.smem_bytes = 1;
  for (const RunKey& other : others) EXPECT_NE(to_string(base), to_string(other));
}

TEST(MemorySink, ARoundIsKeptOnceAndWhole) {
  MemorySink sink;
  const auto run = sink.begin(key_for("gpu"), {}, true);
  ASSERT_TRUE(run.ok());
  EXPECT_TRUE(sink.record(round_of(run->id, 0)).ok());
  auto again = round_of(run->id, 0);
  again[0].round = 1;  // only the second was there before
  EXPECT_EQ(sink.record(again).code(), StatusCode::invalid_argument);
  EXPECT_EQ(sink.measurements().size(), 2U);
}

TEST(MemorySink, ResumesOnlyWhatIsUnfinishedAndWanted) {
  MemorySink sink;
  const auto first = sink.begin(key_for("gpu"), {}, true);
  ASSERT_TRUE(sink.record(round_of(first->id, 0)).ok());
  const auto other = sink.begin(key_for("another"), {}, true);
  EXPECT_FALSE(other->resumed);
  const auto second = sink.begin(key_for("gpu"), {}, true);
  EXPECT_TRUE(second->resumed);
  EXPECT_EQ(second->id, first->id);
  EXPECT_EQ(second->measurements.size(), 2U);
  EXPECT_FALSE(sink.begin(key_for("gpu"), {}, false)->resumed);

  DecisionRecord decision;
  decision.run = other->id;
  ASSERT_TRUE(sink.finish(decision).ok());
  EXPECT_FALSE(sink.begin(key_for("another"), {}, true)->resumed);
  decision.run = 99;
  EXPECT_EQ(sink.finish(decision).code(), StatusCode::not_found);
}

}  // namespace
}  // namespace wavefill
