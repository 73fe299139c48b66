// Rows whose pieces lie with neighbouring workers: each leaves its piece, and whoever has the row's first
// tiles adds them to its own, in registers. No second kernel.
//
// A worker's stretch of tiles ends with a row's first piece and begins with another's last, so the piece that
// is waited for was the first thing its worker did, or, of a row longer than a worker's stretch, ended when
// this one did. Nobody waits in a circle: a worker waits for later ones only, after it has left its own
// piece. CTAs take the workers from the last one on, so that whoever is waited for has a lower index and has
// begun.
//
// Warp by warp: the warp that reads a partial is the one of the same index as the one that wrote it, lane by
// lane, so values lie in memory as they lie in registers, and no barrier is needed.
#pragma once

#include <cstdint>

#include "backend_cuda/device/block/epilogue.cuh"
#include "backend_cuda/device/block/wgmma_output.cuh"
#include "backend_cuda/device/block/work_items.cuh"
#include "backend_cuda/device/ptx/convert.cuh"
#include "backend_cuda/device/ptx/gpu_flag.cuh"
#include "backend_cuda/split_params.h"

namespace wavefill::cuda {

// Leaves accumulators o, times `factor`, of two heads of which lse_log2 are known.
__device__ __forceinline__ void leave_partial(WarpPartial& to, const float (&o)[2][64],
                                              const float (&factor)[2], const float (&lse_log2)[2],
                                              int lane) {
  float scale[2];
  find_partial_scales(scale, o, factor, lane, [&](int r, UnitPower power) {
    to.heads[lane / 4 + 8 * r] = {lse_log2[r], power.inverse()};
  });
#pragma unroll
  for (int v = 0; v < WarpPartial::kVectors; ++v) {
    const Fp16Words of(o, 2 * v, scale);
    *reinterpret_cast<uint4*>(to.values[v][lane]) =
        make_uint4(of.words[0], of.words[1], of.words[2], of.words[3]);
  }
}

// For whoever merges it. What the warp wrote may be under way still: later is sooner done.
__device__ __forceinline__ void publish_partial(WarpPartial& partial, std::uint64_t call, int lane) {
  __syncwarp();
  if (lane == 0) store_release(&partial.call, call);
}

// The partials of a row but the first, as a warp merges them.
struct LaterPartials {
  WarpPartial* first;
  std::int64_t stride;
  std::int32_t count;

  __device__ __forceinline__ WarpPartial& operator[](std::int32_t i) const { return first[i * stride]; }
};

// Until all of them are there.
__device__ __forceinline__ void wait_for_partials(const LaterPartials& partials, std::uint64_t call,
                                                  int lane) {
  for (std::int32_t i = 0; i < partials.count; ++i) {
    while (load_acquire(&partials[i].call) != call) {
    }
    __syncwarp();
    if (lane == 0) partials[i].call = 0;
  }
}

// Some of a partial's values.
inline constexpr int kVectorsAtOnce = 8;
struct PartialVectors {
  uint4 vectors[kVectorsAtOnce];

  __device__ __forceinline__ PartialVectors(const WarpPartial& from, int first, int lane) {
#pragma unroll
    for (int v = 0; v < kVectorsAtOnce; ++v) {
      vectors[v] = *reinterpret_cast<const uint4*>(from.values[first + v][lane]);
    }
  }

  // A weight of 0 leaves out whatever there is.
  __device__ __forceinline__ void add_to(float (&o)[64], const float (&weight)[2]) const {
#pragma unroll
    for (int v = 0; v < kVectorsAtOnce; ++v) {
      const std::uint32_t words[4] = {vectors[v].x, vectors[v].y, vectors[v].z, vectors[v].w};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (weight[i % 2] == 0.0F) continue;
        const float2 pair = unpack_f16x2(words[i]);
        o[8 * v + 2 * i] += weight[i % 2] * pair.x;
        o[8 * v + 2 * i + 1] += weight[i % 2] * pair.y;
      }
    }
  }
};

// Makes o, of the first piece, the row's output: `factor` is what divides it by its sums, lse_log2 that
// piece's and then the row's. head: of the lane's first head, the other being the eighth after it.
__device__ __forceinline__ void merge_partials(float (&o)[2][64], const float (&factor)[2],
                                               float (&lse_log2)[2], const LaterPartials& partials,
                                               const OutputParams& out, int head, int lane) {
  const int line = lane / 4;  // the other head's is 8 later; both are asked for at once
  float own[2] = {lse_log2[0], lse_log2[1]};
  float largest[2] = {own[0], own[1]};
  for (std::int32_t i = 0; i < partials.count; ++i) {
    const WarpPartial::Head* heads = &partials[i].heads[line];
    largest[0] = fmaxf(largest[0], heads[0].lse_log2);
    largest[1] = fmaxf(largest[1], heads[8].lse_log2);
  }
  float sum[2] = {weight_towards(own[0], largest[0]), weight_towards(own[1], largest[1])};
  for (std::int32_t i = 0; i < partials.count; ++i) {
    const WarpPartial::Head* heads = &partials[i].heads[line];
    sum[0] += weight_towards(heads[0].lse_log2, largest[0]);
    sum[1] += weight_towards(heads[8].lse_log2, largest[1]);
  }
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    lse_log2[r] = largest[r] == minus_infinity() ? largest[r] : largest[r] + log2_approx(sum[r]);
  }
  float of_row[2];  // relative to its log-sum-exp the row's sum is 1
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int of_head = min(head + 8 * r, out.num_heads - 1);
    of_row[r] =
        lse_log2[r] == minus_infinity() ? 0.0F : output_factor(1.0F, lse_log2[r], sink_log2_of(out, of_head));
    own[r] = of_row[r] == 0.0F ? 0.0F : weight_towards(own[r], lse_log2[r]) * factor[r] * of_row[r];
  }
#pragma unroll
  for (int i = 0; i < 64; ++i) {
    o[0][i] *= own[i / 2 % 2];
    o[1][i] *= own[i / 2 % 2];
  }
  for (std::int32_t i = 0; i < partials.count; ++i) {
    float weight[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const WarpPartial::Head its = partials[i].heads[line + 8 * r];
      weight[r] = of_row[r] == 0.0F ? 0.0F : weight_towards(its.lse_log2, lse_log2[r]) * its.unit * of_row[r];
    }
    PartialVectors(partials[i], 0, lane).add_to(o[0], weight);
    PartialVectors(partials[i], kVectorsAtOnce, lane).add_to(o[1], weight);
  }
}

}  // namespace wavefill::cuda
