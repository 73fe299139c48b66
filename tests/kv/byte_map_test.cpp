// Offsets of tokens, above all where 32-bit products would wrap.
#include "kv/byte_map.h"

#include <gtest/gtest.h>

#include <random>

#include "kv/token_codec.h"
#include "wavefill/kv_format.h"

namespace wavefill {
namespace {

// What the offsets are by definition: a walk over whole pages, then whole tokens, in 128 bits.
struct WideOffsets {
  __extension__ using Wide = __int128;
  Wide data;
  Wide scales;
};
WideOffsets walk(KvFormat format, std::int64_t token_idx, std::int64_t page_size, std::int64_t stride) {
  const WideOffsets::Wide page = token_idx / page_size;
  const WideOffsets::Wide slot = token_idx - page * page_size;
  if (format == KvFormat::fp8_tile64_rope_bf16_footer) {
    return {page * stride + slot * 576, page * stride + page_size * WideOffsets::Wide{576} + slot * 8};
  }
  return {page * stride + slot * 656, page * stride + slot * 656 + 512};
}

TEST(ByteMap, AgreesWithThePublicTokenSizes) {
  for (const KvFormat format : kAllKvFormats) {
    for (const int d_qk : {512, 576}) {
      if (!is_valid_d_qk(format, d_qk)) continue;
      const ByteMap map = byte_map_of(format, d_qk);
      EXPECT_EQ(map.d_qk(), d_qk);
      EXPECT_EQ(map.token_bytes(), kv_token_bytes(format, d_qk));
    }
  }
}

struct WrapCase {
  KvFormat format;
  std::int64_t token_idx;
  std::int32_t page_size;
  std::int64_t stride;
  std::int64_t data;
};

TEST(TokenOffsets, PassInt32AndUint32WithoutWrapping) {
  const auto dsv4 = KvFormat::fp8_tile64_rope_bf16_footer;
  const auto dsv32 = KvFormat::fp8_tile128_rope_bf16_inline;
  const WrapCase cases[] = {
      {dsv32, 3'273'603, 1, 656, 2'147'483'568},
      {dsv32, 3'273'604, 1, 656, 2'147'484'224},
      {dsv32, 3'273'605, 1, 656, 2'147'484'880},
      {dsv32, 6'547'206, 1, 656, 4'294'967'136},
      {dsv32, 6'547'207, 1, 656, 4'294'967'792},
      {dsv4, 3'677'198, 1, 584, 2'147'483'632},
      {dsv4, 3'677'199, 1, 584, 2'147'484'216},
      {dsv4, 3'677'200, 1, 584, 2'147'484'800},
      {dsv4, 14'340 * 256 - 1, 256, 149'760, 14'339LL * 149'760 + 255 * 576},
      {dsv4, 14'340 * 256, 256, 149'760, 2'147'558'400},
      {dsv4, 14'340 * 256 + 1, 256, 149'760, 2'147'558'976},
      {dsv4, 28'679 * 256, 256, 149'760, 4'294'967'040},
      {dsv4, 28'680 * 256, 256, 149'760, 4'295'116'800},
      {dsv32, INT32_MAX, 64, 65 * 656, 33'554'431LL * 65 * 656 + 63 * 656},
      {dsv4, INT32_MAX, 1024, 1024 * 584, 2'097'151LL * 1024 * 584 + 1023 * 576},
  };
  for (const WrapCase& c : cases) {
    const ByteMap map = byte_map_of(c.format, default_d_qk(c.format));
    const TokenOffsets offsets = token_offsets(map, c.token_idx, c.page_size, c.stride);
    EXPECT_EQ(offsets.data, c.data) << "token " << c.token_idx;
    const WideOffsets wide = walk(c.format, c.token_idx, c.page_size, c.stride);
    EXPECT_TRUE(wide.data == offsets.data && wide.scales == offsets.scales) << "token " << c.token_idx;
  }
}

TEST(TokenOffsets, MatchTheDefinitionAtRandom) {
  constexpr unsigned kSeed = 3;
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 20'000; ++i) {
    const KvFormat format = kAllKvFormats[i % 2];
    const int d_qk = default_d_qk(format);
    const auto page_size = static_cast<std::int32_t>(1 + random() % 2048);
    const std::int64_t stride = min_page_stride_bytes(format, d_qk, page_size) + random() % 100'000;
    const auto token_idx = static_cast<std::int64_t>(random() % (std::uint64_t{1} << 31));
    const TokenOffsets offsets = token_offsets(byte_map_of(format, d_qk), token_idx, page_size, stride);
    const WideOffsets wide = walk(format, token_idx, page_size, stride);
    ASSERT_TRUE(wide.data == offsets.data && wide.scales == offsets.scales)
        << "seed " << kSeed << ", " << to_string(format) << ", token " << token_idx << ", page size "
        << page_size << ", stride " << stride;
  }
}

}  // namespace
}  // namespace wavefill
