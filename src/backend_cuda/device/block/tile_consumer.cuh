// A consumer warpgroup's role: scores, softmax and values of a CTA's items.
//
// Tile i of an item is scored by group i % 2, which keeps its weights P in registers for its own half of the
// value dims and hands them to the other group through shared memory, with the references they are relative
// to. So the scores of one tile run beside the softmax and the values of its neighbours:
//
//   group 0   scores 0 | softmax 0 | values 0 | scores 2, values 1 | softmax 2 | values 2 | ...
//   group 1            | scores 1, values 0   | softmax 1 | values 1 | scores 3, values 2 | ...
//
// A reference is raised only when a score exceeds it by more than 8 in base 2. A row of heads belongs to the
// same lanes of the same warp in both groups, so both raise it between the same two tiles, warp by warp.
#pragma once

#include <cstdint>

#include "backend_cuda/device/block/wgmma_config.cuh"
#include "backend_cuda/device/block/wgmma_output.cuh"
#include "backend_cuda/device/block/work_items.cuh"
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
        warp_(thread_ / 32),
        lane_(thread_ % 32),
        row_(warp_ * 16 + lane_ / 4) {}

  __device__ __forceinline__ void run() {
    const ItemRange items = items_of_worker(params_.plan, static_cast<std::int32_t>(blockIdx.x));
    for (std::int32_t i = items.begin; i < items.end; ++i) run_item(work_item_quick(params_.plan, i));
  }

 private:
  static constexpr float kRoom = 8.0F;
  static constexpr int kScores = C::kTile / 2;  // a thread's, of two heads
  static constexpr int kOutputs = kValueDim / 8;
  static constexpr std::uint32_t kEightLines = 1024;

  __device__ __forceinline__ void run_item(const PlanItem& item) {
    const Quotient request = divide(item.row, params_.output.s_q);
    const RowTiles<C> row = tiles_of_row<C>(params_, request);
    const std::int32_t tiles = max(min(item.tile_end, row.tiles) - item.tile_begin, 0);
    if (first_tile_ < 0) {
      wait_for_prior_grids();
      first_tile_ = 0;
    } else {
      consumer_barrier();  // the other group may still be reading what it staged
    }
    load_query(item, request);
    forget_registers(o_[0]);
    forget_registers(o_[1]);
    if (tiles == 0) clear_output();
    reference_[0] = reference_[1] = minus_infinity();
    sum_[0] = sum_[1] = 0.0F;
    for (std::int32_t tile = group_; tile < tiles; tile += 2) do_own_tile(tile);
    if (tiles > 0 && (tiles - 1) % 2 != group_) {
      add_values_of_other(tiles - 1);
      wgmma_wait<0>();
      pin_output();
      release(tiles - 1);
    }
    finish(item, request);
    first_tile_ += tiles;
    scored_by_other_ += (tiles + group_) / 2;
  }

  __device__ __forceinline__ void load_query(const PlanItem& item, Quotient request) const {
    const int first_head = item.head_tile * C::kHeads;
    const int heads = params_.output.num_heads - first_head;
    const std::uint16_t* q = params_.q + request.quotient * params_.q_stride_batch +
                             request.remainder * params_.q_stride_s_q + first_head * params_.q_stride_head;
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
    cp_async_wait();
    fence_async_shared();
    consumer_barrier();
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
    __syncwarp();
    if (lane_ == 0) mbarrier_arrive(shared_address(&shared_.empty[buffer_of(tile)]));
  }

  __device__ __forceinline__ void do_own_tile(std::int32_t tile) {
    float s[kScores];
    start_scores(s, tile);
    if (tile > 0) {
      add_values_of_other(tile - 1);
      wgmma_wait<1>();
    } else {
      wgmma_wait<0>();
    }
    pin_registers(s);
    std::uint32_t p[C::kTile / 16][4];
    float factor[2] = {1.0F, 1.0F};
    const bool is_raised = weigh(s, p, factor, buffer_of(tile));
    publish(p);
    if (tile > 0) {
      wgmma_wait<0>();
      pin_output();
      release(tile - 1);
      if (is_raised) multiply_output(factor);
    }
    add_values(p, tile);
    wgmma_wait<0>();
    pin_output();
    release(tile);
  }

  __device__ __forceinline__ void start_scores(float (&s)[kScores], std::int32_t tile) {
    const int buffer = buffer_of(tile);
    const std::uint32_t parity = ((first_tile_ + tile) >> 1) & 1;
    const std::uint64_t q = matrix_descriptor(shared_address(shared_.query[0]), 16, kEightLines);
    const std::uint64_t k = matrix_descriptor(shared_address(shared_.tiles[buffer][0]), 16, kEightLines);
#pragma unroll
    for (int part = 0; part < C::kParts; ++part) {
      mbarrier_wait(shared_address(&shared_.full[buffer][part]), parity);
      fence_async_shared();
      wgmma_fence();
#pragma unroll
      for (int step = 0; step < C::kPartChunks * 4; ++step) {
        const int chunk = part * C::kPartChunks + step / 4;
        if (chunk >= C::kChunks) continue;
        const std::uint64_t offset = (chunk * C::kChunkBytes + step % 4 * 32) >> 4;
        wgmma_n64(s, q + offset, k + offset, chunk > 0 || step > 0);
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
    mbarrier_wait(shared_address(&shared_.ready[other]), (scored_by_other_ + tile / 2) & 1);
    fence_async_shared();
    const float raised[2] = {shared_.reference[other][row_], shared_.reference[other][row_ + 8]};
    if (__any_sync(~0U, raised[0] != reference_[0] || raised[1] != reference_[1])) {
      float factor[2];
      raise(raised, factor);
      if (tile > 0) {
        wgmma_wait<0>();  // of the scores: so much is asked of whoever touches O beside them
        pin_output();
        multiply_output(factor);
      }
    }
    const std::uint64_t p = matrix_descriptor(shared_address(shared_.weights[other]), 16, kEightLines);
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

  // The new references, and what everything relative to the old ones is to be multiplied by.
  __device__ __forceinline__ void raise(const float (&to)[2], float (&factor)[2]) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      factor[r] = reference_[r] == to[r] ? 1.0F : exp2_approx(reference_[r] - to[r]);
      reference_[r] = to[r];
      sum_[r] *= factor[r];
    }
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

  // Scores to weights: sums them, and packs them as an A operand. Returns whether references were raised.
  __device__ __forceinline__ bool weigh(float (&s)[kScores], std::uint32_t (&p)[C::kTile / 16][4],
                                        float (&factor)[2], int buffer) {
    // Scores stay unscaled; with a negative scale they change sign.
    const float scale = fabsf(params_.scale_log2);
    if (params_.scale_log2 < 0.0F) {
#pragma unroll
      for (int i = 0; i < kScores; ++i) s[i] = -s[i];
    }
    mask(s, buffer);
    float largest[2] = {s[0], s[2]};
#pragma unroll
    for (int i = 0; i < kScores; ++i) largest[i / 2 % 2] = fmaxf(largest[i / 2 % 2], s[i]);
    largest[0] *= scale;
    largest[1] *= scale;
    const bool is_raised =
        __any_sync(~0U, largest[0] > reference_[0] + kRoom || largest[1] > reference_[1] + kRoom);
    if (is_raised) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        largest[r] = fmaxf(largest[r], __shfl_xor_sync(~0U, largest[r], 1));
        largest[r] = fmaxf(largest[r], __shfl_xor_sync(~0U, largest[r], 2));
        largest[r] = fmaxf(largest[r], reference_[r]);
      }
      raise(largest, factor);
    }
#pragma unroll
    for (int i = 0; i < kScores; ++i) {
      // -inf relative to -inf, where no token was met yet, is a weight of 0.
      const float reference = reference_[i / 2 % 2] == minus_infinity() ? 0.0F : reference_[i / 2 % 2];
      s[i] = exp2_approx(fmaf(s[i], scale, -reference));
      sum_[i / 2 % 2] += s[i];
    }
#pragma unroll
    for (int step = 0; step < C::kTile / 16; ++step) {
#pragma unroll
      for (int i = 0; i < 4; ++i) p[step][i] = pack_bf16x2(s[8 * step + 2 * i], s[8 * step + 2 * i + 1]);
    }
    return is_raised;
  }

  // -inf for tokens that are none; mostly there are only tokens.
  __device__ __forceinline__ void mask(float (&s)[kScores], int buffer) const {
    const uint4 first = *reinterpret_cast<const uint4*>(&shared_.valid[buffer][0]);
    const uint4 second = *reinterpret_cast<const uint4*>(&shared_.valid[buffer][4]);
    const std::uint32_t words[8] = {first.x,  first.y,  first.z,  first.w,
                                    second.x, second.y, second.z, second.w};
    std::uint32_t all = ~0U;
#pragma unroll
    for (int i = 0; i < 8; ++i) all &= words[i];
    if (all == ~0U) return;
    const int bit = lane_ % 4 * 8;  // of this lane's first token of eight
#pragma unroll
    for (int i = 0; i < kScores; ++i) {
      if (((words[i / 4] >> (bit + i % 2 * 4)) & 1U) == 0) s[i] = minus_infinity();
    }
  }

  __device__ __forceinline__ void publish(const std::uint32_t (&p)[C::kTile / 16][4]) const {
    const std::uint32_t weights = shared_address(shared_.weights[group_]);
    const int line = warp_ * 16 + lane_ % 16;
#pragma unroll
    for (int step = 0; step < C::kTile / 16; ++step) {
      stmatrix_x4(swizzled(weights, line, 2 * step + lane_ / 16), p[step]);
    }
    if (lane_ % 4 == 0) {
      shared_.reference[group_][row_] = reference_[0];
      shared_.reference[group_][row_ + 8] = reference_[1];
    }
    __syncwarp();
    if (lane_ == 0) mbarrier_arrive(shared_address(&shared_.ready[group_]));
  }

  __device__ __forceinline__ void finish(const PlanItem& item, Quotient request) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      sum_[r] += __shfl_xor_sync(~0U, sum_[r], 1);
      sum_[r] += __shfl_xor_sync(~0U, sum_[r], 2);
      if (lane_ % 4 == 0) shared_.sums[group_][row_ + 8 * r] = sum_[r];
    }
    consumer_barrier();
    float factor[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int head = row_ + 8 * r;
      factor[r] = finish_head(params_.output, item, request, item.head_tile * C::kHeads + head,
                              shared_.sums[0][head] + shared_.sums[1][head], reference_[r],
                              group_ == 0 && lane_ % 4 == 0);
    }
#pragma unroll
    for (int i = 0; i < kOutputs; ++i) {
      o_[0][i] *= factor[i / 2 % 2];
      o_[1][i] *= factor[i / 2 % 2];
    }
    // Q has been read for the last time; each warp stages its rows in a part of it.
    constexpr std::uint32_t kStageBytes = 16 * kValueDim / C::kConsumers * 2;
    const std::uint32_t stage =
        shared_address(shared_.query[0]) + (group_ * C::kGroupThreads / 32 + warp_) * kStageBytes;
    const int lane = formed_here(lane_);
    const OutputRows rows{.stage = stage,
                          .first_head = item.head_tile * C::kHeads + warp_ * 16,
                          .num_heads = params_.output.num_heads,
                          .first_dim = group_ * (kValueDim / C::kConsumers)};
    if (item.partial_idx < 0) {
      store_bf16_rows(o_, rows, params_.output, request, lane);
    } else {
      store_fp32_rows(o_, rows, params_.output, item.partial_idx, lane);
    }
  }

  const SplitParams& params_;
  WgmmaShared<C>& shared_;
  int group_;
  int thread_;
  int warp_;
  int lane_;
  int row_;                           // of the heads here: this one and the eighth after it
  std::int32_t first_tile_ = -1;      // tiles of the items before; negative: before the first
  std::int32_t scored_by_other_ = 0;  // of them, those that the other group scored
  float reference_[2];
  float sum_[2];          // of the weights that this group made
  float o_[2][kOutputs];  // the dims of a group are two wgmma wide
};

}  // namespace wavefill::cuda
