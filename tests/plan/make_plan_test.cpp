// What make_plan refuses, and the sizes it must get right in 64 bits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "plan/plan_invariants.h"
#include "plan/requests.h"
#include "wavefill/profile.h"

namespace wavefill {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Status refusal(const PlanRequest& request) { return make_plan(request).status(); }

PlanRequest valid_request() {
  return make_request(132, 64, dsv4_shape(4, 64), {.kind = PolicyKind::fixed, .value = 2});
}

TEST(MakePlan, LengthOutsideTheWidthNamesRowValueAndRange) {
  PlanRequest request = valid_request();
  const std::vector<std::int32_t> too_long = {128, 0, 129, 5};
  request.lengths = too_long;
  EXPECT_EQ(refusal(request).code(), StatusCode::invalid_argument);
  EXPECT_THAT(refusal(request).message(),
              AllOf(HasSubstr("lengths[2]"), HasSubstr("129"), HasSubstr("0..128")));
  const std::vector<std::int32_t> negative = {512, -1, 0, 0};
  request.lengths = {};
  request.extra_lengths = negative;
  EXPECT_THAT(refusal(request).message(),
              AllOf(HasSubstr("extra_lengths[1]"), HasSubstr("-1"), HasSubstr("0..512")));
  const std::vector<std::int32_t> too_few = {1, 2, 3};
  request.extra_lengths = {};
  request.lengths = too_few;
  EXPECT_THAT(refusal(request).message(), AllOf(HasSubstr("3 values"), HasSubstr("4")));
}

TEST(MakePlan, RefusesShapesDevicesKernelsAndParametersOutOfRange) {
  const auto expect_refused = [](const char* named, auto change) {
    PlanRequest request = valid_request();
    change(request);
    const Status status = refusal(request);
    EXPECT_EQ(status.code(), StatusCode::invalid_argument) << named;
    EXPECT_THAT(status.message(), AllOf(HasSubstr(named), HasSubstr("allowed")));
  };
  expect_refused("batch", [](PlanRequest& r) { r.shape.batch = 0; });
  expect_refused("num_heads", [](PlanRequest& r) { r.shape.num_heads = 129; });
  expect_refused("num_sms", [](PlanRequest& r) { r.device.num_sms = 0; });
  expect_refused("heads_per_cta", [](PlanRequest& r) { r.kernel.heads_per_cta = 0; });
  expect_refused("heads_per_cta", [](PlanRequest& r) { r.kernel.heads_per_cta = INT32_MAX; });
  expect_refused("kv_tile", [](PlanRequest& r) { r.kernel.kv_tile = 0; });
  expect_refused("ctas_per_sm", [](PlanRequest& r) { r.kernel.ctas_per_sm = -1; });
  expect_refused("num_sms * kernel.ctas_per_sm", [](PlanRequest& r) {
    r.device.num_sms = INT32_MAX;
    r.kernel.ctas_per_sm = 2;
  });
  expect_refused("N of fixed", [](PlanRequest& r) { r.setting.value = 0; });
  expect_refused("N of fixed", [](PlanRequest& r) { r.setting.value = kMaxNumSplits + 1; });
  expect_refused("T of target-ctas", [](PlanRequest& r) {
    r.setting = {.kind = PolicyKind::target_ctas, .value = kMaxTargetCtas + 1};
  });
  expect_refused("setting.kind", [](PlanRequest& r) { r.setting.kind = static_cast<PolicyKind>(99); });
  expect_refused("profile", [](PlanRequest& r) { r.setting.kind = PolicyKind::measured; });
  expect_refused("cost_model.cta_us", [](PlanRequest& r) {
    r.cost_model = CostModel{};
    r.cost_model->cta_us = std::numeric_limits<double>::quiet_NaN();
  });
  expect_refused("cost_model.partial_us", [](PlanRequest& r) {
    r.cost_model = CostModel{};
    r.cost_model->partial_us = -1.0;
  });
}

// 2^20 rows of 2^14 tiles: 2^34 items. Refused before anything of that size is allocated.
TEST(MakePlan, RefusesPlansWhoseIndicesWouldNotFit32Bits) {
  DecodeShape shape;
  shape.batch = 1 << 20;
  shape.topk = 1 << 20;
  for (const bool batch_invariant : {false, true}) {
    PlanRequest request = make_request(132, 64, shape, {.kind = PolicyKind::fixed, .value = kMaxNumSplits});
    request.batch_invariant = batch_invariant;
    EXPECT_EQ(refusal(request).code(), StatusCode::invalid_argument);
    EXPECT_THAT(refusal(request).message(), HasSubstr("2147483647"));
  }
  PlanRequest tiny_tiles = make_request(132, 64, shape, {.kind = PolicyKind::fixed, .value = 1});
  tiny_tiles.shape.batch = 1;
  tiny_tiles.shape.topk = INT32_MAX;
  tiny_tiles.shape.extra_topk = INT32_MAX;
  tiny_tiles.kernel.kv_tile = 1;
  EXPECT_THAT(refusal(tiny_tiles).message(), HasSubstr("kv tiles"));
}

// 512 rows in 20 splits of 128 heads: 10,240 partials, 2.7 GB.
TEST(MakePlan, WorkspaceBeyond32BitsIsExact) {
  DecodeShape shape;
  shape.batch = 512;
  shape.num_heads = 128;
  shape.topk = 20 * 64;
  const PlanRequest request = make_request(132, 64, shape, {.kind = PolicyKind::fixed, .value = 20});
  const Result<SplitPlan> plan = make_plan(request);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(broken_invariant(request, *plan), "");
  EXPECT_EQ(workspace_bytes(*plan), 10'240ULL * 128 * 513 * 4);
  EXPECT_GT(workspace_bytes(*plan), std::size_t{INT32_MAX});
}

// The class "workspace bound wrong both ways".
TEST(MakePlan, WholeRowsNeedNoWorkspace) {
  for (const std::int32_t batch : {1, 512}) {
    const Result<SplitPlan> plan =
        make_plan(make_request(132, 64, dsv4_shape(batch, 64), {.kind = PolicyKind::fixed, .value = 1}));
    ASSERT_TRUE(plan.ok());
    EXPECT_EQ(workspace_bytes(*plan), 0U);
    EXPECT_EQ(plan->num_partials(), 0);
  }
}

TEST(MakePlan, EmptyRowsKeepOneEmptyItemAHeadTile) {
  const std::vector<std::int32_t> lengths = {0, 128, 0};
  const std::vector<std::int32_t> extra_lengths = {0, 512, 0};
  for (const PolicyInfo& policy : all_policies()) {
    if (policy.kind == PolicyKind::measured) continue;
    PlanRequest request = make_request(132, 64, dsv4_shape(3, 128), {.kind = policy.kind});
    request.setting.value = policy.parameter.empty() ? 0 : 8;
    request.lengths = lengths;
    request.extra_lengths = extra_lengths;
    const Result<SplitPlan> plan = make_plan(request);
    ASSERT_TRUE(plan.ok()) << policy.name;
    int empty_items = 0;
    for (const WorkItem& item : plan->items) {
      if (item.tile_begin == item.tile_end) {
        ++empty_items;
        EXPECT_EQ(item.partial_idx, -1) << policy.name;
        EXPECT_NE(item.row, 1) << policy.name;
      }
    }
    EXPECT_EQ(empty_items, 2 * 2) << policy.name;
  }
}

TEST(MakePlan, NoTileSpansBothCaches) {
  EXPECT_EQ(num_kv_tiles(0, 0, 64), 0);
  EXPECT_EQ(num_kv_tiles(1, 1, 64), 2);
  EXPECT_EQ(num_kv_tiles(64, 64, 64), 2);
  EXPECT_EQ(num_kv_tiles(65, 0, 64), 2);
  EXPECT_EQ(num_kv_tiles(INT32_MAX, INT32_MAX, 1), 2LL * INT32_MAX);
}

TEST(MakePlan, MeasuredFollowsItsProfileAndNamesAMiss) {
  PlanRequest request = valid_request();
  const ProfileKey key = key_of(request.device, request.kernel, request.shape);
  const std::vector<ProfileEntry> entries = {{.batch = 4,
                                              .setting = {.kind = PolicyKind::fixed, .value = 5},
                                              .us = 2.0,
                                              .us_low = 1.0,
                                              .us_high = 3.0,
                                              .samples = 9}};
  request.setting = {.kind = PolicyKind::measured, .value = 0};
  request.setting.profile = std::make_shared<const Profile>(key, entries);
  const Result<SplitPlan> plan = make_plan(request);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(wave_stats(*plan).num_splits, 5);
  EXPECT_EQ(plan->setting, request.setting);

  request.shape.batch = 5;
  EXPECT_EQ(refusal(request).code(), StatusCode::not_found);
  request.shape.batch = 4;
  request.shape.num_heads = 32;
  EXPECT_EQ(refusal(request).code(), StatusCode::mismatch);
}

// Three workers of 3, 2 and 2 tiles on two slots: the third starts when the first slot falls free.
TEST(WaveStats, BusiestSlotIsThatOfTheListSchedule) {
  DecodeShape shape;
  shape.topk = 7 * 64;
  const Result<SplitPlan> plan =
      make_plan(make_request(2, 64, shape, {.kind = PolicyKind::fixed, .value = 3}));
  ASSERT_TRUE(plan.ok());
  const WaveStats stats = wave_stats(*plan);
  EXPECT_EQ(stats.num_ctas, 3);
  EXPECT_EQ(stats.num_waves, 2);
  EXPECT_DOUBLE_EQ(stats.wave_efficiency, 0.75);
  EXPECT_EQ(stats.max_tiles_per_slot, 4);
  EXPECT_EQ(stats.num_splits_total, 3);
}

}  // namespace
}  // namespace wavefill
