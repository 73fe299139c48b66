// The CUDA backend's arithmetic that needs no GPU: divisors, how plans reach the device, the kernel table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "backend_cuda/kernel_table.h"
#include "backend_cuda/plan_image.h"
#include "backend_cuda/split_params.h"
#include "plan/plan_frame.h"
#include "wavefill/plan.h"

namespace wavefill {
namespace {

using cuda::FastDivisor;
using cuda::make_fast_divisor;

std::uint32_t divide_fast(std::uint32_t x, const FastDivisor& by) {
  return static_cast<std::uint32_t>((std::uint64_t{x} * by.multiplier) >> by.shift);
}

TEST(FastDivisor, EqualsDivisionAtEveryMultipleAndItsNeighboursUpTo2To31) {
  std::mt19937 rng(7);
  std::vector<std::uint32_t> divisors = {1, 2, 3, 5, 7, 48, 63, 64, 65, 256, 641, 1024, 65537, 0x7FFF'FFFF};
  for (int i = 0; i < 200; ++i) divisors.push_back(static_cast<std::uint32_t>(1 + rng() % 0x7FFF'FFFF));
  for (const std::uint32_t divisor : divisors) {
    const FastDivisor fast = make_fast_divisor(divisor);
    for (int i = 0; i < 2000; ++i) {
      const std::uint64_t multiple = std::uint64_t{divisor} * (rng() % (0x7FFF'FFFFU / divisor + 1));
      for (const std::int64_t x : {-1, 0, 1}) {
        const std::int64_t value = static_cast<std::int64_t>(multiple) + x;
        if (value < 0 || value > 0x7FFF'FFFF) continue;
        ASSERT_EQ(divide_fast(static_cast<std::uint32_t>(value), fast), value / divisor)
            << value << " / " << divisor;
      }
    }
  }
}

DeviceSpec some_device() {
  DeviceSpec device;
  device.name = "test";
  device.num_sms = 132;
  return device;
}

KernelSpec some_kernel() {
  return {.name = "k", .heads_per_cta = 16, .kv_tile = 32, .threads = 320, .smem_bytes = 1, .ctas_per_sm = 2};
}

SplitPlan plan_of(const KernelSpec& kernel, const DecodeShape& shape, const char* setting,
                  std::span<const std::int32_t> lengths = {}) {
  auto parsed = parse_setting(setting);
  EXPECT_TRUE(parsed.ok());
  auto plan = make_plan({.device = some_device(),
                         .kernel = kernel,
                         .shape = shape,
                         .lengths = lengths,
                         .extra_lengths = {},
                         .setting = *parsed,
                         .cost_model = {},
                         .batch_invariant = false});
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return *plan;
}

SplitPlan plan_of(int batch, const char* setting, std::span<const std::int32_t> lengths = {}) {
  return plan_of(some_kernel(), {.batch = batch, .num_heads = 40, .topk = 128, .extra_topk = 512}, setting,
                 lengths);
}

// What kernels make of parameters alone, item by item (device/block/work_items.cuh).
std::vector<WorkItem> expand(const cuda::PlanParams& params) {
  std::vector<WorkItem> items;
  for (std::int32_t idx = 0; idx < params.num_items; ++idx) {
    const std::int32_t row_split = idx / params.num_head_tiles;
    const std::int32_t split = row_split % params.num_splits;
    items.push_back({.row = params.first_row + row_split / params.num_splits,
                     .head_tile = idx % params.num_head_tiles,
                     .tile_begin = params.tile_begin[split],
                     .tile_end = params.tile_begin[split + 1],
                     .partial_idx = params.num_splits == 1 ? -1 : row_split});
  }
  return items;
}

TEST(UniformPlan, DescribesTheSameItemsAsThePlan) {
  for (const char* setting : {"fixed=1", "fixed=2", "fixed=3", "fixed=7", "fixed=20", "target-ctas=512"}) {
    const SplitPlan plan = plan_of(5, setting);
    const auto params = cuda::uniform_plan(plan);
    ASSERT_TRUE(params.has_value()) << setting;
    EXPECT_THAT(expand(*params), ::testing::UnorderedElementsAreArray(plan.items)) << setting;
  }
}

TEST(UniformPlan, IsNotClaimedForRowsCutDifferently) {
  const std::int32_t lengths[] = {128, 128, 3, 128, 128};
  EXPECT_FALSE(cuda::uniform_plan(plan_of(5, "fixed=4", lengths)).has_value());
  EXPECT_FALSE(cuda::uniform_plan(plan_of(100, "balanced")).has_value());
}

TEST(WholeAndSplitRows, DescribeTheSameItemsAsThePlan) {
  const std::int64_t rows_a_wave =
      num_slots(some_device(), some_kernel()) / num_head_tiles(some_kernel(), 40);
  for (const std::int64_t more : {1, 3, 30}) {
    const SplitPlan plan = plan_of(static_cast<int>(2 * rows_a_wave + more), "last-wave");
    EXPECT_FALSE(cuda::uniform_plan(plan).has_value());
    const auto rows = cuda::whole_and_split_rows(plan);
    ASSERT_TRUE(rows.has_value()) << more;
    EXPECT_EQ(rows->split.first_row, 2 * rows_a_wave);
    std::vector<WorkItem> items = expand(rows->whole);
    const std::vector<WorkItem> split = expand(rows->split);
    items.insert(items.end(), split.begin(), split.end());
    EXPECT_THAT(items, ::testing::UnorderedElementsAreArray(plan.items)) << more;
  }
}

TEST(WholeAndSplitRows, AreNotClaimedForOtherPlans) {
  const auto rows_a_wave =
      static_cast<int>(num_slots(some_device(), some_kernel()) / num_head_tiles(some_kernel(), 40));
  EXPECT_FALSE(cuda::whole_and_split_rows(plan_of(rows_a_wave, "last-wave")).has_value());
  EXPECT_FALSE(cuda::whole_and_split_rows(plan_of(rows_a_wave - 1, "last-wave")).has_value());
  EXPECT_FALSE(cuda::whole_and_split_rows(plan_of(rows_a_wave + 3, "fixed=2")).has_value());
  EXPECT_FALSE(cuda::whole_and_split_rows(plan_of(rows_a_wave + 3, "balanced")).has_value());
  std::vector<std::int32_t> lengths(static_cast<std::size_t>(rows_a_wave) + 3, 128);
  lengths.back() = 3;  // one of the split rows is cut otherwise than the others
  EXPECT_FALSE(cuda::whole_and_split_rows(plan_of(rows_a_wave + 3, "last-wave", lengths)).has_value());
}

SplitPlan plan_on_one_cta_an_sm(const DecodeShape& shape, const char* setting,
                                std::span<const std::int32_t> lengths = {}) {
  KernelSpec kernel = some_kernel();
  kernel.heads_per_cta = 64;
  kernel.kv_tile = 64;
  kernel.ctas_per_sm = 1;
  return plan_of(kernel, shape, setting, lengths);
}

TEST(NeighbouringPieces, AreWhatBalancedPlansHaveWhateverTheLengths) {
  std::mt19937 rng(3);
  for (int round = 0; round < 60; ++round) {
    const DecodeShape shape{.batch = static_cast<std::int32_t>(1 + rng() % 300),
                            .num_heads = rng() % 2 == 0 ? 64 : 128,
                            .topk = 640,
                            .extra_topk = 512};
    std::vector<std::int32_t> lengths(static_cast<std::size_t>(shape.batch));
    for (auto& length : lengths) length = static_cast<std::int32_t>(rng() % 641);
    for (const char* setting : {"balanced", "balanced=1", "balanced=3"}) {
      const SplitPlan plan = plan_on_one_cta_an_sm(shape, setting, lengths);
      EXPECT_TRUE(cuda::has_neighbouring_pieces(plan)) << setting << ", batch " << shape.batch;
    }
  }
}

TEST(NeighbouringPieces, AreNotClaimedForOtherPlans) {
  const DecodeShape shape{.batch = 100, .num_heads = 64, .topk = 128, .extra_topk = 512};
  const SplitPlan balanced = plan_on_one_cta_an_sm(shape, "balanced=1");
  EXPECT_FALSE(cuda::has_neighbouring_pieces(plan_on_one_cta_an_sm(shape, "fixed=3")));
  SplitPlan swapped = balanced;  // a worker's items in another order
  const auto two = std::ranges::adjacent_find(swapped.worker_begin, [](auto a, auto b) { return b - a > 1; });
  ASSERT_NE(two, swapped.worker_begin.end());
  std::swap(swapped.items[static_cast<std::size_t>(*two)], swapped.items[static_cast<std::size_t>(*two) + 1]);
  EXPECT_FALSE(cuda::has_neighbouring_pieces(swapped));
}

TEST(WorkerPartials, FitIntoTheWorkspaceOfEveryNumberOfHeadsThatA64HeadTileTakes) {
  for (int num_heads = 33; num_heads <= kMaxHeads; ++num_heads) {
    const SplitPlan plan = plan_on_one_cta_an_sm(
        {.batch = 90, .num_heads = num_heads, .topk = 128, .extra_topk = 512}, "balanced=1");
    ASSERT_GT(plan.num_partials(), 0);
    EXPECT_LE(cuda::worker_partials_bytes(plan), workspace_bytes(plan)) << num_heads;
  }
}

TEST(PiecesOfARow, AreCountedInThePlanAndEstimatedInAFrame) {
  const DecodeShape shape{.batch = 66, .num_heads = 64, .topk = 128, .extra_topk = 512};
  EXPECT_EQ(cuda::most_pieces_of_row(plan_on_one_cta_an_sm(shape, "fixed=1")), 1);
  EXPECT_EQ(cuda::most_pieces_of_row(plan_on_one_cta_an_sm(shape, "fixed=5")), 5);
  const SplitPlan plan = plan_on_one_cta_an_sm(shape, "balanced=1");
  EXPECT_EQ(cuda::most_pieces_of_row(plan), 3);
  const auto frame = make_plan_frame({.device = plan.device,
                                      .kernel = plan.kernel,
                                      .shape = shape,
                                      .lengths = {},
                                      .extra_lengths = {},
                                      .setting = plan.setting,
                                      .cost_model = {},
                                      .batch_invariant = false});
  ASSERT_TRUE(frame.ok());
  EXPECT_EQ(cuda::most_pieces_of_row(*frame), 3);
  EXPECT_TRUE(cuda::has_neighbouring_pieces(*frame));
}

TEST(PlanImage, HoldsItemsWorkersAndRowsOneBehindTheOther) {
  const SplitPlan plan = plan_of(100, "balanced");
  std::vector<std::int32_t> image(cuda::plan_image_bytes(plan) / 4);
  constexpr std::size_t kPiece = 37;  // divides neither the image nor any of its parts
  for (std::size_t begin = 0; begin < image.size(); begin += kPiece) {
    const std::size_t count = std::min(kPiece, image.size() - begin);
    cuda::copy_plan_image(plan, begin, std::span(image).subspan(begin, count));
  }
  const cuda::PlanParams params = cuda::image_params(plan, image.data());
  for (std::size_t i = 0; i < plan.items.size(); ++i) {
    EXPECT_EQ(params.items[i].row, plan.items[i].row);
    EXPECT_EQ(params.items[i].head_tile, plan.items[i].head_tile);
    EXPECT_EQ(params.items[i].tile_begin, plan.items[i].tile_begin);
    EXPECT_EQ(params.items[i].tile_end, plan.items[i].tile_end);
    EXPECT_EQ(params.items[i].partial_idx, plan.items[i].partial_idx);
  }
  for (std::size_t i = 0; i < plan.worker_begin.size(); ++i) {
    EXPECT_EQ(params.worker_begin[i], plan.worker_begin[i]);
  }
  for (std::size_t i = 0; i < plan.row_partial_begin.size(); ++i) {
    EXPECT_EQ(params.row_partial_begin[i], plan.row_partial_begin[i]);
  }
}

TEST(KernelTable, NamesAreUniqueAndEveryFormatHasASmallHeadTile) {
  std::set<std::string> names;
  std::set<std::pair<int, int>> small;
  std::set<std::pair<int, int>> all;
  for (const cuda::SplitKernel& kernel : cuda::all_split_kernels()) {
    EXPECT_TRUE(names.insert(kernel.kernel.name).second) << kernel.kernel.name;
    const std::pair<int, int> tokens{static_cast<int>(kernel.kv_format), kernel.d_qk};
    all.insert(tokens);
    if (kernel.heads_per_cta == 8) small.insert(tokens);
  }
  EXPECT_EQ(small, all);
  EXPECT_EQ(all.size(), 4U);
}

// An RTX PRO 6000 has 100 KB of shared memory and 64K registers an SM, and 99 KB for one block.
constexpr std::int64_t kSm120BlockBytes = 101'376;
constexpr std::int64_t kTwoCtaBytes = 49 * 1024;

TEST(KernelTable, SharedBytesAreAsRecorded) {
  std::vector<std::pair<std::string, std::int64_t>> seen;
  for (const cuda::SplitKernel& kernel : cuda::all_split_kernels()) {
    seen.emplace_back(kernel.kernel.name, kernel.kernel.smem_bytes);
  }
  const std::vector<std::pair<std::string, std::int64_t>> golden = {
      {"wgmma_dsv4_h64", 232448},     {"wgmma_dsv32_h64", 232448},   {"wgmma_bf16_h64", 207872},
      {"wgmma_bf16_576_h64", 224256}, {"mma_dsv4_h32", 184192},      {"mma_dsv4_h16_w16", 136448},
      {"mma_dsv4_h16", 95872},        {"mma_dsv4_h16_small", 48384}, {"mma_dsv4_h8", 98176},
      {"mma_dsv32_h32", 192384},      {"mma_dsv32_h16", 102016},     {"mma_dsv32_h16_small", 51456},
      {"mma_dsv32_h8", 84224},        {"mma_bf16_h32", 203520},      {"mma_bf16_h16", 84608},
      {"mma_bf16_h8", 116736},        {"mma_bf16_576_h32", 215808},  {"mma_bf16_576_h16", 92800},
      {"mma_bf16_576_h8", 129024}};
  EXPECT_EQ(seen, golden);
}

TEST(KernelTable, EveryFormatHasAKernelThatFitsAnRtxPro6000AndDsv4OneThatFitsTwice) {
  std::set<std::pair<int, int>> fits;
  for (const cuda::SplitKernel& kernel : cuda::all_split_kernels()) {
    if (kernel.kernel.smem_bytes <= kSm120BlockBytes) {
      fits.insert({static_cast<int>(kernel.kv_format), kernel.d_qk});
    }
    if (std::string(kernel.kernel.name) == "mma_dsv4_h16_small") {
      EXPECT_LE(kernel.kernel.smem_bytes, kTwoCtaBytes);
    }
  }
  EXPECT_EQ(fits.size(), 4U);
}

TEST(KernelTable, RefusesWhatAKernelDoesNotTakeByName) {
  const cuda::TableRow row{
      .kernel = cuda::split_mma_dsv4_kernels()[0], .spec = {.name = "mma_dsv4_h32"}, .least_heads = 17};
  const DecodeShape good{.num_heads = 64, .topk = 128};
  EXPECT_TRUE(cuda::supports_shape(row, good).ok());
  DecodeShape few = good;
  few.num_heads = 16;
  EXPECT_THAT(cuda::supports_shape(row, few).message(),
              ::testing::HasSubstr("num_heads 16; allowed: 17..128"));
  DecodeShape other = good;
  other.kv_format = KvFormat::bf16;
  EXPECT_THAT(cuda::supports_shape(row, other).message(), ::testing::HasSubstr("kv_format bf16"));
}

// Clusters that have to wait for each other's last CTA are slower than partials in the workspace.
TEST(MergesInCluster, OnlyWhereRowsAreCutAlikeAndTheWholeGridFitsAtOnce) {
  cuda::TableRow row;
  row.active_clusters[3] = 5;
  const cuda::PlanItem items[1] = {};
  cuda::PlanParams plan;
  plan.num_splits = 3;
  plan.num_items = 18;
  EXPECT_FALSE(cuda::merges_in_cluster(row, plan));
  plan.num_items = 15;
  EXPECT_TRUE(cuda::merges_in_cluster(row, plan));
  plan.items = items;
  EXPECT_FALSE(cuda::merges_in_cluster(row, plan));
  plan.items = nullptr;
  for (const int splits : {1, 2, cuda::kMaxClusterSplits + 1, cuda::kMaxUniformSplits}) {
    plan.num_splits = plan.num_items = splits;
    EXPECT_FALSE(cuda::merges_in_cluster(row, plan)) << splits;
  }
}

TEST(MergesInWorkers, OnlyRowsOfFewPiecesInMemoryWhoseBitsMayDependOnTheBatch) {
  cuda::TableRow row{.kernel = cuda::split_wgmma_dsv4_kernels()[0], .spec = {}};
  const cuda::PlanItem items[1] = {};
  cuda::PlanParams placed;
  placed.items = items;
  const DecodeShape shape{.batch = 90, .num_heads = 64, .topk = 128, .extra_topk = 512};
  SplitPlan plan = plan_on_one_cta_an_sm(shape, "balanced=1");
  EXPECT_TRUE(cuda::merges_in_workers(row, plan, placed));
  EXPECT_FALSE(cuda::merges_in_workers(row, plan, {}));
  DecodeShape few_rows = shape;
  few_rows.batch = 30;
  const SplitPlan many_pieces = plan_on_one_cta_an_sm(few_rows, "balanced=1");
  ASSERT_GT(cuda::most_pieces_of_row(many_pieces), 3);
  EXPECT_FALSE(cuda::merges_in_workers(row, many_pieces, placed));
  EXPECT_FALSE(cuda::merges_in_workers(row, plan_on_one_cta_an_sm(shape, "fixed=1"), placed));
  plan.batch_invariant = true;
  EXPECT_FALSE(cuda::merges_in_workers(row, plan, placed));
  plan.batch_invariant = false;
  row.kernel.of_neighbours = {};
  EXPECT_FALSE(cuda::merges_in_workers(row, plan, placed));
}

}  // namespace
}  // namespace wavefill
