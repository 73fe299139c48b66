// The producer warpgroup's role: cached tokens to bf16 tiles, for all of a CTA's items.
//
// Thread (token t, quarter q) owns the 16-byte pieces q, q + 4, ... of token t of a tile: piece q + 4 j lies
// in chunk j, so that one scale serves it, and its 16 values are pieces 2 q and 2 q + 1 of line t. The eight
// lanes that store 16 bytes at once have two neighbouring tokens, hence even pieces xor an even and an odd
// number: all banks once.
//
// A tile's rows are asked for, all pieces together, as soon as the tile before is converted, and are on their
// way to the L2 a tile earlier. Asking piece by piece would be earlier still, but the compiler gives all
// loads into registers one scoreboard: each piece would wait for the one asked for last. Registers hold some
// of the pieces and shared memory the others, where a thread copies back what it asked for itself, without a
// barrier. bf16 dims need no conversion: they are copied straight to the tile when it begins.
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
    cp_async_wait();
    __syncwarp();
    const TileToken first = cursor_.peek(0);
    const TileToken second = cursor_.peek(1);
    bool exists = first.has_tile();
    const std::byte* row = find(first, 0);
    if (params_.aligned_16 != 0) {
      load_row<16>(row);
    } else {
      load_row<8>(row);
    }
    const std::byte* next_row = find(second, 1);
    cursor_.look_ahead(1);
    cp_async_wait();
    __syncwarp();
    for (std::int32_t tile = 0; exists; ++tile) {
      const FooterScales scales(shared_.scales[tile % kScaleTiles][token()]);
      // Rows of any alignment and scales of any size take a slower way.
      const bool is_any = params_.aligned_16 == 0 || __any_sync(~0U, scales.are_wide());
      const int buffer = tile % C::kBuffers;
      mbarrier_wait(shared_address(&shared_.empty[buffer]), (tile / C::kBuffers + 1) & 1);
      if (is_any) {
        fill_tile<true>(buffer, row, scales);
      } else {
        fill_tile<false>(buffer, row, scales);
      }
      // Read before rows are asked for: the compiler would have it wait for them too.
      const TileToken behind_next = cursor_.peek(tile + 2);
      exists = cursor_.peek(tile + 1).has_tile();
      if (is_any) {
        load_row<8>(next_row);
      } else {
        load_row<16>(next_row);
      }
      row = next_row;
      next_row = find(behind_next, (tile + 2) % kScaleTiles);
      cursor_.step_to(tile + 1);
    }
  }

 private:
  __device__ __forceinline__ int lane() const { return thread_ % 32; }
  __device__ __forceinline__ int token() const { return thread_ / 4; }
  __device__ __forceinline__ int quarter() const { return thread_ % 4; }

  static constexpr int kScaleTiles = WgmmaShared<C>::kScaleTiles;

  // Where a tile's token lies for this thread; no address is formed for one that is none. Asks for its
  // scales, and for its row as far as the L2: 4.5 lines of 128 bytes, which the thread itself asks for a tile
  // later.
  __device__ __forceinline__ const std::byte* find(const TileToken& of, int scales) const {
    const std::byte* footer = nullptr;
    const std::byte* row = nullptr;
    if (of.is_token()) {
      const CacheParams& cache = params_.caches[of.cache];
      const Quotient place = divide(of.index, cache.page_size);
      const std::byte* page = cache.data + place.quotient * cache.page_stride_bytes;
      row = page + std::int64_t{place.remainder} * C::kMap.data_bytes + quarter() * 16;
      footer = page + cache.footer_offset_bytes + std::int64_t{place.remainder} * C::kMap.footer_bytes;
      prefetch_l2(row + quarter() * 112);  // quarter() * 16 are in it
      if (quarter() == 0) prefetch_l2(row + 512);
    }
    if (quarter() == 0) {
      cp_async_8(shared_address(&shared_.scales[scales][token()]), footer, footer != nullptr ? 8 : 0);
    }
    return row;
  }

  // Zeros for a token that is none.
  template <int kBytesAtOnce>
  __device__ __forceinline__ void load_row(const std::byte* row) {
#pragma unroll
    for (int j = 0; j < C::kRegisterPieces; ++j) {
      raw_[j] = load_16<kBytesAtOnce>(row + 64 * j, row != nullptr);
    }
#pragma unroll
    for (int j = C::kRegisterPieces; j < C::kFp8Chunks; ++j) {
      copy_16<kBytesAtOnce>(parked(j), row + 64 * j, row != nullptr);
    }
    cp_async_commit();
  }

  template <bool kAny>
  __device__ __forceinline__ void fill_tile(int buffer, const std::byte* row, const FooterScales& scales) {
    const std::uint32_t tile = shared_address(shared_.tiles[buffer][0]);
    const bool is_token = row != nullptr;
    const std::uint32_t valid = __ballot_sync(~0U, is_token);
    if (lane() == 0) shared_.valid[buffer][thread_ / 32] = valid;
    copy_bf16<kAny ? 8 : 16>(tile + C::kFp8Chunks * C::kChunkBytes, row + C::kMap.bf16_offset, is_token);
    // Where the lower 16 bytes of a piece go in chunk 0, and by an immediate in every other; the upper ones
    // have the neighbouring place of the swizzle.
    const std::uint32_t low = swizzled(tile, token(), 2 * quarter());
    const std::uint32_t high = low ^ 16U;
#pragma unroll
    for (int part = 0; part < C::kParts; ++part) {
#pragma unroll
      for (int j = part * C::kPartChunks; j < (part + 1) * C::kPartChunks && j < C::kFp8Chunks; ++j) {
        // The parked pieces are older than the copies that this tile began with.
        if (j == C::kRegisterPieces) cp_async_wait_group<1>();
        const uint4 raw = j < C::kRegisterPieces ? raw_[j] : load_shared_16(parked(j));
        const auto values = convert_piece<kAny>(raw, scales, j);
        store_shared_16(low + j * C::kChunkBytes, values.low);
        store_shared_16(high + j * C::kChunkBytes, values.high);
      }
      if (part + 1 == C::kParts) cp_async_wait();
      publish(buffer, part);
    }
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
    return shared_address(&shared_.parked[j - C::kRegisterPieces][thread_]);
  }

  // No proxy fence here: it would wait for the loads under way. The reader fences.
  __device__ __forceinline__ void publish(int buffer, int part) const {
    __syncwarp();
    if (lane() == 0) mbarrier_arrive(shared_address(&shared_.full[buffer][part]));
  }

  const SplitParams& params_;
  WgmmaShared<C>& shared_;
  TileCursor<C> cursor_;
  uint4 raw_[C::kRegisterPieces];
  int thread_;
};

}  // namespace wavefill::cuda
