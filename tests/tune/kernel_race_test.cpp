// Which kernel is tuned, where the table has several: what is fastest here, not what stands first.
#include "tune/kernel_race.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tune/fake_workbench.h"
#include "tune/tuner.h"

namespace wavefill {
namespace {

using testing::FakeWorkbench;
using testing::request_for;
using testing::TestProgress;
using testing::waves_us;

// Times of the second kernel are `factor` of the first's.
FakeWorkbench two_kernels(double factor) {
  FakeWorkbench workbench;
  workbench.kernel.name = "first";
  KernelSpec second = workbench.kernel;
  second.name = "second";
  second.smem_bytes = 1000;
  workbench.other_kernels = {second};
  workbench.true_us = [factor](const SplitPlan& plan) {
    return waves_us(plan) * (plan.kernel.name == "second" ? factor : 1.0);
  };
  return workbench;
}

TuneResult tuned(const TuneRequest& request, FakeWorkbench& workbench, MemorySink& sink) {
  TestProgress progress;
  auto result = tune(request, workbench, sink, progress);
  EXPECT_TRUE(result.ok()) << result.status().message();
  return result.ok() ? std::move(*result) : TuneResult{};
}

TEST(KernelRace, TheFasterKernelIsTunedThoughItStandsLater) {
  FakeWorkbench workbench = two_kernels(0.8);
  MemorySink sink;
  const TuneRequest request = request_for({1, 2, 3, 4, 5, 6, 7, 8});
  const TuneResult result = tuned(request, workbench, sink);
  EXPECT_EQ(result.kernel.name, "second");
  ASSERT_TRUE(result.profile.has_value());
  EXPECT_EQ(result.profile->key(), key_of(workbench.device_spec, workbench.other_kernels[0], request.shape));
  ASSERT_EQ(result.kernels.size(), 2U);
  EXPECT_FALSE(result.kernels[0].is_chosen);
  EXPECT_TRUE(result.kernels[1].is_chosen);
  EXPECT_NEAR(result.kernels[0].throughput, 0.8, 0.01);
  EXPECT_EQ(result.kernels[1].throughput, 1.0);
  EXPECT_EQ(result.kernels[1].reason, "the fastest");
  ASSERT_EQ(result.kernels[1].figures.size(), 5U);
  EXPECT_NEAR(result.kernels[1].figures[0].us, 0.8 * 330.0, 3.0) << "batch 1, at its best";
  for (const BatchResult& batch : result.batches) {
    for (const ArmResult& arm : batch.arms) EXPECT_EQ(arm.candidate.plan.kernel.name, "second");
  }
  // Both were checked before they were timed, and timed in the same rounds.
  std::set<std::string> checked;
  for (const Verification& verification : sink.verifications()) checked.insert(verification.setting);
  std::set<std::string> in_first_round;
  for (const Measurement& measurement : sink.measurements()) {
    if (measurement.phase != Phase::kernels) continue;
    EXPECT_TRUE(checked.contains(measurement.setting)) << measurement.setting;
    if (measurement.round == 0) in_first_round.insert(measurement.setting.substr(0, 5));
  }
  EXPECT_EQ(in_first_round, (std::set<std::string>{"first", "secon"}));
}

TEST(KernelRace, BetweenEqualsTheTablesOrderDecides) {
  for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
    FakeWorkbench workbench = two_kernels(1.0);
    workbench.seed = seed;
    MemorySink sink;
    const TuneResult result = tuned(request_for({1, 4}), workbench, sink);
    EXPECT_EQ(result.kernel.name, "first") << "seed " << seed;
    EXPECT_TRUE(result.kernels[0].is_chosen);
  }
}

TEST(KernelRace, AWrongKernelDoesNotWinHoweverFast) {
  FakeWorkbench workbench = two_kernels(0.5);
  workbench.is_wrong = [](const SplitPlan& plan) {
    return plan.kernel.name == "second" && testing::splits_of(plan) == 4;
  };
  MemorySink sink;
  const TuneResult result = tuned(request_for({1, 4}), workbench, sink);
  EXPECT_EQ(result.kernel.name, "first");
  EXPECT_NE(result.kernels[1].reason.find("wrong output"), std::string::npos) << result.kernels[1].reason;
  EXPECT_EQ(result.kernels[1].throughput, 0.0);
  for (const Measurement& measurement : sink.measurements()) {
    EXPECT_FALSE(measurement.setting.starts_with("second")) << "it was timed after it had failed";
  }
}

TEST(KernelRace, AWrongFirstKernelLosesInsteadOfEndingTheRun) {
  FakeWorkbench workbench = two_kernels(2.0);
  workbench.is_wrong = [](const SplitPlan& plan) { return plan.kernel.name == "first"; };
  MemorySink sink;
  EXPECT_EQ(tuned(request_for({1}), workbench, sink).kernel.name, "second");

  workbench.is_wrong = [](const SplitPlan&) { return true; };
  MemorySink another;
  TestProgress progress;
  const auto none = tune(request_for({1}), workbench, another, progress);
  EXPECT_EQ(none.status().code(), StatusCode::internal);
  EXPECT_NE(none.status().message().find("row 0, head 0"), std::string::npos) << none.status().message();
}

TEST(KernelRace, WithOneKernelThereIsNone) {
  FakeWorkbench workbench;
  MemorySink sink;
  const TuneResult result = tuned(request_for({1}), workbench, sink);
  EXPECT_TRUE(result.kernels.empty());
  for (const Measurement& measurement : sink.measurements()) EXPECT_NE(measurement.phase, Phase::kernels);
}

TEST(KernelRace, ItHasAShareOfTheBudgetAndNoMore) {
  FakeWorkbench workbench = two_kernels(0.9);
  workbench.prepare_us = [](std::int32_t) { return 200e3; };
  workbench.verify_us = 10e3;
  MemorySink sink;
  TuneRequest request = request_for({1, 2, 3, 4, 5, 6, 7, 8});
  request.budget_us = 12e6;
  double race_end_us = 0.0;
  struct Watcher : TestProgress {
    double* end_us = nullptr;
    void update(const ProgressUpdate& update) override {
      if (update.phase == Phase::kernels) *end_us = update.elapsed_us;
    }
  } progress;
  progress.end_us = &race_end_us;
  const auto result = tune(request, workbench, sink, progress);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->kernel.name, "second");
  EXPECT_LE(race_end_us, 0.15 * request.budget_us);
  std::set<std::int32_t> batches;
  for (const Measurement& measurement : sink.measurements()) {
    if (measurement.phase == Phase::kernels) batches.insert(measurement.batch);
  }
  EXPECT_LT(batches.size(), 5U) << "cut short";
  EXPECT_GE(batches.size(), 1U);
}

// However often it is interrupted: nothing is measured twice, and the choice stands.
TEST(KernelRace, AResumedTuneKeepsTheChoice) {
  MemorySink sink;
  const TuneRequest request = request_for({1, 2, 3});
  std::set<std::string> tuned_kernels;
  for (int processes = 0;; ++processes) {
    ASSERT_LT(processes, 200);
    // From the third process on the other kernel is faster: what is on record decides all the same.
    FakeWorkbench workbench = two_kernels(sink.measurements().size() < 400 ? 0.8 : 1.3);
    TestProgress progress;
    progress.cancel = [&] { return workbench.calls >= 60; };
    const auto result = tune(request, workbench, sink, progress);
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_EQ(result->run, 1);
    for (const BatchResult& batch : result->batches)
      tuned_kernels.insert(batch.arms[0].candidate.plan.kernel.name);
    if (result->cancelled) continue;
    EXPECT_GT(processes, 3);
    EXPECT_EQ(result->kernel.name, "second");
    ASSERT_EQ(result->kernels.size(), 2U);
    EXPECT_TRUE(result->kernels[1].is_chosen);
    EXPECT_GT(result->kernels[1].figures.front().us, 0.0);
    break;
  }
  EXPECT_EQ(tuned_kernels, std::set<std::string>{"second"});
  std::set<std::tuple<Phase, std::int32_t, std::string, std::int32_t, std::int32_t>> seen;
  for (const Measurement& m : sink.measurements()) {
    EXPECT_TRUE(seen.insert({m.phase, m.batch, m.setting, m.replica, m.round}).second) << m.setting;
  }
}

TEST(KernelRace, BatchesAreSpreadOverThoseWithWeight) {
  const std::vector<std::int32_t> batches = {1, 2, 4, 8, 16, 32, 64, 128, 256};
  EXPECT_EQ(KernelRace::batches_for(batches, {}, 5), (std::vector<std::int32_t>{16, 256, 1, 4, 64}));
  EXPECT_EQ(KernelRace::batches_for(batches, {{32, 1.0}, {64, 2.0}}, 5), (std::vector<std::int32_t>{64, 32}));
  EXPECT_EQ(KernelRace::batches_for(std::vector<std::int32_t>{7}, {}, 5), std::vector<std::int32_t>{7});
}

// The second is twice as fast at batch 1, the first a tenth faster at batch 64, which has all the load.
TEST(KernelRace, TheWorkloadWeighs) {
  KernelSpec first;
  first.name = "a";
  KernelSpec second;
  second.name = "a2";  // the one's name begins with the other's
  KernelRace race({first, second});
  const auto add = [&](std::size_t kernel, std::int32_t batch, double us) {
    const std::vector<double> samples(8, us);
    race.add(batch, race.name_of(kernel, "fixed=1"), samples);
    const std::vector<double> slower(8, 1.5 * us);
    race.add(batch, race.name_of(kernel, "fixed=2"), slower);
  };
  add(0, 1, 100.0);
  add(1, 1, 50.0);
  add(0, 64, 100.0);
  add(1, 64, 110.0);
  const auto alike = race.results({}, 0.005);
  EXPECT_TRUE(alike[1].is_chosen);
  EXPECT_NEAR(alike[0].throughput, (0.5 + 1.0) / (1.0 + 1.0 / 1.1), 1e-9);
  const auto loaded = race.results({{1, 1.0}, {64, 99.0}}, 0.005);
  EXPECT_TRUE(loaded[0].is_chosen);
  EXPECT_EQ(loaded[0].figures[1].setting, "fixed=1");
  EXPECT_EQ(loaded[0].figures[1].us, 100.0);
}

}  // namespace
}  // namespace wavefill
