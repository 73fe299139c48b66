// The producer warpgroup's role: cached tokens to bf16 tiles, for all of a CTA's items.
//
// Thread (token t, quarter q) owns the 16-byte pieces q, q + 4, ... of token t of a tile: piece q + 4 j lies
// in chunk j, so that one scale serves it, and its 16 values are pieces 2 q and 2 q + 1 of line t. The eight
// lanes that store 16 bytes at once have two neighbouring tokens, hence even pieces xor an even and an odd
// number: all banks once.
//
// As soon as a piece is converted, the same piece of the next tile's row is asked for into the same place, so
// that all of a row is always under way: five pieces to shared memory, where a thread copies back what it
// asked for itself, without a barrier, and two to registers. Two at the end only, and without a condition:
// the compiler gives all loads into registers one scoreboard, and puts a condition behind the load, where it
// would wait. What is asked for where there is no token is therefore some row that this thread may read. bf16
// dims need no conversion: they are copied straight to the tile when it begins.
#pragma once

#include <cstdint>

#include "backend_cuda/device/block/fp8_to_bf16.cuh"
#include "backend_cuda/device/block/tile_cursor.cuh"
#include "backend_cuda/device/block/wgmma_config.cuh"
#include "backend_cuda/device/ptx/convert.cuh"
#include "backend_cuda/device/ptx/cp_async.cuh"
#include "backend_cuda/device/ptx/global_load.cuh"
#include "backend_cuda/device/ptx/ldmatrix.cuh"
#include "backend_cuda/device/ptx/mbarrier.cuh"

namespace wavefill::cuda {

template <class C>
class TileProducer {
 public:
  __device__ __forceinline__ TileProducer(const SplitParams& params, WgmmaShared<C>& shared, int thread)
      : params_(params), shared_(shared), cursor_(params, shared, thread / 4, thread % 32), thread_(thread) {}

  // Precondition: earlier grids have ended, but for what the constructor read.
  __device__ __forceinline__ void run() {
    cursor_.start();
    const std::byte* row = row_of_query();
    cp_async_wait();
    __syncwarp();
    cursor_.find_block();
    cursor_.ask_scales(0, 0, 1);
    TokenPlace place = cursor_.peek(0);
    row = row_at(place, row);
    if (params_.aligned_16 != 0) {
      ask_row<16>(row);
    } else {
      ask_row<8>(row);
    }
    TokenPlace next = cursor_.peek(1);
    const std::byte* next_row = row_at(next, row);
    prefetch(next_row);
    cursor_.ask_scales(0, 1, kBlock);  // behind the first row: 192 more places in memory
    cursor_.look_ahead();
    cp_async_commit();
    for (std::int32_t tile = 0; place.has_tile(); ++tile) {
      cp_async_wait_group<C::kParkedParts>();  // the first part of this tile, and the scales before it
      __syncwarp();
      const FooterScales scales(shared_.scales[tile % WgmmaShared<C>::kScaleTiles][token()]);
      // Rows of any alignment and scales of any size take a slower way.
      const bool is_any = params_.aligned_16 == 0 || __any_sync(~0U, scales.are_wide());
      const int buffer = tile % C::kBuffers;
      mbarrier_wait(shared_address(&shared_.empty[buffer]), (tile / C::kBuffers + 1) & 1);
      if (is_any) {
        fill_tile<true>(buffer, place.is_token(), row, next_row, scales);
      } else {
        fill_tile<false>(buffer, place.is_token(), row, next_row, scales);
      }
      place = next;
      row = next_row;
      next = cursor_.peek(tile + 2);
      next_row = row_at(next, row);
      prefetch(next_row);
      if ((tile + 3) % kBlock == 0) {  // that was the last tile of its block
        cursor_.find_block();
        cursor_.ask_scales((tile + 3) / kBlock, 0, kBlock);
        cursor_.look_ahead();
      }
      cp_async_commit();
    }
  }

 private:
  static constexpr int kBlock = TileCursor<C>::kBlock;

  __device__ __forceinline__ int lane() const { return thread_ % 32; }
  __device__ __forceinline__ int token() const { return thread_ / 4; }
  __device__ __forceinline__ int quarter() const { return thread_ % 4; }

  // What this thread reads of a token: of none, what it read before.
  __device__ __forceinline__ const std::byte* row_at(const TokenPlace& place,
                                                     const std::byte* otherwise) const {
    return place.is_token() ? place.row() + quarter() * 16 : otherwise;
  }

  // Most of a row as far as the L2: the four lanes of a token prefetch a line of 128 bytes each. (The last 64
  // bytes with them, or none of them, is slower.)
  __device__ __forceinline__ void prefetch(const std::byte* row) const {
    prefetch_l2(row + quarter() * 112);  // quarter() * 16 are in it
  }

  // The pieces of one part of a row. Those that are parked are a group of copies.
  template <int kBytesAtOnce>
  __device__ __forceinline__ void ask_part(int part, const std::byte* row) {
#pragma unroll
    for (int j = part * C::kPartChunks; j < (part + 1) * C::kPartChunks && j < C::kFp8Chunks; ++j) {
      if (j < C::kParkedPieces) {
        copy_16<kBytesAtOnce>(parked(j), row + 64 * j, true);
      } else {
        raw_[j - C::kParkedPieces] = load_16<kBytesAtOnce>(row + 64 * j);
      }
    }
    if (part < C::kParkedParts) cp_async_commit();
  }

  template <int kBytesAtOnce>
  __device__ __forceinline__ void ask_row(const std::byte* row) {
#pragma unroll
    for (int part = 0; part < C::kParts; ++part) ask_part<kBytesAtOnce>(part, row);
  }

  // What is read until the first token is met: a head of the first item's query, which is longer than a
  // cached row. (One place for all CTAs would be a queue at one slice of the L2.)
  __device__ __forceinline__ const std::byte* row_of_query() const {
    const ItemRange items = items_of_cta<C>(params_.plan);
    const std::int32_t row = items.begin == items.end ? 0 : work_item_quick<C>(params_.plan, items.begin).row;
    const Quotient request = divide(row, params_.output.s_q);
    return reinterpret_cast<const std::byte*>(query_row(params_, request) +
                                              token() % params_.output.num_heads * params_.q_stride_head);
  }

  // Groups of copies, oldest first: the parked parts of this row, what was asked for looking ahead, this
  // row's bf16 dims, the parked parts of the next row.
  template <bool kAny>
  __device__ __forceinline__ void fill_tile(int buffer, bool is_token, const std::byte* row,
                                            const std::byte* next_row, const FooterScales& scales) {
    constexpr int kBytesAtOnce = kAny ? 8 : 16;
    const std::uint32_t tile = shared_address(shared_.tiles[buffer][0]);
    NanSearch nan;
    const std::uint32_t tokens = __ballot_sync(~0U, is_token);
    if (lane() == 0) shared_.tokens[buffer][thread_ / 32] = tokens;
    copy_bf16<kBytesAtOnce>(tile + C::kFp8Chunks * C::kChunkBytes, row + C::kMap.bf16_offset, is_token);
    // Where the lower 16 bytes of a piece go in chunk 0, and by an immediate in every other; the upper ones
    // have the neighbouring place of the swizzle.
    const std::uint32_t low = swizzled(tile, token(), 2 * quarter());
    const std::uint32_t high = low ^ 16U;
    uint4 raw = load_shared_16(parked(0));
#pragma unroll
    for (int part = 0; part < C::kParts; ++part) {
#pragma unroll
      for (int j = part * C::kPartChunks; j < (part + 1) * C::kPartChunks && j < C::kFp8Chunks; ++j) {
        const uint4 next = next_piece(j, raw);
        const auto values = convert_piece<kAny>(raw, scales, j, nan);
        store_shared_16(low + j * C::kChunkBytes, values.low);
        store_shared_16(high + j * C::kChunkBytes, values.high);
        raw = next;
      }
      if (part + 1 == C::kParts) {
        mark_nan(buffer, nan.found());
        cp_async_wait_group<C::kParkedParts>();
      }
      publish(buffer, part);
      ask_part<kBytesAtOnce>(part, next_row);
    }
  }

  // Piece j + 1, asked for before piece j is converted; if it is a part's first, that part has landed.
  __device__ __forceinline__ uint4 next_piece(int j, const uint4& last) const {
    if (j + 1 == C::kFp8Chunks) return last;
    if (j + 1 >= C::kParkedPieces) return raw_[j + 1 - C::kParkedPieces];
    if ((j + 1) % C::kPartChunks == 0) cp_async_wait_group<C::kParkedParts>();
    return load_shared_16(parked(j + 1));
  }

  // Clears the second bit of every token that has a NaN in one of its four lanes.
  __device__ __forceinline__ void mark_nan(int buffer, bool has_nan) const {
    const std::uint32_t lanes = __ballot_sync(~0U, has_nan);
    if (lanes == 0) return;
    const std::uint32_t pairs = lanes | lanes >> 1;
    if (lane() == 0) shared_.tokens[buffer][thread_ / 32] &= ~(((pairs | pairs >> 2) & 0x1111'1111U) << 1);
  }

  template <int kBytesAtOnce>
  __device__ __forceinline__ void copy_bf16(std::uint32_t chunk, const std::byte* from, bool is_token) const {
    const std::uint32_t to = swizzled(chunk, token(), quarter());
    copy_16<kBytesAtOnce>(to, from, is_token);
    copy_16<kBytesAtOnce>(to ^ 64U, from + 64, is_token);  // piece q + 4
    cp_async_commit();
  }

  template <int kBytesAtOnce>
  __device__ __forceinline__ static void copy_16(std::uint32_t to, const std::byte* from, bool wanted) {
    if constexpr (kBytesAtOnce == 16) {
      cp_async_16(to, from, wanted ? 16 : 0);
    } else {
      cp_async_8(to, from, wanted ? 8 : 0);
      cp_async_8(to + 8, from + 8, wanted ? 8 : 0);
    }
  }

  __device__ __forceinline__ std::uint32_t parked(int j) const {
    return shared_address(&shared_.parked[j][thread_]);
  }

  // No proxy fence here: it would wait for the loads under way. The reader fences.
  __device__ __forceinline__ void publish(int buffer, int part) const {
    mbarrier_arrive_as_warp(shared_address(&shared_.full[buffer][part]), lane());
  }

  const SplitParams& params_;
  WgmmaShared<C>& shared_;
  TileCursor<C> cursor_;
  uint4 raw_[C::kRegisterPieces];
  int thread_;
};

}  // namespace wavefill::cuda
