// The compile-time shape of a Hopper split kernel, and its shared memory.
//
// A CTA has 64 heads of a row, on the m of both products: two consumer warpgroups, each with the O of all
// heads for half of the value dims, and two producer warpgroups that turn cached tokens into bf16 tiles. A
// tile of 64 tokens is kChunks chunks of 64 dims, 64 lines of 128 bytes each: as B of the scores its lines
// run along k, as B of the values along n, so one tile serves both.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kv/byte_map.h"
#include "wavefill/kv_format.h"

namespace wavefill::cuda {

template <KvFormat kKvFormat, int kDqk, int kChunksOfPart, bool kCluster = false>
struct WgmmaConfig {
  // A CTA has one split of its row, and the splits of a row, a cluster, merge among themselves.
  static constexpr bool kRowIsCluster = kCluster;
  using OfClusters = WgmmaConfig<kKvFormat, kDqk, kChunksOfPart, true>;

  static constexpr KvFormat kFormat = kKvFormat;
  static constexpr int kDims = kDqk;
  static constexpr int kHeads = 64;
  static constexpr int kTile = 64;
  static constexpr int kBuffers = 2;

  static constexpr int kGroupThreads = 128;
  static constexpr int kConsumers = 2;
  static constexpr int kProducers = 2;
  static constexpr int kThreads = (kConsumers + kProducers) * kGroupThreads;
  // Together 512 for a warp of each group: all registers of an SM.
  static constexpr int kLaunchRegisters = 65536 / kThreads;
  static constexpr int kConsumerRegisters = 192;
  static constexpr int kProducerRegisters = 64;
  static_assert(kConsumers * kConsumerRegisters + kProducers * kProducerRegisters ==
                (kConsumers + kProducers) * kLaunchRegisters);

  static constexpr int kChunkDims = 64;
  static constexpr int kChunks = kDims / kChunkDims;
  static constexpr int kValueChunks = kValueDim / kChunkDims;
  static constexpr int kPartChunks = kChunksOfPart;  // chunks handed to the consumers at once
  static constexpr int kParts = (kChunks + kPartChunks - 1) / kPartChunks;
  static constexpr int kLineBytes = 2 * kChunkDims;
  static constexpr int kChunkBytes = kTile * kLineBytes;

  static constexpr ByteMap kMap = kFormat == KvFormat::fp8_tile64_rope_bf16_footer    ? kFp8Tile64FooterMap
                                  : kFormat == KvFormat::fp8_tile128_rope_bf16_inline ? kFp8Tile128InlineMap
                                                                                      : bf16_byte_map(kDims);
  static constexpr int kFp8Chunks = kMap.fp8_dims / kChunkDims;
  // Of a thread's fp8 pieces these wait in shared memory, the others in registers.
  static constexpr int kParkedPieces = kFp8Chunks - 2;
  static constexpr int kParkedParts = (kParkedPieces + kPartChunks - 1) / kPartChunks;
  static constexpr int kRegisterPieces = kFp8Chunks - kParkedPieces;
};

template <class C>
struct alignas(1024) WgmmaShared {
  std::byte query[C::kChunks][C::kChunkBytes];
  std::byte tiles[C::kBuffers][C::kChunks][C::kChunkBytes];
  std::byte weights[C::kHeads * C::kTile * 2];  // P of the latest tile
  static constexpr int kBlockTiles = 4;         // whose rows are found at once
  static constexpr int kScaleTiles = 2 * kBlockTiles;

  uint4 parked[C::kParkedPieces][C::kProducers * C::kGroupThreads];  // a producer's own, raw
  uint2 scales[kScaleTiles][C::kTile];                               // as cached
  std::int32_t indices[kBlockTiles][C::kTile];  // of the tokens of the block to come, negative: none
  // Word i: tokens 8 i .. 8 i + 7, four bits each. All are clear where there is no token, the second one
  // where it has a NaN among its e4m3 values.
  std::uint32_t tokens[C::kBuffers][8];
  float reference[C::kConsumers][C::kHeads];     // what that P is relative to (base 2)
  float sums[C::kConsumers][C::kHeads];          // of a group's weights,
  float rounded_sums[C::kConsumers][C::kHeads];  // and as P had them
  std::uint64_t full[C::kBuffers][C::kParts];    // mbarriers: a part of a tile is there,
  std::uint64_t empty[C::kBuffers];              // both groups have done with a tile,
  std::uint64_t ready[C::kConsumers];            // a group's P and reference are there
};

// Address of 16-byte chunk `piece` of a line in a block of 128-byte lines.
__device__ __forceinline__ std::uint32_t swizzled(std::uint32_t block, int line, int piece) {
  return block + static_cast<std::uint32_t>(line * 128 + ((piece ^ (line & 7)) * 16));
}

}  // namespace wavefill::cuda
