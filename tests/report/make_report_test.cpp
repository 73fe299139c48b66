// From a tuning result to a report.
#include <gtest/gtest.h>

#include "report/report.h"
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
  const Report report =
      make_report(request(), result(), {.title = "title", .command = "cmd", .created_unix_us = 0});
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

}  // namespace
}  // namespace wavefill::report
