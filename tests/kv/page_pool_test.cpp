// The page pool: no page held twice, nothing lost, and failures that change nothing.
#include "kv/page_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace wavefill {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(PageAllocator, HandsOutPagesInOrderAndTheLastFreedFirst) {
  PageAllocator pages(5);
  EXPECT_THAT(pages.allocate(3).value(), ElementsAre(0, 1, 2));
  const std::int32_t freed[] = {2, 0};
  ASSERT_TRUE(pages.free(freed).ok());
  EXPECT_THAT(pages.allocate(4).value(), ElementsAre(2, 0, 3, 4));
  EXPECT_EQ(pages.num_free(), 0);
}

TEST(PageAllocator, ExhaustionChangesNothing) {
  PageAllocator pages(4);
  ASSERT_TRUE(pages.allocate(3).ok());
  const auto refused = pages.allocate(2);
  ASSERT_EQ(refused.status().code(), StatusCode::resource_exhausted);
  EXPECT_EQ(refused.status().message(), "2 pages wanted; 1 of 4 are free");
  EXPECT_EQ(pages.num_free(), 1);
  EXPECT_THAT(pages.allocate(1).value(), ElementsAre(3));
  EXPECT_TRUE(pages.allocate(0).value().empty());
  EXPECT_EQ(pages.allocate(-1).status().code(), StatusCode::invalid_argument);
}

TEST(PageAllocator, AFreeWithAnyBadPageFreesNone) {
  PageAllocator pages(4);
  ASSERT_TRUE(pages.allocate(3).ok());
  const std::vector<std::pair<std::vector<std::int32_t>, std::string>> bad = {
      {{0, 3}, "page 3 is not in use"},     // never allocated
      {{0, 1, 0}, "page 0 is not in use"},  // twice in one call
      {{1, 4}, "page is 4; allowed: 0..3"},
      {{2, -1}, "page is -1; allowed: 0..3"},
  };
  for (const auto& [list, message] : bad) {
    const Status status = pages.free(list);
    EXPECT_EQ(status.code(), StatusCode::invalid_argument);
    EXPECT_THAT(status.message(), HasSubstr(message));
    EXPECT_EQ(pages.num_free(), 1);
  }
  const std::int32_t all[] = {0, 1, 2};
  ASSERT_TRUE(pages.free(all).ok());
  const std::int32_t again[] = {1};
  EXPECT_EQ(pages.free(again).code(), StatusCode::invalid_argument);  // double free
  EXPECT_EQ(pages.num_free(), 4);
}

TEST(PageAllocator, NeverHoldsAPageTwiceUnderRandomUse) {
  constexpr unsigned kSeed = 11;
  std::mt19937 random(kSeed);
  PageAllocator pages(97);
  std::vector<std::vector<std::int32_t>> requests;
  std::set<std::int32_t> held;
  for (int step = 0; step < 5'000; ++step) {
    const auto wanted = static_cast<std::int32_t>(random() % 12);
    if (random() % 2 == 0 || requests.empty()) {
      const auto got = pages.allocate(wanted);
      ASSERT_EQ(got.ok(), wanted <= 97 - static_cast<std::int32_t>(held.size())) << "seed " << kSeed;
      if (!got.ok()) continue;
      for (const std::int32_t page : *got) {
        ASSERT_TRUE(page >= 0 && page < 97 && held.insert(page).second) << "seed " << kSeed;
      }
      requests.push_back(*got);
    } else {
      std::swap(requests[random() % requests.size()], requests.back());
      ASSERT_TRUE(pages.free(requests.back()).ok());
      for (const std::int32_t page : requests.back()) held.erase(page);
      requests.pop_back();
    }
    ASSERT_EQ(pages.num_free(), 97 - static_cast<std::int32_t>(held.size())) << "seed " << kSeed;
  }
}

TEST(PagePool, GivesZeroedPagesAtTheStrideAsked) {
  for (const std::int64_t stride : {std::int64_t{0}, std::int64_t{37'440}}) {
    auto pool = PagePool::create({.page_size = 64, .page_stride_bytes = stride, .num_pages = 3});
    ASSERT_TRUE(pool.ok());
    const KvCacheView view = pool->view();
    EXPECT_EQ(view.page_stride_bytes, stride == 0 ? 37'376 : 37'440);
    EXPECT_EQ(view.num_tokens(), 192);
    EXPECT_EQ(pool->pages().num_free(), 3);
    EXPECT_TRUE(std::all_of(view.data, view.data + view.num_pages * view.page_stride_bytes,
                            [](std::byte byte) { return byte == std::byte{0}; }));
    const std::vector<float> ones(512, 1.0F);
    std::vector<float> back(512);
    ASSERT_TRUE(quantise_token(pool->options().format, 512, ones, pool->mutable_view(), 191).ok());
    ASSERT_TRUE(dequantise_token(view, pool->options().format, 512, 191, back).ok());
    EXPECT_EQ(back, ones);
  }
}

TEST(PagePool, ViewsOutliveAMoveOfThePool) {
  auto pool = PagePool::create({.page_size = 2, .num_pages = 2});
  ASSERT_TRUE(pool.ok());
  const KvCacheView view = pool->view();
  const PagePool moved = std::move(pool).value();
  EXPECT_EQ(moved.view().data, view.data);
  EXPECT_EQ(view.data[0], std::byte{0});
}

TEST(PagePool, AnEmptyPoolIsValid) {
  const auto pool = PagePool::create({.num_pages = 0});
  ASSERT_TRUE(pool.ok());
  EXPECT_EQ(pool->view().num_tokens(), 0);
}

TEST(PagePool, RefusesByName) {
  const std::vector<std::pair<PagePoolOptions, std::string>> bad = {
      {{.d_qk = 576, .num_pages = 1}, "d_qk is 576"},
      {{.page_size = 0, .num_pages = 1}, "page_size is 0"},
      {{.num_pages = -1}, "num_pages is -1"},
      {{.page_size = 64, .num_pages = (std::int64_t{1} << 25) + 1}, "num_pages is 33554433"},
      {{.page_size = 1, .num_pages = std::int64_t{1} << 31}, "num_pages is 2147483648"},
      {{.page_size = 64, .page_stride_bytes = 37'375, .num_pages = 1}, "page_stride_bytes is 37375"},
      {{.page_size = 64, .page_stride_bytes = -1, .num_pages = 1}, "page_stride_bytes is -1"},
      {{.page_stride_bytes = INT64_MAX / 2, .num_pages = 2}, "page_stride_bytes is 4611686018427387903"},
  };
  for (const auto& [options, message] : bad) {
    const auto pool = PagePool::create(options);
    ASSERT_FALSE(pool.ok()) << message;
    EXPECT_EQ(pool.status().code(), StatusCode::invalid_argument);
    EXPECT_THAT(pool.status().message(), HasSubstr(message));
  }
}

TEST(PagePool, MemoryThatCannotBeHadIsResourceExhausted) {
  // 2^46 bytes a page, 4096 pages: beyond any address space.
  const auto pool =
      PagePool::create({.page_size = 1, .page_stride_bytes = std::int64_t{1} << 46, .num_pages = 4096});
  ASSERT_FALSE(pool.ok());
  EXPECT_EQ(pool.status().code(), StatusCode::resource_exhausted);
}

}  // namespace
}  // namespace wavefill
