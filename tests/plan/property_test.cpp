// Properties of all policies, over random shapes and lengths, and over every batch size.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <sstream>

#include "plan/plan_invariants.h"
#include "plan/requests.h"
#include "wavefill/profile.h"

namespace wavefill {
namespace {

// Every policy, with parameters at their ends and between.
std::vector<Setting> all_settings() {
  std::vector<Setting> settings;
  for (const std::int64_t n : {std::int64_t{1}, std::int64_t{2}, std::int64_t{7}, kMaxNumSplits}) {
    settings.push_back({.kind = PolicyKind::fixed, .value = n});
  }
  for (const std::int64_t t : {std::int64_t{1}, std::int64_t{512}, kMaxTargetCtas}) {
    settings.push_back({.kind = PolicyKind::target_ctas, .value = t});
  }
  for (const PolicyKind kind : {PolicyKind::efficiency, PolicyKind::tail_gap, PolicyKind::last_wave,
                                PolicyKind::list_schedule, PolicyKind::balanced}) {
    settings.push_back({.kind = kind});
  }
  return settings;
}

template <typename T>
T pick(std::mt19937& rng, std::initializer_list<T> values) {
  return values.begin()[std::uniform_int_distribution<std::size_t>(0, values.size() - 1)(rng)];
}

std::int32_t uniform(std::mt19937& rng, std::int32_t low, std::int32_t high) {
  return std::uniform_int_distribution<std::int32_t>(low, high)(rng);
}

// Full, empty, one straggler, uniform, or mostly short.
std::vector<std::int32_t> random_lengths(std::mt19937& rng, std::int64_t rows, std::int32_t width) {
  std::vector<std::int32_t> lengths(static_cast<std::size_t>(rows), width);
  const std::int32_t shape = uniform(rng, 0, 4);
  for (std::int32_t& length : lengths) {
    if (shape == 1) length = 0;
    if (shape == 2) length = std::min(width, 1);
    if (shape == 3) length = uniform(rng, 0, width);
    if (shape == 4) length = uniform(rng, 0, 9) == 0 ? width : uniform(rng, 0, width) / 16;
  }
  if (shape == 2) lengths[static_cast<std::size_t>(uniform(rng, 0, static_cast<int>(rows) - 1))] = width;
  return lengths;
}

struct RandomCase {
  PlanRequest request;
  std::vector<std::int32_t> lengths;
  std::vector<std::int32_t> extra_lengths;

  PlanRequest with(const Setting& setting, bool batch_invariant) const {
    PlanRequest copy = request;
    copy.lengths = lengths;
    copy.extra_lengths = extra_lengths;
    copy.setting = setting;
    copy.batch_invariant = batch_invariant;
    return copy;
  }
};

RandomCase random_case(std::mt19937& rng) {
  constexpr std::int64_t kMostItems = 60'000;  // of a split into single tiles: keeps the test quick
  RandomCase result;
  PlanRequest& request = result.request;
  const std::int32_t num_heads = uniform(rng, 1, kMaxHeads);
  request = make_request(pick(rng, {1, 2, 48, 78, 132, 188, 1000}), pick(rng, {8, 16, 32, 64, 128}), {}, {});
  request.kernel.kv_tile = pick(rng, {16, 32, 64, 128});
  request.kernel.ctas_per_sm = uniform(rng, 1, 4);
  DecodeShape& shape = request.shape;
  shape.num_heads = num_heads;
  shape.topk = pick(rng, {0, 1, 63, 64, 65, 128, 512, 2048, uniform(rng, 0, 8320)});
  shape.extra_topk = pick(rng, {0, 0, 1, 512, 1024, 8192, uniform(rng, 0, 8320)});
  shape.s_q = pick(rng, {1, 1, 1, 2, 3});
  const std::int64_t items_a_request =
      std::max<std::int64_t>(1, num_kv_tiles(shape.topk, shape.extra_topk, request.kernel.kv_tile)) *
      num_head_tiles(request.kernel, num_heads) * shape.s_q;
  const auto most = static_cast<std::int32_t>(std::clamp<std::int64_t>(kMostItems / items_a_request, 1, 512));
  shape.batch = pick(rng, {1, most, uniform(rng, 1, most)});
  result.lengths = random_lengths(rng, shape.rows(), shape.topk);
  result.extra_lengths = random_lengths(rng, shape.rows(), shape.extra_topk);
  return result;
}

std::string describe(const RandomCase& c, const Setting& setting, std::uint32_t seed) {
  std::ostringstream text;
  const DecodeShape& shape = c.request.shape;
  text << "seed " << seed << ", " << to_string(setting) << ", batch " << shape.batch << ", s_q " << shape.s_q
       << ", heads " << shape.num_heads << "/" << c.request.kernel.heads_per_cta << ", topk " << shape.topk
       << "+" << shape.extra_topk << ", kv_tile " << c.request.kernel.kv_tile << ", slots "
       << num_slots(c.request.device, c.request.kernel);
  return text.str();
}

TEST(PlanProperty, EveryTileIsCoveredOnceAndPartialsHavePlaces) {
  const std::vector<Setting> settings = all_settings();
  for (std::uint32_t seed = 0; seed < 250; ++seed) {
    std::mt19937 rng(seed);
    const RandomCase c = random_case(rng);
    for (const Setting& setting : settings) {
      const PlanRequest request = c.with(setting, seed % 5 == 0);
      const Result<SplitPlan> plan = make_plan(request);
      ASSERT_TRUE(plan.ok()) << describe(c, setting, seed) << ": " << plan.status().message();
      ASSERT_EQ(broken_invariant(request, *plan), "") << describe(c, setting, seed);
      const WaveStats stats = wave_stats(*plan);
      ASSERT_GT(stats.wave_efficiency, 0.0);
      ASSERT_LE(stats.wave_efficiency, 1.0);
    }
  }
}

TEST(PlanProperty, EveryBatchSizeHoldsTheInvariants) {
  for (std::int32_t batch = 1; batch <= 512; ++batch) {
    for (const Setting& setting : all_settings()) {
      const PlanRequest request = make_request(132, 16, dsv4_shape(batch, 16), setting);
      const Result<SplitPlan> plan = make_plan(request);
      ASSERT_TRUE(plan.ok()) << plan.status().message();
      ASSERT_EQ(broken_invariant(request, *plan), "") << to_string(setting) << ", batch " << batch;
    }
  }
}

TEST(PlanProperty, SameRequestGivesSamePlan) {
  for (std::uint32_t seed = 1000; seed < 1020; ++seed) {
    std::mt19937 rng(seed);
    const RandomCase c = random_case(rng);
    for (const Setting& setting : all_settings()) {
      const PlanRequest request = c.with(setting, false);
      ASSERT_TRUE(*make_plan(request) == *make_plan(request)) << describe(c, setting, seed);
    }
  }
}

// Tile bounds of a row's splits, head tile 0.
std::vector<std::int32_t> row_bounds(const SplitPlan& plan, std::int32_t row) {
  std::vector<std::int32_t> ends;
  for (const WorkItem& item : plan.items) {
    if (item.row == row && item.head_tile == 0) ends.push_back(item.tile_end);
  }
  std::ranges::sort(ends);
  return ends;
}

void expect_rows_split_as_alone(const RandomCase& c, const Setting& setting, const std::string& what) {
  const Result<SplitPlan> batch = make_plan(c.with(setting, true));
  ASSERT_TRUE(batch.ok()) << what << ": " << batch.status().message();
  const std::int32_t rows = static_cast<std::int32_t>(c.request.shape.rows());
  for (std::int32_t row = 0; row < rows; row += 1 + rows / 5) {
    RandomCase alone = c;
    alone.request.shape.batch = 1;
    alone.request.shape.s_q = 1;
    alone.lengths = {c.lengths[static_cast<std::size_t>(row)]};
    alone.extra_lengths = {c.extra_lengths[static_cast<std::size_t>(row)]};
    const Result<SplitPlan> plan = make_plan(alone.with(setting, true));
    ASSERT_TRUE(plan.ok()) << what;
    ASSERT_EQ(row_bounds(*batch, row), row_bounds(*plan, 0)) << what << ", row " << row;
    // A batch of one has nothing to vary with, so the mode changes nothing there.
    const Result<SplitPlan> variant = make_plan(alone.with(setting, false));
    ASSERT_EQ(row_bounds(*variant, 0), row_bounds(*plan, 0)) << what << ", row " << row;
  }
}

TEST(PlanProperty, BatchInvariantRowIsSplitAsIfAlone) {
  for (std::uint32_t seed = 2000; seed < 2060; ++seed) {
    std::mt19937 rng(seed);
    const RandomCase c = random_case(rng);
    for (const Setting& setting : all_settings()) {
      expect_rows_split_as_alone(c, setting, describe(c, setting, seed));
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

// A profile that knows batch 1 and larger ones must answer with batch 1 in every batch.
TEST(PlanProperty, BatchInvariantMeasuredDoesNotLookAtTheBatch) {
  RandomCase c;
  c.request = make_request(132, 64, dsv4_shape(1, 64), {});
  const ProfileKey key = key_of(c.request.device, c.request.kernel, c.request.shape);
  const auto entry = [](std::int32_t batch, std::int64_t splits) {
    return ProfileEntry{.batch = batch,
                        .setting = {.kind = PolicyKind::fixed, .value = splits},
                        .us = 1.0,
                        .us_low = 1.0,
                        .us_high = 1.0,
                        .samples = 1};
  };
  Setting measured{.kind = PolicyKind::measured, .value = 0};
  measured.profile = std::make_shared<const Profile>(key, std::vector{entry(1, 5), entry(32, 2)});
  for (const std::int32_t batch : {1, 2, 32, 512}) {
    c.request.shape.batch = batch;
    c.lengths.assign(static_cast<std::size_t>(batch), 128);
    c.extra_lengths.assign(static_cast<std::size_t>(batch), 512);
    expect_rows_split_as_alone(c, measured, "measured");
    EXPECT_EQ(wave_stats(*make_plan(c.with(measured, true))).num_splits, 5) << batch;
  }
}

std::int32_t num_splits_of(std::int32_t num_sms, const DecodeShape& shape, const Setting& setting) {
  const Result<SplitPlan> plan = make_plan(make_request(num_sms, 16, shape, setting));
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return plan.ok() ? wave_stats(*plan).num_splits : 0;
}

// The class "a formula collapses to 1 split above some batch": target-ctas splits exactly as long as the
// target is not met, for every batch.
TEST(PlanProperty, TargetCtasMeetsItsTargetAndNoMore) {
  for (std::int32_t batch = 1; batch <= 512; ++batch) {
    for (const std::int32_t num_heads : {16, 32, 128}) {
      for (const std::int64_t target : {1, 256, 768, 100'000}) {
        const std::int64_t units = std::int64_t{batch} * ((num_heads + 15) / 16);
        const std::int64_t splits = num_splits_of(188, dsv4_shape(batch, num_heads),
                                                  {.kind = PolicyKind::target_ctas, .value = target});
        const auto what = testing::Message() << batch << " x " << num_heads << ", T=" << target;
        ASSERT_TRUE(splits == 10 || splits * units >= target) << what;
        ASSERT_TRUE(splits == 1 || (splits - 1) * units < target) << what;
      }
    }
  }
}

// Where an unsplit launch leaves half the slots idle and rows have two tiles, the policies that go by
// waves alone must split: also for little work (4 tiles, 1 row), and for every batch.
TEST(PlanProperty, WavePoliciesSplitWhileHalfTheSlotsIdle) {
  for (const std::int32_t num_sms : {78, 132, 188}) {
    for (std::int32_t batch = 1; batch <= num_sms / 2; ++batch) {
      for (const std::int32_t topk : {65, 128, 256, 640, 2048, 8320}) {
        DecodeShape shape;
        shape.batch = batch;
        shape.num_heads = 16;
        shape.topk = topk;
        for (const PolicyKind kind : {PolicyKind::efficiency, PolicyKind::tail_gap}) {
          ASSERT_GE(num_splits_of(num_sms, shape, {.kind = kind}), 2)
              << num_sms << " SMs, batch " << batch << ", topk " << topk;
        }
      }
    }
  }
}

// Beyond three full waves unsplit, tail-gap has no candidate left: the row stays whole.
TEST(PlanProperty, HugeBatchesAreNotSplitByWavePolicies) {
  for (const PolicyKind kind : {PolicyKind::efficiency, PolicyKind::tail_gap}) {
    for (std::int32_t batch = 3 * 132 + 1; batch <= 512; ++batch) {
      ASSERT_EQ(num_splits_of(132, dsv4_shape(batch, 16), {.kind = kind}), 1) << batch;
    }
  }
}

TEST(PlanProperty, FixedSplitsEachRowEvenly) {
  for (std::uint32_t seed = 3000; seed < 3050; ++seed) {
    std::mt19937 rng(seed);
    const RandomCase c = random_case(rng);
    for (const std::int32_t n : {1, 2, 3, 16}) {
      const Setting setting{.kind = PolicyKind::fixed, .value = n};
      const Result<SplitPlan> plan = make_plan(c.with(setting, false));
      ASSERT_TRUE(plan.ok());
      for (std::size_t row = 0; row < plan->row_kv_tiles.size(); ++row) {
        const std::int32_t partials = plan->row_partial_begin[row + 1] - plan->row_partial_begin[row];
        ASSERT_EQ(std::max(partials, 1), std::max(1, std::min(n, plan->row_kv_tiles[row])));
      }
      for (const WorkItem& item : plan->items) {
        const std::int32_t tiles = plan->row_kv_tiles[static_cast<std::size_t>(item.row)];
        const std::int32_t splits = std::max(1, std::min(n, tiles));
        const std::int32_t size = item.tile_end - item.tile_begin;
        ASSERT_TRUE(size == tiles / splits || size == (tiles + splits - 1) / splits)
            << describe(c, setting, seed) << ": " << size << " of " << tiles;
      }
    }
  }
}

// Graham's order: a late long item would leave the other slots idle.
TEST(PlanProperty, UniformPlansDispatchLongestItemsFirst) {
  std::mt19937 rng(4000);
  for (int i = 0; i < 50; ++i) {
    const RandomCase c = random_case(rng);
    const Result<SplitPlan> plan = make_plan(c.with({.kind = PolicyKind::tail_gap}, false));
    ASSERT_TRUE(plan.ok());
    ASSERT_TRUE(std::ranges::is_sorted(plan->items, std::ranges::greater{},
                                       [](const WorkItem& item) { return item.tile_end - item.tile_begin; }));
  }
}

}  // namespace
}  // namespace wavefill
