// Combine: the partials of each row become its output.
//
// A head of a row is merged by kWarpsOfHead warps, a lane of them owning 4 dims or more, and asks for
// kAtOnce partials before it uses any. Few heads are spread over all SMs, four warps each; of many, a warp
// each has more under way and finds weights once. The order of additions, and so every bit, is the same.
// Budget: 128 threads, under 128 registers, no shared memory. Bytes: 2052 read a partial and head, 1024
// written a head; partials come from L2 mostly: they were just written.
#include "backend_cuda/device/block/epilogue.cuh"
#include "backend_cuda/device/block/lanes.cuh"
#include "backend_cuda/device/ptx/grid_dependency.cuh"
#include "backend_cuda/kernels/kernels.h"
#include "kv/byte_map.h"

namespace wavefill::cuda {
namespace {

constexpr int kCombineThreads = 128;
constexpr unsigned kAllLanes = ~0U;

// A row's partials of one head.
struct HeadPartials {
  const float* o;       // this thread's dims of the first
  const float* lse;     // base 2
  std::int64_t stride;  // of o
  int lse_stride;
  int count;
};

// How a head is shared out.
template <int kWarps, int kPartials>
struct HeadShare {
  static constexpr int kWarpsOfHead = kWarps;
  static constexpr int kHeads = kCombineThreads / 32 / kWarpsOfHead;  // of a CTA
  static constexpr int kStep = kWarpsOfHead * 32 * 4;                 // from four dims of a lane to the next
  static constexpr int kVectors = kValueDim / kStep;                  // a lane's, of four dims
  static constexpr int kAtOnce = kPartials;

  // CTAs of a row.
  WAVEFILL_HOST_DEVICE static constexpr int ctas(int num_heads) { return (num_heads + kHeads - 1) / kHeads; }
};

// A lane's dims of kAtOnce partials from `first` on, all asked for before any is used: a load that waited for
// a condition on its weight, as one that is left out would, is a trip to the L2 of its own.
template <class Share>
struct Partials {
  float4 parts[Share::kAtOnce][Share::kVectors];

  __device__ __forceinline__ Partials(const HeadPartials& head, int first) {
#pragma unroll
    for (int i = 0; i < Share::kAtOnce; ++i) {
#pragma unroll
      for (int v = 0; v < Share::kVectors; ++v) {
        parts[i][v] = {};
        if (first + i < head.count) {
          parts[i][v] =
              *reinterpret_cast<const float4*>(head.o + (first + i) * head.stride + v * Share::kStep);
        }
      }
    }
  }
};

// log-sum-exp of a head over its partials, base 2; every warp finds it for itself.
__device__ __forceinline__ float merged_lse_log2(const HeadPartials& head, int lane) {
  float largest = minus_infinity();
#pragma unroll 1  // more than 32 partials are rare
  for (int i = lane; i < head.count; i += 32) {
    largest = fmaxf(largest, head.lse[std::int64_t{i} * head.lse_stride]);
  }
  largest = max_of_lanes<32>(largest);
  if (largest == minus_infinity()) return largest;
  float sum = 0.0F;
#pragma unroll 1
  for (int i = lane; i < head.count; i += 32) {
    sum += weight_towards(head.lse[std::int64_t{i} * head.lse_stride], largest);
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

// Adds partials first ... to o by their weights, in tile order.
template <class Share>
__device__ __forceinline__ void add_partials(float4 (&o)[Share::kVectors], const Partials<Share>& partials,
                                             const HeadPartials& head, int first, float lse_log2, int lane) {
  const int mine = first + lane % Share::kAtOnce;
  const float weight =
      mine < head.count ? weight_towards(head.lse[std::int64_t{mine} * head.lse_stride], lse_log2) : 0.0F;
#pragma unroll
  for (int i = 0; i < Share::kAtOnce; ++i) {
    const float w = __shfl_sync(kAllLanes, weight, i);
#pragma unroll
    for (int v = 0; v < Share::kVectors; ++v) add_partial(o[v], w, partials.parts[i][v]);
  }
}

template <class Share>
__global__ void __launch_bounds__(kCombineThreads)
    combine_kernel(const __grid_constant__ CombineParams params) {
  allow_next_grid();
  const OutputParams& out = params.output;
  const int ctas = Share::ctas(out.num_heads);
  const int row = static_cast<int>(blockIdx.x) / ctas;
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % 32;
  const int head =
      (static_cast<int>(blockIdx.x) - row * ctas) * Share::kHeads + thread / 32 / Share::kWarpsOfHead;
  const int dim = thread % (Share::kWarpsOfHead * 32) * 4;  // the lane's first
  wait_for_prior_grids();
  const ItemRange partials = partials_of_row(params.plan, row);
  const int num_partials = partials.end - partials.begin;
  if (num_partials == 0 || head >= out.num_heads) return;

  const std::int64_t first = std::int64_t{partials.begin} * out.num_heads + head;
  const HeadPartials of_head{.o = out.o_partial + first * kValueDim + dim,
                             .lse = out.lse_partial + first,
                             .stride = std::int64_t{out.num_heads} * kValueDim,
                             .lse_stride = out.num_heads,
                             .count = num_partials};
  const Partials<Share> ahead(of_head, 0);  // before their weights are known
  const float lse_log2 = merged_lse_log2(of_head, lane);
  const Quotient request = divide(row, out.s_q);
  float4 o[Share::kVectors] = {};
  float factor = 0.0F;
  if (lse_log2 != minus_infinity()) {
    // Relative to its log-sum-exp the row's sum is 1.
    factor = output_factor(1.0F, lse_log2, sink_log2_of(out, head));
    add_partials(o, ahead, of_head, 0, lse_log2, lane);
    for (int i = Share::kAtOnce; i < num_partials; i += Share::kAtOnce) {
      add_partials(o, Partials<Share>(of_head, i), of_head, i, lse_log2, lane);
    }
  }
  std::uint16_t* to = output_row(out, request) + head * out.out_stride_head + dim;
#pragma unroll
  for (int v = 0; v < Share::kVectors; ++v) {
    *reinterpret_cast<uint2*>(to + v * Share::kStep) = make_uint2(
        pack_bf16x2(o[v].x * factor, o[v].y * factor), pack_bf16x2(o[v].z * factor, o[v].w * factor));
  }
  if (dim == 0) write_lse(out, request, head, lse_log2);
}

template <class Share>
CombineLaunch launch_of(const char* name, std::int64_t rows, std::int32_t num_heads) {
  return {.function = {.name = name,
                       .function = reinterpret_cast<const void*>(&combine_kernel<Share>),
                       .threads = kCombineThreads,
                       .smem_bytes = 0},
          .num_ctas = rows * Share::ctas(num_heads)};
}

}  // namespace

CombineLaunch combine_launch(std::int64_t rows, std::int32_t num_heads, std::int64_t num_partials,
                             std::int32_t num_sms) {
  constexpr std::int64_t kFewPerSm = 2;
  if (rows * num_heads < kFewPerSm * num_sms) {
    return launch_of<HeadShare<4, 16>>("combine_few_heads", rows, num_heads);
  }
  if (2 * num_partials > 5 * rows) return launch_of<HeadShare<1, 4>>("combine_many_heads", rows, num_heads);
  return launch_of<HeadShare<1, 2>>("combine_pairs", rows, num_heads);
}

}  // namespace wavefill::cuda
