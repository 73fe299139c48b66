// q k for the tokens of a chunk, with other work done between the multiplications.
#pragma once

#include <algorithm>
#include <cstddef>

#include "backend_cpu/amx/layout.h"
#include "backend_cpu/amx/tile.h"

WAVEFILL_AMX_BEGIN
namespace wavefill::cpu::amx {

// Scores of two row tiles of tokens and kHeads head tiles over some steps: stored if `first`, else added.
template <int kHeads, typename Meanwhile>
WAVEFILL_AMX_INLINE void score_tiles(const std::uint16_t* keys, std::ptrdiff_t key_stride,
                                     const std::uint16_t* q, int steps, bool first, SumTile (*s)[kHeadTiles],
                                     int head_tile, Meanwhile& meanwhile) {
  float* sums[4] = {};
  for (int i = 0; i < 2 * kHeads; ++i) sums[i] = s[i / kHeads][head_tile + i % kHeads];
  if (first) {
    zero_sums<2 * kHeads>();
  } else {
    load_sums<2 * kHeads>(sums);
  }
  for (int step = 0; step < steps; ++step) {
    add_products<2, kHeads>(keys + step * kTileBf16, key_stride, q + step * kTileBf16, kMaxSteps * kTileBf16);
    meanwhile.do_some();
  }
  store_sums<2 * kHeads>(sums);
}

template <int kHeads, typename Meanwhile>
inline void score_head_tiles(Scratch& scratch, const KeyTiles& keys, int head_tile, int token_tiles,
                             const ByteMap& map, Meanwhile& meanwhile) {
  for (int tile = 0; tile < token_tiles; tile += 2) {
    score_tiles<kHeads>(keys.k[tile][0], kMaxSteps * kTileBf16, scratch.q[head_tile][0],
                        map.d_qk() / kStepDims, true, scratch.s + tile, head_tile, meanwhile);
    if (!keys.has_rest) continue;
    score_tiles<kHeads>(keys.rest[tile][0], kFp8Steps * kTileBf16, scratch.q[head_tile][0],
                        map.fp8_dims / kStepDims, false, scratch.s + tile, head_tile, meanwhile);
  }
}

// How often score_chunk() calls meanwhile.do_some() for a full chunk.
inline int score_calls(int head_tiles, const ByteMap& map) {
  return ceil_div(head_tiles, kPair) * kChunkTiles / 2 * (map.d_qk() / kStepDims);
}

template <typename Meanwhile>
inline void score_chunk(Scratch& scratch, const KeyTiles& keys, int head_tiles, int num_tokens,
                        const ByteMap& map, Meanwhile& meanwhile) {
  const int token_tiles = round_up(num_tokens, kGroupTokens) / kTileRows;
  for (int head_tile = 0; head_tile < head_tiles; head_tile += kPair) {
    if (head_tiles - head_tile >= kPair) {
      score_head_tiles<2>(scratch, keys, head_tile, token_tiles, map, meanwhile);
    } else {
      score_head_tiles<1>(scratch, keys, head_tile, token_tiles, map, meanwhile);
    }
  }
}

}  // namespace wavefill::cpu::amx
WAVEFILL_AMX_END
