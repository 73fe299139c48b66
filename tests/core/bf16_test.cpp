// bf16 conversion, exhaustively.
#include "core/bf16.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "core/math.h"

namespace wavefill {
namespace {

bool is_nan_bits(std::uint32_t bits) { return (bits & 0x7F80U) == 0x7F80U && (bits & 0x007FU) != 0; }

TEST(Bf16, AllValuesRoundTripAndNanStaysNan) {
  for (std::uint32_t bits = 0; bits <= 0xFFFFU; ++bits) {
    const auto value = static_cast<Bf16Bits>(bits);
    const Bf16Bits back = bf16_from_float(bf16_to_float(value));
    if (is_nan_bits(bits)) {
      ASSERT_TRUE(std::isnan(bf16_to_float(value))) << bits;
      ASSERT_TRUE(is_nan_bits(back)) << bits;
      ASSERT_NE(back & 0x0040U, 0U) << bits;  // quiet
      ASSERT_EQ(back & 0x8000U, bits & 0x8000U) << bits;
    } else {
      ASSERT_EQ(back, value) << bits;
    }
  }
}

// A NaN whose payload is only in the dropped half must not become infinity.
TEST(Bf16, NanWithLowPayloadStaysNan) {
  EXPECT_TRUE(is_nan_bits(bf16_from_float(std::bit_cast<float>(0x7F80'0001U))));
  EXPECT_TRUE(is_nan_bits(bf16_from_float(std::bit_cast<float>(0xFF80'FFFFU))));
}

// Between every two neighbouring finite values: below half, half and above half.
TEST(Bf16, RoundsToNearestTiesToEvenEverywhere) {
  for (std::uint32_t upper = 0; upper < 0x7F80U; ++upper) {
    for (const std::uint32_t sign : {0U, 0x8000U}) {
      const std::uint32_t kept = sign | upper;
      const auto rounded = [&](std::uint32_t dropped) {
        return bf16_from_float(std::bit_cast<float>((kept << 16) | dropped));
      };
      ASSERT_EQ(rounded(0x0001), kept);
      ASSERT_EQ(rounded(0x7FFF), kept);
      ASSERT_EQ(rounded(0x8000), kept + (kept & 1U));
      ASSERT_EQ(rounded(0x8001), kept + 1);
      ASSERT_EQ(rounded(0xFFFF), kept + 1);
    }
  }
  EXPECT_EQ(bf16_from_float(std::numeric_limits<float>::max()), 0x7F80U);
}

TEST(Math, CeilDivHasNoOverflow) {
  EXPECT_EQ(ceil_div(0, 3), 0);
  EXPECT_EQ(ceil_div(1, 3), 1);
  EXPECT_EQ(ceil_div(3, 3), 1);
  EXPECT_EQ(ceil_div(INT32_MAX, 2), 1 << 30);
  EXPECT_EQ(ceil_div(INT64_MAX, INT64_MAX), 1);
  EXPECT_EQ(round_up(577, 576), 1152);
  EXPECT_EQ(round_up(576, 576), 576);
}

}  // namespace
}  // namespace wavefill
