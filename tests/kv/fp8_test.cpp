// e4m3, UE8M0 and block scales against references written in double, over every code and every bf16.
#include "kv/fp8.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "core/bf16.h"

namespace wavefill {
namespace {

// The format's definition, read off its three fields.
double reference_e4m3(int code) {
  const double sign = (code & 0x80) != 0 ? -1.0 : 1.0;
  const int exponent = (code >> 3) & 0xF;
  const int mantissa = code & 0x7;
  if (exponent == 0) return sign * std::ldexp(mantissa, -9);
  return sign * std::ldexp(8 + mantissa, exponent - 10);
}

// The finite code nearest to |value|, by search; of two equally near ones the even code.
int reference_nearest_magnitude(double magnitude) {
  int best = 0;
  double best_distance = magnitude;
  for (int code = 1; code <= 0x7E; ++code) {
    const double distance = std::fabs(reference_e4m3(code) - magnitude);
    if (distance < best_distance || (distance == best_distance && code % 2 == 0)) {
      best = code;
      best_distance = distance;
    }
  }
  return best;
}

int reference_encode(float value) {
  const int sign = std::signbit(value) ? 0x80 : 0;
  if (std::isnan(value)) return sign | 0x7F;
  if (std::isinf(value)) return sign | 0x7E;
  return sign | reference_nearest_magnitude(std::fabs(static_cast<double>(value)));
}

TEST(E4m3, DecodesEveryCodeExactly) {
  for (int code = 0; code < 256; ++code) {
    const float value = e4m3_to_float(static_cast<std::uint8_t>(code));
    EXPECT_EQ(std::signbit(value), code >= 0x80) << "code " << code;
    if (code == 0x7F || code == 0xFF) {
      EXPECT_TRUE(std::isnan(value)) << "code " << code;
      EXPECT_TRUE(std::isnan(kE4m3Values[code])) << "code " << code;
      EXPECT_TRUE(is_e4m3_nan(static_cast<std::uint8_t>(code)));
    } else {
      EXPECT_EQ(value, reference_e4m3(code)) << "code " << code;
      EXPECT_EQ(kE4m3Values[code], value) << "code " << code;
      EXPECT_FALSE(is_e4m3_nan(static_cast<std::uint8_t>(code)));
    }
  }
}

TEST(E4m3, EncodesEveryCodeBackToItself) {
  for (int code = 0; code < 256; ++code) {
    EXPECT_EQ(e4m3_from_float(e4m3_to_float(static_cast<std::uint8_t>(code))), code);
  }
}

TEST(E4m3, EncodesEveryBf16ToTheNearestCode) {
  for (std::uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    const float value = bf16_to_float(static_cast<Bf16Bits>(bits));
    ASSERT_EQ(e4m3_from_float(value), reference_encode(value)) << "bf16 bits " << bits << ", " << value;
  }
}

TEST(E4m3, RoundsTiesToEvenAndNeighboursOfTiesToTheNearer) {
  for (int code = 0; code < 0x7E; ++code) {
    const float tie = static_cast<float>((reference_e4m3(code) + reference_e4m3(code + 1)) / 2);
    const int even = code % 2 == 0 ? code : code + 1;
    for (const float sign : {1.0F, -1.0F}) {
      const int sign_bit = sign < 0 ? 0x80 : 0;
      EXPECT_EQ(e4m3_from_float(sign * tie), sign_bit | even) << tie;
      EXPECT_EQ(e4m3_from_float(sign * std::nextafter(tie, 0.0F)), sign_bit | code) << tie;
      EXPECT_EQ(e4m3_from_float(sign * std::nextafter(tie, 1e9F)), sign_bit | (code + 1)) << tie;
    }
  }
}

TEST(E4m3, EncodesRandomFloatsToTheNearestCode) {
  constexpr unsigned kSeed = 20;
  std::mt19937 random(kSeed);
  std::uniform_real_distribution<float> exponent(-14.0F, 10.0F);
  for (int i = 0; i < 20'000; ++i) {
    const float value = (i % 2 == 0 ? 1.0F : -1.0F) * std::exp2(exponent(random));
    ASSERT_EQ(e4m3_from_float(value), reference_encode(value)) << "seed " << kSeed << ", value " << value;
  }
}

TEST(E4m3, SaturatesInsteadOfBecomingNan) {
  for (const float value : {448.0F, 449.0F, 464.0F, 480.0F, 1e30F, std::numeric_limits<float>::infinity()}) {
    EXPECT_EQ(e4m3_from_float(value), 0x7E) << value;
    EXPECT_EQ(e4m3_from_float(-value), 0xFE) << value;
  }
}

TEST(Ue8m0, DecodesEveryByteAndOnlyTheLastIsNan) {
  for (int byte = 0; byte < 255; ++byte) {
    EXPECT_EQ(ue8m0_to_float(static_cast<std::uint8_t>(byte)), std::ldexp(1.0, byte - 127)) << byte;
  }
  EXPECT_GT(ue8m0_to_float(0x00), 0.0F);
  EXPECT_TRUE(std::isnan(ue8m0_to_float(0xFF)));
}

TEST(Ue8m0, EncodesPowersExactlyAndOthersUpwards) {
  for (int byte = 0; byte < 255; ++byte) {
    const float power = ue8m0_to_float(static_cast<std::uint8_t>(byte));
    EXPECT_EQ(ue8m0_from_float(power), byte);
    const int next = std::min(byte + 1, 254);  // above 2^127 saturates
    EXPECT_EQ(ue8m0_from_float(std::nextafter(power, 3e38F)), next) << byte;
    EXPECT_EQ(ue8m0_from_float(std::nextafter(power, 0.0F)), byte) << byte;
  }
  EXPECT_EQ(ue8m0_from_float(0.0F), 0x00);
  EXPECT_EQ(ue8m0_from_float(std::numeric_limits<float>::denorm_min()), 0x00);
  EXPECT_EQ(ue8m0_from_float(std::numeric_limits<float>::max()), 0xFE);
  EXPECT_EQ(ue8m0_from_float(std::numeric_limits<float>::infinity()), 0xFE);
  EXPECT_EQ(ue8m0_from_float(std::numeric_limits<float>::quiet_NaN()), 0xFF);
  EXPECT_EQ(ue8m0_from_float(-1.0F), 0xFF);
}

// The least power of two that brings amax to 448, found by trying.
double reference_block_scale(float amax) {
  const double clamped = std::fmax(amax, 1e-4F);
  double scale = std::ldexp(1.0, -140);
  while (clamped / scale > 448.0) scale *= 2;
  return scale;
}

TEST(BlockScale, IsTheLeastPowerOfTwoForEveryBf16) {
  for (std::uint32_t bits = 0; bits < 0x7F80; ++bits) {
    const float amax = bf16_to_float(static_cast<Bf16Bits>(bits));
    ASSERT_EQ(fp8_block_scale(amax), reference_block_scale(amax)) << amax;
  }
}

TEST(BlockScale, StepsExactlyAt448TimesAPowerOfTwo) {
  for (int exponent = -22; exponent <= 119; ++exponent) {
    const float edge = std::ldexp(448.0F, exponent);
    EXPECT_EQ(fp8_block_scale(edge), std::ldexp(1.0F, exponent));
    EXPECT_EQ(fp8_block_scale(std::nextafter(edge, 0.0F)), std::ldexp(1.0F, exponent));
    EXPECT_EQ(fp8_block_scale(std::nextafter(edge, 3.4e38F)), std::ldexp(1.0F, exponent + 1));
  }
  EXPECT_EQ(fp8_block_scale(std::numeric_limits<float>::max()), 0x1p120F);
}

}  // namespace
}  // namespace wavefill
