// The loaders' role: a few warps bring the tokens of all items from the caches into the ring, ahead of the
// compute warps as far as the ring allows, across items too. They share a tile's rows and scales.
//
// Lane i looks up token i of a tile. A tile's indices are read two tiles before its rows are asked for, and
// its scales one tile before, so that a loader waits for neither. Rows are copied in pieces of 64 bytes by 4
// lanes: a piece's place in shared memory is the same distance from the last piece's for every slice, so that
// addresses are immediates.
#pragma once

#include <cstdint>

#include "backend_cuda/device/block/split_config.cuh"
#include "backend_cuda/device/block/token_scales.cuh"
#include "backend_cuda/device/block/work_items.cuh"
#include "backend_cuda/device/ptx/cp_async.cuh"
#include "backend_cuda/device/ptx/ldmatrix.cuh"
#include "backend_cuda/device/ptx/mbarrier.cuh"

namespace wavefill::cuda {

template <class C>
class RowLoader {
 public:
  __device__ __forceinline__ RowLoader(const SplitParams& params, SplitShared<C>& shared, int loader,
                                       int lane)
      : params_(params), shared_(shared), loader_(loader), lane_(lane) {}

  // Copies tiles [tile_begin, tile_end) of a row. Precondition: they exist.
  __device__ __forceinline__ void run(const RowTiles<C>& row, std::int32_t tile_begin,
                                      std::int32_t tile_end) {
    row_ = row;
    end_ = tile_end;
    std::int32_t index = load_index(tile_begin);
    std::int32_t next_index = load_index(tile_begin + 1);
    Place place = find(tile_begin, index);
    for (std::int32_t tile = tile_begin; tile < tile_end; ++tile) {
      const std::int32_t index_behind = load_index(tile + 2);
      const Place next_place = find(tile + 1, next_index);
      mbarrier_wait(shared_address(&shared_.empty[ring_.stage]), ring_.parity ^ 1U);
      copy_tile(place);
      if (loader_ == 0 && lane_ < C::kTile) shared_.valid[ring_.stage][lane_] = place.is_token ? 1 : 0;
      if constexpr (C::kHasFp8) {
        publish_scales<C>(shared_, place.scales, exponents_, tile == tile_begin, ring_.stage, loader_, lane_);
      }
      const std::uint32_t full = shared_address(&shared_.full[ring_.stage]);
      cp_async_arrive(full);
      mbarrier_arrive(full);
      place = next_place;
      next_index = index_behind;
      ring_.advance();
    }
  }

  // Arrivals at a `full` barrier: of every lane one for its copies and one for what it wrote. One lane could
  // arrive for its warp, but is no faster, and racecheck does not see through it.
  static constexpr std::uint32_t kArrivals = 64 * C::kLoaderWarps;

 private:
  static constexpr int kTokensAtOnce = 8;

  struct Place {
    const std::byte* row = nullptr;
    bool is_token = false;
    CachedScales<C> scales;
  };

  // The token that this lane looks up in `tile`; negative: none.
  __device__ __forceinline__ std::int32_t load_index(std::int32_t tile) const {
    const bool extra = tile >= row_.main_tiles;
    const std::int32_t* indices = extra ? row_.extra.indices : row_.main.indices;
    const std::int32_t length =
        tile < end_ && lane_ < C::kTile ? (extra ? row_.extra.length : row_.main.length) : 0;
    const std::int32_t column = (tile - (extra ? row_.main_tiles : 0)) * C::kTile + lane_;
    return column < length ? __ldg(indices + column) : -1;
  }

  // No cache address is formed for a token that is none.
  __device__ __forceinline__ Place find(std::int32_t tile, std::int32_t index) const {
    Place place;
    place.is_token = index >= 0;
    if (!place.is_token) return place;
    const CacheParams& cache = params_.caches[tile >= row_.main_tiles ? 1 : 0];
    const Quotient slot = divide(index, cache.page_size);
    const std::byte* page = cache.data + slot.quotient * cache.page_stride_bytes;
    place.row = page + std::int64_t{slot.remainder} * C::kMap.data_bytes;
    if constexpr (C::kFooterScales) {
      place.scales.load(page + cache.footer_offset_bytes +
                        std::int64_t{slot.remainder} * C::kMap.footer_bytes);
    } else if constexpr (C::kHasFp8) {
      place.scales.load(place.row + C::kMap.scale_offset);
    }
    return place;
  }

  __device__ __forceinline__ void copy_tile(const Place& place) const {
    const std::uint32_t valid = __ballot_sync(~0U, place.is_token);
    const std::uint32_t stage = shared_address(shared_.ring[ring_.stage]);
    const int chunk = lane_ % 4;
#pragma unroll
    for (int first = 0; first < C::kTile; first += kTokensAtOnce * C::kLoaderWarps) {
      const int token = first + loader_ * kTokensAtOnce + lane_ / 4;
      if (kTokensAtOnce * C::kLoaderWarps > C::kTile && token >= C::kTile) continue;
      const auto address = reinterpret_cast<std::uint64_t>(place.row);
      const auto* src = reinterpret_cast<const std::byte*>(__shfl_sync(~0U, address, token)) + chunk * 16;
      const std::uint32_t bytes = ((valid >> token) & 1U) != 0 ? 16 : 0;
      if (!C::kFooterScales || params_.aligned_16 != 0) {
        copy_token<16>(stage, src, bytes, token, chunk);
      } else {
        copy_token<8>(stage, src, bytes, token, chunk);
      }
    }
  }

  // This lane's chunk of every 64-byte piece of a token.
  template <int kBytesAtOnce>
  __device__ __forceinline__ void copy_token(std::uint32_t stage, const std::byte* src, std::uint32_t bytes,
                                             int token, int chunk) const {
    const std::uint32_t fp8 = stage + token * kSliceDims + (chunk ^ swizzle_fp8(token)) * 16;
#pragma unroll
    for (int slice = 0; slice < C::kFp8Slices; ++slice) {
      copy_chunk<kBytesAtOnce>(fp8 + C::stage_offset(slice), src + C::slice_offset(slice), bytes);
    }
    const std::uint32_t bf16 = stage + token * kSliceDims * 2;
    const std::uint32_t place = chunk ^ swizzle_bf16(token);
#pragma unroll
    for (int slice = C::kFp8Slices; slice < kSlices; ++slice) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        copy_chunk<kBytesAtOnce>(bf16 + C::stage_offset(slice) + (place ^ (4U * half)) * 16,
                                 src + C::slice_offset(slice) + half * 64, bytes);
      }
    }
    if constexpr (C::kHasTail) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        copy_chunk<kBytesAtOnce>(stage + C::tail_stage_offset(4 * half + chunk) + token * C::kTailBytes,
                                 src + C::tail_offset(4 * half), bytes);
      }
    }
  }

  template <int kBytesAtOnce>
  __device__ __forceinline__ static void copy_chunk(std::uint32_t dst, const std::byte* src,
                                                    std::uint32_t bytes) {
    if constexpr (kBytesAtOnce == 16) {
      cp_async_16(dst, src, bytes);
    } else {
      cp_async_8(dst, src, bytes / 2);
      cp_async_8(dst + 8, src + 8, bytes / 2);
    }
  }

  const SplitParams& params_;
  SplitShared<C>& shared_;
  RowTiles<C> row_;
  ValueExponents<C> exponents_;
  RingPosition<C> ring_;
  std::int32_t end_ = 0;
  int loader_;
  int lane_;
};

}  // namespace wavefill::cuda
