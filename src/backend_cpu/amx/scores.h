// q k for the tokens of a chunk.
#pragma once

#include "backend_cpu/amx/layout.h"
#include "backend_cpu/amx/tile.h"

WAVEFILL_AMX_BEGIN
namespace wavefill::cpu::amx {

// Scores of a group and kHeads head tiles over some steps: stored if `first`, else added. s: of the group's
// first tile and the first head tile.
template <int kHeads>
WAVEFILL_AMX_INLINE void score_steps(const std::uint16_t* keys, std::ptrdiff_t key_stride, const TilePair* q,
                                     int steps, bool first, SumTile* s) {
  float* sums[4] = {};
  for (int i = 0; i < kPair * kHeads; ++i) sums[i] = s[i / kHeads * kHeadTiles + i % kHeads];
  if (first) {
    zero_sums<kPair * kHeads>();
  } else {
    load_sums<kPair * kHeads>(sums);
  }
  for (int step = 0; step < steps; ++step) {
    add_products<kPair, kHeads>(keys + step * key_stride, q[step][0]);
  }
  store_sums<kPair * kHeads>(sums);
}

template <int kHeads>
inline void score_groups(Scratch& scratch, const Group* groups, int num_groups, int head_pair,
                         const ByteMap& map) {
  const TilePair* q = scratch.q[head_pair];
  for (int group = 0; group < num_groups; ++group) {
    SumTile* s = &scratch.s[group][0][head_pair * kPair];
    score_steps<kHeads>(groups[group].steps[0].tiles[0], kKeyStepStride, q, map.d_qk() / kStepDims, true, s);
    if (!scratch.rests.count) continue;
    score_steps<kHeads>(scratch.rests.steps[group][0][0], kPair * kTileBf16, q, map.fp8_dims / kStepDims,
                        false, s);
  }
}

// Fills scratch.s for the chunk whose keys are `groups`.
inline void score_chunk(Scratch& scratch, const Group* groups, int num_groups, int head_tiles,
                        const ByteMap& map) {
  for (int head_tile = 0; head_tile < head_tiles; head_tile += kPair) {
    if (head_tiles - head_tile >= kPair) {
      score_groups<2>(scratch, groups, num_groups, head_tile / kPair, map);
    } else {
      score_groups<1>(scratch, groups, num_groups, head_tile / kPair, map);
    }
  }
}

}  // namespace wavefill::cpu::amx
WAVEFILL_AMX_END
