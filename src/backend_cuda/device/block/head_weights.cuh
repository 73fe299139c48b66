// The softmax of a consumer thread's two heads: from a tile's scores to weights P, relative to references
// that rise only when a score exceeds them by more than 8 in base 2.
#pragma once

#include <cstdint>

#include "backend_cuda/device/block/softmax.cuh"
#include "backend_cuda/device/block/wgmma_config.cuh"
#include "backend_cuda/device/ptx/convert.cuh"

namespace wavefill::cuda {

template <class C>
class HeadWeights {
 public:
  static constexpr int kScores = C::kTile / 2;  // a thread's, of two heads
  static constexpr int kSteps = C::kTile / 16;

  float reference[2];
  float sum[2];      // of the weights made here
  float rounded[2];  // the same as P has them

  __device__ __forceinline__ void clear() {
    reference[0] = reference[1] = minus_infinity();
    sum[0] = sum[1] = rounded[0] = rounded[1] = 0.0F;
  }

  // The new references, and what everything relative to the old ones is to be multiplied by.
  __device__ __forceinline__ void raise(const float (&to)[2], float (&factor)[2]) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      factor[r] = reference[r] == to[r] ? 1.0F : exp2_approx(reference[r] - to[r]);
      reference[r] = to[r];
      sum[r] *= factor[r];
      rounded[r] *= factor[r];
    }
  }

  // Makes weights of a tile's scores s, unscaled, adds them to `sum` and packs them as an A operand. Returns
  // whether references were raised, by `factor` then.
  __device__ __forceinline__ bool weigh(float (&s)[kScores], std::uint32_t (&p)[kSteps][4],
                                        float (&factor)[2], const TokenMarks& tokens, float scale_log2,
                                        int lane) {
    const float scale = fabsf(scale_log2);
    if (scale_log2 < 0.0F) {
#pragma unroll
      for (int i = 0; i < kScores; ++i) s[i] = -s[i];
    }
    mask(s, tokens, lane);
    const bool is_raised = follow(s, scale, factor);
#pragma unroll
    for (int i = 0; i < kScores; ++i) {
      // -inf relative to -inf, where no token was met yet, is a weight of 0.
      const float relative_to = reference[i / 2 % 2] == minus_infinity() ? 0.0F : reference[i / 2 % 2];
      s[i] = exp2_approx(fmaf(s[i], scale, -relative_to));
      sum[i / 2 % 2] += s[i];
    }
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        p[step][i] = pack_bf16x2(s[8 * step + 2 * i], s[8 * step + 2 * i + 1]);
      }
    }
    return is_raised;
  }

  // Adds to `rounded` what weigh() packed. Apart, because nobody waits for it.
  __device__ __forceinline__ void add_rounded(const std::uint32_t (&p)[kSteps][4]) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float2 pair = unpack_bf16x2(p[step][i]);
        rounded[i % 2] += pair.x + pair.y;
      }
    }
  }

 private:
  static constexpr float kRoom = 8.0F;

  // -inf for tokens that are none, NaN for those that have one; mostly there is neither.
  __device__ __forceinline__ static void mask(float (&s)[kScores], const TokenMarks& tokens, int lane) {
    if (tokens.are_usual()) return;
    const int bit = lane % 4 * 8;  // of this lane's first token of eight
#pragma unroll
    for (int i = 0; i < kScores; ++i) {
      const std::uint32_t token = tokens.words[i / 4] >> (bit + i % 2 * 4);
      if ((token & 3U) != 3U) s[i] = (token & 1U) != 0 ? __int_as_float(0x7FC0'0000) : minus_infinity();
    }
  }

  // Raises the references where a score has left their room; the same in the four lanes of a head.
  __device__ __forceinline__ bool follow(const float (&s)[kScores], float scale, float (&factor)[2]) {
    float largest[2] = {s[0], s[2]};
#pragma unroll
    for (int i = 0; i < kScores; ++i) largest[i / 2 % 2] = fmaxf(largest[i / 2 % 2], s[i]);
    largest[0] *= scale;
    largest[1] *= scale;
    const bool is_raised =
        __any_sync(~0U, largest[0] > reference[0] + kRoom || largest[1] > reference[1] + kRoom);
    if (is_raised) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        largest[r] = fmaxf(largest[r], __shfl_xor_sync(~0U, largest[r], 1));
        largest[r] = fmaxf(largest[r], __shfl_xor_sync(~0U, largest[r], 2));
        largest[r] = fmaxf(largest[r], reference[r]);
      }
      raise(largest, factor);
    }
    return is_raised;
  }
};

}  // namespace wavefill::cuda
