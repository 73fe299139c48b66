// Which tokens come next: the tiles of all of a CTA's items, one after another, as a producer meets them.
//
// A warp looks up 8 tokens of every tile. Lane 4 t + q copies the index of token t in tiles q, q + 4, ... of
// this sequence to shared memory, so one copy of a warp is the indices of four tiles, asked for four tiles
// ahead. In registers the compiler would have them wait for whatever else was asked for since.
#pragma once

#include <cstdint>

#include "backend_cuda/device/block/wgmma_config.cuh"
#include "backend_cuda/device/block/work_items.cuh"
#include "backend_cuda/device/ptx/cp_async.cuh"
#include "backend_cuda/device/ptx/ldmatrix.cuh"

namespace wavefill::cuda {

// The token that a lane looks up in one tile.
struct TileToken {
  std::int32_t index;  // negative: none
  std::int32_t cache;  // 0 main, 1 extra, negative: there is no such tile

  __device__ __forceinline__ bool has_tile() const { return cache >= 0; }
  __device__ __forceinline__ bool is_token() const { return index >= 0; }
};

template <class C>
class TileCursor {
 public:
  static constexpr int kBlock = WgmmaShared<C>::kIndexTiles / 2;  // tiles

  // `token`: of a tile, the same in the four lanes of it. Reads no indices yet.
  __device__ __forceinline__ TileCursor(const SplitParams& params, WgmmaShared<C>& shared, int token,
                                        int lane)
      : params_(params), shared_(shared), quarter_(lane % kBlock), token_(token) {
    run_ = 2 * items().begin;
    move(quarter_);
  }

  // Asks for the first block's indices, then for the second's: to be called once each. What is asked for is
  // there once the warp's copies have landed.
  __device__ __forceinline__ void start() { fetch(0); }
  __device__ __forceinline__ void look_ahead(std::int32_t block) {
    move(kBlock);
    fetch(block);
  }

  // Of tile `tile` of the sequence. Precondition: it was asked for, and it is at most a block from the next
  // one.
  __device__ __forceinline__ TileToken peek(std::int32_t tile) const {
    const int at = tile % WgmmaShared<C>::kIndexTiles;
    return {shared_.indices[at][token_], shared_.caches[at][token_]};
  }

  // Tile `tile` is the next one now: the block before it is done with.
  __device__ __forceinline__ void step_to(std::int32_t tile) {
    if (tile % kBlock == 0) look_ahead(tile / kBlock + 1);
  }

 private:
  __device__ __forceinline__ ItemRange items() const { return items_of_cta<C>(params_.plan); }

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

  __device__ __forceinline__ void fetch(std::int32_t block) const {
    const int at = (block * kBlock + quarter_) % WgmmaShared<C>::kIndexTiles;
    std::int32_t& index = shared_.indices[at][token_];
    shared_.caches[at][token_] = static_cast<std::int8_t>(tiles_ > 0 ? (run_ - 1) % 2 : -1);
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
    ++run_;
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
  const std::int32_t* indices_ = nullptr;  // of this lane's token in the tile where it stands
  std::int32_t columns_ = 0;               // from that tile's begin to the row's end
  std::int32_t tiles_ = 0;                 // from that tile to the run's end
  std::int32_t run_;                       // the next one
  int quarter_;
  int token_;
};

}  // namespace wavefill::cuda
