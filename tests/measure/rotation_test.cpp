#include "measure/rotation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "measure/rotating_cache.h"

namespace wavefill {
namespace {

constexpr std::int64_t kMib = 1 << 20;

DecodeShape shape_of(std::int32_t batch, std::int32_t topk, std::int32_t extra_topk) {
  DecodeShape shape;
  shape.batch = batch;
  shape.topk = topk;
  shape.extra_topk = extra_topk;
  return shape;
}

TEST(Rotation, IsColdWithTheFewestSetsThatAre) {
  std::mt19937_64 generator(21);
  for (int trial = 0; trial < 500; ++trial) {
    const auto batch = static_cast<std::int32_t>(1 + generator() % 64);
    const auto topk = static_cast<std::int32_t>(generator() % 300);
    const auto extra_topk = static_cast<std::int32_t>(1 + generator() % 600);
    const RotationLimits limits{.page_size = 64,
                                .extra_page_size = 64,
                                .cache_bytes = static_cast<std::int64_t>(1 + generator() % (300 * kMib)),
                                .min_pool_bytes = 0,
                                .max_pool_bytes = std::int64_t{1} << 40};
    const auto rotation = plan_rotation(shape_of(batch, topk, extra_topk), limits);
    ASSERT_TRUE(rotation.ok()) << rotation.status().message();
    EXPECT_TRUE(rotation->cold());
    EXPECT_EQ(rotation->kv_bytes_per_set, std::int64_t{batch} * (topk + extra_topk) * 584);
    EXPECT_EQ(rotation->bytes_between_uses, (rotation->num_sets - 1) * rotation->kv_bytes_per_set);
    EXPECT_GT(rotation->bytes_between_uses, 2 * limits.cache_bytes);
    EXPECT_LE((rotation->num_sets - 2) * rotation->kv_bytes_per_set, 2 * limits.cache_bytes)
        << "trial " << trial << ": one set fewer would do";
  }
}

TEST(Rotation, AWarmPoolIsNotCalledCold) {
  const RotationLimits limits{.page_size = 64,
                              .extra_page_size = 64,
                              .cache_bytes = 300 * kMib,
                              .min_pool_bytes = 0,
                              .max_pool_bytes = 500 * kMib};
  const auto rotation = plan_rotation(shape_of(16, 128, 512), limits);
  ASSERT_TRUE(rotation.ok());
  EXPECT_FALSE(rotation->cold());
  EXPECT_LE(rotation->pool_bytes, limits.max_pool_bytes);
  EXPECT_TRUE(describe(*rotation).starts_with("warm")) << describe(*rotation);
}

TEST(Rotation, AnUnknownCacheIsNotCalledCold) {
  const RotationLimits limits{.page_size = 64,
                              .extra_page_size = 64,
                              .cache_bytes = 0,
                              .min_pool_bytes = 1024 * kMib,
                              .max_pool_bytes = 2048 * kMib};
  const auto rotation = plan_rotation(shape_of(16, 128, 512), limits);
  ASSERT_TRUE(rotation.ok());
  EXPECT_FALSE(rotation->cold());
  EXPECT_GE(rotation->pool_bytes, limits.min_pool_bytes);
  EXPECT_TRUE(describe(*rotation).starts_with("unknown")) << describe(*rotation);
}

TEST(Rotation, ExactlyTwiceTheCacheIsNotBeyondIt) {
  Rotation rotation;
  rotation.cache_bytes = 100;
  rotation.bytes_between_uses = 200;
  EXPECT_FALSE(rotation.cold());
  rotation.bytes_between_uses = 201;
  EXPECT_TRUE(rotation.cold());
}

TEST(Rotation, OneSetBeyondThePoolIsRefusedWithBothSizes) {
  const RotationLimits limits{.page_size = 64,
                              .extra_page_size = 64,
                              .cache_bytes = kMib,
                              .min_pool_bytes = 0,
                              .max_pool_bytes = kMib};
  const auto rotation = plan_rotation(shape_of(16, 128, 512), limits);
  ASSERT_FALSE(rotation.ok());
  EXPECT_EQ(rotation.status().code(), StatusCode::resource_exhausted);
  EXPECT_NE(rotation.status().message().find("allowed: 1.0 MiB"), std::string::npos)
      << rotation.status().message();
}

TEST(Rotation, AShapeThatReadsNothingHasOneSet) {
  const auto rotation = plan_rotation(shape_of(4, 0, 0), {.cache_bytes = kMib, .max_pool_bytes = kMib});
  ASSERT_TRUE(rotation.ok());
  EXPECT_EQ(rotation->num_sets, 1);
  EXPECT_FALSE(rotation->cold());
}

// Graphs that are too short time the gaps between them; graphs that are too long make a sample longer than it
// was asked to be, and capture calls that are hardly timed: 359 calls a graph at batch 1, where 180 were
// wanted.
TEST(Rotation, GraphsAreNeitherTooShortNorTooLong) {
  EXPECT_EQ(num_graphs(1), 1);
  EXPECT_EQ(num_graphs(47), 1);
  EXPECT_EQ(num_graphs(48), 2);
  EXPECT_EQ(num_graphs(2872), 59);
  for (std::int32_t sets = 1; sets < 5000; ++sets) {
    const std::int32_t graphs = num_graphs(sets);
    EXPECT_GE(graphs, 1);
    EXPECT_GE(sets / graphs, std::min(sets, kMinGraphCalls)) << sets;
    EXPECT_LE(sets / graphs, 2 * kGraphCalls) << sets;
  }
}

// "Cold" rests on this: a page, and so a line, is read by one set only, and by it once a token.
TEST(RotatingCache, NoTwoSetsShareAPageAndNoTokenIsReadTwice) {
  const DecodeShape shape = shape_of(3, 70, 0);
  constexpr std::int64_t kPagesPerSet = 4;  // ceil(3 * 70 / 64)
  constexpr std::int32_t kSets = 9;
  std::vector<std::byte> pages(static_cast<std::size_t>(2 * min_page_stride_bytes(shape.kv_format, 512, 64)));
  const KvCacheView pattern{.data = pages.data(),
                            .num_pages = 2,
                            .page_size = 64,
                            .page_stride_bytes = min_page_stride_bytes(shape.kv_format, 512, 64)};
  for (const auto order : {RotatingCache::Order::sequential, RotatingCache::Order::shuffled}) {
    RotatingCache cache;
    ASSERT_TRUE(cache
                    .prepare(shape, pattern,
                             {.pages_per_set = kPagesPerSet,
                              .num_sets = kSets,
                              .topk = shape.topk,
                              .order = order,
                              .seed = 5})
                    .ok());
    std::map<std::int32_t, std::int32_t> set_of_page;
    std::set<std::int32_t> tokens;
    const auto indices = cache.indices();
    ASSERT_EQ(indices.size(), std::size_t{kSets} * 3 * 70);
    for (std::size_t at = 0; at < indices.size(); ++at) {
      const auto set = static_cast<std::int32_t>(at / (3 * 70));
      ASSERT_GE(indices[at], 0);
      ASSERT_LT(indices[at], kPagesPerSet * kSets * 64);
      EXPECT_TRUE(tokens.insert(indices[at]).second) << "token " << indices[at] << " twice";
      EXPECT_EQ(set_of_page.try_emplace(indices[at] / 64, set).first->second, set);
    }
    EXPECT_EQ(cache.view(2).indices.data, indices.data() + 2 * 3 * 70);
  }
}

}  // namespace
}  // namespace wavefill
