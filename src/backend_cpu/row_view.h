// Where one row's tensors start, and what stands in them.
#pragma once

#include <cstdint>
#include <limits>

#include "core/softmax_state.h"
#include "wavefill/decode_args.h"

namespace wavefill::cpu {

struct RowPlace {
  std::int64_t batch = 0;
  std::int64_t s_q = 0;
};

inline RowPlace place_of(const DecodeShape& shape, std::int64_t row) {
  return {.batch = row / shape.s_q, .s_q = row % shape.s_q};
}

template <typename View>
std::int64_t row_offset(const View& view, RowPlace place) {
  return place.batch * view.stride_batch + place.s_q * view.stride_s_q;
}

// The row's columns that count: indices[0 .. length).
struct RowColumns {
  const std::int32_t* indices = nullptr;
  std::int32_t length = 0;
};

inline RowColumns columns_of(const SparseCache& cache, std::int32_t topk, RowPlace place) {
  if (topk == 0) return {};
  return {
      .indices = cache.indices.data + row_offset(cache.indices, place),
      .length = cache.lengths.data == nullptr ? topk : cache.lengths.data[row_offset(cache.lengths, place)]};
}

// Where one head's results go.
inline Bf16Bits* out_of(const DecodeArgs& args, RowPlace place, int head) {
  return args.out.data + row_offset(args.out, place) + head * args.out.stride_head;
}

inline void store_lse(const DecodeArgs& args, RowPlace place, int head, float lse_log2) {
  if (args.lse.data == nullptr) return;
  args.lse.data[row_offset(args.lse, place) + head * args.lse.stride_head] = lse_log2 * kLn2;
}

inline float sink_log2(const DecodeArgs& args, int head) {
  return args.sink == nullptr ? -std::numeric_limits<float>::infinity() : args.sink[head] * kLog2E;
}

}  // namespace wavefill::cpu
