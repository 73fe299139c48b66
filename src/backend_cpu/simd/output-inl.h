// Finished sums to the caller's bf16 or to fp32 partials.
#if defined(WAVEFILL_SIMD_OUTPUT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WAVEFILL_SIMD_OUTPUT_INL_H_
#undef WAVEFILL_SIMD_OUTPUT_INL_H_
#else
#define WAVEFILL_SIMD_OUTPUT_INL_H_
#endif

#include "backend_cpu/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wavefill::cpu {
namespace HWY_NAMESPACE {

// Round to nearest even, as bf16_from_float; NaN stays NaN.
HWY_INLINE void NarrowTo(F32 value, Bf16Bits* out) {
  const DU32 du;
  const hn::Rebind<std::uint16_t, DF32> du16;
  const auto bits = hn::BitCast(du, value);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1U));
  const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7FFFU)));
  const auto quiet = hn::Or(bits, hn::Set(du, 0x0040'0000U));
  const auto kept = hn::IfThenElse(hn::RebindMask(du, hn::IsNaN(value)), quiet, rounded);
  hn::StoreU(hn::TruncateTo(du16, hn::ShiftRight<16>(kept)), du16, out);
}

inline void ScaleToBf16(const float* o, float factor, Bf16Bits* out) {
  const DF32 df;
  for (int dim = 0; dim < kValueDim; dim += kLanes) {
    NarrowTo(hn::Mul(hn::Load(df, o + dim), hn::Set(df, factor)), out + dim);
  }
}

inline void ScaleToF32(const float* o, float factor, float* out) {
  const DF32 df;
  for (int dim = 0; dim < kValueDim; dim += kLanes) {
    hn::StoreU(hn::Mul(hn::Load(df, o + dim), hn::Set(df, factor)), df, out + dim);
  }
}

inline void Weigh(const float* o, std::int64_t stride, std::span<const float> weights, bool first,
                  float* sum) {
  const DF32 df;
  for (int dim = 0; dim < kValueDim; dim += kLanes) {
    F32 total = first ? hn::Zero(df) : hn::Load(df, sum + dim);
    const float* partial = o + dim;
    for (const float weight : weights) {
      total = hn::MulAdd(hn::Set(df, weight), hn::LoadU(df, partial), total);
      partial += stride;
    }
    hn::Store(total, df, sum + dim);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace wavefill::cpu
HWY_AFTER_NAMESPACE();

#endif  // WAVEFILL_SIMD_OUTPUT_INL_H_
