// Weighted values of the pending groups, summed into o, and o to rows.
#pragma once

#include <immintrin.h>

#include <hwy/base.h>

#include "backend_cpu/amx/layout.h"
#include "backend_cpu/amx/tile.h"

WAVEFILL_AMX_BEGIN
namespace wavefill::cpu::amx {

// The two V tiles that one step of a group's keys makes: tokens 2 i and 2 i + 1 interleaved are row i.
WAVEFILL_AMX_INLINE void make_values(const TilePair& keys, TilePair& v) {
  HWY_UNROLL(8)
  for (int pair = 0; pair < kGroupTokens / 2; ++pair) {
    // The rows of both K tiles follow each other.
    const std::uint16_t* rows = keys[0] + 2 * pair * kStepDims;
    const __m512i even = _mm512_load_si512(rows);
    const __m512i odd = _mm512_load_si512(rows + kStepDims);
    _mm512_store_si512(v[0] + pair * kStepDims, _mm512_unpacklo_epi16(even, odd));
    _mm512_store_si512(v[1] + pair * kStepDims, _mm512_unpackhi_epi16(even, odd));
  }
}

// Groups whose weights are formed but whose values are not summed: keys [begin, begin + count), weights [0,
// count).
struct Pending {
  int begin = 0;
  int count = 0;
  int end() const { return begin + count; }
};

// o (+)= P V for a pair of head tiles, or one, and the dims of one step. The first head pair of a step makes
// V, a group ahead of its use.
// Groups whose V is made before it is used, so that its stores have left for the cache by then.
inline constexpr int kMadeAhead = 2;

template <int kHeads, bool kMakeValues>
WAVEFILL_AMX_INLINE void sum_step(Scratch& scratch, int head_pair, int step, Pending pending, bool first) {
  auto& o = scratch.o[head_pair][step];
  float* const sums[4] = {o[0][0], o[0][1], o[1][0], o[1][1]};
  if (first) {
    zero_sums<kHeads * kPair>();
  } else {
    load_sums<kHeads * kPair>(sums);
  }
  for (int group = kMakeValues ? -kMadeAhead : 0; group < pending.count; ++group) {
    const int made = group + kMadeAhead;
    if (kMakeValues && made < pending.count) {
      make_values(scratch.keys[pending.begin + made].steps[step].tiles, scratch.v[made]);
    }
    if (group >= 0) add_products<kHeads, kPair>(scratch.p[head_pair][group][0], scratch.v[group][0]);
  }
  store_sums<kHeads * kPair>(sums);
}

template <bool kMakeValues>
inline void sum_step(Scratch& scratch, int head_tiles, int head_pair, int step, Pending pending, bool first) {
  if (head_tiles - head_pair * kPair >= kPair) {
    sum_step<2, kMakeValues>(scratch, head_pair, step, pending, first);
  } else {
    sum_step<1, kMakeValues>(scratch, head_pair, step, pending, first);
  }
}

inline void sum_values(Scratch& scratch, int head_tiles, Pending pending, bool first) {
  for (int step = 0; step < kValueSteps; ++step) {
    sum_step<true>(scratch, head_tiles, 0, step, pending, first);
    for (int head_pair = 1; head_pair * kPair < head_tiles; ++head_pair) {
      sum_step<false>(scratch, head_tiles, head_pair, step, pending, first);
    }
  }
}

// o of 16 heads times a factor each.
inline void rescale(Scratch& scratch, int head_tile, const float* factors) {
  for (auto& step : scratch.o[head_tile / kPair]) {
    for (SumTile& tile : step[head_tile % kPair]) {
      for (int head = 0; head < kTileRows; ++head) {
        float* row = tile + head * kTileRows;
        _mm512_store_ps(row, _mm512_mul_ps(_mm512_load_ps(row), _mm512_set1_ps(factors[head])));
      }
    }
  }
}

struct Row64 {
  __m512 dims[4];
};

// factor * o of one head and 64 dims, in their order: the lanes of four tiles' rows, transposed 4 x 4.
WAVEFILL_AMX_INLINE Row64 row_of(const Scratch& scratch, int head, int block, float factor) {
  const auto* steps = scratch.o[head / kTileRows / kPair] + 2 * block;
  const int tile = head / kTileRows % kPair;
  const int at = head % kTileRows * kTileRows;
  const __m512 t0 = _mm512_load_ps(steps[0][tile][0] + at);
  const __m512 t1 = _mm512_load_ps(steps[0][tile][1] + at);
  const __m512 t2 = _mm512_load_ps(steps[1][tile][0] + at);
  const __m512 t3 = _mm512_load_ps(steps[1][tile][1] + at);
  const __m512 low01 = _mm512_shuffle_f32x4(t0, t1, 0x44);
  const __m512 low23 = _mm512_shuffle_f32x4(t2, t3, 0x44);
  const __m512 high01 = _mm512_shuffle_f32x4(t0, t1, 0xEE);
  const __m512 high23 = _mm512_shuffle_f32x4(t2, t3, 0xEE);
  const __m512 scale = _mm512_set1_ps(factor);
  return {{_mm512_mul_ps(scale, _mm512_shuffle_f32x4(low01, low23, 0x88)),
           _mm512_mul_ps(scale, _mm512_shuffle_f32x4(low01, low23, 0xDD)),
           _mm512_mul_ps(scale, _mm512_shuffle_f32x4(high01, high23, 0x88)),
           _mm512_mul_ps(scale, _mm512_shuffle_f32x4(high01, high23, 0xDD))}};
}

inline void store_row_f32(const Scratch& scratch, int head, float factor, float* out) {
  for (int block = 0; block < kValueDim / kBlockDims; ++block) {
    const Row64 row = row_of(scratch, head, block, factor);
    for (int i = 0; i < 4; ++i) _mm512_storeu_ps(out + block * kBlockDims + 16 * i, row.dims[i]);
  }
}

inline void store_row_bf16(const Scratch& scratch, int head, float factor, Bf16Bits* out) {
  for (int block = 0; block < kValueDim / kBlockDims; ++block) {
    const Row64 row = row_of(scratch, head, block, factor);
    Bf16Bits* at = out + block * kBlockDims;
    _mm512_storeu_si512(at, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(row.dims[1], row.dims[0])));
    _mm512_storeu_si512(at + 32, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(row.dims[3], row.dims[2])));
  }
}

}  // namespace wavefill::cpu::amx
WAVEFILL_AMX_END
