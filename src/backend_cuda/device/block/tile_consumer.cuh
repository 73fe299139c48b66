// A consumer warpgroup's role: scores, softmax and values of a CTA's items.
//
// Tile i of an item is scored by group i % 2, which keeps its weights P in registers for its own half of the
// value dims and hands them to the other group through shared memory, with the references they are relative
// to. So the scores of one tile run beside the softmax and the values of its neighbours:
//
//   group 0   scores 0 | softmax 0 | values 0 | values 1, scores 2 | softmax 2 | values 2 | ...
//   group 1            | values 0, scores 1   | softmax 1 | values 1 | values 2, scores 3 | ...
//
// A row of heads belongs to the same lanes of the same warp in both groups, so both raise its reference
// between the same two tiles, warp by warp. One buffer holds P: a group writes its own once it has added the
// other's. (With a key tail every tile has its own, where that was.)
#pragma once

#include <cstdint>

#include "backend_cuda/device/block/cluster_merge.cuh"
#include "backend_cuda/device/block/head_weights.cuh"
#include "backend_cuda/device/block/lanes.cuh"
#include "backend_cuda/device/block/wgmma_config.cuh"
#include "backend_cuda/device/block/wgmma_output.cuh"
#include "backend_cuda/device/block/work_items.cuh"
#include "backend_cuda/device/block/worker_merge.cuh"
#include "backend_cuda/device/ptx/convert.cuh"
#include "backend_cuda/device/ptx/cp_async.cuh"
#include "backend_cuda/device/ptx/grid_dependency.cuh"
#include "backend_cuda/device/ptx/ldmatrix.cuh"
#include "backend_cuda/device/ptx/mbarrier.cuh"
#include "backend_cuda/device/ptx/wgmma.cuh"

namespace wavefill::cuda {

template <class C>
class TileConsumer {
 public:
  __device__ __forceinline__ TileConsumer(const SplitParams& params, WgmmaShared<C>& shared, int group)
      : params_(params),
        shared_(shared),
        group_(group),
        thread_(static_cast<int>(threadIdx.x) % C::kGroupThreads),
        lane_(thread_ % 32),
        row_(row_of(thread_)) {}

  __device__ __forceinline__ void run() {
    const ItemRange items = items_of_cta<C>(params_.plan);
    for (std::int32_t i = items.begin; i < items.end; i += items.step) {
      run_item(i);
    }
  }

 private:
  static constexpr int kScores = HeadWeights<C>::kScores;
  // Of a tile's scores, one part is started before the other group's values are waited for: with none, the
  // matrix units stand still then; with more, that tile is given back when the next one is full. It is given
  // back before all scores are started: starting a product waits for those before it.
  static constexpr int kOutputs = kValueDim / 8;
  static constexpr int kWarps = C::kConsumers * C::kGroupThreads / 32;
  static constexpr std::uint32_t kEightLines = 1024;

  __device__ __forceinline__ void run_item(std::int32_t idx) {
    const PlanItem item = work_item_quick<C>(params_.plan, idx);
    const Quotient request = divide(item.row, params_.output.s_q);
    const RowTiles<C> row = tiles_of_row<C>(params_, request);
    const std::int32_t tiles = max(min(item.tile_end, row.tiles) - item.tile_begin, 0);
    const bool is_first = first_tile_ < 0;
    if (is_first) {
      wait_for_prior_grids();
      first_tile_ = 0;
    } else {
      consumer_barrier();  // the other group may still be reading what it staged
    }
    ask_query(item, request);
    if constexpr (C::kWorkerMerges) {
      if (!is_first) publish_piece(idx - 1);
    }
    cp_async_wait();
    fence_async_shared();
    consumer_barrier();
    forget_registers(o_[0]);
    forget_registers(o_[1]);
    if (tiles == 0) clear_output();
    heads_.clear();
    for (std::int32_t tile = group_; tile < tiles; tile += 2) do_own_tile(tile);
    if (tiles > 0 && (tiles - 1) % 2 != group_) {
      add_values_of_other(tiles - 1);
      wgmma_wait<0>();
      pin_output();
      release(tiles - 1);
    }
    const PlanItem same = work_item_quick<C>(params_.plan, formed_here(idx));  // rather than kept
    finish(same, divide(same.row, params_.output.s_q), idx);
    first_tile_ += tiles;
    other_scored_ += (tiles + group_) / 2;
  }

  __device__ __forceinline__ static int row_of(int thread) { return thread / 32 * 16 + thread % 32 / 4; }

  __device__ __forceinline__ void ask_query(const PlanItem& item, Quotient request) const {
    const int first_head = item.head_tile * C::kHeads;
    const int heads = params_.output.num_heads - first_head;
    const std::uint16_t* q = query_row(params_, request) + first_head * params_.q_stride_head;
    // Each thread has one 16-byte piece of every kStep-th head.
    const int thread = formed_here(thread_);
    constexpr int kPieces = C::kDims / 8;
    constexpr int kStep = C::kConsumers * C::kGroupThreads / 64;
    for (int piece = thread % 64; piece < kPieces; piece += 64) {
      const std::uint32_t chunk = shared_address(shared_.query[piece / 8]);
      int head = group_ * (kStep / C::kConsumers) + thread / 64;
      const std::uint16_t* from = q + head * params_.q_stride_head + piece * 8;
#pragma unroll 4
      for (; head < C::kHeads; head += kStep) {
        cp_async_16(swizzled(chunk, head, piece % 8), head < heads ? from : q, head < heads ? 16 : 0);
        from += kStep * params_.q_stride_head;
      }
    }
  }

  __device__ __forceinline__ static void consumer_barrier() {
    named_barrier<C::kConsumers * C::kGroupThreads>();
  }

  __device__ __forceinline__ void clear_output() {
#pragma unroll
    for (int i = 0; i < kOutputs; ++i) o_[0][i] = o_[1][i] = 0.0F;
  }

  __device__ __forceinline__ int buffer_of(std::int32_t tile) const { return (first_tile_ + tile) & 1; }

  // Both groups have to have said so before the tile is overwritten.
  __device__ __forceinline__ void release(std::int32_t tile) const {
    mbarrier_arrive_as_warp(shared_address(&shared_.empty[buffer_of(tile)]), lane_);
  }

  __device__ __forceinline__ void do_own_tile(std::int32_t tile) {
    float s[kScores];
    start_scores<0, 1>(s, tile);
    if (tile > 0) add_values_of_other(tile - 1);
    start_scores<1, 2>(s, tile);
    if (tile > 0) {
      wgmma_wait<1>();
      pin_output();
      release(tile - 1);
    }
    start_scores<2, C::kParts>(s, tile);
    wgmma_wait<0>();
    pin_registers(s);
    const TokenMarks tokens(shared_.tokens[buffer_of(tile)]);
    if constexpr (C::kHasInlineScales) {
      if (!tokens.are_usual()) score_second_lines(s, tile, tokens);
    }
    std::uint32_t p[C::kTile / 16][4];
    float factor[2] = {1.0F, 1.0F};
    const bool is_raised = heads_.weigh(s, p, factor, tokens, params_.scale_log2, lane_);
    publish(p, tile, is_raised);
    if (tile > 0 && is_raised) multiply_output(factor);
    add_values(p, tile);
    heads_.add_rounded(p);
    wgmma_wait<0>();
    pin_output();
    release(tile);
  }

  // How often a tile's buffer was filled before, in its last bit.
  __device__ __forceinline__ std::uint32_t full_parity(std::int32_t tile) const {
    return ((first_tile_ + tile) >> 1) & 1;
  }

  __device__ __forceinline__ std::uint64_t query_descriptor() const {
    return matrix_descriptor(shared_address(shared_.query[0]), 16, kEightLines);
  }
  __device__ __forceinline__ std::uint64_t key_descriptor(std::int32_t tile) const {
    return matrix_descriptor(shared_address(shared_.tiles[buffer_of(tile)][0]), 16, kEightLines);
  }
  // Of 16 dims, in either.
  __device__ __forceinline__ static std::uint64_t offset_of_dims(int chunk, int step) {
    return (chunk * C::kChunkBytes + step * 32) >> 4;
  }

  // Adds the scores of lines that come a second time. The others are there still, and scored twice then.
  __device__ __forceinline__ void score_second_lines(float (&s)[kScores], std::int32_t tile,
                                                     const TokenMarks& tokens) const {
    std::uint32_t once = 0;  // the warps whose lines do not
#pragma unroll
    for (int i = 0; i < 8; ++i) once |= tokens.come_once(i) ? 1U << i : 0;
    if (once == 0xFFU) return;
    const int buffer = buffer_of(tile);
    const std::uint32_t there = shared_address(&shared_.came_twice[buffer]);
    const std::uint32_t parity = mbarrier_parity(there);  // before any warp can have arrived
    mbarrier_arrive_as_warp(shared_address(&shared_.scored_once[buffer]), lane_);
    if (thread_ == 0 && once != 0) mbarrier_arrive(there, __popc(once) * kArrivalsOfWarp);  // in their place
    mbarrier_wait(there, parity);
    fence_async_shared();
    std::uint64_t q = query_descriptor();
    std::uint64_t k = key_descriptor(tile);
#pragma unroll 1
    for (int chunk = 0; chunk < C::kChunks; ++chunk) {
      wgmma_fence();
#pragma unroll
      for (int step = 0; step < 4; ++step) {
        wgmma_n64(s, q + offset_of_dims(0, step), k + offset_of_dims(0, step), true);
      }
      wgmma_commit();
      wgmma_wait<0>();
      pin_registers(s);
      q += offset_of_dims(1, 0);
      k += offset_of_dims(1, 0);
    }
#pragma unroll
    for (int i = 0; i < kScores; ++i) s[i] *= (once >> (i / 4) & 1) != 0 ? 0.5F : 1.0F;
  }

  template <int kBegin, int kEnd>
  __device__ __forceinline__ void start_scores(float (&s)[kScores], std::int32_t tile) {
    const std::uint32_t parity = full_parity(tile);
    const std::uint64_t q = query_descriptor();
    const std::uint64_t k = key_descriptor(tile);
#pragma unroll
    for (int part = kBegin; part < kEnd; ++part) {
      mbarrier_wait(shared_address(&shared_.full[buffer_of(tile)][part]), parity);
      fence_async_shared();
      wgmma_fence();
      constexpr int kEndOfLast = C::kChunks - (C::kParts - 1) * C::kPartChunks;
      const int chunks = part + 1 == C::kParts ? kEndOfLast : C::kPartChunks;
#pragma unroll
      for (int step = 0; step < kEndOfLast * 4; ++step) {
        if (step >= chunks * 4) continue;
        const std::uint64_t offset = offset_of_dims(part * C::kPartChunks + step / 4, step % 4);
        wgmma_n64(s, q + offset, k + offset, part > 0 || step > 0);
      }
    }
    wgmma_commit();
  }

  __device__ __forceinline__ std::uint64_t value_descriptor(std::int32_t tile) const {
    return matrix_descriptor(
        shared_address(shared_.tiles[buffer_of(tile)][group_ * C::kValueChunks / C::kConsumers]),
        C::kChunkBytes, kEightLines);
  }

  static constexpr std::uint64_t kSixteenLines = (16 * C::kLineBytes) >> 4;
  static constexpr std::uint64_t kHalf = (2 * C::kChunkBytes) >> 4;  // of a group's dims

  __device__ __forceinline__ void add_values(const std::uint32_t (&p)[C::kTile / 16][4], std::int32_t tile) {
    const std::uint64_t v = value_descriptor(tile);
    wgmma_fence();
#pragma unroll
    for (int step = 0; step < C::kTile / 16; ++step) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        wgmma_n128(o_[half], p[step], v + step * kSixteenLines + half * kHalf, tile > 0 || step > 0);
      }
    }
    wgmma_commit();
  }

  // Of a tile that the other group scored.
  __device__ __forceinline__ void add_values_of_other(std::int32_t tile) {
    const int other = group_ ^ 1;
    mbarrier_wait(shared_address(&shared_.ready[other]), (other_scored_ + tile / 2) & 1);
    fence_async_shared();
    // For all warps of this group alike: each has to execute a wait for products that any of them does.
    const uint4 is_raised = *reinterpret_cast<const uint4*>(shared_.is_raised[other]);
    if ((is_raised.x | is_raised.y | is_raised.z | is_raised.w) != 0) {
      const float raised[2] = {shared_.reference[other][row_], shared_.reference[other][row_ + 8]};
      float factor[2];
      heads_.raise(raised, factor);
      if (tile > 0) {
        wgmma_wait<0>();  // of the scores: so much is asked of whoever touches O beside them
        pin_output();
        multiply_output(factor);
      }
    }
    const std::uint64_t p = matrix_descriptor(weights_of(tile), 16, kEightLines);
    const std::uint64_t v = value_descriptor(tile);
    wgmma_fence();
#pragma unroll
    for (int step = 0; step < C::kTile / 16; ++step) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        wgmma_n128_shared_a(o_[half], p + step * 2, v + step * kSixteenLines + half * kHalf,
                            tile > 0 || step > 0);
      }
    }
    wgmma_commit();
  }

  __device__ __forceinline__ void pin_output() {
    pin_registers(o_[0]);
    pin_registers(o_[1]);
  }

  __device__ __forceinline__ void multiply_output(const float (&factor)[2]) {
#pragma unroll
    for (int i = 0; i < kOutputs; ++i) {
      o_[0][i] *= factor[i / 2 % 2];
      o_[1][i] *= factor[i / 2 % 2];
    }
  }

  // Where P of a tile is handed over.
  __device__ __forceinline__ std::uint32_t weights_of(std::int32_t tile) const {
    if constexpr (C::kHasKeyTail) return shared_address(shared_.tiles[buffer_of(tile)][C::kValueChunks]);
    return shared_address(shared_.weights);
  }

  __device__ __forceinline__ void publish(const std::uint32_t (&p)[C::kTile / 16][4], std::int32_t tile,
                                          bool is_raised) const {
    const std::uint32_t weights = weights_of(tile);
    if constexpr (C::kHasKeyTail) {  // which other warps of this group may still be scoring
      const std::uint32_t scored = shared_address(&shared_.scored[group_]);
      mbarrier_arrive_as_warp(scored, lane_);
      mbarrier_wait(scored, (first_tile_ - other_scored_ + tile / 2) & 1);
    }
    const int thread = C::kWorkerMerges ? thread_here() % C::kGroupThreads : thread_;  // registers are short
    const int line = thread / 32 * 16 + thread % 16;
#pragma unroll
    for (int step = 0; step < C::kTile / 16; ++step) {
      stmatrix_x4(swizzled(weights, line, 2 * step + thread % 32 / 16), p[step]);
    }
    if (lane_ % 4 == 0) {
      shared_.reference[group_][row_] = heads_.reference[0];
      shared_.reference[group_][row_ + 8] = heads_.reference[1];
    }
    if (lane_ == 0) shared_.is_raised[group_][thread / 32] = is_raised ? 1 : 0;
    mbarrier_arrive_as_warp(shared_address(&shared_.ready[group_]), lane_);
  }

  __device__ __forceinline__ static float sum_of_quad(float value) {
    value += __shfl_xor_sync(~0U, value, 1);
    return value + __shfl_xor_sync(~0U, value, 2);
  }

  __device__ __forceinline__ void finish(const PlanItem& item, Quotient request, std::int32_t idx) {
    const int row = row_of(thread_here() % C::kGroupThreads);
    float sink_log2 = 0.0F;
    const int own_head = thread_here() % C::kHeads;
    if constexpr (C::kRowIsCluster) {
      // Asked for before everything else, since it may come from DRAM.
      const int head = min(item.head_tile * C::kHeads + own_head, params_.output.num_heads - 1);
      sink_log2 = sink_log2_of(params_.output, head);
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float sum = sum_of_quad(heads_.sum[r]);
      const float rounded = sum_of_quad(heads_.rounded[r]);
      if (lane_ % 4 == 0) {
        shared_.sums[group_][row + 8 * r] = sum;
        shared_.rounded_sums[group_][row + 8 * r] = rounded;
      }
    }
    consumer_barrier();
    float factor[2];
    float lse_log2[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int head = row + 8 * r;
      const float sum = shared_.sums[0][head] + shared_.sums[1][head];
      const float rounded = shared_.rounded_sums[0][head] + shared_.rounded_sums[1][head];
      const HeadEnd end = finish_head(params_.output, item.partial_idx < 0, item.head_tile * C::kHeads + head,
                                      sum, heads_.reference[r]);
      if (group_ == 0 && lane_ % 4 == 0) write_lse_of(item, request, head, end.lse_log2);
      factor[r] = end.factor;
      lse_log2[r] = end.lse_log2;
      if (rounded != 0.0F) factor[r] *= __fdividef(sum, rounded);
    }
    const int first_head = row & ~15;  // of the warp's
    if constexpr (C::kRowIsCluster) {
      auto& end = cluster_end(shared_);
      end.weights.sink_log2[own_head] = sink_log2;
      stage_partial_rows(o_, factor, end.partial, first_head, group_, formed_here(lane_));
      return;
    }
    if constexpr (C::kWorkerMerges) {
      if (item.partial_idx >= 0 && !finish_piece(item, request, factor, lse_log2, row, idx)) return;
    }
    // Q has been read for the last time; each warp stages its rows in a part of it.
    constexpr std::uint32_t kStageBytes = 16 * kValueDim / C::kConsumers * 2;
    const std::uint32_t stage =
        shared_address(shared_.query[0]) + (group_ * C::kGroupThreads / 32 + first_head / 16) * kStageBytes;
    const int lane = formed_here(lane_);
    const OutputRows rows{.stage = stage,
                          .first_head = item.head_tile * C::kHeads + first_head,
                          .num_heads = params_.output.num_heads,
                          .first_dim = group_ * (kValueDim / C::kConsumers)};
    if (C::kWorkerMerges || item.partial_idx < 0) {
      multiply_output(factor);
      store_bf16_rows(o_, rows, params_.output, request, lane);
    } else {
      store_partial_rows(o_, factor, rows, params_.output, item.partial_idx, lane);
    }
  }

  __device__ __forceinline__ WarpPartial* partial_of_warp(std::int32_t partial_idx,
                                                          std::int32_t head_tile) const {
    return params_.merge.partials +
           (std::int64_t{partial_idx} * params_.plan.num_head_tiles + head_tile) * kWarps +
           thread_here() / 32;
  }

  // Says that item `idx`, if it is a piece of a row, is there. (Only a CTA's last item can be one that merges
  // a row, and no other comes after it.)
  __device__ __forceinline__ void publish_piece(std::int32_t idx) const {
    const PlanItem item = params_.plan.items[idx];
    if (item.partial_idx < 0) return;
    publish_partial(*partial_of_warp(item.partial_idx, item.head_tile), params_.merge.call, lane_);
  }

  // Item `idx`, a piece of a row: leaves it for whoever merges it, or merges the row; whether it has. A piece
  // is published when the next item's query has been asked for.
  __device__ __forceinline__ bool finish_piece(const PlanItem& item, Quotient request, float (&factor)[2],
                                               float (&lse_log2)[2], int row, std::int32_t idx) {
    const int lane = formed_here(lane_);
    const ItemRange partials = partials_of_row(params_.plan, item.row);
    if (item.partial_idx != partials.begin) {
      leave_partial(*partial_of_warp(item.partial_idx, item.head_tile), o_, factor, lse_log2, lane);
      if (idx + 1 == items_of_cta<C>(params_.plan).end) publish_piece(idx);
      return false;
    }
    const LaterPartials later{.first = partial_of_warp(partials.begin + 1, item.head_tile),
                              .stride = std::int64_t{params_.plan.num_head_tiles} * kWarps,
                              .count = partials.end - partials.begin - 1};
    wait_for_partials(later, params_.merge.call, lane);
    const int head = item.head_tile * C::kHeads + row;
    merge_partials(o_, factor, lse_log2, later, params_.output, head, lane);
    factor[0] = factor[1] = 1.0F;
    if (group_ == 0 && lane % 4 == 0) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        if (head + 8 * r < params_.output.num_heads) {
          write_lse(params_.output, request, head + 8 * r, lse_log2[r]);
        }
      }
    }
    return true;
  }

  // Of head `head` of the head tile.
  __device__ __forceinline__ void write_lse_of(const PlanItem& item, Quotient request, int head,
                                               float lse_log2) const {
    const OutputParams& out = params_.output;
    const int of_row = item.head_tile * C::kHeads + head;
    if (of_row >= out.num_heads) return;
    if constexpr (C::kRowIsCluster) {
      cluster_end(shared_).partial.lse[head] = lse_log2;
    } else if (item.partial_idx < 0) {
      write_lse(out, request, of_row, lse_log2);
    } else if constexpr (!C::kWorkerMerges) {
      out.partial_heads[std::int64_t{item.partial_idx} * out.num_heads + of_row].lse_log2 = lse_log2;
    }
  }

  const SplitParams& params_;
  WgmmaShared<C>& shared_;
  int group_;
  int thread_;
  int lane_;
  int row_;                        // of the heads here: this one and the eighth after it
  std::int32_t first_tile_ = -1;   // tiles of the items before; negative: before the first
  std::int32_t other_scored_ = 0;  // of them, by the other group
  HeadWeights<C> heads_;
  float o_[2][kOutputs];  // the dims of a group are two wgmma wide
};

}  // namespace wavefill::cuda
