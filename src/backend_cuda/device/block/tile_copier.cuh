// The copying of tiles by the compute warps themselves, where all registers of an SM are theirs.
//
// Every thread copies a sixteenth of one token of every tile, some tiles ahead: one group of copies a tile.
// Its group has landed for all once each thread has waited for its own and a barrier of the CTA has followed,
// so that steps need no barrier for it beyond theirs. What says where an item's tokens are lies in shared
// memory, since registers are scarce in the loop; a tile's index is read a step before its row is asked for.
#pragma once

#include <cstdint>

#include "backend_cuda/device/block/split_config.cuh"
#include "backend_cuda/device/block/work_items.cuh"
#include "backend_cuda/device/ptx/cp_async.cuh"
#include "backend_cuda/device/ptx/ldmatrix.cuh"

namespace wavefill::cuda {

template <class C>
class TileCopier {
 public:
  static constexpr int kAhead = C::kStages - 1;  // tiles asked for before the first is used

  // Asks for the first tiles of the item that shared.item describes, from stage `stage` on.
  __device__ __forceinline__ void start(const SplitParams& params, SplitShared<C>& shared, int thread,
                                        int stage) {
    std::int32_t indices[kAhead];
#pragma unroll
    for (int i = 0; i < kAhead; ++i) indices[i] = load_index(shared, thread, i);
#pragma unroll 1
    for (int i = 0; i < kAhead; ++i) {
      index_ = i == 0 ? indices[0] : i == 1 ? indices[1] : indices[2];
      copy_tile(params, shared, thread, i, stage);
      stage = stage + 1 == C::kStages ? 0 : stage + 1;
    }
    index_ = load_index(shared, thread, kAhead);
  }

  // Asks for tile `tile_idx` + kAhead of the item, if there is one. Precondition: `stage` is free.
  __device__ __forceinline__ void copy_ahead(const SplitParams& params, SplitShared<C>& shared, int thread,
                                             int tile_idx, int stage) {
    copy_tile(params, shared, thread, tile_idx + kAhead, stage);
    index_ = load_index(shared, thread, tile_idx + kAhead + 1);
  }

  // Returns when this thread's part of tile `tile_idx` + 1 has landed after copy_ahead(tile_idx), and that of
  // the first after start().
  __device__ __forceinline__ static void wait() { cp_async_wait_group<kAhead - 1>(); }

 private:
  static constexpr int kThreadsOfToken = 16;
  static_assert(kAhead == 3);
  static_assert(C::kComputeThreads == C::kTile * kThreadsOfToken);
  static_assert(C::kMap.fp8_offset == 0 && C::kMap.bf16_offset == C::kMap.fp8_dims, "a row is one piece");
  static_assert(C::kFp8Slices == 7 && kSlices == 8, "36 pieces of 16 bytes");
  static_assert(C::kMap.footer_bytes == 8);

  __device__ __forceinline__ static int token(int thread) { return thread / kThreadsOfToken; }

  // Of this thread's token of a tile; negative: none.
  __device__ __forceinline__ std::int32_t load_index(const SplitShared<C>& shared, int thread,
                                                     int tile_idx) const {
    const std::int32_t tile = shared.item.tile_begin + tile_idx;
    if (tile >= shared.item.tile_end) return -1;
    const RowTiles<C>& row = shared.item.row;
    const bool extra = tile >= row.main_tiles;
    const IndexRow& part = extra ? row.extra : row.main;
    const std::int32_t column = (tile - (extra ? row.main_tiles : 0)) * C::kTile + token(thread);
    return column < part.length ? __ldg(part.indices + column) : -1;
  }

  __device__ __forceinline__ void copy_tile(const SplitParams& params, SplitShared<C>& shared, int thread,
                                            int tile_idx, int stage) const {
    const std::int32_t tile = shared.item.tile_begin + tile_idx;
    if (tile < shared.item.tile_end) {
      const std::byte* row = nullptr;
      const std::byte* scales = nullptr;
      // No cache address is formed for a token that is none.
      if (index_ >= 0) {
        const CacheParams& cache = params.caches[tile >= shared.item.row.main_tiles ? 1 : 0];
        const Quotient slot = divide(index_, cache.page_size);
        const std::byte* page = cache.data + slot.quotient * cache.page_stride_bytes;
        row = page + std::int64_t{slot.remainder} * C::kMap.data_bytes;
        scales = page + cache.footer_offset_bytes + std::int64_t{slot.remainder} * C::kMap.footer_bytes;
      }
      const int part = thread % kThreadsOfToken;
      if (part == kThreadsOfToken - 1) {
        cp_async_8(shared_address(&shared.cached_scales[stage][token(thread)]), scales, index_ >= 0 ? 8 : 0);
        shared.valid[stage][token(thread)] = index_ >= 0 ? 1 : 0;
      }
      const std::uint32_t to = shared_address(shared.ring[stage]);
      if (params.aligned_16 != 0) {
        copy_row<16>(to, row, token(thread), part);
      } else {
        copy_row<8>(to, row, token(thread), part);
      }
    }
    cp_async_commit();
  }

  // Pieces part, part + 16 and part + 32 of a token's 36: of slices 0 to 3; of slices 4 to 6 and the first
  // half of the bf16 slice; of its second half.
  template <int kBytesAtOnce>
  __device__ __forceinline__ void copy_row(std::uint32_t to, const std::byte* row, int token,
                                           int part) const {
    constexpr int kSliceBytes = kSliceDims * C::kTile;
    const int chunk = part % 4;
    const std::uint32_t fp8 =
        to + part / 4 * kSliceBytes + token * kSliceDims + (chunk ^ swizzle_fp8(token)) * 16;
    const std::uint32_t bf16 = C::stage_offset(C::kFp8Slices) + token * kSliceDims * 2;
    const std::uint32_t place = (chunk ^ swizzle_bf16(token)) * 16;
    copy_piece<kBytesAtOnce>(fp8, row + part * 16);
    copy_piece<kBytesAtOnce>(part < 12 ? fp8 + 4 * kSliceBytes : to + bf16 + place, row + part * 16 + 256);
    if (part < 4) copy_piece<kBytesAtOnce>(to + bf16 + (place ^ 64U), row + part * 16 + 512);
  }

  template <int kBytesAtOnce>
  __device__ __forceinline__ void copy_piece(std::uint32_t to, const std::byte* from) const {
    if constexpr (kBytesAtOnce == 16) {
      cp_async_16(to, from, index_ >= 0 ? 16 : 0);
    } else {
      cp_async_8(to, from, index_ >= 0 ? 8 : 0);
      cp_async_8(to + 8, from + 8, index_ >= 0 ? 8 : 0);
    }
  }

  std::int32_t index_ = -1;  // of this thread's token of the next tile to ask for
};

}  // namespace wavefill::cuda
