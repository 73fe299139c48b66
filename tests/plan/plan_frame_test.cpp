// A frame has room for every plan of its shape, and is never taken for one.
#include "plan/plan_frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace wavefill {
namespace {

PlanRequest request_of(const DecodeShape& shape, std::int32_t num_sms, std::int32_t heads_per_cta) {
  PlanRequest request;
  request.device.name = "frame";
  request.device.num_sms = num_sms;
  request.kernel = {.name = "k", .heads_per_cta = heads_per_cta, .kv_tile = 32};
  request.shape = shape;
  request.setting = parse_setting("balanced").value();
  return request;
}

TEST(PlanFrame, HasRoomForEveryPlanOfItsShape) {
  std::mt19937 rng(5);
  for (int trial = 0; trial < 300; ++trial) {
    const DecodeShape shape{.batch = static_cast<std::int32_t>(1 + rng() % 40),
                            .s_q = static_cast<std::int32_t>(1 + rng() % 3),
                            .num_heads = static_cast<std::int32_t>(1 + rng() % 128),
                            .topk = static_cast<std::int32_t>(rng() % 700)};
    const auto heads_per_cta = static_cast<std::int32_t>(8 << (rng() % 4));
    PlanRequest request = request_of(shape, static_cast<std::int32_t>(1 + rng() % 200), heads_per_cta);
    request.setting.value = static_cast<std::int64_t>(rng() % 8);  // balanced=N, and balanced alone
    const SplitPlan frame = make_plan_frame(request).value();
    EXPECT_TRUE(is_plan_frame(frame));
    for (int draw = 0; draw < 5; ++draw) {
      std::vector<std::int32_t> lengths(static_cast<std::size_t>(shape.rows()));
      const auto most = static_cast<unsigned>(draw == 0 ? shape.topk : 1 + rng() % (shape.topk + 1));
      for (std::int32_t& length : lengths) {
        length = std::min(shape.topk, static_cast<std::int32_t>(rng() % (most + 1)));
        if (draw == 0) length = shape.topk;
      }
      request.lengths = lengths;
      const SplitPlan plan = make_plan(request).value();
      EXPECT_FALSE(is_plan_frame(plan));
      ASSERT_LE(plan.items.size(), frame.items.size());
      ASSERT_LE(plan.num_workers(), frame.num_workers());
      ASSERT_LE(plan.num_partials(), frame.num_partials());
      ASSERT_EQ(plan.row_partial_begin.size(), frame.row_partial_begin.size());
    }
  }
}

TEST(PlanFrame, OtherSettingsAreRefusedByName) {
  PlanRequest request = request_of({.batch = 4, .num_heads = 16, .topk = 128}, 132, 16);
  request.setting = parse_setting("fixed=4").value();
  const Status fixed = make_plan_frame(request).status();
  EXPECT_EQ(fixed.code(), StatusCode::unsupported);
  EXPECT_THAT(fixed.message(), ::testing::HasSubstr("fixed=4"));
  request.setting = parse_setting("balanced").value();
  request.batch_invariant = true;
  EXPECT_EQ(make_plan_frame(request).status().code(), StatusCode::unsupported);
}

}  // namespace
}  // namespace wavefill
