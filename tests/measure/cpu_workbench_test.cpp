// The real thing, on a cache that is pretended to be small so that the pool is.
#include <gtest/gtest.h>

#include "measure/workbench.h"

namespace wavefill {
namespace {

DecodeShape small_shape() {
  DecodeShape shape;
  shape.batch = 3;
  shape.num_heads = 8;
  shape.topk = 128;
  shape.extra_topk = 192;
  return shape;
}

std::unique_ptr<Workbench> small_workbench() {
  auto workbench = make_cpu_workbench(2, {.cache_bytes = 1 << 20});
  EXPECT_TRUE(workbench.ok()) << workbench.status().message();
  return workbench.ok() ? std::move(*workbench) : nullptr;
}

SplitPlan plan_for(const Workbench& workbench, const DecodeShape& shape, const char* setting) {
  PlanRequest request;
  request.device = workbench.device();
  request.kernel = *workbench.kernel_for(shape);
  request.shape = shape;
  request.setting = *parse_setting(setting);
  return *make_plan(request);
}

TEST(CpuWorkbench, EveryPolicyIsVerifiedAndTimed) {
  const auto workbench = small_workbench();
  ASSERT_NE(workbench, nullptr);
  const DecodeShape shape = small_shape();
  const auto rotation = workbench->prepare(shape);
  ASSERT_TRUE(rotation.ok()) << rotation.status().message();
  EXPECT_TRUE(rotation->cold());
  for (const char* setting : {"fixed=1", "fixed=3", "efficiency", "balanced", "list-schedule"}) {
    const SplitPlan plan = plan_for(*workbench, shape, setting);
    const auto outcome = workbench->verify(plan);
    ASSERT_TRUE(outcome.ok()) << setting << ": " << outcome.status().message();
    EXPECT_TRUE(outcome->passed) << setting << ": " << outcome->message;
    EXPECT_GT(outcome->max_o_error, 0.0) << "bf16 output cannot equal doubles";
    const auto us = workbench->time_calls(plan, 2 * rotation->num_sets + 1);  // round the sets and on
    ASSERT_TRUE(us.ok()) << us.status().message();
    EXPECT_GT(*us, 0.0);
  }
}

TEST(CpuWorkbench, ShapesFollowEachOther) {
  const auto workbench = small_workbench();
  ASSERT_NE(workbench, nullptr);
  DecodeShape shape = small_shape();
  for (const std::int32_t batch : {1, 5, 2}) {
    shape.batch = batch;
    shape.extra_topk = batch == 2 ? 0 : 64;  // with and without the second cache
    ASSERT_TRUE(workbench->prepare(shape).ok());
    const auto outcome = workbench->verify(plan_for(*workbench, shape, "fixed=2"));
    ASSERT_TRUE(outcome.ok()) << outcome.status().message();
    EXPECT_TRUE(outcome->passed) << "batch " << batch << ": " << outcome->message;
  }
}

TEST(CpuWorkbench, APlanForAnotherShapeIsRefused) {
  const auto workbench = small_workbench();
  ASSERT_NE(workbench, nullptr);
  const DecodeShape shape = small_shape();
  DecodeShape other = shape;
  other.batch = 4;
  ASSERT_TRUE(workbench->prepare(shape).ok());
  EXPECT_EQ(workbench->verify(plan_for(*workbench, other, "fixed=1")).status().code(), StatusCode::mismatch);
  EXPECT_FALSE(workbench->time_calls(plan_for(*workbench, shape, "fixed=1"), 0).ok());
}

TEST(CpuWorkbench, NothingPreparedIsSaid) {
  const auto workbench = small_workbench();
  ASSERT_NE(workbench, nullptr);
  EXPECT_EQ(workbench->verify(plan_for(*workbench, small_shape(), "fixed=1")).status().code(),
            StatusCode::internal);
}

}  // namespace
}  // namespace wavefill
