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

// The power of two by which a unit of a partial's dims is multiplied before they are rounded to fp16, 2^n:
// its largest magnitude comes to 2^8 .. 2^9 then, or as near as normal powers bring it. fp16 has 11 bits
// where the output will have 8.
struct UnitPower {
  int n;

  __device__ __forceinline__ explicit UnitPower(float largest) {
    const int exponent = (__float_as_int(largest) >> 23) - 127;  // -127: 0 or subnormal
    n = min(8 - exponent, 126);
  }
  __device__ __forceinline__ float power() const { return power_of_two(n); }
  __device__ __forceinline__ float inverse() const { return power_of_two(-n); }
};

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

// A warp's largest magnitudes of O, a float a head. They lie where scores were, which have been read.
template <class C>
__device__ __forceinline__ float* largest_of_warp(SplitShared<C>& shared, int warp) {
  static_assert(C::kComputeWarps <= kSlices * C::kTile);
  return &shared.scores[0][0][warp * C::kHeads];
}

// Finds them, of O in `unit`. NaN counts as nothing.
template <class C>
__device__ __forceinline__ void find_largest(SplitShared<C>& shared, const OutputAccumulators<C>& o,
                                             float unit, int warp, int lane) {
#pragma unroll
  for (int n = 0; n < C::kHeadFrags; ++n) {
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      float dims[2 * C::kDimFrags];
      take_dims<C>(dims, o, n, c, unit);
      float largest = 0.0F;
#pragma unroll
      for (float dim : dims) largest = fmaxf(largest, fabsf(dim));
#pragma unroll
      for (int bit = 4; bit < 32; bit *= 2) largest = fmaxf(largest, __shfl_xor_sync(~0U, largest, bit));
      if (lane < 4) largest_of_warp<C>(shared, warp)[n * 8 + lane * 2 + c] = largest;
    }
  }
}

// Of a head: row 0 of the exact weights, row 1 (kP16IsBf16) of the weights as P has them.
template <class C>
__device__ __forceinline__ float sum_of_warps(const SplitShared<C>& shared, int row, int head) {
  float sum = 0.0F;
  for (int w = 0; w < C::kComputeWarps; ++w) sum += shared.sums[row * C::kComputeWarps + w][head];
  return sum;
}

// What a head of a split ends with. Precondition: the warps' sums and largest magnitudes are published.
struct SplitHead {
  float lse_log2;
  UnitPower power;
  float factor;  // for O
};
template <class C>
__device__ __forceinline__ SplitHead finish_split_head(SplitShared<C>& shared, int head) {
  const float sum = sum_of_warps<C>(shared, 0, head);
  const float factor =
      sum == 0.0F ? 0.0F : reciprocal_approx(C::kP16IsBf16 ? sum_of_warps<C>(shared, 1, head) : sum);
  float largest = 0.0F;
  for (int w = 0; w < C::kComputeWarps; ++w) {
    largest = fmaxf(largest, largest_of_warp<C>(shared, w)[head]);
  }
  const UnitPower power(largest * factor);
  return {sum == 0.0F ? minus_infinity() : shared.reference[head] + log2_approx(sum), power,
          factor * power.power()};
}

// One thread a head: its factor for O, and its log-sum-exp. Precondition: the warps' sums are published, and
// of a partial their largest magnitudes.
template <class C>
__device__ __forceinline__ void finish_heads(SplitShared<C>& shared, const OutputParams& params,
                                             const PlanItem& item, Quotient request, int first_head,
                                             int thread) {
  const int head = first_head + thread;
  if (thread >= C::kHeads || head >= params.num_heads) return;
  if (item.partial_idx >= 0) {
    const SplitHead end = finish_split_head<C>(shared, thread);
    shared.factor[thread] = end.factor;
    const auto exponent = static_cast<std::int16_t>(-end.power.n);
    params.partial_heads[std::int64_t{item.partial_idx} * params.num_heads + head] = {end.lse_log2,
                                                                                      {exponent, exponent}};
    return;
  }
  const float sum = sum_of_warps<C>(shared, 0, thread);
  const float reference = shared.reference[thread];
  shared.factor[thread] = output_factor(sum, reference, sink_log2_of(params, head));
  if constexpr (C::kP16IsBf16) {
    if (sum != 0.0F) shared.factor[thread] *= sum / sum_of_warps<C>(shared, 1, thread);
  }
  write_lse(params, request, head, sum == 0.0F ? minus_infinity() : reference + log2_approx(sum));
}

// 4 or 8 dims with one store, as kPack packs two of them.
template <std::uint32_t (*kPack)(float, float), int kDims>
__device__ __forceinline__ void store_packed(std::uint16_t* to, const float (&dims)[kDims]) {
  std::uint32_t words[kDims / 2];
#pragma unroll
  for (int i = 0; i < kDims / 2; ++i) words[i] = kPack(dims[2 * i], dims[2 * i + 1]);
  if constexpr (kDims == 8) {
    *reinterpret_cast<uint4*>(to) = make_uint4(words[0], words[1], words[2], words[3]);
  } else {
    *reinterpret_cast<uint2*>(to) = make_uint2(words[0], words[1]);
  }
}

// Adds some dims of a partial. A weight of 0 leaves it out whatever it holds: an empty part's values may be
// anything.
template <class Vector, int kDims>
__device__ __forceinline__ void add_partial(float (&o)[kDims], float weight, const Vector& part) {
  static_assert(sizeof(Vector) == kDims * sizeof(std::uint16_t));
  if (weight == 0.0F) return;
  const auto& words = reinterpret_cast<const std::uint32_t(&)[kDims / 2]>(part);
#pragma unroll
  for (int i = 0; i < kDims / 2; ++i) {
    const float2 pair = unpack_f16x2(words[i]);
    o[2 * i] += weight * pair.x;
    o[2 * i + 1] += weight * pair.y;
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
        store_packed<pack_bf16x2>(output_row(params, request) + head * params.out_stride_head + dim, dims);
      } else if (factor != 0.0F) {
        store_packed<pack_f16x2>(
            params.o_partial + (std::int64_t{item.partial_idx} * params.num_heads + head) * kValueDim + dim,
            dims);
      }
    }
  }
}

}  // namespace wavefill::cuda
