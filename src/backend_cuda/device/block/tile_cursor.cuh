// Which tokens come next: the tiles of all of a CTA's items, one after another, as a producer meets them.
//
// A warp looks up 8 tokens of every tile, in blocks of four tiles: lane 4 t + q has token t of tile q of the
// block, copies its index to shared memory a block ahead (in a register the compiler would have it wait for
// whatever else was asked for since), finds its row and asks for its scales. So a row is found once, by one
// lane, which hands the address to the three others of its token when the tile's turn comes.
#pragma once

#include <cstdint>

#include "backend_cuda/device/block/lanes.cuh"
#include "backend_cuda/device/block/wgmma_config.cuh"
#include "backend_cuda/device/block/work_items.cuh"
#include "backend_cuda/device/ptx/cp_async.cuh"
#include "backend_cuda/device/ptx/ldmatrix.cuh"

namespace wavefill::cuda {

enum class TokenKind : int {
  beyond_tiles,  // there is no such tile
  none,          // the tile has no token there
  token,
};

// Where a token of a tile lies: the address of its row, or one of two numbers that are none.
class TokenPlace {
 public:
  __device__ __forceinline__ explicit TokenPlace(std::uint64_t place) : place_(place) {}
  __device__ __forceinline__ static TokenPlace beyond_tiles() { return TokenPlace(0); }
  __device__ __forceinline__ static TokenPlace no_token() { return TokenPlace(1); }
  __device__ __forceinline__ static TokenPlace of_row(const std::byte* row) {
    return TokenPlace(reinterpret_cast<std::uint64_t>(row));
  }

  // One register where the address takes two.
  __device__ __forceinline__ TokenKind kind() const {
    return static_cast<TokenKind>(formed_here(static_cast<int>(place_ != 0) + static_cast<int>(place_ > 1)));
  }
  __device__ __forceinline__ bool is_token() const { return place_ > 1; }
  // Precondition: is_token().
  __device__ __forceinline__ const std::byte* row() const {
    return reinterpret_cast<const std::byte*>(place_);
  }
  __device__ __forceinline__ TokenPlace of_lane(int lane) const {
    return TokenPlace(__shfl_sync(~0U, place_, lane));
  }

 private:
  std::uint64_t place_;
};

template <class C>
class TileCursor {
 public:
  static constexpr int kBlock = WgmmaShared<C>::kBlockTiles;

  // `token`: of a tile, the same in the four lanes of it. Reads no indices yet.
  __device__ __forceinline__ TileCursor(const SplitParams& params, WgmmaShared<C>& shared, int token,
                                        int lane)
      : params_(params), shared_(shared), lane_(lane), token_(token) {
    run_ = 2 * items().begin;
    move(quarter());
  }

  // Asks for the first block's indices.
  __device__ __forceinline__ void start() { fetch(); }

  // Finds the rows of the block after the one that was found last. Precondition: what was asked for is there.
  __device__ __forceinline__ void find_block() {
    footer_ = nullptr;
    place_ = cache_ < 0 ? TokenPlace::beyond_tiles() : TokenPlace::no_token();
    const std::int32_t index = shared_.indices[quarter()][token_];
    if (cache_ >= 0 && index >= 0) {  // no address is formed of what is no token
      const CacheParams& cache = params_.caches[cache_];
      const Quotient at = divide(index, cache.page_size);
      const std::byte* page = cache.data + at.quotient * cache.page_stride_bytes;
      place_ = TokenPlace::of_row(page + std::int64_t{at.remainder} * C::kMap.data_bytes);
      if constexpr (C::kHasFooters) {
        footer_ = page + cache.footer_offset_bytes + std::int64_t{at.remainder} * C::kMap.footer_bytes;
      }
    }
  }

  // Asks for the scales of tiles [begin, end) of that block, which is block `block`, if they are in footers.
  __device__ __forceinline__ void ask_scales(std::int32_t block, int begin, int end) const {
    if constexpr (C::kHasFooters) {
      if (quarter() < begin || quarter() >= end) return;
      const std::int32_t tile = block * kBlock + quarter();
      cp_async_8(shared_address(&shared_.scales[tile % WgmmaShared<C>::kScaleTiles * C::kTile + token_]),
                 footer_, footer_ != nullptr ? 8 : 0);
    }
  }

  // Asks for the indices of the block after the one that was found.
  __device__ __forceinline__ void look_ahead() {
    move(kBlock);
    fetch();
  }

  // This token of tile `tile`. Precondition: the tile is of the block that was found last.
  __device__ __forceinline__ TokenPlace peek(std::int32_t tile) const {
    return place_.of_lane((formed_here(lane_) & ~(kBlock - 1)) | (tile % kBlock));
  }

 private:
  __device__ __forceinline__ ItemRange items() const { return items_of_cta<C>(params_.plan); }
  __device__ __forceinline__ int quarter() const { return lane_ & (kBlock - 1); }

  // Moves this lane's place `skip` tiles on.
  __device__ __forceinline__ void move(int skip) {
    while (skip >= tiles_ && run_ < 2 * items().end) {
      skip -= tiles_;
      find_run();
    }
    skip = min(skip, tiles_);  // beyond the last item there is nothing
    tiles_ -= skip;
    columns_ -= skip * C::kTile;
    indices_ += skip * C::kTile;
  }

  __device__ __forceinline__ void fetch() {
    std::int32_t& index = shared_.indices[quarter()][token_];
    cache_ = tiles_ > 0 ? (run_ - 1) % 2 : -1;
    if (tiles_ > 0 && token_ < columns_) {
      cp_async_4(shared_address(&index), indices_);
    } else {
      index = -1;
    }
  }

  // An item's tiles of the main cache are run 2 i, those of the extra cache run 2 i + 1.
  __device__ __forceinline__ void find_run() {
    const PlanItem item = work_item_quick<C>(params_.plan, run_ / 2);
    const bool is_extra = run_ % 2 != 0;
    run_ += is_extra ? 2 * items().step - 1 : 1;
    const RowTiles<C> row = tiles_of_row<C>(params_, divide(item.row, params_.output.s_q));
    const std::int32_t first = is_extra ? row.main_tiles : 0;
    const std::int32_t begin = max(item.tile_begin, first) - first;
    const std::int32_t end = min(item.tile_end, is_extra ? row.tiles : row.main_tiles) - first;
    const IndexRow& columns = is_extra ? row.extra : row.main;
    tiles_ = max(end - begin, 0);
    indices_ = columns.indices + begin * C::kTile + token_;
    columns_ = columns.length - begin * C::kTile;
  }

  const SplitParams& params_;
  WgmmaShared<C>& shared_;
  TokenPlace place_ = TokenPlace::beyond_tiles();  // of this lane's token in the block that was found last
  const std::byte* footer_ = nullptr;              // its scales; only between find_block() and ask_scales()
  const std::int32_t* indices_ = nullptr;          // of this lane's token in the tile where it stands
  std::int32_t columns_ = 0;                       // from that tile's begin to the row's end
  std::int32_t tiles_ = 0;                         // from that tile to the run's end
  std::int32_t run_;                               // the next one
  std::int32_t cache_ = -1;  // that the tile is of: 0 main, 1 extra, negative: no such tile
  int lane_;
  int token_;
};

}  // namespace wavefill::cuda
