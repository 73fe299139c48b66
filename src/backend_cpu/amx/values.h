// Weighted values of the pending groups, summed into o, and o to rows.
#pragma once

#include <immintrin.h>

#include "backend_cpu/amx/layout.h"
#include "backend_cpu/amx/tile.h"

WAVEFILL_AMX_BEGIN
namespace wavefill::cpu::amx {

// o (+)= P V for kHeads head tiles, over `count` groups from ring position `ring_group` on.
template <int kHeads, typename Meanwhile>
inline void sum_head_tiles(Scratch& scratch, int head_tile, int ring_group, int count, bool first,
                           Meanwhile& meanwhile) {
  constexpr int kDimTiles = 4 / kHeads;
  for (int at = 0; at < kValueBlocks * kTilesPerValueBlock; at += kDimTiles) {
    const int block = at / kTilesPerValueBlock;
    const int dim_tile = at % kTilesPerValueBlock;
    float* sums[4] = {};
    for (int i = 0; i < 4; ++i)
      sums[i] = scratch.o[head_tile + i / kDimTiles][block][dim_tile + i % kDimTiles];
    if (first) {
      zero_sums<4>();
    } else {
      load_sums<4>(sums);
    }
    int ring = ring_group;
    for (int group = 0; group < count; ++group) {
      add_products<kHeads, kDimTiles>(scratch.p[head_tile][group], kPendingGroups * kTileBf16,
                                      scratch.v[block][dim_tile].groups[ring], kValueTileStride);
      if (++ring == kRingGroups) ring = 0;
      meanwhile.do_some();
    }
    store_sums<4>(sums);
  }
}

// How often sum_values() calls meanwhile.do_some() for the groups of one chunk.
inline int sum_calls(int head_tiles) {
  return (head_tiles / kPair * 2 + head_tiles % kPair) * kChunkGroups * kValueBlocks;
}

template <typename Meanwhile>
inline void sum_values(Scratch& scratch, int head_tiles, int ring_group, int count, bool first,
                       Meanwhile& meanwhile) {
  for (int head_tile = 0; head_tile < head_tiles; head_tile += kPair) {
    if (head_tiles - head_tile >= kPair) {
      sum_head_tiles<2>(scratch, head_tile, ring_group, count, first, meanwhile);
    } else {
      sum_head_tiles<1>(scratch, head_tile, ring_group, count, first, meanwhile);
    }
  }
}

// o of 16 heads times a factor each.
inline void rescale(Scratch& scratch, int head_tile, const float* factors) {
  for (auto& block : scratch.o[head_tile]) {
    for (SumTile& tile : block) {
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
  const SumTile* tiles = scratch.o[head / kTileRows][block];
  const int at = head % kTileRows * kTileRows;
  const __m512 t0 = _mm512_load_ps(tiles[0] + at);
  const __m512 t1 = _mm512_load_ps(tiles[1] + at);
  const __m512 t2 = _mm512_load_ps(tiles[2] + at);
  const __m512 t3 = _mm512_load_ps(tiles[3] + at);
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
  for (int block = 0; block < kValueBlocks; ++block) {
    const Row64 row = row_of(scratch, head, block, factor);
    for (int i = 0; i < 4; ++i) _mm512_storeu_ps(out + block * kBlockDims + 16 * i, row.dims[i]);
  }
}

inline void store_row_bf16(const Scratch& scratch, int head, float factor, Bf16Bits* out) {
  for (int block = 0; block < kValueBlocks; ++block) {
    const Row64 row = row_of(scratch, head, block, factor);
    Bf16Bits* at = out + block * kBlockDims;
    _mm512_storeu_si512(at, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(row.dims[1], row.dims[0])));
    _mm512_storeu_si512(at + 32, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(row.dims[3], row.dims[2])));
  }
}

}  // namespace wavefill::cpu::amx
WAVEFILL_AMX_END
