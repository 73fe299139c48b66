// How the matrix unit wants its operands: tiles of 16 rows of 64 bytes, each tile 1 KiB in one piece.
//
// TDPBF16PS adds to C [16 rows, 16 columns] the product of A [16 rows, 32] and B [32, 16 columns], where B
// holds pairs: its row r has, for each column, elements 2r and 2r + 1. So
//   scores^T = K q^T: A = 16 tokens x 32 dims, as dequantised; B = 16 dim pairs x 16 heads, made once a row;
//   o        = P V:   A = 16 heads x 32 tokens; B = 16 token pairs x 16 dims: two tokens interleaved.
// Only q and P, which are small, are transposed, and o is kept as it comes.
//
// Dims within a block of 64 are permuted, because interleaving instructions work in lanes of 128 bits. A pair
// of tokens a, b becomes, with units of 8 dims (16 bytes of bf16) numbered 0..7:
//   vectors a0 = units 0 2 4 6, a1 = units 1 3 5 7          (two steps of K; q is permuted alike)
//   low and high interleaves of (a0, b0) and (a1, b1) = 4 tiles of V, where column c of tile j is
//   dim 16 * (c / 4) + 4 * j + c % 4.
// o leaves that order when it is stored.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend_cpu/kernel.h"
#include "core/math.h"

namespace wavefill::cpu::amx {

inline constexpr int kTileRows = 16;
inline constexpr int kRowBytes = 64;
inline constexpr int kTileBf16 = kTileRows * kRowBytes / 2;
inline constexpr int kTileF32 = kTileRows * kRowBytes / 4;

inline constexpr int kStepDims = 32;  // dims one TDPBF16PS contracts
inline constexpr int kBlockDims = 64;
inline constexpr int kMaxSteps = 576 / kStepDims;
inline constexpr int kFp8Steps = 512 / kStepDims;  // most steps that fp8 dims can fill
inline constexpr int kValueBlocks = kValueDim / kBlockDims;
inline constexpr int kTilesPerValueBlock = 4;

inline constexpr int kHeadTiles = kTileHeads / kTileRows;
inline constexpr int kPair = 2;  // head tiles that are multiplied together: each operand is then used twice

inline constexpr int kGroupTokens = 32;  // tokens one TDPBF16PS contracts

// Tokens whose scores are taken together: what is dequantised while the chunk before it is scored.
inline constexpr int kChunkTokens = 64;
inline constexpr int kChunkTiles = kChunkTokens / kTileRows;
inline constexpr int kChunkGroups = kChunkTokens / kGroupTokens;

// Groups that wait, weighted, for their values to be summed: o passes through the tile registers once for so
// many. Their V tiles stand in a ring that has room for the chunk being scored besides.
inline constexpr int kPendingGroups = 8;
inline constexpr int kRingGroups = kPendingGroups + kChunkGroups;

// Chunks whose addresses are known in advance, and may be prefetched: the one being scored, the one being
// dequantised, and as many as are prefetched while the values of all pending groups are summed.
inline constexpr int kKnownChunks = 8;

using Tile = std::uint16_t[kTileBf16];
using SumTile = float[kTileF32];

struct alignas(kCacheLineBytes) KeyTiles {
  Tile k[kChunkTiles][kMaxSteps];
  // What bf16 leaves of keys under scales that are no powers of two: k + rest is exact to 2^-16.
  Tile rest[kChunkTiles][kFp8Steps];
  bool has_rest;  // otherwise rest does not count
};

// The V tiles of 16 dims. The line of padding spreads the 32 tiles that a pair of tokens is written to over
// the sets of the first-level cache.
struct alignas(kCacheLineBytes) ValueTiles {
  Tile groups[kRingGroups];
  std::byte padding[kCacheLineBytes];
};
inline constexpr std::ptrdiff_t kValueTileStride = sizeof(ValueTiles) / sizeof(std::uint16_t);

struct alignas(kCacheLineBytes) Scratch {
  Tile q[kHeadTiles][kMaxSteps];
  KeyTiles keys[2];  // of the chunk being scored and the one being dequantised
  ValueTiles v[kValueBlocks][kTilesPerValueBlock];
  SumTile s[kChunkTiles][kHeadTiles];                        // scores of a chunk, [16 tokens, 16 heads] each
  Tile p[kHeadTiles][kPendingGroups];                        // weights, [16 heads, 32 tokens] each
  SumTile o[kHeadTiles][kValueBlocks][kTilesPerValueBlock];  // [16 heads, 16 dims] each, not normalised
  TokenAddress tokens[kKnownChunks][kChunkTokens];
};

}  // namespace wavefill::cpu::amx
