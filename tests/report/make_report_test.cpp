// From a tuning result to a report.
#include <gtest/gtest.h>

#include "report/report.h"
#include "report/text_table.h"
#include "tune/tuner.h"

namespace wavefill::report {
namespace {

DeviceSpec test_device() {
  DeviceSpec device;
  device.name = "test";
  device.num_sms = 4;
  return device;
}

ArmResult arm_result(std::int32_t batch, const Setting& setting, double us) {
  ArmResult arm;
  PlanRequest request;
  request.device = test_device();
  request.kernel = {.name = "kernel", .heads_per_cta = 16, .kv_tile = 64};
  request.shape = {.batch = batch, .num_heads = 32, .topk = 128, .extra_topk = 512};
  request.setting = setting;
  arm.candidate.plan = make_plan(request).value();
  arm.candidate.setting = setting;
  arm.candidate.name = to_string(setting);
  arm.candidate.aliases = {arm.candidate.name, "also-called"};
  arm.candidate.waves = wave_stats(arm.candidate.plan);
  arm.verified = true;
  arm.samples = {{0, us}, {1, us + 1}};
  arm.median_us = us;
  arm.interval_us = {us - 1, us + 2};
  return arm;
}

TuneRequest request() {
  TuneRequest request;
  request.shape = {.num_heads = 32, .topk = 128, .extra_topk = 512};
  request.batches = {8};
  request.deployed = {.kind = PolicyKind::fixed, .value = 1};
  request.workload = {{.batch = 8, .weight = 0.25}};
  return request;
}

TuneResult result() {
  TuneResult result;
  result.run = 3;
  result.device = test_device();
  result.kernel = {.name = "kernel", .heads_per_cta = 16};
  BatchResult batch;
  batch.batch = 8;
  batch.arms = {arm_result(8, {.kind = PolicyKind::fixed, .value = 1}, 100.0),
                arm_result(8, {.kind = PolicyKind::fixed, .value = 2}, 80.0),
                arm_result(8, {.kind = PolicyKind::balanced}, 90.0)};
  batch.chosen_idx = 1;
  result.batches = {batch};
  ConfirmResult confirmed;
  confirmed.batch = 8;
  confirmed.setting = "fixed=2";
  confirmed.median_us = 81.0;
  confirmed.interval_us = {80.0, 82.0};
  result.confirmed = {confirmed};
  result.decision.decision = "fixed=2";
  result.decision.keeps_deployed = false;
  return result;
}

TEST(MakeReport, ThroughputIsRowsPerTimeWithTheEndsOfTheIntervalSwapped) {
  const Report report = make_report(request(), result(), {});
  const Arm& arm = report.batches[0].arms[1];
  EXPECT_DOUBLE_EQ(arm.tokens_per_s.value, 8 * 1e6 / 80.0);
  EXPECT_DOUBLE_EQ(arm.tokens_per_s.low, 8 * 1e6 / 82.0);
  EXPECT_DOUBLE_EQ(arm.tokens_per_s.high, 8 * 1e6 / 79.0);
}

TEST(MakeReport, KeepsWhatTheTunerSaid) {
  TuneRequest asked = request();
  asked.command = "cmd";
  asked.seed = 17;
  const Report report = make_report(asked, result(), {.title = "title", .created_unix_us = 0});
  EXPECT_EQ(report.command, "cmd");
  EXPECT_EQ(report.seed, 17U);
  EXPECT_EQ(report.run, 3);
  EXPECT_EQ(report.created, "1970-01-01 00:00 UTC");
  EXPECT_EQ(report.deployed, "fixed=1");
  EXPECT_EQ(report.slots, 4);
  ASSERT_EQ(report.batches.size(), 1u);
  const Batch& batch = report.batches[0];
  EXPECT_EQ(batch.weight, 0.25);
  EXPECT_EQ(batch.chosen().setting, "fixed=2");
  EXPECT_EQ(batch.deployed().setting, "fixed=1");
  EXPECT_TRUE(batch.is_confirmed);
  EXPECT_EQ(batch.confirmation.us.value, 81.0);
  EXPECT_EQ(batch.chosen().samples_us, (std::vector<double>{80.0, 81.0}));
  EXPECT_EQ(batch.chosen().aliases, (std::vector<std::string>{"also-called"}));
}

TEST(MakeReport, PersistentWorkersAreNotTakenForASplitCount) {
  const Report report = make_report(request(), result(), {});
  EXPECT_TRUE(report.batches[0].arms[0].is_uniform);
  EXPECT_TRUE(report.batches[0].arms[1].is_uniform);
  EXPECT_FALSE(report.batches[0].arms[2].is_uniform);  // balanced: a worker does parts of several rows
}

TEST(MakeReport, ABatchWithoutSamplesHasNoInfiniteThroughput) {
  TuneResult empty = result();
  for (ArmResult& arm : empty.batches[0].arms) {
    arm.samples.clear();
    arm.median_us = 0.0;
    arm.interval_us = {};
  }
  const Report report = make_report(request(), empty, {});
  EXPECT_EQ(report.batches[0].arms[0].tokens_per_s.value, 0.0);
  EXPECT_EQ(report.batches[0].arms[0].tokens_per_s.high, 0.0);
}

// Rounds that were thrown away in the confirmation are as much a doubt as those of the search.
TEST(MakeReport, BothPhasesSayWhatWasDisturbedAndHowFastTheClocksWere) {
  TuneResult run = result();
  run.confirmed[0].rounds = 20;
  run.confirmed[0].contaminated_rounds = 4;
  run.confirmed[0].contamination = "a neighbour";
  run.confirmed[0].clock_mhz = 1755.0;
  run.batches[0].clock_mhz = 1980.0;
  run.search_watch = {.rounds = 50, .clock_low_mhz = 1980.0, .clock_high_mhz = 1980.0};
  run.confirm_watch = {.rounds = 20,
                       .contaminated_rounds = 4,
                       .contamination = "a neighbour",
                       .clock_low_mhz = 1755.0,
                       .clock_high_mhz = 1800.0};
  const Report report = make_report(request(), run, {});
  EXPECT_EQ(report.batches[0].clock_mhz, 1980.0);
  EXPECT_EQ(report.batches[0].confirmation.contaminated_rounds, 4);
  const std::string html = to_html(report);
  for (const char* part :
       {"<dt>disturbed, search</dt><dd>none of 50 rounds</dd>",
        "<dt>disturbed, confirmation</dt><dd>4 of 24 rounds, left out of every figure; the last because a "
        "neighbour</dd>",
        "<dt>search</dt><dd>50 rounds used, 0 others disturbed; clock 1980 MHz</dd>",
        "<dt>confirmation</dt><dd>20 rounds used, 4 others disturbed; clock 1755 to 1800 MHz</dd>"}) {
    EXPECT_NE(html.find(part), std::string::npos) << part;
  }
  EXPECT_NE(to_text(report, {}).find("Disturbed in the confirmation: 4 of 24 rounds"), std::string::npos);
  EXPECT_EQ(to_text(report, {}).find("Disturbed in the search"), std::string::npos);
  const std::string json = to_json(report);
  EXPECT_NE(json.find(R"("confirm":{"rounds":20,"contaminated_rounds":4,"counts_contaminated":false,)"
                      R"("contamination":"a neighbour",)"
                      R"("clock_low_mhz":1755.0,"clock_high_mhz":1800.0})"),
            std::string::npos)
      << json;
}

// Used as asked, they are not said to be left out.
TEST(MakeReport, DisturbedRoundsThatCountAreSaidToCount) {
  TuneResult run = result();
  run.search_watch = {.rounds = 50, .contaminated_rounds = 4, .counts_contaminated = true};
  const std::string html = to_html(make_report(request(), run, {}));
  EXPECT_NE(html.find("<dd>4 of 50 rounds, used all the same as asked"), std::string::npos);
  EXPECT_NE(html.find("<dd>50 rounds used, 4 of them disturbed; clock not said</dd>"), std::string::npos);
}

TEST(MakeReport, ARunWithoutAConfirmationDoesNotClaimAQuietOne) {
  TuneResult run = result();
  run.confirmed.clear();
  const Report report = make_report(request(), run, {});
  EXPECT_EQ(to_html(report).find("disturbed, confirmation"), std::string::npos);
  EXPECT_NE(to_json(report).find("\"confirm\":null"), std::string::npos);
}

// What is said in sample and out of it must not change places.
TEST(MakeReport, TheModelsTwoScoresKeepTheirNames) {
  TuneResult run = result();
  CostFit fit;
  fit.rank_within_batches = 0.91;
  fit.ranked_batches = 1;
  run.fit = fit;
  run.batches[0].arms[0].fitted_us = run.batches[0].arms[1].out_of_sample_us = 70.0;
  run.batches[0].arms[1].fitted_us = run.batches[0].arms[0].out_of_sample_us = 75.0;
  run.batches[0].arms[2].fitted_us = run.batches[0].arms[2].out_of_sample_us = 99.0;
  const Report alone = make_report(request(), run, {});
  EXPECT_FALSE(alone.fit.has_out_of_sample);
  EXPECT_NE(to_json(alone).find("\"out_of_sample\":null"), std::string::npos);
  EXPECT_NE(to_text(alone, {}).find("Cost model, out of sample: unknown"), std::string::npos);
  run.out_of_sample.models[8] = {};
  EXPECT_NE(to_text(make_report(request(), run, {}), {}).find("rank correlation unknown within"),
            std::string::npos)
      << "no batch had settings enough: 0.00 would be a claim";
  run.out_of_sample.rank_within_batches = 0.37;
  run.out_of_sample.ranked_batches = 1;
  const Report report = make_report(request(), run, {});
  EXPECT_EQ(report.fit.in_sample.rank_within_batches, 0.91);
  EXPECT_EQ(report.fit.in_sample.picks[0].setting, "fixed=1");
  EXPECT_EQ(report.fit.out_of_sample.rank_within_batches, 0.37);
  EXPECT_EQ(report.fit.out_of_sample.picks[0].setting, "fixed=2");
  const std::string text = to_text(report, {});
  const std::size_t out = text.find("Cost model, out of sample (each batch by a fit to others): off by");
  const std::size_t in = text.find("Cost model, in sample (fitted to these very times): off by");
  ASSERT_NE(out, std::string::npos) << text;
  ASSERT_NE(in, std::string::npos) << text;
  EXPECT_EQ(text.find("rank correlation 0.37"), text.find("rank correlation", out));
  EXPECT_EQ(text.find("rank correlation 0.91"), text.find("rank correlation", in));
}

}  // namespace
}  // namespace wavefill::report
