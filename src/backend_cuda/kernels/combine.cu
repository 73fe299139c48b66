// Combine: the partials of each row become its output.
//
// A head of a row is merged by kWarpsOfHead warps, a lane of them owning 4 dims or more, and asks for
// kAtOnce partials before it uses any. Few heads are spread over all SMs, four warps each; of many, a warp
// each has more under way and finds weights once. The order of additions, and so every bit, is the same.
// Budget: 128 threads, under 128 registers, no shared memory. Bytes: 1032 read a partial and head, 1024
// written a head; partials come from L2 mostly: they were just written.
#include <cstdint>
#include <type_traits>

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
  const std::uint16_t* o;    // this thread's dims of the first
  const PartialHead* heads;  // of the first
  std::int64_t num_heads;    // from one partial to the next
  int count;
};

// How a head is shared out.
template <int kWarps, int kPartials>
struct HeadShare {
  using Vector = std::conditional_t<kWarps == 1, uint4, uint2>;  // of fp16, one load

  static constexpr int kWarpsOfHead = kWarps;
  static constexpr int kHeads = kCombineThreads / 32 / kWarpsOfHead;  // of a CTA
  static constexpr int kDims = sizeof(Vector) / sizeof(std::uint16_t);
  static constexpr int kStep = kWarpsOfHead * 32 * kDims;  // from one vector of a lane to the next
  static constexpr int kVectors = kValueDim / kStep;       // a lane's
  static constexpr int kAtOnce = kPartials;

  // CTAs of a row.
  WAVEFILL_HOST_DEVICE static constexpr int ctas(int num_heads) { return (num_heads + kHeads - 1) / kHeads; }
};

// A lane's dims of kAtOnce partials from `first` on, all asked for before any is used: a load that waited for
// a condition on its weight, as one that is left out would, is a trip to the L2 of its own.
template <class Share>
struct Partials {
  using Vector = typename Share::Vector;
  Vector parts[Share::kAtOnce][Share::kVectors];

  __device__ __forceinline__ Partials(const HeadPartials& head, int first) {
#pragma unroll
    for (int i = 0; i < Share::kAtOnce; ++i) {
#pragma unroll
      for (int v = 0; v < Share::kVectors; ++v) {
        parts[i][v] = {};
        if (first + i < head.count) {
          parts[i][v] = *reinterpret_cast<const Vector*>(head.o + (first + i) * head.num_heads * kValueDim +
                                                         v * Share::kStep);
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
    largest = fmaxf(largest, head.heads[i * head.num_heads].lse_log2);
  }
  largest = max_of_lanes<32>(largest);
  if (largest == minus_infinity()) return largest;
  float sum = 0.0F;
#pragma unroll 1
  for (int i = lane; i < head.count; i += 32) {
    sum += weight_towards(head.heads[i * head.num_heads].lse_log2, largest);
  }
  return largest + log2_approx(sum_of_lanes<32>(sum));
}

// By what a partial's fp16 values are multiplied, in each half of the dims.
struct PartialWeights {
  float of_half[2];

  __device__ __forceinline__ PartialWeights(const PartialHead& head, float lse_log2) {
    const float weight = weight_towards(head.lse_log2, lse_log2);
    of_half[0] = weight * power_of_two(head.exponent[0]);
    of_half[1] = weight * power_of_two(head.exponent[1]);
  }
};

// Adds partials first ... to o by their weights, in tile order. first_half: of the lane's first vector.
template <class Share>
__device__ __forceinline__ void add_partials(float (&o)[Share::kVectors][Share::kDims],
                                             const Partials<Share>& partials, const HeadPartials& head,
                                             int first, float lse_log2, int first_half, int lane) {
  const int mine = first + lane % Share::kAtOnce;
  PartialHead its{.lse_log2 = minus_infinity(), .exponent = {0, 0}};
  if (mine < head.count) its = head.heads[mine * head.num_heads];
  const PartialWeights weights(its, lse_log2);
#pragma unroll
  for (int i = 0; i < Share::kAtOnce; ++i) {
#pragma unroll
    for (int v = 0; v < Share::kVectors; ++v) {
      // An index that the compiler does not know would put them into local memory.
      const float weight = Share::kVectors == 1 && first_half == 1 ? weights.of_half[1] : weights.of_half[v];
      add_partial(o[v], __shfl_sync(kAllLanes, weight, i), partials.parts[i][v]);
    }
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
  const int dim = thread % (Share::kWarpsOfHead * 32) * Share::kDims;  // the lane's first
  wait_for_prior_grids();
  const ItemRange partials = partials_of_row(params.plan, row);
  const int num_partials = partials.end - partials.begin;
  if (num_partials == 0 || head >= out.num_heads) return;

  const std::int64_t first = std::int64_t{partials.begin} * out.num_heads + head;
  const HeadPartials of_head{.o = out.o_partial + first * kValueDim + dim,
                             .heads = out.partial_heads + first,
                             .num_heads = out.num_heads,
                             .count = num_partials};
  const Partials<Share> ahead(of_head, 0);  // before their weights are known
  const float lse_log2 = merged_lse_log2(of_head, lane);
  const Quotient request = divide(row, out.s_q);
  float o[Share::kVectors][Share::kDims] = {};
  float factor = 0.0F;
  if (lse_log2 != minus_infinity()) {
    // Relative to its log-sum-exp the row's sum is 1.
    factor = output_factor(1.0F, lse_log2, sink_log2_of(out, head));
    const int half = dim / (kValueDim / 2);
    add_partials(o, ahead, of_head, 0, lse_log2, half, lane);
    for (int i = Share::kAtOnce; i < num_partials; i += Share::kAtOnce) {
      add_partials(o, Partials<Share>(of_head, i), of_head, i, lse_log2, half, lane);
    }
  }
  std::uint16_t* to = output_row(out, request) + head * out.out_stride_head + dim;
#pragma unroll
  for (int v = 0; v < Share::kVectors; ++v) {
#pragma unroll
    for (float& value : o[v]) value *= factor;
    store_packed<pack_bf16x2>(to + v * Share::kStep, o[v]);
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
