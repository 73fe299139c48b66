// Split counts that other projects' schedulers and published measurements give, to be met exactly.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "plan/balanced.h"
#include "plan/plan_invariants.h"
#include "plan/policies.h"
#include "plan/requests.h"

namespace wavefill {
namespace {

struct WaveGolden {
  std::int32_t batch;
  std::int64_t target;
  std::int32_t num_splits;
  std::int64_t num_ctas;
  std::int64_t num_waves;
  double efficiency_percent;
};

// An RTX PRO 6000 (188 SMs), 32 heads in tiles of 16.
TEST(Golden, TargetCtasTableOf188Sms) {
  const Result<DeviceSpec> device = find_known_device("rtx-pro-6000");
  ASSERT_TRUE(device.ok());
  for (const WaveGolden& golden : {WaveGolden{64, 256, 2, 256, 2, 68.1}, WaveGolden{80, 256, 2, 320, 2, 85.1},
                                   WaveGolden{96, 256, 2, 384, 3, 68.1}, WaveGolden{64, 512, 4, 512, 3, 90.8},
                                   WaveGolden{80, 512, 4, 640, 4, 85.1}, WaveGolden{96, 512, 3, 576, 4, 76.6},
                                   WaveGolden{64, 768, 6, 768, 5, 81.7}, WaveGolden{80, 768, 5, 800, 5, 85.1},
                                   WaveGolden{96, 768, 4, 768, 5, 81.7}}) {
    SCOPED_TRACE(testing::Message() << "batch " << golden.batch << ", T=" << golden.target);
    PlanRequest request = make_request(device->num_sms, 16, dsv4_shape(golden.batch, 32),
                                       {.kind = PolicyKind::target_ctas, .value = golden.target});
    request.device = *device;
    const Result<SplitPlan> plan = make_plan(request);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    const WaveStats stats = wave_stats(*plan);
    EXPECT_EQ(stats.num_splits, golden.num_splits);
    EXPECT_EQ(stats.num_ctas, golden.num_ctas);
    EXPECT_EQ(stats.num_waves, golden.num_waves);
    EXPECT_NEAR(stats.wave_efficiency * 100.0, golden.efficiency_percent, 0.05);
  }
}

struct TailGapGolden {
  std::int32_t num_heads;
  std::int32_t batch_first;
  std::int32_t batch_last;
  std::int64_t chunk;
  std::int64_t num_splits;
};

// FlashInfer fb28d72's SM120 decode kernel: 188 SMs, 16 heads a CTA, 10 tiles.
TEST(Golden, FlashInferChunksPerCtaOf188Sms) {
  for (const TailGapGolden& golden :
       {TailGapGolden{64, 1, 4, 1, 10}, TailGapGolden{64, 8, 8, 2, 5}, TailGapGolden{64, 16, 16, 2, 5},
        TailGapGolden{64, 24, 24, 2, 5}, TailGapGolden{64, 32, 32, 3, 4}, TailGapGolden{64, 48, 48, 9, 2},
        TailGapGolden{64, 64, 64, 9, 2}, TailGapGolden{32, 1, 8, 1, 10}, TailGapGolden{32, 16, 16, 2, 5},
        TailGapGolden{32, 24, 24, 4, 3}, TailGapGolden{32, 32, 32, 2, 5}, TailGapGolden{32, 48, 48, 2, 5},
        TailGapGolden{32, 64, 64, 3, 4}, TailGapGolden{16, 1, 16, 1, 10}, TailGapGolden{16, 24, 24, 2, 5},
        TailGapGolden{16, 32, 32, 2, 5}}) {
    for (std::int32_t batch = golden.batch_first; batch <= golden.batch_last; ++batch) {
      SCOPED_TRACE(testing::Message() << golden.num_heads << " heads, batch " << batch);
      EXPECT_EQ(tail_gap_chunk(std::int64_t{batch} * golden.num_heads / 16, 10, 188), golden.chunk);
      const Result<SplitPlan> plan = make_plan(
          make_request(188, 16, dsv4_shape(batch, golden.num_heads), {.kind = PolicyKind::tail_gap}));
      ASSERT_TRUE(plan.ok());
      EXPECT_EQ(wave_stats(*plan).num_splits, golden.num_splits);
    }
  }
}

struct BalancedGolden {
  std::int32_t kv_tiles;
  std::int32_t batch;
  std::int64_t payload;
  std::int64_t parts_used;
  std::int32_t max_splits_of_row;
  std::int64_t max_tiles_of_part;
};

// FlashMLA 9241ae3's schedule on 132 SMs, 64 heads, equal requests.
TEST(Golden, FlashMlaScheduleOf132Sms) {
  for (const BalancedGolden& golden :
       {BalancedGolden{10, 1, 6, 10, 10, 1}, BalancedGolden{10, 8, 6, 80, 10, 1},
        BalancedGolden{10, 16, 7, 80, 5, 2}, BalancedGolden{10, 32, 9, 96, 3, 4},
        BalancedGolden{10, 64, 13, 107, 3, 8}, BalancedGolden{10, 128, 20, 128, 1, 10},
        BalancedGolden{10, 256, 35, 128, 1, 20}, BalancedGolden{130, 1, 7, 65, 65, 2},
        BalancedGolden{130, 8, 14, 120, 15, 9}, BalancedGolden{130, 32, 38, 128, 4, 33},
        BalancedGolden{130, 128, 136, 128, 1, 130}}) {
    SCOPED_TRACE(testing::Message() << golden.kv_tiles << " tiles, batch " << golden.batch);
    DecodeShape shape;
    shape.batch = golden.batch;
    shape.topk = golden.kv_tiles * 64;
    const Result<SplitPlan> plan = make_plan(make_request(132, 64, shape, {.kind = PolicyKind::balanced}));
    ASSERT_TRUE(plan.ok());
    const WaveStats stats = wave_stats(*plan);
    EXPECT_EQ(balanced_shape({.row_tiles = plan->row_kv_tiles, .slots = 132}).payload_tiles, golden.payload);
    EXPECT_EQ(stats.num_ctas, golden.parts_used);
    EXPECT_EQ(stats.num_splits, golden.max_splits_of_row);
    EXPECT_EQ(stats.max_tiles_per_slot, golden.max_tiles_of_part);
  }
}

TEST(Golden, FlashMlaSplitsWindowLayersOnlyInSmallBatches) {
  for (std::int32_t batch = 1; batch <= 128; ++batch) {
    DecodeShape shape;
    shape.batch = batch;
    shape.topk = 128;
    const Result<SplitPlan> plan = make_plan(make_request(132, 64, shape, {.kind = PolicyKind::balanced}));
    ASSERT_TRUE(plan.ok());
    const std::int32_t num_splits = wave_stats(*plan).num_splits;
    EXPECT_TRUE(batch > 16 || num_splits == 2) << batch << ": " << num_splits;
    EXPECT_TRUE(batch < 32 || num_splits == 1) << batch << ": " << num_splits;
  }
}

// tests/plan/data/flashmla_num_splits.csv says where its figures are from.
TEST(Golden, FlashMlaSplitTotalsMeasuredOnH200) {
  std::ifstream file(WAVEFILL_PLAN_TEST_DATA "/flashmla_num_splits.csv");
  ASSERT_TRUE(file.is_open());
  int checked = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#') || line.starts_with("cache_format")) continue;
    std::istringstream fields(line);
    std::string format;
    DecodeShape shape;
    std::int64_t num_splits_total = 0;
    char comma = 0;
    std::getline(fields, format, ',');
    fields >> shape.num_heads >> comma >> shape.topk >> comma >> shape.extra_topk >> comma >> shape.batch >>
        comma >> num_splits_total;
    ASSERT_TRUE(fields) << line;
    const Result<KvFormat> kv_format = parse_kv_format(format);
    ASSERT_TRUE(kv_format.ok()) << line;
    shape.kv_format = *kv_format;
    shape.d_qk = default_d_qk(shape.kv_format);

    const PlanRequest request = make_request(132, 64, shape, {.kind = PolicyKind::balanced});
    const Result<SplitPlan> plan = make_plan(request);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_EQ(wave_stats(*plan).num_splits_total, num_splits_total) << line;
    EXPECT_EQ(broken_invariant(request, *plan), "") << line;
    ++checked;
  }
  EXPECT_EQ(checked, 216);
}

}  // namespace
}  // namespace wavefill
