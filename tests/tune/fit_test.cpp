#include "tune/fit.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <random>

#include "tune/cost_prediction.h"

namespace wavefill {
namespace {

// Plans of many batches and split counts on 4 slots, 10 kv tiles a row.
std::vector<SplitPlan> many_plans() {
  std::vector<SplitPlan> plans;
  for (const std::int32_t batch : {1, 2, 3, 4, 6, 8, 12, 16}) {
    for (const char* setting : {"fixed=1", "fixed=2", "fixed=3", "fixed=5", "fixed=10"}) {
      PlanRequest request;
      request.device.name = "test";
      request.device.num_sms = 4;
      request.kernel.name = "k";
      request.kernel.heads_per_cta = 8;
      request.shape.batch = batch;
      request.shape.num_heads = 8;
      request.shape.topk = 128;
      request.shape.extra_topk = 512;
      request.setting = *parse_setting(setting);
      plans.push_back(*make_plan(request));
    }
  }
  return plans;
}

std::vector<FitObservation> observe(const std::vector<SplitPlan>& plans, const CostModel& truth,
                                    double noise) {
  std::mt19937_64 generator(71);
  std::normal_distribution<double> normal(1.0, noise);
  std::vector<FitObservation> observations;
  for (const SplitPlan& plan : plans)
    observations.push_back({&plan, predict_us(plan, truth) * normal(generator)});
  return observations;
}

TEST(Fit, RecoversTheConstantsThatMadeTheTimes) {
  const auto plans = many_plans();
  const CostModel truth{.tile_us = 20.0,
                        .tile_stream_us = 8.0,
                        .cta_us = 6.0,
                        .combine_us = 9.0,
                        .partial_us = 2.0,
                        .source = "test"};
  const auto observations = observe(plans, truth, 0.0);
  const auto fit = fit_cost_model(observations);
  ASSERT_TRUE(fit.ok()) << fit.status().message();
  EXPECT_LT(fit->max_relative_residual, 0.01);
  EXPECT_NEAR(fit->model.tile_us, truth.tile_us, 0.5);
  EXPECT_NEAR(fit->model.tile_stream_us, truth.tile_stream_us, 0.2);
  EXPECT_NEAR(fit->rank_correlation, 1.0, 1e-6);
}

TEST(Fit, TellsTheLaunchFromTheItems) {
  const auto plans = many_plans();
  const CostModel truth{.tile_us = 20.0,
                        .tile_stream_us = 8.0,
                        .cta_us = 6.0,
                        .combine_us = 9.0,
                        .partial_us = 2.0,
                        .launch_us = 15.0,
                        .source = "test"};
  const auto fit = fit_cost_model(observe(plans, truth, 0.0));
  ASSERT_TRUE(fit.ok());
  EXPECT_NEAR(fit->model.launch_us, truth.launch_us, 1.5);
  EXPECT_NEAR(fit->model.cta_us, truth.cta_us, 1.5);
  EXPECT_NEAR(fit->model.combine_us, truth.combine_us, 1.5);
}

// Times that follow the batch alone: over all observations any model ranks them well, within a batch none
// can.
TEST(Fit, RankWithinBatchesIsNotFlatteredByTheirSizes) {
  const auto plans = many_plans();
  std::mt19937_64 generator(73);
  std::normal_distribution<double> normal(1.0, 0.01);
  std::vector<FitObservation> observations;
  for (const SplitPlan& plan : plans)
    observations.push_back({&plan, 100.0 * plan.shape.batch * normal(generator)});
  const auto fit = fit_cost_model(observations);
  ASSERT_TRUE(fit.ok());
  EXPECT_GT(fit->rank_correlation, 0.85);
  EXPECT_LT(std::abs(fit->rank_within_batches), 0.5);
}

// 128 batches of every split count on a chip of 132 slots: seconds at most, since a device waits meanwhile.
TEST(Fit, ALargeRunIsFittedQuickly) {
  std::vector<SplitPlan> plans;
  for (std::int32_t batch = 1; batch <= 128; batch += 2) {
    for (const char* setting :
         {"fixed=1", "fixed=2", "fixed=3", "fixed=4", "fixed=5", "fixed=7", "fixed=10"}) {
      PlanRequest request;
      request.device = *find_known_device("h200");
      request.kernel.name = "k";
      request.kernel.heads_per_cta = 16;
      request.shape.batch = batch;
      request.shape.num_heads = 64;
      request.shape.topk = 128;
      request.shape.extra_topk = 512;
      request.setting = *parse_setting(setting);
      plans.push_back(*make_plan(request));
    }
  }
  const CostModel truth{.tile_us = 3.0,
                        .tile_stream_us = 0.03,
                        .cta_us = 5.0,
                        .combine_us = 3.0,
                        .partial_us = 0.2,
                        .launch_us = 2.0,
                        .source = "test"};
  const auto observations = observe(plans, truth, 0.01);
  const auto begin = std::chrono::steady_clock::now();
  const auto fit = fit_cost_model(observations);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  ASSERT_TRUE(fit.ok());
  EXPECT_LT(fit->rms_relative_residual, 0.02);
  EXPECT_LT(elapsed.count(), 20.0);  // 0.5 s; a sanitizer on a busy machine takes longer
  const auto folds_begin = std::chrono::steady_clock::now();
  EXPECT_EQ(fit_out_of_sample(observations).models.size(), 64U);
  const std::chrono::duration<double> folds = std::chrono::steady_clock::now() - folds_begin;
  EXPECT_LT(folds.count(), 160.0);
  RecordProperty("fit_s", std::to_string(elapsed.count()));
  RecordProperty("folds_s", std::to_string(folds.count()));
}

// One batch's times are turned round: fitted to all, the model has seen that; fitted to the others it has
// not, and must be found out.
TEST(FitOutOfSample, ABatchIsScoredByAFitThatHasNotSeenIt) {
  const auto plans = many_plans();
  const CostModel truth{.tile_us = 20.0,
                        .tile_stream_us = 1.0,
                        .cta_us = 6.0,
                        .combine_us = 9.0,
                        .partial_us = 2.0,
                        .source = "test"};
  auto observations = observe(plans, truth, 0.0);
  const OutOfSampleFit clean = fit_out_of_sample(observations);
  ASSERT_EQ(clean.models.size(), 8U);
  EXPECT_LT(clean.max_relative_residual, 0.05);
  EXPECT_GT(clean.rank_within_batches, 0.99);
  EXPECT_EQ(clean.ranked_batches, 8);

  for (FitObservation& observation : observations) {
    if (observation.plan->shape.batch == 3) observation.us *= 4.0;
  }
  const OutOfSampleFit odd = fit_out_of_sample(observations);
  const CostModel& without_it = odd.models.at(3);
  const CostModel& before = clean.models.at(3);
  for (const SplitPlan& plan : plans) {
    EXPECT_DOUBLE_EQ(predict_us(plan, without_it), predict_us(plan, before)) << "it saw what it leaves out";
  }
  const auto in_sample = fit_cost_model(observations);
  ASSERT_TRUE(in_sample.ok());
  EXPECT_GT(odd.rms_relative_residual, in_sample->rms_relative_residual);
}

TEST(FitOutOfSample, TimesThatNoModelFollowsAreNotRankedWell) {
  const auto plans = many_plans();
  std::mt19937_64 generator(79);
  std::normal_distribution<double> normal(1.0, 0.05);
  std::vector<FitObservation> observations;
  for (const SplitPlan& plan : plans)
    observations.push_back({&plan, 100.0 * plan.shape.batch * normal(generator)});
  EXPECT_LT(std::abs(fit_out_of_sample(observations).rank_within_batches), 0.5);
}

TEST(FitOutOfSample, WithoutEnoughOtherBatchesThereIsNone) {
  const auto plans = many_plans();
  const CostModel truth{.tile_us = 20.0, .tile_stream_us = 1.0, .cta_us = 6.0, .source = "test"};
  const auto observations = observe(plans, truth, 0.0);
  // Five of batch 1, then six with one of batch 2: only batch 2 can be left out, and not of five.
  const std::span<const FitObservation> all(observations);
  EXPECT_TRUE(fit_out_of_sample(all.first(5)).models.empty());
  EXPECT_TRUE(fit_out_of_sample(all.first(6)).models.empty());
  const OutOfSampleFit two_halves = fit_out_of_sample(all.first(15));
  EXPECT_EQ(two_halves.models.size(), 3U) << "three batches of five: ten others each";
}

// 24 batches, 8 fits: whatever else is left out with a batch, it must not neighbour it.
TEST(FitOutOfSample, ManyBatchesAreLeftOutTogetherButNotSideBySide) {
  std::vector<SplitPlan> plans;
  for (std::int32_t batch = 1; batch <= 24; ++batch) {
    PlanRequest request;
    request.device.num_sms = 4;
    request.kernel = {.name = "k", .heads_per_cta = 8};
    request.shape = {.batch = batch, .num_heads = 8, .topk = 128, .extra_topk = 512};
    for (const char* setting : {"fixed=1", "fixed=2", "fixed=3"}) {
      request.setting = *parse_setting(setting);
      plans.push_back(*make_plan(request));
    }
  }
  const CostModel truth{.tile_us = 20.0, .tile_stream_us = 8.0, .cta_us = 6.0, .source = "test"};
  const OutOfSampleFit fit = fit_out_of_sample(observe(plans, truth, 0.02));
  ASSERT_EQ(fit.models.size(), 24U);
  std::int32_t distinct = 0;
  for (std::int32_t batch = 1; batch < 24; ++batch) {
    distinct += fit.models.at(batch).tile_us != fit.models.at(batch + 1).tile_us ? 1 : 0;
  }
  EXPECT_EQ(distinct, 23);
}

TEST(Fit, SaysHowFarOffItIs) {
  const auto plans = many_plans();
  const CostModel truth{.tile_us = 20.0,
                        .tile_stream_us = 1.0,
                        .cta_us = 6.0,
                        .combine_us = 9.0,
                        .partial_us = 2.0,
                        .source = "test"};
  const auto observations = observe(plans, truth, 0.05);
  const auto fit = fit_cost_model(observations);
  ASSERT_TRUE(fit.ok());
  EXPECT_GT(fit->rms_relative_residual, 0.02);
  EXPECT_LT(fit->rms_relative_residual, 0.07);
  EXPECT_GE(fit->max_relative_residual, fit->rms_relative_residual);
  EXPECT_GT(fit->rank_correlation, 0.95);
  ASSERT_EQ(fit->predicted_us.size(), observations.size());
  EXPECT_DOUBLE_EQ(fit->predicted_us[3], predict_us(*observations[3].plan, fit->model));
}

TEST(Fit, ConstantsAreNeverNegative) {
  const auto plans = many_plans();
  std::vector<FitObservation> observations;
  for (const SplitPlan& plan : plans) observations.push_back({&plan, plan.num_partials() > 0 ? 10.0 : 100.0});
  const auto fit = fit_cost_model(observations);
  ASSERT_TRUE(fit.ok());
  for (const double constant : {fit->model.tile_us, fit->model.tile_stream_us, fit->model.cta_us,
                                fit->model.combine_us, fit->model.partial_us}) {
    EXPECT_GE(constant, 0.0);
  }
}

TEST(Fit, TooFewObservationsAreRefused) {
  const auto plans = many_plans();
  std::vector<FitObservation> observations = {{&plans[0], 1.0}, {&plans[1], 2.0}};
  EXPECT_EQ(fit_cost_model(observations).status().code(), StatusCode::invalid_argument);
}

}  // namespace
}  // namespace wavefill
