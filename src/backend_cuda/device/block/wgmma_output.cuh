// From a warpgroup's accumulators to the output, or to a partial.
#pragma once

#include <cstdint>

#include "backend_cuda/device/block/cluster_merge.cuh"
#include "backend_cuda/device/block/epilogue.cuh"
#include "backend_cuda/device/block/lanes.cuh"
#include "backend_cuda/device/block/wgmma_config.cuh"
#include "backend_cuda/device/block/work_items.cuh"
#include "backend_cuda/device/ptx/convert.cuh"
#include "backend_cuda/device/ptx/global_load.cuh"
#include "backend_cuda/device/ptx/ldmatrix.cuh"
#include "backend_cuda/split_params.h"

namespace wavefill::cuda {

// A head's log-sum-exp in base 2, and the factor of its O: of a row that is whole with the sink, of a split
// without.
struct HeadEnd {
  float factor;
  float lse_log2;
};
__device__ __forceinline__ HeadEnd finish_head(const OutputParams& params, bool is_whole, int head, float sum,
                                               float reference) {
  if (head >= params.num_heads) return {0.0F, minus_infinity()};
  const float lse_log2 = sum == 0.0F ? minus_infinity() : reference + log2_approx(sum);
  if (is_whole) return {output_factor(sum, reference, sink_log2_of(params, head)), lse_log2};
  return {sum == 0.0F ? 0.0F : reciprocal_approx(sum), lse_log2};
}

// The 16 rows of 256 dims that a warp has of 64 x 512 accumulators, and where it may stage them.
struct OutputRows {
  std::uint32_t stage;  // 8,192 bytes of shared memory, in lines of 512
  int first_head;
  int num_heads;
  int first_dim;
};

// Address of 16-byte piece `piece` of staged line `line`: eight lines are written at once, a piece each, to
// all banks once.
__device__ __forceinline__ std::uint32_t staged_piece(std::uint32_t stage, int line, int piece) {
  return stage + line * 512 + ((piece ^ (line & 7)) * 16);
}

// Copies staged lines to `to`, the lane's dims of the first, `stride` apart: whole lines of memory leave at
// once.
__device__ __forceinline__ void store_staged_rows(const OutputRows& rows, std::uint16_t* to,
                                                  std::int64_t stride, int lane) {
  __syncwarp();
#pragma unroll
  for (int line = 0; line < 16; ++line) {
    if (rows.first_head + line < rows.num_heads) {
      *reinterpret_cast<uint4*>(to) = load_shared_16(staged_piece(rows.stage, line, lane));
    }
    to += stride;
  }
}

__device__ __forceinline__ void store_bf16_rows(const float (&o)[2][64], const OutputRows& rows,
                                                const OutputParams& params, Quotient request, int lane) {
#pragma unroll
  for (int j = 0; j < 32; j += 2) {
    const float* d = &o[j / 16][4 * j % 64];
    const std::uint32_t words[4] = {pack_bf16x2(d[0], d[1]), pack_bf16x2(d[2], d[3]), pack_bf16x2(d[4], d[5]),
                                    pack_bf16x2(d[6], d[7])};
    stmatrix_x4(staged_piece(rows.stage, lane % 16, j + lane / 16), words);
  }
  store_staged_rows(
      rows,
      output_row(params, request) + rows.first_head * params.out_stride_head + rows.first_dim + lane * 8,
      params.out_stride_head, lane);
}

// The largest magnitude of row r of accumulators, over the four lanes of a head. NaN counts as nothing.
__device__ __forceinline__ float largest_of_head(const float (&o)[2][64], int r) {
  float largest = 0.0F;
#pragma unroll
  for (int i = 0; i < 64; ++i) largest = fmaxf(largest, fabsf(o[i / 32][i % 32 / 2 * 4 + 2 * r + i % 2]));
  return max_of_lanes<4>(largest);
}

// What both rows of accumulators are multiplied by to be a partial in fp16: their `factor`, and a power of
// two each, of which keep(r, power) is told in one lane of each head. The dims here are a unit.
template <class Keep>
__device__ __forceinline__ void find_partial_scales(float (&scale)[2], const float (&o)[2][64],
                                                    const float (&factor)[2], int lane, Keep keep) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const UnitPower power(largest_of_head(o, r) * factor[r]);
    scale[r] = factor[r] * power.power();
    if (lane % 4 == 0) keep(r, power);
  }
}

// Fragments j and j + 1 times their rows' scales, in fp16: four dims of each row in turn.
struct Fp16Words {
  std::uint32_t words[4];

  __device__ __forceinline__ Fp16Words(const float (&o)[2][64], int j, const float (&scale)[2]) {
    const float* d = &o[j / 16][4 * j % 64];
#pragma unroll
    for (int i = 0; i < 4; ++i) words[i] = pack_f16x2(d[2 * i] * scale[i % 2], d[2 * i + 1] * scale[i % 2]);
  }
};

// A partial: O times its heads' factors.
__device__ __forceinline__ void store_partial_rows(const float (&o)[2][64], const float (&factor)[2],
                                                   const OutputRows& rows, const OutputParams& params,
                                                   std::int32_t partial_idx, int lane) {
  const std::int64_t first_head = std::int64_t{partial_idx} * params.num_heads + rows.first_head;
  float scale[2];
  find_partial_scales(scale, o, factor, lane, [&](int r, UnitPower power) {
    const int head = lane / 4 + 8 * r;
    if (rows.first_head + head >= rows.num_heads) return;
    params.partial_heads[first_head + head].exponent[rows.first_dim / (kValueDim / 2)] =
        static_cast<std::int16_t>(-power.n);
  });
#pragma unroll
  for (int j = 0; j < 32; j += 2) {
    stmatrix_x4(staged_piece(rows.stage, lane % 16, j + lane / 16), Fp16Words(o, j, scale).words);
  }
  store_staged_rows(rows, params.o_partial + first_head * kValueDim + rows.first_dim + lane * 8, kValueDim,
                    lane);
}

// Where tiles of tokens lay, once they have been read for the last time.
template <class C>
__device__ __forceinline__ ClusterEnd<C::kHeads, C::kConsumers>& cluster_end(WgmmaShared<C>& shared) {
  using End = ClusterEnd<C::kHeads, C::kConsumers>;
  static_assert(sizeof(End) <= sizeof(shared.tiles));
  return *reinterpret_cast<End*>(shared.tiles);
}

// The warp's 16 heads from `first_head` of the head tile on, times their factors, for the CTAs of a cluster;
// a warpgroup's dims are a unit.
template <int kHeads>
__device__ __forceinline__ void stage_partial_rows(const float (&o)[2][64], const float (&factor)[2],
                                                   StagedPartial<kHeads, 2>& staged, int first_head, int unit,
                                                   int lane) {
  float scale[2];
  find_partial_scales(scale, o, factor, lane, [&](int r, UnitPower power) {
    staged.unit[unit][first_head + lane / 4 + 8 * r] = power.inverse();
  });
  const std::uint32_t stage = shared_address(staged.o) +
                              (first_head + lane % 16) * StagedPartial<kHeads, 2>::kHeadBytes + unit * 512 +
                              lane / 16 * 16;
#pragma unroll
  for (int j = 0; j < 32; j += 2) stmatrix_x4(stage + j * 16, Fp16Words(o, j, scale).words);
}

}  // namespace wavefill::cuda
