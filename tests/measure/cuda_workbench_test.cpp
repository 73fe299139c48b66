// The workbench on a GPU: what it verifies and times, and what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measure/workbench.h"
#include "runtime/devices.h"

namespace wavefill {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kSmallPool = std::int64_t{64} << 20;

class CudaWorkbench : public ::testing::Test {
 protected:
  void SetUp() override {
    auto backend = make_backend("cuda:0", 0);
    if (!backend.ok()) {
      ASSERT_EQ(backend.status().code(), StatusCode::unavailable) << backend.status().message();
      GTEST_SKIP() << backend.status().message();
    }
    auto made = make_workbench(*std::move(backend), {.min_pool_bytes = kSmallPool, .cache_bytes = 8 << 20});
    ASSERT_TRUE(made.ok()) << made.status().message();
    workbench_ = *std::move(made);
  }

  SplitPlan plan_for(const DecodeShape& shape, const char* setting) {
    PlanRequest request;
    request.device = workbench_->device();
    request.kernel = workbench_->kernel_for(shape).value();
    request.shape = shape;
    request.setting = parse_setting(setting).value();
    return make_plan(request).value();
  }

  std::unique_ptr<Workbench> workbench_;
};

DecodeShape shape_of(std::int32_t batch) {
  return {.batch = batch, .num_heads = 16, .topk = 128, .extra_topk = 512};
}

TEST_F(CudaWorkbench, EveryPolicyIsVerifiedAndTimedFromColdCaches) {
  for (const std::int32_t batch : {1, 3, 40}) {  // many graphs of one plan, several, one
    const auto rotation = workbench_->prepare(shape_of(batch));
    ASSERT_TRUE(rotation.ok()) << rotation.status().message();
    EXPECT_TRUE(rotation->cold());
    for (const char* setting : {"fixed=1", "fixed=4", "balanced", "efficiency"}) {
      const SplitPlan plan = plan_for(shape_of(batch), setting);
      const auto outcome = workbench_->verify(plan);
      ASSERT_TRUE(outcome.ok()) << setting << ": " << outcome.status().message();
      EXPECT_TRUE(outcome->passed) << setting << ": " << outcome->message;
      const auto us = workbench_->time_calls(plan, 2 * rotation->num_sets + 1);
      ASSERT_TRUE(us.ok()) << setting << ": " << us.status().message();
      EXPECT_GT(*us, 1.0);  // a launch alone takes longer
      EXPECT_LT(*us, 10e3);
    }
  }
}

// What a tune compares before it chooses one: plans of several kernels, in turn, on one preparation.
TEST_F(CudaWorkbench, EveryKernelThatTakesAShapeCanBeTimedBesideTheOthers) {
  const DecodeShape shape = shape_of(16);
  const auto kernels = workbench_->kernels_for(shape);
  ASSERT_TRUE(kernels.ok()) << kernels.status().message();
  ASSERT_FALSE(kernels->empty());
  EXPECT_EQ(kernels->front(), workbench_->kernel_for(shape).value());
  ASSERT_TRUE(workbench_->prepare(shape).ok());
  for (const KernelSpec& kernel : *kernels) {
    PlanRequest request;
    request.device = workbench_->device();
    request.kernel = kernel;
    request.shape = shape;
    request.setting = parse_setting("fixed=2").value();
    const SplitPlan plan = make_plan(request).value();
    const auto outcome = workbench_->verify(plan);
    ASSERT_TRUE(outcome.ok()) << kernel.name << ": " << outcome.status().message();
    EXPECT_TRUE(outcome->passed) << kernel.name << ": " << outcome->message;
    const auto us = workbench_->time_calls(plan, 50);
    ASSERT_TRUE(us.ok()) << kernel.name << ": " << us.status().message();
    EXPECT_GT(*us, 1.0) << kernel.name;
  }
}

// The time of a call must not depend on how many are asked for.
TEST_F(CudaWorkbench, ALongBurstHasTheMeanOfAShortOne) {
  ASSERT_TRUE(workbench_->prepare(shape_of(16)).ok());
  const SplitPlan plan = plan_for(shape_of(16), "fixed=1");
  std::vector<double> few;
  std::vector<double> many;
  for (int i = 0; i < 7; ++i) {
    few.push_back(workbench_->time_calls(plan, 1).value());
    many.push_back(workbench_->time_calls(plan, 500).value());
  }
  std::ranges::sort(few);
  std::ranges::sort(many);
  EXPECT_NEAR(few[3], many[3], 0.25 * many[3]);
}

TEST_F(CudaWorkbench, RefusesAnotherShapeNoCallsAndUnknownKernels) {
  ASSERT_TRUE(workbench_->prepare(shape_of(2)).ok());
  EXPECT_EQ(workbench_->verify(plan_for(shape_of(3), "fixed=1")).status().code(), StatusCode::mismatch);
  EXPECT_FALSE(workbench_->time_calls(plan_for(shape_of(2), "fixed=1"), 0).ok());
  const auto unknown = make_workbench(make_backend("cuda:0", 0).value(), {.kernel = "fast"});
  EXPECT_EQ(unknown.status().code(), StatusCode::not_found);
  EXPECT_THAT(unknown.status().message(), HasSubstr("'fast'"));
}

TEST_F(CudaWorkbench, APoolTooSmallForColdCachesIsCalledWarm) {
  const auto workbench = make_workbench(make_backend("cuda:0", 0).value(), {.max_pool_bytes = kSmallPool});
  ASSERT_TRUE(workbench.ok());
  const auto rotation = (*workbench)->prepare(shape_of(4));
  ASSERT_TRUE(rotation.ok()) << rotation.status().message();
  EXPECT_FALSE(rotation->cold());  // 64 MiB against twice an L2 of some 50
}

TEST_F(CudaWorkbench, SaysWhatItMeasuredOn) {
  const Environment environment = workbench_->environment();
  EXPECT_EQ(environment.value("device"), workbench_->device().name);
  EXPECT_FALSE(environment.value("cuda_runtime").empty());
  const auto bandwidth = workbench_->bandwidth();
  ASSERT_TRUE(bandwidth.ok()) << bandwidth.status().message();
  EXPECT_GT(bandwidth->copy_gbps, 100.0);
}

}  // namespace
}  // namespace wavefill
