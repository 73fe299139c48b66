// Combine: the partials of each row become its output.
//
// Budget: 128 threads, under 80 registers, no shared memory. A CTA merges one head of one row; a thread owns
// four dims and reads 16 bytes of every partial. Partials come from L2 mostly: they were just written.
// Bytes: 2052 read a partial and head, 1024 written a head.
#include "backend_cuda/device/block/epilogue.cuh"
#include "backend_cuda/device/block/lanes.cuh"
#include "backend_cuda/device/ptx/grid_dependency.cuh"
#include "backend_cuda/kernels/kernels.h"

namespace wavefill::cuda {
namespace {

constexpr int kCombineThreads = kValueDim / 4;
constexpr unsigned kAllLanes = ~0U;

// The first kAhead partials' dims, asked for before their weights are known: one trip to the L2 less.
struct FirstPartials {
  static constexpr int kAhead = 8;
  float4 parts[kAhead];

  __device__ __forceinline__ FirstPartials(const float* o_partial, std::int64_t stride, int num_partials) {
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      parts[i] = {};
      if (i < num_partials) parts[i] = *reinterpret_cast<const float4*>(o_partial + i * stride);
    }
  }
};

// log-sum-exp of one head over a row's partials, base 2; every warp finds it for itself.
__device__ __forceinline__ float merged_lse_log2(const float* lse, int num_partials, int stride, int lane) {
  float largest = minus_infinity();
  for (int i = lane; i < num_partials; i += 32) largest = fmaxf(largest, lse[std::int64_t{i} * stride]);
  largest = max_of_lanes<32>(largest);
  if (largest == minus_infinity()) return largest;
  float sum = 0.0F;
  for (int i = lane; i < num_partials; i += 32) {
    sum += weight_towards(lse[std::int64_t{i} * stride], largest);
  }
  return largest + log2_approx(sum_of_lanes<32>(sum));
}

// A weight of 0 leaves its partial out whatever it holds: an empty part was never written.
__device__ __forceinline__ void add_partial(float4& o, float weight, const float4& part) {
  if (weight == 0.0F) return;
  o.x += weight * part.x;
  o.y += weight * part.y;
  o.z += weight * part.z;
  o.w += weight * part.w;
}

// Sum of the partials by their weights, in tile order.
__device__ __forceinline__ float4 weighted_sum(const FirstPartials& ahead, const float* o_partial,
                                               std::int64_t stride, const float* lse, float lse_log2,
                                               int num_partials, int num_heads, int lane) {
  float4 o = {};
  for (int first = 0; first < num_partials; first += 32) {
    const int mine = first + lane;
    const float weight =
        mine < num_partials ? weight_towards(lse[std::int64_t{mine} * num_heads], lse_log2) : 0.0F;
    const int count = min(32, num_partials - first);
#pragma unroll
    for (int i = 0; i < FirstPartials::kAhead; ++i) {
      const float w = __shfl_sync(kAllLanes, weight, i);
      float4 part = ahead.parts[i];
      if (first > 0 && i < count) part = *reinterpret_cast<const float4*>(o_partial + (first + i) * stride);
      if (i < count) add_partial(o, w, part);
    }
#pragma unroll 8
    for (int i = FirstPartials::kAhead; i < count; ++i) {
      const float w = __shfl_sync(kAllLanes, weight, i);
      add_partial(o, w, *reinterpret_cast<const float4*>(o_partial + (first + i) * stride));
    }
  }
  return o;
}

__global__ void __launch_bounds__(kCombineThreads)
    combine_kernel(const __grid_constant__ CombineParams params) {
  allow_next_grid();
  const OutputParams& out = params.output;
  const int row = static_cast<int>(blockIdx.x) / out.num_heads;
  const int head = static_cast<int>(blockIdx.x) - row * out.num_heads;
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % 32;
  wait_for_prior_grids();
  const ItemRange partials = partials_of_row(params.plan, row);
  const int num_partials = partials.end - partials.begin;
  if (num_partials == 0) return;

  const std::int64_t first = std::int64_t{partials.begin} * out.num_heads + head;
  const std::int64_t stride = std::int64_t{out.num_heads} * kValueDim;
  const float* o_partial = out.o_partial + first * kValueDim + thread * 4;
  const FirstPartials ahead(o_partial, stride, num_partials);
  const float* lse = out.lse_partial + first;
  const float lse_log2 = merged_lse_log2(lse, num_partials, out.num_heads, lane);
  const Quotient request = divide(row, out.s_q);
  float4 o = {};
  if (lse_log2 != minus_infinity()) {
    // Relative to its log-sum-exp the row's sum is 1.
    const float factor = output_factor(1.0F, lse_log2, sink_log2_of(out, head));
    o = weighted_sum(ahead, o_partial, stride, lse, lse_log2, num_partials, out.num_heads, lane);
    o = {o.x * factor, o.y * factor, o.z * factor, o.w * factor};
  }
  std::uint16_t* to = output_row(out, request) + head * out.out_stride_head + thread * 4;
  *reinterpret_cast<uint2*>(to) = make_uint2(pack_bf16x2(o.x, o.y), pack_bf16x2(o.z, o.w));
  if (thread == 0) write_lse(out, request, head, lse_log2);
}

}  // namespace

KernelFunction combine_function() {
  return {.name = "combine",
          .function = reinterpret_cast<const void*>(&combine_kernel),
          .threads = kCombineThreads,
          .smem_bytes = 0};
}

}  // namespace wavefill::cuda
