// Scores to weights. Weights are relative to a reference near the largest score rather than to the largest
// itself: a reference that stands still spares rescaling o. Any reference gives the same result while
// 2^(score - reference) and its sums stay within range, as bf16 and fp32 are equally precise at every size.
#pragma once

#include <immintrin.h>

#include <limits>

#include "backend_cpu/amx/layout.h"
#include "backend_cpu/amx/vectors.h"

WAVEFILL_AMX_BEGIN
namespace wavefill::cpu::amx {

// How far a score may exceed its reference (base 2): 2^32 weights of 2^32 would still be far from 2^127.
inline constexpr float kSlackLog2 = 32.0F;

WAVEFILL_AMX_INLINE float* score_row(Scratch& scratch, int head_tile, int token) {
  return scratch.s[token / kGroupTokens][token / kTileRows % kPair][head_tile] +
         token % kTileRows * kTileRows;
}

// The largest score (base 2) of 16 heads over a chunk.
inline __m512 max_of_chunk(Scratch& scratch, int head_tile, int num_tokens, float scale_log2) {
  __m512 largest = _mm512_set1_ps(-std::numeric_limits<float>::infinity());
  for (int token = 0; token < num_tokens; ++token) {
    largest = _mm512_max_ps(largest, _mm512_load_ps(score_row(scratch, head_tile, token)));
  }
  return _mm512_mul_ps(largest, _mm512_set1_ps(scale_log2));
}

// Sums of weights of 16 heads: in fp32 before rounding, for lse, and as rounded, for normalising o.
struct WeightSums {
  __m512 exact;
  __m512 rounded;
};

// Weights of 32 tokens for 16 heads, as the A tile [16 heads, 32 tokens] of P V. Adds to their sums.
WAVEFILL_AMX_INLINE void weigh_group(Scratch& scratch, int head_tile, int first_token, Tile& p, __m512 scale,
                                     __m512 reference, WeightSums& sums) {
  // The two halves of a cvtne2 result, interleaved: values of the even and the odd token side by side.
  const __m512i interleave = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8,
                                              23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  const auto ones = reinterpret_cast<__m512bh>(_mm512_set1_epi16(0x3F80));
  __m512i pairs[16];
  for (int pair = 0; pair < 16; ++pair) {
    const float* row = score_row(scratch, head_tile, first_token + 2 * pair);
    const __m512 even = exp2(_mm512_fmsub_ps(_mm512_load_ps(row), scale, reference));
    const __m512 odd = exp2(_mm512_fmsub_ps(_mm512_load_ps(row + kTileRows), scale, reference));
    pairs[pair] =
        _mm512_permutexvar_epi16(interleave, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(odd, even)));
    sums.exact = _mm512_add_ps(sums.exact, _mm512_add_ps(even, odd));
    sums.rounded = _mm512_dpbf16_ps(sums.rounded, reinterpret_cast<__m512bh>(pairs[pair]), ones);
  }
  transpose(pairs);
  for (int head = 0; head < 16; ++head) _mm512_store_si512(p + head * kStepDims, pairs[head]);
}

// Weights of a chunk's tokens for 16 heads, from pending group `first_group` on. Returns their sums.
inline WeightSums weigh_chunk(Scratch& scratch, int head_tile, int num_tokens, int first_group,
                              float scale_log2, __m512 reference) {
  const int end = round_up(num_tokens, kGroupTokens);
  for (int token = num_tokens; token < end; ++token) {
    _mm512_store_ps(score_row(scratch, head_tile, token),
                    _mm512_set1_ps(-std::numeric_limits<float>::infinity()));
  }
  WeightSums sums = {_mm512_setzero_ps(), _mm512_setzero_ps()};
  for (int group = 0; group * kGroupTokens < end; ++group) {
    weigh_group(scratch, head_tile, group * kGroupTokens,
                scratch.p[head_tile / kPair][first_group + group][head_tile % kPair],
                _mm512_set1_ps(scale_log2), reference, sums);
  }
  return sums;
}

}  // namespace wavefill::cpu::amx
WAVEFILL_AMX_END
