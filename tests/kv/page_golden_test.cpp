// One page of each format, byte for byte, computed by hand from the public layouts.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <vector>

#include "kv/token_codec.h"

namespace wavefill {
namespace {

constexpr std::uint8_t kGuard = 0xCD;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

struct Page {
  std::vector<std::uint8_t> bytes;
  MutableKvCacheView view;

  Page(std::int32_t page_size, std::int64_t stride) : bytes(static_cast<std::size_t>(stride), kGuard) {
    view = {.data = reinterpret_cast<std::byte*>(bytes.data()),
            .num_pages = 1,
            .page_size = page_size,
            .page_stride_bytes = stride};
  }
};

// The bytes that a golden lists, at their offsets within the page; ranges that are zero are given apart.
using Golden = std::map<std::size_t, std::vector<std::uint8_t>>;
struct Range {
  std::size_t begin, end;
};

// Every byte of the page is a listed one, a zero inside `zeros`, or the guard it was filled with.
void expect_page(const Page& page, const Golden& golden, const std::vector<Range>& zeros) {
  std::vector<std::uint8_t> expected(page.bytes.size(), kGuard);
  for (const Range& range : zeros) {
    std::fill(expected.begin() + range.begin, expected.begin() + range.end, 0);
  }
  for (const auto& [offset, bytes] : golden) {
    std::copy(bytes.begin(), bytes.end(), expected.begin() + offset);
  }
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(page.bytes[i], expected[i]) << "byte " << i << " of the page";
  }
}

TEST(PageGolden, Dsv4FirstAndLastTokenOf64InAPaddedPage) {
  Page page(64, 37'440);
  const auto format = KvFormat::fp8_tile64_rope_bf16_footer;

  std::vector<float> first(512, 0.0F);
  // Tile 0, amax 448, scale 1. 2^-10 lies half way between 0 and 2^-9: even is 0.
  first[0] = 448.0F, first[1] = -448.0F, first[2] = 1.0F, first[3] = 0.5F;
  first[4] = 0x1p-6F, first[5] = 0x1p-9F, first[6] = 0x1p-10F;
  // Tile 1, amax 449, scale 2: 224.5 is nearest to 224. Tile 2 is all zero, scale 2^-22.
  first[64] = 449.0F, first[65] = 2.0F;
  // Tile 3, amax 1, scale 2^-8: stored as 256.
  first[192] = 1.0F;
  // Tile 4: what is not finite becomes NaN and leaves the scale to the others.
  first[256] = kNan, first[257] = kInf, first[258] = 448.0F, first[259] = -kInf;
  // Tile 5: 17/16 lies half way between 1 (0x38, even) and 9/8.
  first[320] = 1.0625F, first[321] = 448.0F;
  // Tile 6, amax 3, scale 2^-7: stored as -384.
  first[447] = -3.0F;
  // RoPE: 1 + 2^-8 is half way between bf16 neighbours, even is 1.
  first[448] = 1.0F, first[449] = 1.00390625F, first[511] = -2.0F;
  ASSERT_TRUE(quantise_token(format, 512, first, page.view, 0).ok());

  std::vector<float> last(512, 0.0F);
  last[446] = 1.75F;  // tile 6, amax 1.75 = 448 * 2^-8: stored as 448 under 2^-8
  last[510] = 3.0F;
  ASSERT_TRUE(quantise_token(format, 512, last, page.view, 63).ok());

  const std::size_t token_63 = 63 * 576;  // 36,288
  const std::size_t footer = 64 * 576;    // 36,864
  expect_page(page,
              {{0, {0x7E, 0xFE, 0x38, 0x30, 0x08, 0x01, 0x00}},
               {64, {0x76, 0x38}},
               {192, {0x78}},
               {256, {0x7F, 0x7F, 0x7E, 0x7F}},
               {320, {0x38, 0x7E}},
               {447, {0xFC}},
               {448, {0x80, 0x3F, 0x80, 0x3F}},
               {574, {0x00, 0xC0}},
               {token_63 + 446, {0x7E}},
               {token_63 + 448 + 2 * 62, {0x40, 0x40}},
               {footer, {127, 128, 105, 119, 127, 127, 120, 0}},
               {footer + 63 * 8, {105, 105, 105, 105, 105, 105, 119, 0}}},
              {{0, 576}, {token_63, token_63 + 576}});
}

TEST(PageGolden, Dsv32SecondTokenOfAPageOneTokenTooLong) {
  Page page(2, 3 * 656);
  std::vector<float> k(576, 0.0F);
  k[0] = 448.0F, k[127] = -1.0F;  // tile 0, scale 1
  k[128] = 896.0F;                // tile 1, scale 2: stored as 448
  k[383] = 0x1p-9F;               // tile 2, amax 2^-9, scale 2^-17: stored as 256
  k[512] = 1.0F, k[575] = -2.0F;  // tile 3 is all zero, scale 2^-22; then RoPE
  ASSERT_TRUE(quantise_token(KvFormat::fp8_tile128_rope_bf16_inline, 576, k, page.view, 1).ok());
  expect_page(page,
              {{656, {0x7E}},
               {656 + 127, {0xB8}},
               {656 + 128, {0x7E}},
               {656 + 383, {0x78}},
               // 1.0, 2.0, 2^-17, 2^-22 as little-endian fp32
               {656 + 512, {0, 0, 0x80, 0x3F, 0, 0, 0, 0x40, 0, 0, 0, 0x37, 0, 0, 0x80, 0x34}},
               {656 + 528, {0x80, 0x3F}},
               {656 + 654, {0x00, 0xC0}}},
              {{656, 1312}});
}

TEST(PageGolden, Bf16SecondTokenOfAnUnpaddedPage) {
  Page page(2, 2 * 1152);
  std::vector<float> k(576, 0.0F);
  k[0] = 1.0F, k[1] = kInf, k[575] = -2.0F;
  ASSERT_TRUE(quantise_token(KvFormat::bf16, 576, k, page.view, 1).ok());
  expect_page(page, {{1152, {0x80, 0x3F, 0x80, 0x7F}}, {2302, {0x00, 0xC0}}}, {{1152, 2304}});
}

}  // namespace
}  // namespace wavefill
