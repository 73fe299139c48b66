// Vector types and the arithmetic all SIMD kernels share.
#if defined(WAVEFILL_SIMD_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WAVEFILL_SIMD_VECTORS_INL_H_
#undef WAVEFILL_SIMD_VECTORS_INL_H_
#else
#define WAVEFILL_SIMD_VECTORS_INL_H_
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace wavefill::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using DF32 = hn::CappedTag<float, 16>;
using DU32 = hn::RebindToUnsigned<DF32>;
using DI32 = hn::RebindToSigned<DF32>;
using F32 = hn::Vec<DF32>;

// All widths here (64, 128, 512, 576) are multiples of it.
constexpr int kLanes = static_cast<int>(hn::MaxLanes(DF32()));

// Heads that share a load: 4 * kHeadBlock sums, 4 operands and 1 broadcast must fit the registers, of which
// AVX-512 and NEON have 32 and the others 16.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
constexpr int kHeadBlock = 4;
#else
constexpr int kHeadBlock = 2;
#endif

// 2^x for x <= 0, relative error below 1.5e-7; 0 below -125, where an fp32 weight beside a weight of 1 is
// nothing. NaN stays NaN. The polynomial is the least-maximum fit of degree 5 to 2^f on [-1/2, 1/2].
HWY_INLINE F32 Exp2(F32 x) {
  const DF32 df;
  const DI32 di;
  const F32 whole = hn::Round(x);
  const F32 f = hn::Sub(x, whole);
  F32 p = hn::Set(df, 0.001327647187F);
  p = hn::MulAdd(p, f, hn::Set(df, 0.009675541334F));
  p = hn::MulAdd(p, f, hn::Set(df, 0.05550713274F));
  p = hn::MulAdd(p, f, hn::Set(df, 0.2402211972F));
  p = hn::MulAdd(p, f, hn::Set(df, 0.6931469671F));
  p = hn::MulAdd(p, f, hn::Set(df, 1.000000072F));
  const auto exponent = hn::ShiftLeft<23>(hn::ConvertTo(di, whole));
  const F32 scaled = hn::BitCast(df, hn::Add(hn::BitCast(di, p), exponent));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(df, -125.0F)), scaled);
}

}  // namespace HWY_NAMESPACE
}  // namespace wavefill::cpu
HWY_AFTER_NAMESPACE();

#endif  // WAVEFILL_SIMD_VECTORS_INL_H_
