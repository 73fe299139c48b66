// Where the time of a tune goes: to verdicts, at as many batches as it is enough for.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

#include "tune/batch_costs.h"
#include "tune/fake_workbench.h"
#include "tune/tuner.h"

namespace wavefill {
namespace {

using testing::FakeWorkbench;
using testing::request_for;
using testing::splits_of;
using testing::TestProgress;

// A GPU in what things cost: a batch takes a second when left alone, a quarter of that for what is not
// timing.
FakeWorkbench gpu_like() {
  FakeWorkbench workbench;
  workbench.device_spec.num_sms = 132;
  workbench.kernel.heads_per_cta = 8;
  workbench.prepare_us = [](std::int32_t) { return 150e3; };
  workbench.verify_us = 10e3;
  workbench.true_us = [](const SplitPlan& plan) { return 0.1 * testing::waves_us(plan); };
  workbench.noise = 0.002;
  return workbench;
}

std::vector<std::int32_t> first_batches(std::int32_t count) {
  std::vector<std::int32_t> batches(static_cast<std::size_t>(count));
  std::iota(batches.begin(), batches.end(), 1);
  return batches;
}

TuneResult tuned(const TuneRequest& request, FakeWorkbench& workbench, MemorySink& sink) {
  TestProgress progress;
  auto result = tune(request, workbench, sink, progress);
  EXPECT_TRUE(result.ok()) << result.status().message();
  return result.ok() ? std::move(*result) : TuneResult{};
}

std::int64_t count_changed(const TuneResult& result) {
  return std::ranges::count_if(result.batches,
                               [](const BatchResult& batch) { return batch.chosen_idx != 0; });
}

// The longest that one round of the test's batches takes, the outcome of a batch's last turn included.
constexpr double kRoundUs = 0.2e6;

// A budget that cannot do for all does for some, says for which it did not, and names one that would.
TEST(Budget, TooSmallForAllStillGivesVerdictsAtSome) {
  TuneRequest request = request_for(first_batches(48));
  request.shape.extra_topk =
      128;  // 4 kv tiles: throughput falls at no wave edge that a turn would be lost to
  request.budget_us = 15e6;
  FakeWorkbench workbench = gpu_like();
  MemorySink sink;
  const TuneResult result = tuned(request, workbench, sink);
  const std::int64_t falls = std::ranges::count_if(result.decision.dips, &Dip::measured_again);
  EXPECT_LT(result.elapsed_us, request.budget_us + kRoundUs * static_cast<double>(1 + 2 * falls));
  EXPECT_FALSE(result.decision.keeps_deployed) << result.decision.summary;
  const std::vector<std::int32_t>& without = result.shortfall.batches;
  EXPECT_GT(count_changed(result), 15);
  EXPECT_GT(std::ssize(without), 5);
  for (const BatchResult& batch : result.batches) {
    const bool is_named = std::ranges::find(without, batch.batch) != without.end();
    EXPECT_EQ(batch.chosen_idx == 0, is_named) << "batch " << batch.batch;
    EXPECT_GE(std::ssize(batch.arms.front().samples), request.verdict.min_samples);
    if (!batch.is_searched) {
      EXPECT_EQ(batch.arms.size(), 1U);
    }
  }

  TuneRequest enough = request;
  enough.budget_us = result.shortfall.enough_us;
  EXPECT_GT(enough.budget_us, request.budget_us);
  EXPECT_LT(enough.budget_us, 6.0 * request.budget_us);
  FakeWorkbench again = gpu_like();
  const TuneResult all = tuned(enough, again, sink);
  EXPECT_TRUE(all.shortfall.batches.empty());
  EXPECT_EQ(all.shortfall.enough_us, 0.0);
  EXPECT_EQ(count_changed(all), 48);
  EXPECT_LT(all.elapsed_us, enough.budget_us);
}

TEST(Budget, NothingThatMustBeComparedIsLeftOutOfASearch) {
  TuneRequest request = request_for(first_batches(48));
  request.budget_us = 15e6;
  FakeWorkbench workbench = gpu_like();
  MemorySink sink;
  const TuneResult result = tuned(request, workbench, sink);
  bool some_are_lean = false;
  for (const BatchResult& batch : result.batches) {
    if (!batch.is_searched) continue;
    CandidateOptions options;
    options.deployed = request.deployed;
    options.max_unprotected = 0;
    DecodeShape shape = request.shape;
    shape.batch = batch.batch;
    const auto guaranteed = candidates_for(workbench.device_spec, workbench.kernel, shape, options);
    ASSERT_TRUE(guaranteed.ok());
    for (const Candidate& candidate : *guaranteed) {
      // What the models would ship depends on their constants, and with it whose neighbours are in.
      if (!candidate.is_deployed && !candidate.is_default && !candidate.is_policy_pick) continue;
      EXPECT_TRUE(std::ranges::any_of(batch.arms,
                                      [&](const ArmResult& arm) {
                                        return same_work(arm.candidate.plan, candidate.plan) &&
                                               !arm.samples.empty();
                                      }))
          << candidate.name << " at " << batch.batch;
    }
    some_are_lean |=
        std::ranges::all_of(batch.arms, [](const ArmResult& arm) { return arm.candidate.is_protected(); });
  }
  EXPECT_TRUE(some_are_lean);
}

// The first batch pays for what all use: a pool of a gigabyte is made once. Its share of the budget is gone
// before the first sample, and most of the budget would be left at the end.
TEST(Budget, AnExpensiveFrontDoesNotCostTheFirstBatchItsVerdict) {
  TuneRequest request = request_for({1, 8, 16, 24, 32});
  request.budget_us = 20e6;
  FakeWorkbench workbench = gpu_like();
  bool pool_is_made = false;
  workbench.prepare_us = [&](std::int32_t) { return std::exchange(pool_is_made, true) ? 150e3 : 5e6; };
  workbench.true_us = [](const SplitPlan& plan) { return splits_of(plan) == 4 ? 11.0 : 12.0; };
  MemorySink sink;
  const TuneResult result = tuned(request, workbench, sink);
  EXPECT_LT(result.elapsed_us, request.budget_us + kRoundUs);
  EXPECT_TRUE(result.shortfall.batches.empty());
  for (const BatchResult& batch : result.batches) {
    const ArmResult& chosen = batch.arms[batch.chosen_idx];
    EXPECT_EQ(splits_of(chosen.candidate.plan), 4) << "batch " << batch.batch;
    EXPECT_EQ(chosen.verdict, Verdict::faster) << "batch " << batch.batch;
  }
}

// 2.5 % under noise that the first batch's share is too short for. It has a second turn with what the others
// leave, keeps its samples, and its verdict comes.
TEST(Budget, WhatOthersLeaveGoesToABatchWithoutAVerdict) {
  TuneRequest request = request_for({1, 2, 3, 4, 5, 6});
  request.shape.extra_topk = 128;
  request.deployed = *parse_setting("fixed=2");
  request.stop.max_samples = 2000;
  request.stop.relative_half_width = 0.0015;
  request.budget_us = 3e6;
  FakeWorkbench workbench = gpu_like();
  workbench.prepare_us = nullptr;
  std::mt19937_64 generator(7);
  bool is_quiet = false;  // from the second batch on
  std::normal_distribution<double> noise(1.0, 0.06);
  workbench.true_us = [&](const SplitPlan& plan) {
    is_quiet |= plan.shape.batch > 1;
    if (plan.shape.batch > 1) return splits_of(plan) == 2 ? 100.0 : 200.0;
    if (is_quiet) noise = std::normal_distribution<double>(1.0, 0.01);
    return (splits_of(plan) == 3 ? 97.5 : splits_of(plan) == 2 ? 100.0 : 200.0) * noise(generator);
  };
  MemorySink sink;
  const TuneResult result = tuned(request, workbench, sink);
  const BatchResult& first = result.batches.front();
  EXPECT_EQ(splits_of(first.arms[first.chosen_idx].candidate.plan), 3) << result.decision.summary;
  EXPECT_LT(result.elapsed_us, request.budget_us + kRoundUs);
  // It had its turn, the others had theirs, and it had another: in rounds that go on where the first ended.
  std::vector<std::int32_t> rounds;
  bool others_since = false;
  bool came_back = false;
  for (const Measurement& measurement : sink.measurements()) {
    if (measurement.phase != Phase::search) continue;
    if (measurement.batch != 1) {
      others_since = true;
    } else {
      came_back |= others_since;
      if (rounds.empty() || rounds.back() != measurement.round) rounds.push_back(measurement.round);
    }
  }
  EXPECT_TRUE(came_back);
  for (std::size_t i = 0; i < rounds.size(); ++i) EXPECT_EQ(rounds[i], static_cast<std::int32_t>(i));
  EXPECT_EQ(first.rounds, std::ssize(rounds));
}

TEST(Budget, ASecondTurnCanBeInterruptedAndResumed) {
  TuneRequest request = request_for(first_batches(48));
  request.shape.extra_topk = 128;
  request.budget_us = 4e6;
  MemorySink sink;
  std::int64_t measured = -1;
  for (int processes = 0;; ++processes) {
    ASSERT_LT(processes, 100);
    FakeWorkbench workbench = gpu_like();
    TestProgress progress;
    progress.cancel = [&] { return workbench.calls >= 400; };
    const auto result = tune(request, workbench, sink, progress);
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_EQ(result->run, 1);
    if (!result->cancelled) break;
    EXPECT_GT(std::ssize(sink.measurements()), measured);
    measured = std::ssize(sink.measurements());
  }
  EXPECT_EQ(sink.decisions().size(), 1U);
}

TEST(BatchCosts, TheNextLargerBatchSaysWhatOneCosts) {
  BatchCosts costs;
  EXPECT_FALSE(costs.expected(1).has_value());
  costs.add({.batch = 1, .candidates = 5, .setup_us = 9e6, .verify_us = 1.0, .sample_us = 1.0});
  EXPECT_EQ(costs.expected(7)->batch, 1) << "better than nothing";
  costs.add({.batch = 64, .candidates = 5, .setup_us = 3e5, .verify_us = 1.0, .sample_us = 1.0});
  costs.add({.batch = 32, .candidates = 5, .setup_us = 2e5, .verify_us = 1.0, .sample_us = 1.0});
  EXPECT_EQ(costs.expected(2)->batch, 32);
  EXPECT_EQ(costs.expected(32)->batch, 32);
  EXPECT_EQ(costs.expected(33)->batch, 64);
  EXPECT_EQ(costs.expected(128)->batch, 64);
}

TEST(BatchCosts, TheEstimateCountsEverySample) {
  const BatchCost cost{.batch = 1,
                       .candidates = 9,
                       .prepare_us = 400.0,
                       .setup_us = 1000.0,
                       .verify_us = 100.0,
                       .sample_us = 10.0};
  const StoppingRule rule;  // 20 samples
  EXPECT_EQ(cost.search_us(9, rule), 1000.0 + 8 * 100.0 + 10.0 * (8 * 10 + 12 * 5));
  EXPECT_EQ(cost.least_us(9, rule), 1000.0 + 8 * 100.0 + 10.0 * (3 * 10 + 17 * 3));
  EXPECT_EQ(cost.deployed_us(5), 1000.0 + 10.0 * 10);
  BatchCosts costs;
  EXPECT_EQ(costs.enough_us(std::vector<std::int32_t>{1}, rule, 0.75, 0.2), 0.0);
  costs.add(cost);
  EXPECT_EQ(costs.enough_us(std::vector<std::int32_t>{1, 1}, rule, 0.75, 0.2),
            std::max(2 * 3200.0 / 0.75, 2 * (3200.0 + 800.0) / (0.75 + 0.2)));
}

TEST(BatchCosts, TheOrderIsEndsAndMiddleThenWhatMattersFromTheTop) {
  EXPECT_EQ(search_order(1, {true}), (std::vector<std::size_t>{0}));
  EXPECT_EQ(search_order(6, {true, true, true, true, true, true}),
            (std::vector<std::size_t>{0, 5, 3, 4, 2, 1}));
  EXPECT_EQ(search_order(6, {false, true, true, false, false, false}),
            (std::vector<std::size_t>{0, 5, 3, 2, 1, 4}));
}

}  // namespace
}  // namespace wavefill
