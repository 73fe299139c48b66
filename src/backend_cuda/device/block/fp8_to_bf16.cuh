// Pieces of 16 e4m3 values to bf16, exactly, with their scale applied.
//
// The bits of an e4m3 value, its exponent and mantissa moved to the place of a bf16's lowest exponent bits
// and highest mantissa bits, are its value times 2^-120, subnormals included; one multiplication by 2^120
// times the scale makes it right. That factor exists up to a scale of 2^7 (a byte of 134); "wide" scales take
// two. A NaN comes out as 480 times its scale; it is searched for on the way.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>

#include "backend_cuda/device/ptx/convert.cuh"

namespace wavefill::cuda {

__device__ __forceinline__ std::uint32_t multiply_bf16x2(std::uint32_t a, std::uint32_t b) {
  const __nv_bfloat162 product =
      __hmul2(reinterpret_cast<const __nv_bfloat162&>(a), reinterpret_cast<const __nv_bfloat162&>(b));
  return reinterpret_cast<const std::uint32_t&>(product);
}

// Seven UE8M0 bytes and one that is never read.
struct FooterScales {
  std::uint32_t words[2] = {};
  static constexpr std::uint32_t kUsed = 0x00FF'FFFFU;  // of the second word

  __device__ __forceinline__ explicit FooterScales(const uint2& bytes) : words{bytes.x, bytes.y} {}

  // Is a byte above 134? One is if its top bit is set and the others are at least 7.
  __device__ __forceinline__ bool are_wide() const {
    return ((above_6(words[0]) & words[0]) | (above_6(words[1]) & words[1] & kUsed)) & 0x8080'8080U;
  }

  __device__ __forceinline__ std::uint32_t byte(int i) const {
    return (words[i / 4] >> (8 * (i % 4))) & 0xFFU;
  }

 private:
  __device__ __forceinline__ static std::uint32_t above_6(std::uint32_t word) {
    return (word & 0x7F7F'7F7FU) + 0x7979'7979U;
  }
};

// A token's four fp32 scales, one of every lane of its four. Powers of two from 2^-126 to 2^7 are UE8M0
// bytes; any other scale is odd, and its products are rounded.
class InlineScales {
 public:
  // All lanes of a warp together; what is no token has scales of 1.
  __device__ __forceinline__ InlineScales(std::uint32_t bits, bool is_token)
      : own_(is_token ? bits : kOne), bytes_(own_ >> 23 << 8 * (threadIdx.x % 4)) {
    bytes_ |= __shfl_xor_sync(~0U, bytes_, 1);
    bytes_ |= __shfl_xor_sync(~0U, bytes_, 2);
  }

  // This lane's; a sign, a mantissa and a byte of 0 are odd too.
  __device__ __forceinline__ bool is_odd() const {
    return (own_ & 0x807F'FFFFU) != 0 || (own_ >> 23) - 1U >= kLargestByte;
  }

  // Of piece `piece`, of 64 dims. Precondition: no lane's scale is odd.
  __device__ __forceinline__ std::uint32_t byte(int piece) const {
    return (bytes_ >> (piece / 2 * 8)) & 0xFFU;
  }

  // Any of the token's scales. All lanes of a warp together.
  __device__ __forceinline__ float of_piece(int piece) const {
    return __uint_as_float(__shfl_sync(~0U, own_, piece / 2, 4));
  }

 private:
  static constexpr std::uint32_t kOne = 0x3F80'0000U;
  static constexpr std::uint32_t kLargestByte = 134;

  std::uint32_t own_;
  std::uint32_t bytes_;
};

struct Bf16Piece {
  uint4 low;
  uint4 high;
};

// 2^120 times the scale, in both halves; what is beyond 2^127 is left to `rest`.
template <bool kWide>
struct PieceFactor {
  std::uint32_t main;
  std::uint32_t rest = 0;

  __device__ __forceinline__ explicit PieceFactor(std::uint32_t byte) {
    constexpr std::uint32_t kBothHalves = 0x0001'0001U;
    constexpr std::uint32_t kLargest = 254;
    if constexpr (kWide) {
      main = min(byte + 120U, kLargest) * 128U * kBothHalves;
      rest = (byte + 120U > kLargest ? byte - 7U : 127U) * 128U * kBothHalves;
      if (byte == 0xFFU) rest = 0x7FC0U * kBothHalves;
    } else {
      main = (byte + 120U) * 128U * kBothHalves;
    }
  }

  __device__ __forceinline__ std::uint32_t times(std::uint32_t pair) const {
    const std::uint32_t product = multiply_bf16x2(pair, main);
    return kWide ? multiply_bf16x2(product, rest) : product;
  }
};

// Whether a NaN was among the bytes met so far: all bits but the sign are set in it alone, so 1 more turns
// the sign over. (That of the next byte too, where it carries on: there is a NaN all the same.)
class NanSearch {
 public:
  __device__ __forceinline__ void add(std::uint32_t four) { turned_ |= (four + 0x0101'0101U) ^ four; }
  __device__ __forceinline__ bool found() const { return (turned_ & 0x8080'8080U) != 0; }

 private:
  std::uint32_t turned_ = 0;
};

// Bytes i and i + 1 of four, each shifted up by 4 in its half behind copies of its sign. Shifting is one
// multiplication, which the pipe does not do that permutes and masks.
template <int i>
__device__ __forceinline__ std::uint32_t pair_to_bf16x2(std::uint32_t four) {
  constexpr std::uint32_t kSign = 8;  // of a byte, in all bits
  constexpr std::uint32_t kSelect = i | (kSign | i) << 4 | (i + 1) << 8 | (kSign | (i + 1)) << 12;
  std::uint32_t spread;
  asm("prmt.b32 %0, %1, 0, %2;" : "=r"(spread) : "r"(four), "n"(kSelect));
  return (spread * 16) & 0x87F0'87F0U;
}

template <bool kWide>
__device__ __forceinline__ uint2 convert_word(std::uint32_t four, const PieceFactor<kWide>& factor,
                                              NanSearch& nan) {
  nan.add(four);
  return make_uint2(factor.times(pair_to_bf16x2<0>(four)), factor.times(pair_to_bf16x2<2>(four)));
}

// Piece `piece` of a token with UE8M0 bytes as scales.
template <bool kWide, class Scales>
__device__ __forceinline__ Bf16Piece convert_piece(const uint4& raw, const Scales& scales, int piece,
                                                   NanSearch& nan) {
  const PieceFactor<kWide> factor(scales.byte(piece));
  const uint2 a = convert_word<kWide>(raw.x, factor, nan);
  const uint2 b = convert_word<kWide>(raw.y, factor, nan);
  const uint2 c = convert_word<kWide>(raw.z, factor, nan);
  const uint2 d = convert_word<kWide>(raw.w, factor, nan);
  return {make_uint4(a.x, a.y, b.x, b.y), make_uint4(c.x, c.y, d.x, d.y)};
}

// Two values times any fp32 scale, rounded to bf16, or (kRest) what that rounding left, which is another bf16
// to 2^-17 of the value.
template <bool kRest>
__device__ __forceinline__ std::uint32_t convert_odd_pair(std::uint32_t pair, float scale) {
  float2 value = unpack_f16x2(e4m3x2_to_f16x2(pair));
  value.x *= scale;
  value.y *= scale;
  const std::uint32_t rounded = pack_bf16x2(value.x, value.y);
  if constexpr (!kRest) return rounded;
  const float2 back = unpack_bf16x2(rounded);
  // Nothing is left of what is infinite already.
  return pack_bf16x2(isinf(back.x) ? 0.0F : value.x - back.x, isinf(back.y) ? 0.0F : value.y - back.y);
}

// A piece whose scale is any fp32 number.
template <bool kRest>
__device__ __forceinline__ Bf16Piece convert_odd_piece(const uint4& raw, float scale) {
  const auto word = [scale](std::uint32_t four) {
    return make_uint2(convert_odd_pair<kRest>(four & 0xFFFFU, scale),
                      convert_odd_pair<kRest>(four >> 16, scale));
  };
  const uint2 a = word(raw.x);
  const uint2 b = word(raw.y);
  const uint2 c = word(raw.z);
  const uint2 d = word(raw.w);
  return {make_uint4(a.x, a.y, b.x, b.y), make_uint4(c.x, c.y, d.x, d.y)};
}

}  // namespace wavefill::cuda
