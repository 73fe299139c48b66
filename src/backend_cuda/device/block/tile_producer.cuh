// The producer warpgroup's role: cached tokens to bf16 tiles, for all of a CTA's items.
//
// Thread (token t, quarter q) owns the 16-byte pieces q, q + 4, ... of token t of a tile: piece q + 4 j lies
// in chunk j, so that one scale serves it, and its 16 values are pieces 2 q and 2 q + 1 of line t. The eight
// lanes that store 16 bytes at once have two neighbouring tokens, hence even pieces xor an even and an odd
// number: all banks once.
//
// As soon as a piece is converted, the same piece of the next tile's row is asked for into the same place, so
// that all of a row is always under way: the first pieces to shared memory, where a thread copies back what
// it asked for itself, without a barrier, and the next to registers. Those at the end only, and without a
// condition: the compiler gives all loads into registers one scoreboard, and puts a condition behind the
// load, where it would wait. What is asked for where there is no token is therefore some row that this thread
// may read. Where there are places for half of a row's pieces only (dsv32), its second half follows the first
// into them (fill_tile_by_halves()). bf16 dims need no conversion: they are copied straight to the tile when
// it begins.
//
// Scales of a footer are asked for with the row's address (TileCursor), inline ones with its pieces. An
// inline scale that is no power of two makes products that bf16 has no room for. A warp that meets one fills
// its lines twice: first with what rounding left of the products, for the scores alone, then, when those have
// been scored, with the rounded ones. That is slow, and exact to 2^-17 of a value in the scores.
#pragma once

#include <cstdint>

#include "backend_cuda/device/block/fp8_to_bf16.cuh"
#include "backend_cuda/device/block/lanes.cuh"
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
      : params_(params),
        shared_(shared),
        cursor_(params, shared, thread >> 2, thread & 31),
        thread_(thread) {}

  // Precondition: earlier grids have ended, but for what the constructor read.
  __device__ __forceinline__ void run() {
    cursor_.start();
    const std::byte* row = row_of_query();
    cp_async_wait();
    __syncwarp();
    cursor_.find_block();
    cursor_.ask_scales(0, 0, 1);
    TokenPlace next = cursor_.peek(0);
    TokenKind kind = next.kind();
    row = row_at(next, row);
    if (params_.aligned_16 != 0) {
      ask_row<16>(row);
    } else {
      ask_row<8>(row);
    }
    next = cursor_.peek(1);
    TokenKind next_kind = next.kind();
    const std::byte* next_row = row_at(next, row);
    prefetch(next_row);
    cursor_.ask_scales(0, 1, kBlock);  // behind the first row: 192 more places in memory
    cursor_.look_ahead();
    cp_async_commit();
    for (std::int32_t tile = 0; kind != TokenKind::beyond_tiles; ++tile) {
      if constexpr (C::kParkedPlaces > 0) {
        cp_async_wait_group<C::kParkedParts>();  // the first part of this tile, and the scales before it
        __syncwarp();
      }
      const int buffer = tile % C::kBuffers;
      const std::uint32_t empty = shared_address(&shared_.empty[buffer]);
      const std::uint32_t parity = (tile / C::kBuffers + 1) & 1;
      const bool is_token = kind == TokenKind::token;
      if constexpr (C::kHasFooters) {
        const FooterScales scales(shared_.scales[tile % WgmmaShared<C>::kScaleTiles * C::kTile + token()]);
        // Rows of any alignment and scales of any size take a slower way.
        const bool is_any = params_.aligned_16 == 0 || __any_sync(~0U, scales.are_wide());
        mbarrier_wait(empty, parity);
        if (is_any) {
          fill_tile<true>(buffer, is_token, row, next_row, scales);
        } else {
          fill_tile<false>(buffer, is_token, row, next_row, scales);
        }
      } else if constexpr (C::kHasInlineScales) {
        const InlineScales scales(scale_, is_token);
        const bool comes_twice = __any_sync(~0U, scales.is_odd());
        if (params_.aligned_16 == 0 || comes_twice) {
          mbarrier_wait(empty, parity);
          fill_slowly(buffer, is_token, row, scales, comes_twice);
          ask_row<8>(next_row);
        } else {
          fill_tile_by_halves(empty, parity, buffer, is_token, row, next_row, scales);
        }
      } else {
        mbarrier_wait(empty, parity);
        if (params_.aligned_16 == 0) {
          copy_tile<8>(buffer, is_token, row);
        } else {
          copy_tile<16>(buffer, is_token, row);
        }
      }
      kind = next_kind;
      row = next_row;
      next = cursor_.peek(tile + 2);
      next_kind = next.kind();
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

  __device__ __forceinline__ int lane() const { return thread_ & 31; }
  __device__ __forceinline__ int token() const { return thread_ >> 2; }
  __device__ __forceinline__ int quarter() const { return thread_ & 3; }
  // The same; what follows from it is not held in registers through the loop.
  __device__ __forceinline__ int quarter_here() const { return formed_here(thread_) & 3; }

  // What this thread reads of a token: of none, what it read before.
  __device__ __forceinline__ const std::byte* row_at(const TokenPlace& place,
                                                     const std::byte* otherwise) const {
    return place.is_token() ? place.row() + quarter_here() * 16 : otherwise;
  }

  // Most of a row as far as the L2: the four lanes of a token prefetch a line of 128 bytes each. (The last 64
  // bytes of dsv4 with them, or none of them, is slower.)
  __device__ __forceinline__ void prefetch(const std::byte* row) const {
    constexpr int kAtOnce = 512;
    constexpr int kLast = C::kMap.data_bytes / kAtOnce * kAtOnce;
    constexpr int kRest = C::kMap.data_bytes - kLast;
#pragma unroll
    for (int i = 0; i < kLast; i += kAtOnce) prefetch_l2(row + i + quarter_here() * 112);  // * 16 are in it
    if constexpr (kRest > 64) prefetch_l2(row + kLast + quarter_here() * (kRest / 4 - 16));
  }

  // The pieces of part `part` of the places, of a row from `row` on. Those that are parked are a group of
  // copies.
  template <int kBytesAtOnce>
  __device__ __forceinline__ void ask_part(int part, const std::byte* row) {
#pragma unroll
    for (int j = part * C::kPartChunks; j < (part + 1) * C::kPartChunks && j < C::kPlaces; ++j) {
      if (j < C::kParkedPlaces) {
        copy_16<kBytesAtOnce>(parked(j), row + 64 * j, true);
      } else {
        raw_[j - C::kParkedPlaces] = load_16<kBytesAtOnce>(row + 64 * j);
      }
    }
    if (part < C::kParkedParts) cp_async_commit();
  }

  template <int kBytesAtOnce>
  __device__ __forceinline__ void ask_row(const std::byte* row) {
#pragma unroll
    for (int part = 0; part * C::kPartChunks < C::kPlaces; ++part) ask_part<kBytesAtOnce>(part, row);
    ask_inline_scale(row);
  }

  __device__ __forceinline__ void ask_inline_scale(const std::byte* row) {
    if constexpr (C::kHasInlineScales) {
      scale_ = load_4(row + C::kMap.scale_offset - 12 * quarter_here());
    }
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
  // row's bf16 dims, the parked parts that follow.
  template <bool kAny>
  __device__ __forceinline__ void fill_tile(int buffer, bool is_token, const std::byte* row,
                                            const std::byte* next_row, const FooterScales& scales) {
    static_assert(C::kHoldsRow);
    constexpr int kBytesAtOnce = kAny ? 8 : 16;
    TilePlace to = begin_tile<kBytesAtOnce>(buffer, is_token, row);
    uint4 raw = load_shared_16(parked(0));
#pragma unroll
    for (int part = 0; part < C::kParts; ++part) {
#pragma unroll
      for (int j = part * C::kPartChunks; j < (part + 1) * C::kPartChunks && j < C::kFp8Chunks; ++j) {
        const uint4 next = next_piece(j, raw);
        convert<kAny>(to, j, raw, scales);
        raw = next;
      }
      if (part + 1 == C::kParts) {
        mark_nan(buffer, to.nan.found());
        cp_async_wait_group<C::kParkedParts>();  // bf16 dims
      }
      publish(buffer, part);
      ask_part<kBytesAtOnce>(part, next_row);
    }
  }

  // The same with places for half a row. Its second half is asked for as soon as the first has left its
  // places, which is before the tile is free, and the next row's first half as soon as the second has. What
  // was loaded to registers is pinned before more is asked for: one scoreboard for both would be a wait for
  // both.
  __device__ __forceinline__ void fill_tile_by_halves(std::uint32_t empty, std::uint32_t parity, int buffer,
                                                      bool is_token, const std::byte* row,
                                                      const std::byte* next_row, const InlineScales& scales) {
    static_assert(C::kParkedPlaces == 2 && C::kRegisterPlaces == 2 && C::kFp8Chunks == 8 && C::kParts == 4);
    const std::byte* second = row + 64 * C::kPlaces;
    uint4 a = pinned(load_shared_16(parked(0)));
    uint4 b = pinned(load_shared_16(parked(1)));
    uint4 c = pinned(raw_[0]);
    uint4 d = pinned(raw_[1]);
    ask_part<16>(0, second);
    mbarrier_wait(empty, parity);
    TilePlace to = begin_tile<16>(buffer, is_token, row);
    convert<false>(to, 0, a, scales);
    a = load_16<16>(second + 128);
    convert<false>(to, 1, b, scales);
    b = load_16<16>(second + 192);
    publish(buffer, 0);
    convert<false>(to, 2, c, scales);
    convert<false>(to, 3, d, scales);
    publish(buffer, 1);
    cp_async_wait_group<1>();  // all but bf16 dims
    c = load_shared_16(parked(0));
    d = load_shared_16(parked(1));
    convert<false>(to, 4, c, scales);
    convert<false>(to, 5, d, scales);
    ask_part<16>(0, next_row);
    publish(buffer, 2);
    a = pinned(a);
    b = pinned(b);
    ask_part<16>(1, next_row);
    ask_inline_scale(next_row);
    convert<false>(to, 6, a, scales);
    convert<false>(to, 7, b, scales);
    mark_nan(buffer, to.nan.found());
    cp_async_wait_group<1>();  // bf16 dims
    publish(buffer, 3);
  }

  // The value, which the compiler takes as used here.
  __device__ __forceinline__ static uint4 pinned(uint4 value) {
    asm volatile("" : "+r"(value.x), "+r"(value.y), "+r"(value.z), "+r"(value.w));
    return value;
  }

  // Where a thread's converted pieces go. Of a piece the lower 16 bytes have one place in chunk 0, and by an
  // immediate in every other; the upper ones have the neighbouring place of the swizzle.
  struct TilePlace {
    std::uint32_t low;
    std::uint32_t high;
    NanSearch nan = {};
  };

  __device__ __forceinline__ static void store(const TilePlace& to, int j, const Bf16Piece& values) {
    store_shared_16(to.low + j * C::kChunkBytes, values.low);
    store_shared_16(to.high + j * C::kChunkBytes, values.high);
  }

  template <bool kAny, class Scales>
  __device__ __forceinline__ static void convert(TilePlace& to, int j, const uint4& raw,
                                                 const Scales& scales) {
    store(to, j, convert_piece<kAny>(raw, scales, j, to.nan));
  }

  // What a tile begins with: its marks, and its bf16 dims asked for.
  template <int kBytesAtOnce>
  __device__ __forceinline__ TilePlace begin_tile(int buffer, bool is_token, const std::byte* row) const {
    const std::uint32_t tile = shared_address(shared_.tiles[buffer][0]);
    mark_tokens(buffer, is_token);
    return ask_bf16<kBytesAtOnce>(tile, row, is_token);
  }

  // A tile's bf16 dims, a group of copies; zeros if they are not wanted.
  template <int kBytesAtOnce>
  __device__ __forceinline__ TilePlace ask_bf16(std::uint32_t tile, const std::byte* row, bool wanted) const {
    copy_bf16<kBytesAtOnce>(tile + C::kFp8Chunks * C::kChunkBytes, row + C::kMap.bf16_offset, wanted);
    cp_async_commit();
    const std::uint32_t low = swizzled(tile, token(), 2 * quarter());
    return {low, low ^ 16U};
  }

  // Inline scales of any size, rows of any alignment. What waits at their places is not used.
  __device__ __forceinline__ void fill_slowly(int buffer, bool is_token, const std::byte* row,
                                              const InlineScales& scales, bool comes_twice) const {
    mark_tokens(buffer, is_token, comes_twice ? TokenMarks::kComeOnce : 0);
    if (!comes_twice) {
      convert_odd<false>(buffer, is_token, row, scales);
      for (int part = 0; part < C::kParts; ++part) publish(buffer, part);
      return;
    }
    const std::uint32_t scored = shared_address(&shared_.scored_once[buffer]);
    const std::uint32_t parity = mbarrier_parity(scored);
    convert_odd<true>(buffer, is_token, row, scales);
    for (int part = 0; part < C::kParts; ++part) publish(buffer, part);
    mbarrier_wait(scored, parity);
    convert_odd<false>(buffer, is_token, row, scales);
    mbarrier_arrive_as_warp(shared_address(&shared_.came_twice[buffer]), lane());
  }

  // The products of scales of any size, rounded, or what rounding left of them (nothing, of the bf16 dims).
  template <bool kRest>
  __device__ __forceinline__ void convert_odd(int buffer, bool is_token, const std::byte* row,
                                              const InlineScales& scales) const {
    const TilePlace to = ask_bf16<8>(shared_address(shared_.tiles[buffer][0]), row, !kRest && is_token);
#pragma unroll 1
    for (int j = 0; j < C::kFp8Chunks; ++j) {
      const uint4 raw = load_16<8>(row + 64 * j);
      store(to, j, convert_odd_piece<kRest>(is_token ? raw : uint4{}, scales.of_piece(j)));
    }
    cp_async_wait();
  }

  // A tile that needs no conversion.
  template <int kBytesAtOnce>
  __device__ __forceinline__ void copy_tile(int buffer, bool is_token, const std::byte* row) const {
    mark_tokens(buffer, is_token);
    const std::uint32_t tile = shared_address(shared_.tiles[buffer][0]);
#pragma unroll
    for (int part = 0; part < C::kParts; ++part) {
      const int end = part + 1 == C::kParts ? C::kChunks : (part + 1) * C::kPartChunks;
#pragma unroll
      for (int j = part * C::kPartChunks; j < end; ++j) {
        copy_bf16<kBytesAtOnce>(tile + j * C::kChunkBytes, row + j * C::kLineBytes, is_token);
      }
      cp_async_commit();
    }
    publish_copied<0>(buffer);
  }

  template <int kPart>
  __device__ __forceinline__ void publish_copied(int buffer) const {
    if constexpr (kPart < C::kParts) {
      cp_async_wait_group<C::kParts - 1 - kPart>();
      publish(buffer, kPart);
      publish_copied<kPart + 1>(buffer);
    }
  }

  // Piece j + 1, asked for before piece j is converted; if it is a part's first, that part has landed.
  __device__ __forceinline__ uint4 next_piece(int j, const uint4& last) const {
    if (j + 1 == C::kFp8Chunks) return last;
    if (j + 1 >= C::kParkedPlaces) return raw_[j + 1 - C::kParkedPlaces];
    if ((j + 1) % C::kPartChunks == 0) cp_async_wait_group<C::kParkedParts>();
    return load_shared_16(parked(j + 1));
  }

  // Without the bits of `but` in any token.
  __device__ __forceinline__ void mark_tokens(int buffer, bool is_token, std::uint32_t but = 0) const {
    const std::uint32_t tokens = __ballot_sync(~0U, is_token);
    if (lane() == 0) shared_.tokens[buffer][thread_ >> 5] = tokens & ~but;
  }

  // Clears the second bit of every token that has a NaN in one of its four lanes.
  __device__ __forceinline__ void mark_nan(int buffer, bool has_nan) const {
    const std::uint32_t lanes = __ballot_sync(~0U, has_nan);
    if (lanes == 0) return;
    const std::uint32_t pairs = lanes | lanes >> 1;
    const std::uint32_t marks = (pairs | pairs >> 2) << 1 & TokenMarks::kHasNoNan;
    if (lane() == 0) shared_.tokens[buffer][thread_ >> 5] &= ~marks;
  }

  template <int kBytesAtOnce>
  __device__ __forceinline__ void copy_bf16(std::uint32_t chunk, const std::byte* from, bool is_token) const {
    const std::uint32_t to = swizzled(chunk, token(), quarter());
    copy_16<kBytesAtOnce>(to, from, is_token);
    copy_16<kBytesAtOnce>(to ^ 64U, from + 64, is_token);  // piece q + 4
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
    return shared_address(&shared_.parked[j * C::kProducers * C::kGroupThreads + thread_]);
  }

  // No proxy fence here: it would wait for the loads under way. The reader fences.
  __device__ __forceinline__ void publish(int buffer, int part) const {
    mbarrier_arrive_as_warp(shared_address(&shared_.full[buffer][part]), lane());
  }

  const SplitParams& params_;
  WgmmaShared<C>& shared_;
  TileCursor<C> cursor_;
  uint4 raw_[WgmmaShared<C>::at_least_one(C::kRegisterPlaces)];
  std::uint32_t scale_ = 0;  // one of the token's, if they are inline
  int thread_;
};

}  // namespace wavefill::cuda
