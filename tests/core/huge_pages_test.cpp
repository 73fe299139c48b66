#include "core/huge_pages.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace wavefill {
namespace {

using Bytes = std::vector<std::byte, HugePageAllocator<std::byte>>;

TEST(HugePages, ALargeBufferBeginsAtAPage) {
  const Bytes bytes(2 * kHugePageBytes + 1);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes.data()) % kHugePageBytes, 0U);
}

TEST(HugePages, BuffersOnBothSidesOfTheLimitKeepTheirContents) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, 2 * kHugePageBytes - 1, 2 * kHugePageBytes,
                                 3 * kHugePageBytes + 4097}) {
    Bytes bytes(size, std::byte{0x5A});
    Bytes copy = bytes;
    bytes.clear();
    bytes.shrink_to_fit();
    EXPECT_EQ(copy, Bytes(size, std::byte{0x5A})) << size;
  }
}

TEST(HugePages, MemoryWithoutAWholePageIsLeftAlone) {
  std::byte small[64] = {};
  advise_huge_pages(small, sizeof(small));
  advise_huge_pages(nullptr, 0);
  EXPECT_EQ(small[0], std::byte{0});
}

TEST(HugePages, MoreThanCanBeAddressedIsRefused) {
  HugePageAllocator<std::uint64_t> allocator;
  EXPECT_THROW((void)allocator.allocate(static_cast<std::size_t>(-1) / 4), std::bad_alloc);
}

}  // namespace
}  // namespace wavefill
