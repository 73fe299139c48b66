// From a warpgroup's accumulators to the output, or to a partial.
#pragma once

#include <cstdint>

#include "backend_cuda/device/block/epilogue.cuh"
#include "backend_cuda/device/block/work_items.cuh"
#include "backend_cuda/device/ptx/convert.cuh"
#include "backend_cuda/device/ptx/global_load.cuh"
#include "backend_cuda/device/ptx/ldmatrix.cuh"
#include "backend_cuda/split_params.h"

namespace wavefill::cuda {

// The factor of a head's O; the chosen lane writes its log-sum-exp too.
__device__ __forceinline__ float finish_head(const OutputParams& params, const PlanItem& item,
                                             Quotient request, int head, float sum, float reference,
                                             bool writes) {
  if (head >= params.num_heads) return 0.0F;
  const float lse_log2 = sum == 0.0F ? minus_infinity() : reference + log2f(sum);
  if (item.partial_idx < 0) {
    if (writes) write_lse(params, request, head, lse_log2);
    return output_factor(sum, reference, sink_log2_of(params, head));
  }
  if (writes) params.lse_partial[std::int64_t{item.partial_idx} * params.num_heads + head] = lse_log2;
  return sum == 0.0F ? 0.0F : 1.0F / sum;
}

// The same value, but what follows from it is not formed earlier: addresses would be held in registers
// through the loop.
__device__ __forceinline__ int formed_here(int value) {
  asm volatile("" : "+r"(value));
  return value;
}

// The 16 rows of 256 dims that a warp has of 64 x 512 accumulators, and where it may stage them.
struct OutputRows {
  std::uint32_t stage;  // 8,192 bytes of shared memory, in lines of 512
  int first_head;
  int num_heads;
  int first_dim;
};

// Address of 16-byte piece `piece` of staged line `line`. Eight lines are written at once, a piece each
// (bf16), or four lines, two pieces each (fp32): all banks once.
__device__ __forceinline__ std::uint32_t staged_bf16(std::uint32_t stage, int line, int piece) {
  return stage + line * 512 + ((piece ^ (line & 7)) * 16);
}
__device__ __forceinline__ std::uint32_t staged_fp32(std::uint32_t stage, int line, int piece) {
  return stage + line * 512 + ((piece ^ ((line & 3) * 2)) * 16);
}

// A line is 512 bytes of one head: whole lines of memory leave at once.
__device__ __forceinline__ void store_bf16_rows(const float (&o)[2][64], const OutputRows& rows,
                                                const OutputParams& params, Quotient request, int lane) {
#pragma unroll
  for (int j = 0; j < 32; j += 2) {
    const float* d = &o[j / 16][4 * j % 64];
    const std::uint32_t words[4] = {pack_bf16x2(d[0], d[1]), pack_bf16x2(d[2], d[3]), pack_bf16x2(d[4], d[5]),
                                    pack_bf16x2(d[6], d[7])};
    stmatrix_x4(staged_bf16(rows.stage, lane % 16, j + lane / 16), words);
  }
  __syncwarp();
  std::uint16_t* to = params.out + request.quotient * params.out_stride_batch +
                      request.remainder * params.out_stride_s_q + rows.first_head * params.out_stride_head +
                      rows.first_dim + lane * 8;
#pragma unroll
  for (int line = 0; line < 16; ++line) {
    if (rows.first_head + line < rows.num_heads) {
      *reinterpret_cast<uint4*>(to) = load_shared_16(staged_bf16(rows.stage, line, lane));
    }
    to += params.out_stride_head;
  }
}

// A line is 512 bytes of one head, half of the dims here.
__device__ __forceinline__ void store_fp32_rows(const float (&o)[2][64], const OutputRows& rows,
                                                const OutputParams& params, std::int32_t partial_idx,
                                                int lane) {
  float* to = params.o_partial +
              (std::int64_t{partial_idx} * params.num_heads + rows.first_head) * kValueDim + rows.first_dim +
              lane * 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    __syncwarp();
#pragma unroll
    for (int j = 0; j < 16; ++j) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const std::uint32_t at =
            staged_fp32(rows.stage, lane / 4 + 8 * r, 2 * j + lane % 4 / 2) + lane % 2 * 8;
        asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(at), "f"(o[half][4 * j + 2 * r]),
                     "f"(o[half][4 * j + 2 * r + 1])
                     : "memory");
      }
    }
    __syncwarp();
#pragma unroll
    for (int line = 0; line < 16; ++line) {
      if (rows.first_head + line < rows.num_heads) {
        *reinterpret_cast<uint4*>(to + line * kValueDim + half * 128) =
            load_shared_16(staged_fp32(rows.stage, line, lane));
      }
    }
  }
}

}  // namespace wavefill::cuda
