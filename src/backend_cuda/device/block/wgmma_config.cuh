// The compile-time shape of a Hopper split kernel, and its shared memory.
//
// A CTA has 64 heads of a row, on the m of both products: two consumer warpgroups, each with the O of all
// heads for half of the value dims, and two producer warpgroups that turn cached tokens into bf16 tiles. A
// tile of 64 tokens is kChunks chunks of 64 dims, 64 lines of 128 bytes each: as B of the scores its lines
// run along k, as B of the values along n, so one tile serves both. Of 576 dims the last chunk is no value
// ("key tail"); once it is scored, the tile's weights P take its place, which are as large.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kv/byte_map.h"
#include "wavefill/kv_format.h"

namespace wavefill::cuda {

// Who merges the partials of a row.
enum class Merge : std::uint8_t {
  combine,  // a kernel of its own
  cluster,  // the row's splits, which are the CTAs of a cluster
  worker,   // whoever has the row's first tiles (worker_merge.cuh)
};

template <KvFormat kKvFormat, int kDqk, int kChunksOfPart, Merge kMerge = Merge::combine>
struct WgmmaConfig {
  // A CTA has one split of its row.
  static constexpr bool kRowIsCluster = kMerge == Merge::cluster;
  // A plan is in device memory, and the pieces of its rows with neighbouring workers.
  static constexpr bool kWorkerMerges = kMerge == Merge::worker;
  template <Merge kOther>
  using WithMerge = WgmmaConfig<kKvFormat, kDqk, kChunksOfPart, kOther>;

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
  static constexpr int kParts = kValueChunks / kPartChunks;
  static constexpr bool kHasKeyTail = kChunks > kValueChunks;  // it belongs to the last part
  static constexpr int kLineBytes = 2 * kChunkDims;
  static constexpr int kChunkBytes = kTile * kLineBytes;

  static constexpr ByteMap kMap = kFormat == KvFormat::fp8_tile64_rope_bf16_footer    ? kFp8Tile64FooterMap
                                  : kFormat == KvFormat::fp8_tile128_rope_bf16_inline ? kFp8Tile128InlineMap
                                                                                      : bf16_byte_map(kDims);
  static constexpr bool kHasFooters = kMap.scale_place == ScalePlace::footer;
  static constexpr bool kHasInlineScales = kMap.scale_place == ScalePlace::inline_with_data;

  static constexpr int kFp8Chunks = kMap.fp8_dims / kChunkDims;
  // Of a thread's fp8 pieces, one a chunk, kPlaces are under way or wait, the first ones in shared memory,
  // the others in registers. Piece i has place i % kPlaces.
  static constexpr int kParkedPlaces = kFp8Chunks == 0 ? 0 : kHasKeyTail ? 2 : 5;
  static constexpr int kRegisterPlaces = kFp8Chunks == 0 ? 0 : 2;
  static constexpr int kPlaces = kParkedPlaces + kRegisterPlaces;
  static constexpr bool kHoldsRow = kPlaces == kFp8Chunks;
  static_assert(kHoldsRow || kFp8Chunks == 2 * kPlaces);
  static constexpr int kParkedParts = (kParkedPlaces + kPartChunks - 1) / kPartChunks;
};

template <class C>
struct alignas(1024) WgmmaShared {
  static constexpr int kBlockTiles = 4;  // whose rows are found at once
  static constexpr int kScaleTiles = C::kHasFooters ? 2 * kBlockTiles : 0;
  // Arrays that a format may not need have one element then.
  WAVEFILL_HOST_DEVICE static constexpr int at_least_one(int count) { return count > 0 ? count : 1; }

  std::byte query[C::kChunks][C::kChunkBytes];
  std::byte tiles[C::kBuffers][C::kChunks][C::kChunkBytes];
  std::byte weights[C::kHasKeyTail ? 16 : C::kHeads * C::kTile * 2];  // P of the latest tile

  // A producer's own pieces, raw: place i of thread t is i * kProducers * kGroupThreads + t.
  uint4 parked[at_least_one(C::kParkedPlaces * C::kProducers * C::kGroupThreads)];
  uint2 scales[at_least_one(kScaleTiles * C::kTile)];  // of footers, as cached: kTile of each tile
  std::int32_t indices[kBlockTiles][C::kTile];         // of the tokens of the block to come, negative: none
  alignas(16) std::uint32_t tokens[C::kBuffers][8];    // what is unusual about them, as in TokenMarks
  float reference[C::kConsumers][C::kHeads];           // what that P is relative to (base 2)
  // Whether each warp of a group raised references for that tile.
  alignas(16) std::uint32_t is_raised[C::kConsumers][C::kGroupThreads / 32];
  float sums[C::kConsumers][C::kHeads];          // of a group's weights,
  float rounded_sums[C::kConsumers][C::kHeads];  // and as P had them
  std::uint64_t full[C::kBuffers][C::kParts];    // mbarriers: a part of a tile is there,
  std::uint64_t empty[C::kBuffers];              // both groups have done with a tile,
  std::uint64_t ready[C::kConsumers];            // a group's P and reference are there
  std::uint64_t scored[C::kConsumers];           // all warps of a group have scored its tile
  // Of tiles with lines that come twice (TokenMarks):
  std::uint64_t scored_once[C::kBuffers];  // the first ones have been scored
  std::uint64_t came_twice[C::kBuffers];   // the second ones are there
};

// What is unusual about the tokens of a tile. Word i: tokens 8 i .. 8 i + 7, of one producer warp, four bits
// each, all set as a rule.
struct TokenMarks {
  static constexpr std::uint32_t kIsToken = 0x1111'1111U;   // all four are clear where there is none
  static constexpr std::uint32_t kHasNoNan = 0x2222'2222U;  // among its e4m3 values
  // Clear, for all tokens of a warp: these lines come twice, and what is there first is what the second ones
  // were rounded by.
  static constexpr std::uint32_t kComeOnce = 0x4444'4444U;

  std::uint32_t words[8];

  __device__ __forceinline__ explicit TokenMarks(const std::uint32_t (&tokens)[8]) {
#pragma unroll
    for (int i = 0; i < 8; i += 4) {
      const uint4 four = *reinterpret_cast<const uint4*>(&tokens[i]);
      words[i] = four.x;
      words[i + 1] = four.y;
      words[i + 2] = four.z;
      words[i + 3] = four.w;
    }
  }

  __device__ __forceinline__ bool are_usual() const {
    std::uint32_t all = ~0U;
#pragma unroll
    for (const std::uint32_t word : words) all &= word;
    return all == ~0U;
  }
  // Whether the lines of warp i do.
  __device__ __forceinline__ bool come_once(int i) const {
    return (words[i] & kIsToken) == ((words[i] & kComeOnce) >> 2);
  }
};

// Address of 16-byte chunk `piece` of a line in a block of 128-byte lines.
__device__ __forceinline__ std::uint32_t swizzled(std::uint32_t block, int line, int piece) {
  return block + static_cast<std::uint32_t>(line * 128 + ((piece ^ (line & 7)) * 16));
}

}  // namespace wavefill::cuda
