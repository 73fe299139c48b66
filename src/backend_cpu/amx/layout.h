// How the matrix unit wants its operands: tiles of 16 rows of 64 bytes, each tile 1 KiB in one piece.
//
// TDPBF16PS adds to C [16 rows, 16 columns] the product of A [16 rows, 32] and B [32, 16 columns], where B
// holds pairs: its row r has, for each column, elements 2r and 2r + 1. So
//   scores^T = K q^T: A = 16 tokens x 32 dims, as dequantised; B = 16 dim pairs x 16 heads, made once a row;
//   o        = P V:   A = 16 heads x 32 tokens; B = 16 token pairs x 16 dims: two tokens interleaved.
// Only q and P, which are small, are transposed, and o is kept as it comes. V is K interleaved: its tiles are
// made of K's when they are needed, in the first-level cache. (A line stored beyond that cache costs four
// cycles, more than anything else here: each token's 16 or 18 lines are therefore stored only once.)
//
// Dims within a block of 64 are permuted, because interleaving instructions work in lanes of 128 bits. With
// units of 8 dims (16 bytes of bf16) numbered 0..7, a token's block is two vectors, each one row of K in one
// step:
//   low = units 0 2 4 6, high = units 1 3 5 7               (q is permuted alike)
// The low and high interleaves of two tokens' low, and then of their high vectors, are one row of each of
// four V tiles, where column c of tile j is dim 16 * (c / 4) + 4 * j + c % 4. o leaves that order when it is
// stored.
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
inline constexpr int kValueSteps = kValueDim / kStepDims;

inline constexpr int kHeadTiles = kTileHeads / kTileRows;
inline constexpr int kPair = 2;  // tiles that are multiplied together: each operand is then used twice

inline constexpr int kGroupTokens = 32;  // tokens one TDPBF16PS contracts: a pair of K tiles

// Tokens that are dequantised and scored together: q passes by once for so many.
inline constexpr int kChunkTokens = 128;
inline constexpr int kChunkGroups = kChunkTokens / kGroupTokens;

// Groups that may wait, weighted, for their values to be summed: o passes through the tile registers once for
// so many.
inline constexpr int kPendingGroups = 12;

using Tile = std::uint16_t[kTileBf16];
using SumTile = float[kTileF32];

// Two tiles that are multiplied together.
using TilePair = Tile[kPair];

// The K tiles of 32 tokens in one step. The line of padding spreads the steps that a token is written to over
// the sets of the first-level cache.
struct alignas(kCacheLineBytes) KeyStep {
  TilePair tiles;
  std::byte padding[kCacheLineBytes];
};
inline constexpr std::ptrdiff_t kKeyStepStride = sizeof(KeyStep) / sizeof(std::uint16_t);

struct Group {
  KeyStep steps[kMaxSteps];
};

// What bf16 leaves of a chunk's keys under scales that are no powers of two: k + rest is exact to 2^-16.
struct alignas(kCacheLineBytes) Rests {
  TilePair steps[kChunkGroups][kFp8Steps];
  bool count;  // there are some: otherwise the tiles are not to be read
};

struct alignas(kCacheLineBytes) Scratch {
  TilePair q[kHeadTiles / kPair][kMaxSteps];
  Group keys[kPendingGroups];
  Rests rests;
  SumTile s[kChunkGroups][kPair][kHeadTiles];      // scores of a chunk, [16 tokens, 16 heads] each
  TilePair p[kHeadTiles / kPair][kPendingGroups];  // weights, [16 heads, 32 tokens] each
  TilePair v[kPendingGroups];                      // of one step: [16 token pairs, 16 dims] each
  SumTile o[kHeadTiles / kPair][kValueSteps][kPair]
           [kPair];  // [head tile][V tile]: [16 heads, 16 dims], not normalised
  TokenAddress tokens[2][kChunkTokens];
};

}  // namespace wavefill::cpu::amx
