// From accumulators to the output, or to a partial.
#pragma once

#include <cstdint>

#include "backend_cuda/device/block/softmax.cuh"
#include "backend_cuda/device/block/split_config.cuh"
#include "backend_cuda/device/block/values.cuh"
#include "backend_cuda/device/block/work_items.cuh"
#include "backend_cuda/device/ptx/convert.cuh"
#include "backend_cuda/split_params.h"

namespace wavefill::cuda {

inline constexpr float kLog2EDevice = 1.44269504F;
inline constexpr float kLn2Device = 0.693147181F;

// 1 / (sum + 2^(sink - reference)): the sink enters the denominator once, and 0 for a row with no keys.
__device__ __forceinline__ float output_factor(float sum, float reference, float sink_log2) {
  if (sum == 0.0F) return 0.0F;
  return reciprocal_approx(sum + exp2_approx(sink_log2 - reference));
}

__device__ __forceinline__ float sink_log2_of(const OutputParams& params, int head) {
  return params.sink == nullptr ? minus_infinity() : params.sink[head] * kLog2EDevice;
}

__device__ __forceinline__ void write_lse(const OutputParams& params, Quotient request, int head,
                                          float lse_log2) {
  if (params.lse == nullptr) return;
  params.lse[request.quotient * params.lse_stride_batch + request.remainder * params.lse_stride_s_q +
             head * params.lse_stride_head] = lse_log2 * kLn2Device;
}

// 2^(x - reference), 0 for an empty part whatever the reference.
__device__ __forceinline__ float weight_towards(float x, float reference) {
  return x == minus_infinity() ? 0.0F : exp2_approx(x - reference);
}

// One thread a head: its factor for O, and its log-sum-exp. Precondition: shared.sums are published.
template <class C>
__device__ __forceinline__ void finish_heads(SplitShared<C>& shared, const OutputParams& params,
                                             const PlanItem& item, Quotient request, int first_head,
                                             int thread) {
  const int head = first_head + thread;
  if (thread >= C::kHeads || head >= params.num_heads) return;
  float sum = 0.0F;
  for (int w = 0; w < C::kComputeWarps; ++w) sum += shared.sums[w][thread];
  const float reference = shared.reference[thread];
  const float lse_log2 = sum == 0.0F ? minus_infinity() : reference + log2_approx(sum);
  if (item.partial_idx < 0) {
    shared.factor[thread] = output_factor(sum, reference, sink_log2_of(params, head));
    write_lse(params, request, head, lse_log2);
  } else {
    shared.factor[thread] = sum == 0.0F ? 0.0F : 1.0F / sum;
    params.lse_partial[std::int64_t{item.partial_idx} * params.num_heads + head] = lse_log2;
  }
  if constexpr (C::kP16IsBf16) {
    float rounded = 0.0F;
    for (int w = 0; w < C::kComputeWarps; ++w) rounded += shared.sums[C::kComputeWarps + w][thread];
    if (rounded != 0.0F) shared.factor[thread] *= sum / rounded;
  }
}

// The lane's dims of one head, from accumulator elements `c` (row g) and c + 2 (row g + 8) of each fragment.
template <class C>
__device__ __forceinline__ void take_dims(float (&dims)[2 * C::kDimFrags], const OutputAccumulators<C>& o,
                                          int n, int c, float factor) {
#pragma unroll
  for (int i = 0; i < C::kDimFrags; ++i) {
    dims[2 * i] = o[i][n][c] * factor;
    dims[2 * i + 1] = o[i][n][c + 2] * factor;
  }
}

// 4 or 8 dims with one store.
template <int kDims>
__device__ __forceinline__ void store_bf16(std::uint16_t* to, const float (&dims)[kDims]) {
  const std::uint32_t first = pack_bf16x2(dims[0], dims[1]);
  const std::uint32_t second = pack_bf16x2(dims[2], dims[3]);
  if constexpr (kDims == 8) {
    *reinterpret_cast<uint4*>(to) =
        make_uint4(first, second, pack_bf16x2(dims[4], dims[5]), pack_bf16x2(dims[6], dims[7]));
  } else {
    *reinterpret_cast<uint2*>(to) = make_uint2(first, second);
  }
}

template <int kDims>
__device__ __forceinline__ void store_fp32(float* to, const float (&dims)[kDims]) {
#pragma unroll
  for (int i = 0; i < kDims; i += 4) {
    *reinterpret_cast<float4*>(to + i) = make_float4(dims[i], dims[i + 1], dims[i + 2], dims[i + 3]);
  }
}

// Writes O times its heads' factors and `unit`. Precondition: shared.factor is there for every head.
template <class C>
__device__ __forceinline__ void store_output(const OutputAccumulators<C>& o, const SplitShared<C>& shared,
                                             const OutputParams& params, const PlanItem& item,
                                             Quotient request, int first_head, float unit, int first_dim,
                                             int lane) {
  const int dim = first_dim + lane / 4 * 2 * C::kDimFrags;
#pragma unroll
  for (int n = 0; n < C::kHeadFrags; ++n) {
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      const int head_here = n * 8 + lane % 4 * 2 + c;
      const int head = first_head + head_here;
      if (head >= params.num_heads) continue;
      const float factor = shared.factor[head_here];
      float dims[2 * C::kDimFrags];
      // A factor of 0 is an exact 0, also where O is not finite.
      take_dims<C>(dims, o, n, c, factor * unit);
      if (item.partial_idx < 0) {
        store_bf16(output_row(params, request) + head * params.out_stride_head + dim, dims);
      } else if (factor != 0.0F) {
        store_fp32(
            params.o_partial + (std::int64_t{item.partial_idx} * params.num_heads + head) * kValueDim + dim,
            dims);
      }
    }
  }
}

}  // namespace wavefill::cuda
