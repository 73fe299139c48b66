// Scores, online softmax and weighted values of one tile of dequantised tokens, in fp32.
#if defined(WAVEFILL_SIMD_ATTEND_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WAVEFILL_SIMD_ATTEND_INL_H_
#undef WAVEFILL_SIMD_ATTEND_INL_H_
#else
#define WAVEFILL_SIMD_ATTEND_INL_H_
#endif

#include "backend_cpu/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wavefill::cpu {
namespace HWY_NAMESPACE {

// Sums over lanes of four vectors, side by side.
HWY_INLINE void StoreSums(F32 a, F32 b, F32 c, F32 d, float* HWY_RESTRICT out) {
  const DF32 df;
  out[0] = hn::GetLane(hn::SumOfLanes(df, a));
  out[1] = hn::GetLane(hn::SumOfLanes(df, b));
  out[2] = hn::GetLane(hn::SumOfLanes(df, c));
  out[3] = hn::GetLane(hn::SumOfLanes(df, d));
}

// s[h * kTileTokens + t] = q_h . k_t for kHeads heads and four tokens, dims side by side in the lanes: 4 *
// kHeads independent sums hide the latency of the multiply-add, and each load feeds kHeads or 4 of them.
template <int kHeads>
HWY_INLINE void ScoreFourTokens(const float* HWY_RESTRICT q, const float* HWY_RESTRICT k, int d_qk,
                                float* HWY_RESTRICT s) {
  const DF32 df;
  F32 sums[kHeads][4];
  for (int h = 0; h < kHeads; ++h) {
    for (int t = 0; t < 4; ++t) sums[h][t] = hn::Zero(df);
  }
  for (int dim = 0; dim < d_qk; dim += kLanes) {
    F32 keys[4];
    for (int t = 0; t < 4; ++t) keys[t] = hn::Load(df, k + t * kMaxKeyDim + dim);
    for (int h = 0; h < kHeads; ++h) {
      const F32 query = hn::Load(df, q + h * kMaxKeyDim + dim);
      for (int t = 0; t < 4; ++t) sums[h][t] = hn::MulAdd(query, keys[t], sums[h][t]);
    }
  }
  for (int h = 0; h < kHeads; ++h) {
    StoreSums(sums[h][0], sums[h][1], sums[h][2], sums[h][3], s + h * kTileTokens);
  }
}

template <int kHeads>
HWY_INLINE void ScoreHeads(const float* q, const float* k, int d_qk, int num_tokens, float* s) {
  for (int t = 0; t < num_tokens; t += 4) ScoreFourTokens<kHeads>(q, k + t * kMaxKeyDim, d_qk, s + t);
}

// num_tokens: a multiple of four; k has rows for them.
inline void Scores(const float* q, const float* k, int d_qk, int num_heads, int num_tokens, float* s) {
  // Key rows of 16 tokens (36 KiB) stay in the first-level cache while the queries pass by.
  constexpr int kResidentTokens = 16;
  for (int begin = 0; begin < num_tokens; begin += kResidentTokens) {
    const int count = std::min(kResidentTokens, num_tokens - begin);
    const float* keys = k + begin * kMaxKeyDim;
    int h = 0;
    for (; h + kHeadBlock <= num_heads; h += kHeadBlock) {
      ScoreHeads<kHeadBlock>(q + h * kMaxKeyDim, keys, d_qk, count, s + h * kTileTokens + begin);
    }
    for (; h < num_heads; ++h) {
      ScoreHeads<1>(q + h * kMaxKeyDim, keys, d_qk, count, s + h * kTileTokens + begin);
    }
  }
}

// Turns one head's scores into weights 2^(s * scale_log2 - max), updates its state, and returns what its
// earlier o must be multiplied by. Columns [num_tokens, kTileTokens) get the weight 0.
inline float Softmax(float* HWY_RESTRICT s, int num_tokens, float scale_log2, bool first, float& max_log2,
                     float& sum) {
  const DF32 df;
  const int end = static_cast<int>(round_up(num_tokens, kLanes));
  for (int t = num_tokens; t < end; ++t) s[t] = -std::numeric_limits<float>::infinity();
  F32 largest = hn::Load(df, s);
  for (int t = kLanes; t < end; t += kLanes) largest = hn::Max(largest, hn::Load(df, s + t));
  const float tile_max = hn::GetLane(hn::MaxOfLanes(df, largest)) * scale_log2;
  const float new_max = first ? tile_max : std::max(max_log2, tile_max);
  const F32 scale = hn::Set(df, scale_log2);
  const F32 reference = hn::Set(df, new_max);
  F32 sums = hn::Zero(df);
  for (int t = 0; t < end; t += kLanes) {
    const F32 weight = Exp2(hn::MulSub(hn::Load(df, s + t), scale, reference));
    sums = hn::Add(sums, weight);
    hn::Store(weight, df, s + t);
  }
  const float earlier = first ? 0.0F : std::exp2(max_log2 - new_max);
  sum = (first ? 0.0F : sum * earlier) + hn::GetLane(hn::SumOfLanes(df, sums));
  max_log2 = new_max;
  return earlier;
}

// o_h = earlier_h * o_h + sum_t p_ht v_t for kHeads heads and four vectors of dims.
template <int kHeads>
HWY_INLINE void WeighFourVectors(const float* HWY_RESTRICT p, const float* HWY_RESTRICT v, int num_tokens,
                                 const float* earlier, bool first, float* HWY_RESTRICT o) {
  const DF32 df;
  F32 sums[kHeads][4];
  for (int h = 0; h < kHeads; ++h) {
    for (int i = 0; i < 4; ++i) sums[h][i] = hn::Zero(df);
  }
  for (int t = 0; t < num_tokens; ++t) {
    F32 values[4];
    for (int i = 0; i < 4; ++i) values[i] = hn::Load(df, v + t * kMaxKeyDim + i * kLanes);
    for (int h = 0; h < kHeads; ++h) {
      const F32 weight = hn::Set(df, p[h * kTileTokens + t]);
      for (int i = 0; i < 4; ++i) sums[h][i] = hn::MulAdd(weight, values[i], sums[h][i]);
    }
  }
  for (int h = 0; h < kHeads; ++h) {
    for (int i = 0; i < 4; ++i) {
      float* at = o + h * kValueDim + i * kLanes;
      const F32 before = hn::Mul(hn::Set(df, earlier[h]), hn::Load(df, at));
      hn::Store(first ? sums[h][i] : hn::Add(before, sums[h][i]), df, at);
    }
  }
}

inline void WeighValues(const float* p, const float* v, int num_heads, int num_tokens, const float* earlier,
                        bool first, float* o) {
  for (int dim = 0; dim < kValueDim; dim += 4 * kLanes) {
    int h = 0;
    for (; h + kHeadBlock <= num_heads; h += kHeadBlock) {
      WeighFourVectors<kHeadBlock>(p + h * kTileTokens, v + dim, num_tokens, earlier + h, first,
                                   o + h * kValueDim + dim);
    }
    for (; h < num_heads; ++h) {
      WeighFourVectors<1>(p + h * kTileTokens, v + dim, num_tokens, earlier + h, first,
                          o + h * kValueDim + dim);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace wavefill::cpu
HWY_AFTER_NAMESPACE();

#endif  // WAVEFILL_SIMD_ATTEND_INL_H_
