// Round trips, foreign scales, bytes that may not be read, addresses beyond 4 GiB, and refusals.
#include "kv/token_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "core/bf16.h"
#include "kv/fp8.h"

namespace wavefill {
namespace {

using ::testing::HasSubstr;

constexpr auto kDsv4 = KvFormat::fp8_tile64_rope_bf16_footer;
constexpr auto kDsv32 = KvFormat::fp8_tile128_rope_bf16_inline;

struct Cache {
  std::vector<std::byte> bytes;
  MutableKvCacheView view;

  Cache(std::int64_t num_pages, std::int32_t page_size, std::int64_t stride, std::byte fill = std::byte{0})
      : bytes(static_cast<std::size_t>(num_pages * stride), fill) {
    view = {
        .data = bytes.data(), .num_pages = num_pages, .page_size = page_size, .page_stride_bytes = stride};
  }
};

std::vector<float> random_token(std::mt19937& random, int d_qk) {
  std::normal_distribution<float> normal;
  std::uniform_real_distribution<float> exponent(-20.0F, 8.0F);
  std::vector<float> k(d_qk);
  float magnitude = 1.0F;
  for (int i = 0; i < d_qk; ++i) {
    // A new magnitude every 64 values, so that scales differ from tile to tile.
    if (i % 64 == 0) magnitude = std::exp2(exponent(random));
    k[i] = normal(random) * magnitude;
  }
  return k;
}

// The promised bound, from the values alone.
void expect_within_bound(KvFormat format, std::span<const float> k, std::span<const float> back) {
  const ByteMap map = byte_map_of(format, static_cast<std::int32_t>(k.size()));
  for (std::size_t i = 0; i < k.size(); ++i) {
    if (i >= static_cast<std::size_t>(map.fp8_dims)) {
      ASSERT_EQ(back[i], bf16_to_float(bf16_from_float(k[i]))) << "dim " << i;
      continue;
    }
    const auto tile = k.subspan(i / map.scale_tile_dims * map.scale_tile_dims, map.scale_tile_dims);
    float amax = 0.0F;
    for (const float value : tile) amax = std::max(amax, std::fabs(value));
    const double bound = std::max(std::fabs(k[i]) * 0x1p-4, fp8_block_scale(amax) * 0x1p-10);
    ASSERT_LE(std::fabs(static_cast<double>(back[i]) - k[i]), bound) << "dim " << i << ", value " << k[i];
  }
}

void round_trip(KvFormat format, int d_qk, std::int32_t page_size, std::int64_t padding,
                std::mt19937& random) {
  const std::int64_t stride = min_page_stride_bytes(format, d_qk, page_size) + padding;
  Cache cache(2, page_size, stride, std::byte{0xFF});
  const std::int64_t num_tokens = cache.view.as_const().num_tokens();
  std::vector<std::vector<float>> tokens;
  for (std::int64_t token = 0; token < num_tokens; ++token) {
    tokens.push_back(random_token(random, d_qk));
    ASSERT_TRUE(quantise_token(format, d_qk, tokens.back(), cache.view, token).ok());
  }
  // Read only after all were written: a token that spills into a neighbour shows.
  std::vector<float> back(d_qk);
  for (std::int64_t token = 0; token < num_tokens; ++token) {
    ASSERT_TRUE(dequantise_token(cache.view.as_const(), format, d_qk, token, back).ok());
    ASSERT_NO_FATAL_FAILURE(expect_within_bound(format, tokens[token], back)) << "token " << token;
  }
  for (std::int64_t page = 0; page < 2; ++page) {
    for (std::int64_t i = stride - padding; i < stride; ++i) {
      ASSERT_EQ(cache.bytes[page * stride + i], std::byte{0xFF}) << "padding of page " << page;
    }
  }
}

class RoundTrip : public ::testing::TestWithParam<std::int32_t> {};

TEST_P(RoundTrip, KeepsEveryTokenWithinTheBoundAndTouchesNoPadding) {
  constexpr unsigned kSeed = 7;
  std::mt19937 random(kSeed);
  SCOPED_TRACE(::testing::Message() << "seed " << kSeed);
  for (const std::int64_t padding : {0, 1, 64}) {
    SCOPED_TRACE(::testing::Message() << "padding " << padding);
    round_trip(kDsv4, 512, GetParam(), padding, random);
    round_trip(kDsv32, 576, GetParam(), padding, random);
    if (GetParam() <= 64) {
      round_trip(KvFormat::bf16, 512, GetParam(), padding, random);
      round_trip(KvFormat::bf16, 576, GetParam(), padding, random);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(PageSizes, RoundTrip, ::testing::Values(1, 2, 32, 48, 64, 256, 1024));

TEST(Dequantise, Ue8m0AndE4m3ExactForEveryPairOfScaleAndCode) {
  Cache cache(1, 1, 584);
  std::vector<float> k(512);
  for (int byte = 0; byte < 256; ++byte) {
    for (int first_code = 0; first_code < 256; first_code += 64) {
      for (int i = 0; i < 64; ++i) cache.bytes[i] = static_cast<std::byte>(first_code + i);
      cache.bytes[576] = static_cast<std::byte>(byte);
      ASSERT_TRUE(dequantise_token(cache.view.as_const(), kDsv4, 512, 0, k).ok());
      for (int i = 0; i < 64; ++i) {
        const int code = first_code + i;
        SCOPED_TRACE(::testing::Message() << "scale byte " << byte << ", code " << code);
        if (byte == 0xFF || (code & 0x7F) == 0x7F) {
          ASSERT_TRUE(std::isnan(k[i]));
          continue;
        }
        const int exponent = (code >> 3) & 0xF;
        const double magnitude =
            exponent == 0 ? std::ldexp(code & 7, -9) : std::ldexp(8 + (code & 7), exponent - 10);
        const double value = std::ldexp(magnitude, byte - 127);
        const double expected = value > std::numeric_limits<float>::max() ? HUGE_VAL : value;
        ASSERT_EQ(std::fabs(static_cast<double>(k[i])), expected);
        ASSERT_EQ(std::signbit(k[i]), code >= 0x80);
      }
    }
  }
}

TEST(Dequantise, Fp32ScaleThatIsNoPowerOfTwoIsExact) {
  Cache cache(1, 1, 656);
  std::vector<float> k(576);
  for (int exponent = -100; exponent <= 100; exponent += 5) {
    for (const double significand : {1.5, 1.25, 1.0 + 0x1p-19}) {
      const auto scale = static_cast<float>(std::ldexp(significand, exponent));
      for (int i = 0; i < 128; ++i) cache.bytes[128 + i] = static_cast<std::byte>(i < 127 ? i : 0xB8);
      std::memcpy(&cache.bytes[512 + 4], &scale, sizeof scale);  // the scale of tile 1
      ASSERT_TRUE(dequantise_token(cache.view.as_const(), kDsv32, 576, 0, k).ok());
      for (int i = 0; i < 128; ++i) {
        const double code_value = i < 127 ? double{kE4m3Values[i]} : -1.0;
        ASSERT_EQ(double{k[128 + i]}, code_value * std::ldexp(significand, exponent))
            << significand << " * 2^" << exponent << ", dim " << 128 + i;
      }
    }
  }
}

TEST(Dequantise, NeverReadsTheFooterPadOrPagePadding) {
  for (const int fill : {0x00, 0xFF}) {
    Cache cache(2, 4, 4 * 584 + 96, static_cast<std::byte>(fill));
    std::vector<float> ones(512, 1.0F);
    for (int token = 0; token < 8; ++token) {
      ASSERT_TRUE(quantise_token(kDsv4, 512, ones, cache.view, token).ok());
      cache.bytes[(token / 4) * (4 * 584 + 96) + 4 * 576 + (token % 4) * 8 + 7] =
          static_cast<std::byte>(fill);
    }
    std::vector<float> back(512);
    for (int token = 0; token < 8; ++token) {
      ASSERT_TRUE(dequantise_token(cache.view.as_const(), kDsv4, 512, token, back).ok());
      EXPECT_EQ(back, ones);
    }
  }
}

TEST(Quantise, NonFiniteValuesStayVisibleAndSpareTheirNeighbours) {
  for (const KvFormat format : {kDsv4, kDsv32}) {
    const int d_qk = default_d_qk(format);
    Cache cache(1, 1, kv_token_bytes(format, d_qk));
    std::vector<float> k(d_qk, 1.0F);
    k[3] = std::numeric_limits<float>::quiet_NaN();
    k[5] = -std::numeric_limits<float>::infinity();
    std::vector<float> back(d_qk);
    ASSERT_TRUE(quantise_token(format, d_qk, k, cache.view, 0).ok());
    ASSERT_TRUE(dequantise_token(cache.view.as_const(), format, d_qk, 0, back).ok());
    for (int i = 0; i < d_qk; ++i) {
      if (i == 3 || i == 5) {
        EXPECT_TRUE(std::isnan(back[i]));
      } else {
        EXPECT_EQ(back[i], 1.0F) << "dim " << i;
      }
    }
  }
}

// A real write and read on both sides of 2^31 and 2^32 bytes. Only the touched pages take memory.
void cross_both_wraps(KvFormat format, int d_qk, std::int32_t page_size, std::int64_t stride,
                      std::span<const std::int64_t> token_idxs) {
  const std::int64_t num_pages = (std::int64_t{1} << 32) / stride + 3;
  const auto size = static_cast<std::size_t>(num_pages * stride);
  void* memory =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) GTEST_SKIP() << "no address space for " << size << " bytes";
  const auto unmap_all = [size](void* begin) { munmap(begin, size); };
  const std::unique_ptr<void, decltype(unmap_all)> unmap(memory, unmap_all);
  const MutableKvCacheView view = {.data = static_cast<std::byte*>(memory),
                                   .num_pages = num_pages,
                                   .page_size = page_size,
                                   .page_stride_bytes = stride};
  std::vector<float> k(d_qk);
  for (std::size_t i = 0; i < token_idxs.size(); ++i) {
    std::fill(k.begin(), k.end(), static_cast<float>(i + 1));
    ASSERT_TRUE(quantise_token(format, d_qk, k, view, token_idxs[i]).ok());
  }
  for (std::size_t i = 0; i < token_idxs.size(); ++i) {
    ASSERT_TRUE(dequantise_token(view.as_const(), format, d_qk, token_idxs[i], k).ok());
    EXPECT_EQ(k, std::vector<float>(d_qk, static_cast<float>(i + 1))) << "token " << token_idxs[i];
  }
  // A wrapped product would have landed near the start: that must be untouched.
  const auto* bytes = static_cast<const std::byte*>(memory);
  for (std::int64_t i = 0; i < 64 * 1024; ++i) ASSERT_EQ(bytes[i], std::byte{0}) << "byte " << i;
}

TEST(Addresses, BeyondInt32AndUint32ReachTheRightBytes) {
  const std::int64_t dsv32[] = {3'273'603, 3'273'604, 3'273'605, 6'547'206, 6'547'207, 6'547'208};
  cross_both_wraps(kDsv32, 576, 1, 656, dsv32);
  const std::int64_t dsv4[] = {3'677'198, 3'677'199, 3'677'200, 7'354'396, 7'354'397};
  cross_both_wraps(kDsv4, 512, 1, 584, dsv4);
  const std::int64_t dsv4_pages[] = {14'340 * 256 - 1, 14'340 * 256, 14'340 * 256 + 255,
                                     28'679 * 256 - 1, 28'679 * 256, 28'679 * 256 + 255};
  cross_both_wraps(kDsv4, 512, 256, 149'760, dsv4_pages);
}

void expect_refused(const Status& status, std::string_view part) {
  EXPECT_EQ(status.code(), StatusCode::invalid_argument);
  EXPECT_THAT(status.message(), HasSubstr(std::string(part)));
}

TEST(Refusals, NameTheValueAndWhatIsAllowed) {
  Cache cache(2, 4, 4 * 584, std::byte{0xEE});
  const auto untouched = cache.bytes;
  std::vector<float> k(512, 1.0F);
  const auto quantise = [&](KvFormat format, int d_qk, std::span<const float> values,
                            const MutableKvCacheView& view, std::int64_t token_idx) {
    return quantise_token(format, d_qk, values, view, token_idx);
  };
  expect_refused(quantise(kDsv4, 512, k, cache.view, 8), "token_idx is 8; allowed: 0..7");
  expect_refused(quantise(kDsv4, 512, k, cache.view, -1), "token_idx is -1");
  expect_refused(quantise(kDsv4, 576, k, cache.view, 0), "d_qk is 576");
  expect_refused(quantise(KvFormat::bf16, 448, k, cache.view, 0), "512, 576");
  expect_refused(quantise(kDsv4, 512, std::span(k).first(511), cache.view, 0), "511 values");

  MutableKvCacheView bad = cache.view;
  bad.page_stride_bytes = 4 * 584 - 1;
  expect_refused(quantise(kDsv4, 512, k, bad, 0), "page_stride_bytes is 2335; allowed: >= 2336");
  bad = cache.view;
  bad.page_size = 0;
  expect_refused(quantise(kDsv4, 512, k, bad, 0), "page_size is 0");
  bad = cache.view;
  bad.data = nullptr;
  expect_refused(quantise(kDsv4, 512, k, bad, 0), "data is null");
  EXPECT_EQ(cache.bytes, untouched);

  expect_refused(dequantise_token(cache.view.as_const(), kDsv4, 512, 8, k), "token_idx is 8");
  EXPECT_EQ(k, std::vector<float>(512, 1.0F));
}

}  // namespace
}  // namespace wavefill
