// Cached bytes to fp32 rows, exactly.
#if defined(WAVEFILL_SIMD_DEQUANTISE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WAVEFILL_SIMD_DEQUANTISE_INL_H_
#undef WAVEFILL_SIMD_DEQUANTISE_INL_H_
#else
#define WAVEFILL_SIMD_DEQUANTISE_INL_H_
#endif

#include "backend_cpu/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wavefill::cpu {
namespace HWY_NAMESPACE {

// e4m3 is s.eeee.mmm with bias 7. Moving eeee.mmm to the top of the fp32 mantissa and adding
// 120 to its exponent re-biases a normal number. Subnormals are m * 2^-9, by conversion; magnitude 0x7F is
// NaN.
HWY_INLINE F32 FromE4m3(const std::uint8_t* bytes) {
  const DF32 df;
  const DU32 du;
  const hn::Rebind<std::uint8_t, DF32> du8;
  const auto bits = hn::PromoteTo(du, hn::LoadU(du8, bytes));
  const auto magnitude = hn::And(bits, hn::Set(du, 0x7FU));
  const auto sign = hn::ShiftLeft<24>(hn::And(bits, hn::Set(du, 0x80U)));
  const auto normal = hn::BitCast(df, hn::ShiftLeft<20>(hn::Add(magnitude, hn::Set(du, 120U << 3))));
  const auto subnormal = hn::Mul(hn::ConvertTo(df, hn::BitCast(DI32(), magnitude)), hn::Set(df, 0x1p-9F));
  const auto is_subnormal = hn::RebindMask(df, hn::Lt(hn::BitCast(DI32(), magnitude), hn::Set(DI32(), 8)));
  const auto is_nan = hn::RebindMask(df, hn::Eq(magnitude, hn::Set(du, 0x7FU)));
  const auto value = hn::IfThenElse(is_subnormal, subnormal, normal);
  return hn::Or(hn::IfThenElse(is_nan, hn::BitCast(df, hn::Set(du, 0x7FC0'0000U)), value),
                hn::BitCast(df, sign));
}

HWY_INLINE F32 FromBf16(const std::uint8_t* bytes) {
  const hn::Rebind<std::uint16_t, DF32> du16;
  const auto bits = hn::LoadU(du16, reinterpret_cast<const std::uint16_t*>(bytes));
  return hn::BitCast(DF32(), hn::ShiftLeft<16>(hn::PromoteTo(DU32(), bits)));
}

// 2^(byte - 127); byte 0 is the fp32 subnormal 2^-127, 0xFF is NaN.
HWY_INLINE float FromUe8m0(std::uint8_t byte) {
  if (byte == 0) return 0x1p-127F;
  return std::bit_cast<float>(byte == 0xFF ? 0x7FC0'0000U : std::uint32_t{byte} << 23);
}

HWY_INLINE float ScaleOf(const ByteMap& map, const std::byte* scales, int tile) {
  if (map.scale_type == ScaleType::ue8m0) return FromUe8m0(static_cast<std::uint8_t>(scales[tile]));
  float scale;
  std::memcpy(&scale, scales + sizeof(float) * static_cast<std::size_t>(tile), sizeof(float));
  return scale;
}

// Writes map.d_qk() values.
HWY_INLINE void Dequantise(const ByteMap& map, const TokenAddress& token, float* HWY_RESTRICT row) {
  const auto* data = reinterpret_cast<const std::uint8_t*>(token.data);
  for (int tile = 0; tile < map.num_scales(); ++tile) {
    const F32 scale = hn::Set(DF32(), ScaleOf(map, token.scales, tile));
    const int begin = tile * map.scale_tile_dims;
    for (int dim = begin; dim < begin + map.scale_tile_dims; dim += kLanes) {
      hn::Store(hn::Mul(FromE4m3(data + map.fp8_offset + dim), scale), DF32(), row + dim);
    }
  }
  for (int dim = 0; dim < map.bf16_dims; dim += kLanes) {
    hn::Store(FromBf16(data + map.bf16_offset + 2 * dim), DF32(), row + map.fp8_dims + dim);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace wavefill::cpu
HWY_AFTER_NAMESPACE();

#endif  // WAVEFILL_SIMD_DEQUANTISE_INL_H_
