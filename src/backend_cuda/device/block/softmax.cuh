// The online softmax of an item: sums the warps' partial scores, and turns them into weights P relative to a
// reference that is raised only when some score exceeds it by more than 2^8 (base 2).
//
// P <= 2^8 then, well inside fp16, and in the common case O is not rescaled and no maximum is looked for:
// the barrier that publishes P also tells whether anyone exceeded.
#pragma once

#include <cstdint>

#include "backend_cuda/device/block/split_config.cuh"
#include "backend_cuda/device/ptx/convert.cuh"

namespace wavefill::cuda {

inline constexpr float kReferenceRoom = 8.0F;

__device__ __forceinline__ float minus_infinity() { return __int_as_float(0xFF80'0000); }

// Which scores of a tile a thread turns into weights: kCount floats, in the order in which accumulators lie
// (fragment, lane, element), so that reads are contiguous. All belong to one head or two neighbours.
template <class C>
struct SoftmaxPlace {
  static constexpr int kCount = C::kTile * C::kHeads / C::kComputeThreads;
  static constexpr int kVector = kCount < 4 ? kCount : 4;
  static constexpr int kPasses = kCount / kVector;
  static constexpr int kHeadsHere = kVector >= 2 ? 2 : 1;
  static_assert(kPasses == 1 || C::kComputeWarps % C::kHeadFrags == 0, "all passes see the same heads");

  // Lanes of a warp that differ only in these bits have the same heads.
  static constexpr int kTokenLaneMask = kVector == 1 ? 0b10010 : kVector == 2 ? 0b11001 : 0b11100;

  int first;  // of the thread's floats in pass 0
  int head;

  __device__ __forceinline__ explicit SoftmaxPlace(int thread)
      : first(thread * kVector),
        head((first / 128 % C::kHeadFrags) * 8 + (first % 128 / 4 % 4) * 2 + (kVector == 1 ? first % 2 : 0)) {
  }

  __device__ __forceinline__ int offset(int pass) const {
    return first + pass * C::kComputeThreads * kVector;
  }
  __device__ __forceinline__ int token(int pass, int i) const {
    const int at = offset(pass) + i;
    return at / 128 / C::kHeadFrags * 16 + at % 4 / 2 * 8 + at % 128 / 16;
  }
};

template <class C>
struct SoftmaxThread {
  static constexpr int kHeadsHere = SoftmaxPlace<C>::kHeadsHere;
  float reference[kHeadsHere];
  float sum[kHeadsHere];       // of this thread's tokens, relative to the reference
  float tile_sum[kHeadsHere];  // of the latest tile, not yet in `sum`
  float rounded[kHeadsHere];   // the same two of the weights as P has them; used where C::kP16IsBf16
  float tile_rounded[kHeadsHere];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int h = 0; h < kHeadsHere; ++h) {
      reference[h] = minus_infinity();
      sum[h] = rounded[h] = 0.0F;
    }
  }
  __device__ __forceinline__ void add_tile() {
#pragma unroll
    for (int h = 0; h < kHeadsHere; ++h) {
      sum[h] += tile_sum[h];
      rounded[h] += tile_rounded[h];
    }
  }
  __device__ __forceinline__ void raise(int h, float to, float factor) {
    reference[h] = to;
    sum[h] *= factor;
    rounded[h] *= factor;
  }
};

// The thread's scores of a tile in base 2, summed over slices in their order; -inf for tokens that are none.
template <class C>
__device__ __forceinline__ void read_scores(float (&x)[SoftmaxPlace<C>::kCount], const SplitShared<C>& shared,
                                            const SoftmaxPlace<C>& place, int stage, int tile_idx,
                                            float scale_log2) {
  using Place = SoftmaxPlace<C>;
#pragma unroll
  for (int pass = 0; pass < Place::kPasses; ++pass) {
    float total[Place::kVector] = {};
#pragma unroll
    for (int w = 0; w < kSlices; ++w) {
      const float* part = shared.scores[tile_idx & 1][w] + place.offset(pass);
      if constexpr (Place::kVector == 4) {
        const float4 v = *reinterpret_cast<const float4*>(part);
        total[0] += v.x;
        total[1] += v.y;
        total[2] += v.z;
        total[3] += v.w;
      } else if constexpr (Place::kVector == 2) {
        const float2 v = *reinterpret_cast<const float2*>(part);
        total[0] += v.x;
        total[1] += v.y;
      } else {
        total[0] += *part;
      }
    }
#pragma unroll
    for (int i = 0; i < Place::kVector; ++i) {
      const bool is_token = shared.valid[stage][place.token(pass, i)] != 0;
      x[pass * Place::kVector + i] = is_token ? total[i] * scale_log2 : minus_infinity();
    }
  }
}

// Writes the weights of `x` relative to the thread's references. Returns whether a score exceeds its
// reference by more than the room; the weights are not to be used then.
template <class C>
__device__ __forceinline__ bool write_weights(SplitShared<C>& shared, const SoftmaxPlace<C>& place,
                                              SoftmaxThread<C>& thread,
                                              const float (&x)[SoftmaxPlace<C>::kCount], int tile_idx) {
  using Place = SoftmaxPlace<C>;
  std::uint16_t* p = shared.p[tile_idx & 1];
  bool exceeded = false;
#pragma unroll
  for (int h = 0; h < Place::kHeadsHere; ++h) thread.tile_sum[h] = thread.tile_rounded[h] = 0.0F;
#pragma unroll
  for (int i = 0; i < Place::kCount; i += Place::kHeadsHere) {
    float weight[2] = {};
#pragma unroll
    for (int h = 0; h < Place::kHeadsHere; ++h) {
      const float score = x[i + h];
      exceeded |= score > thread.reference[h] + kReferenceRoom;
      // A token that is none has weight 0 whatever the reference, which is -inf while there is none.
      weight[h] = score == minus_infinity() ? 0.0F : exp2_approx(score - thread.reference[h]);
      thread.tile_sum[h] += weight[h];
    }
    const int position = token_position(place.token(i / Place::kVector, i % Place::kVector));
    std::uint16_t* to = p + p_offset<C>(position, place.head / 8) + place.head % 8;
    const std::uint32_t pair =
        C::kP16IsBf16 ? pack_bf16x2(weight[0], weight[1]) : pack_f16x2(weight[0], weight[1]);
    if constexpr (C::kP16IsBf16) {
      const float2 rounded = unpack_bf16x2(pair);
      thread.tile_rounded[0] += rounded.x;
      if constexpr (Place::kHeadsHere == 2) thread.tile_rounded[1] += rounded.y;
    }
    if constexpr (Place::kHeadsHere == 2) {
      *reinterpret_cast<std::uint32_t*>(to) = pair;
    } else {
      *to = static_cast<std::uint16_t>(pair);
    }
  }
  return exceeded;
}

// Floats as integers of the same order, for atomicMax.
__device__ __forceinline__ std::int32_t ordered_bits(float x) {
  const std::int32_t bits = __float_as_int(x);
  return bits >= 0 ? bits : bits ^ 0x7FFF'FFFF;
}
__device__ __forceinline__ float from_ordered_bits(std::int32_t bits) {
  return __int_as_float(bits >= 0 ? bits : bits ^ 0x7FFF'FFFF);
}

// Puts each head's largest score of the tile into shared.tile_max. A maximum does not depend on the order
// of the atomics, so results stay the same from run to run.
template <class C>
__device__ __forceinline__ void find_tile_max(SplitShared<C>& shared, const SoftmaxPlace<C>& place,
                                              const float (&x)[SoftmaxPlace<C>::kCount]) {
  using Place = SoftmaxPlace<C>;
#pragma unroll
  for (int h = 0; h < Place::kHeadsHere; ++h) {
    float largest = minus_infinity();
#pragma unroll
    for (int i = h; i < Place::kCount; i += Place::kHeadsHere) largest = fmaxf(largest, x[i]);
#pragma unroll
    for (int bit = 1; bit < 32; bit <<= 1) {
      if ((Place::kTokenLaneMask & bit) != 0) {
        largest = fmaxf(largest, __shfl_xor_sync(~0U, largest, bit));
      }
    }
    if ((threadIdx.x & Place::kTokenLaneMask & 31U) == 0) {
      atomicMax(&shared.tile_max[place.head + h], ordered_bits(largest));
    }
  }
}

// The new reference of a head, and what everything relative to the old one is multiplied by.
struct RaisedReference {
  float value;
  float factor;
};
template <class C>
__device__ __forceinline__ RaisedReference raised_reference(const SplitShared<C>& shared, int head) {
  const float old = shared.reference[head];
  const float value = fmaxf(old, from_ordered_bits(shared.tile_max[head]));
  return {value, old == minus_infinity() ? 0.0F : exp2_approx(old - value)};
}

// Sums this thread's weights into its warp's shared.sums; heads that the warp has none of stay 0.
template <class C>
__device__ __forceinline__ void publish_sums(SplitShared<C>& shared, const SoftmaxPlace<C>& place,
                                             const SoftmaxThread<C>& thread, int warp) {
  using Place = SoftmaxPlace<C>;
  const auto publish = [&](float sum, int row, int head) {
#pragma unroll
    for (int bit = 1; bit < 32; bit <<= 1) {
      if ((Place::kTokenLaneMask & bit) != 0) sum += __shfl_xor_sync(~0U, sum, bit);
    }
    if ((threadIdx.x & Place::kTokenLaneMask & 31U) == 0) shared.sums[row][head] = sum;
  };
#pragma unroll
  for (int h = 0; h < Place::kHeadsHere; ++h) {
    publish(thread.sum[h], warp, place.head + h);
    if constexpr (C::kP16IsBf16) publish(thread.rounded[h], C::kComputeWarps + warp, place.head + h);
  }
}

}  // namespace wavefill::cuda
