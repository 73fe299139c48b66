// The tensors of one decode-attention call, as strided views over memory the caller owns.
//
// Strides are 64-bit and counted in elements (bytes for cache pages). The innermost dimension is
// contiguous. bf16 values are passed as their 16 bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wavefill/export.h"
#include "wavefill/shape.h"

namespace wavefill {

using Bf16Bits = std::uint16_t;

struct QueryView {
  const Bf16Bits* data = nullptr;  // bf16 [batch, s_q, num_heads, d_qk]
  std::int64_t stride_batch = 0;
  std::int64_t stride_s_q = 0;
  std::int64_t stride_head = 0;
};

struct KvCacheView {
  const std::byte* data = nullptr;  // [num_pages] pages of page_size tokens in the shape's kv_format
  std::int64_t num_pages = 0;
  std::int32_t page_size = 0;          // tokens a page, >= 1
  std::int64_t page_stride_bytes = 0;  // >= min_page_stride_bytes()

  std::int64_t num_tokens() const { return num_pages * page_size; }
};

// Token indices: page * page_size + offset. -1 (any negative value) means no token, and may stand
// anywhere. Columns at or beyond the row's length are never read as tokens.
struct IndexView {
  const std::int32_t* data = nullptr;  // int32 [batch, s_q, topk]
  std::int64_t stride_batch = 0;
  std::int64_t stride_s_q = 0;
};

// How many leading columns of a row count. data == nullptr: all of them. stride_s_q == 0 gives
// one length to all query tokens of a request.
struct LengthView {
  const std::int32_t* data = nullptr;  // int32 [batch, s_q], 0..topk
  std::int64_t stride_batch = 0;
  std::int64_t stride_s_q = 0;
};

struct SparseCache {
  KvCacheView kv;
  IndexView indices;
  LengthView lengths;
};

struct OutputView {
  Bf16Bits* data = nullptr;  // bf16 [batch, s_q, num_heads, 512]
  std::int64_t stride_batch = 0;
  std::int64_t stride_s_q = 0;
  std::int64_t stride_head = 0;
};

// log-sum-exp of the scaled scores: natural logarithm, sink excluded, -inf for a row with no keys.
struct LseView {
  float* data = nullptr;  // fp32 [batch, s_q, num_heads]; nullptr = not wanted
  std::int64_t stride_batch = 0;
  std::int64_t stride_s_q = 0;
  std::int64_t stride_head = 1;
};

// out_h = sum_j e^{s_j} v_j / (sum_j e^{s_j} + e^{sink_h}) over the tokens of both caches, with
// s_j = sm_scale * (q_h . k_j). A row with no keys gives out = 0.
struct DecodeArgs {
  DecodeShape shape;
  QueryView q;
  SparseCache main;             // the window cache (`indices`, `topk_length` in FlashMLA)
  SparseCache extra;            // the compressed cache; ignored when shape.extra_topk == 0
  const float* sink = nullptr;  // fp32 [num_heads], natural-log logits; nullptr = no sink
  float sm_scale = 0.0F;        // > 0 and finite; 512^-0.5 for DeepSeek-V4
  OutputView out;
  LseView lse;
  void* workspace = nullptr;  // at least Decoder::workspace_bytes(plan), 256-byte aligned
  std::size_t workspace_size_bytes = 0;
  bool check_indices = false;  // an index at or beyond the pool is an error instead of undefined
  // Where Decoder::prepare() wrote the plan; nullptr: the call carries it, by the workspace if need be.
  const void* plan_memory = nullptr;
};

// Contiguous views of a shape: the strides a freshly allocated tensor has.
WAVEFILL_API QueryView contiguous_query(const DecodeShape& shape, const Bf16Bits* data);
WAVEFILL_API OutputView contiguous_output(const DecodeShape& shape, Bf16Bits* data);
WAVEFILL_API LseView contiguous_lse(const DecodeShape& shape, float* data);
WAVEFILL_API IndexView contiguous_indices(const DecodeShape& shape, const std::int32_t* data, int topk);
WAVEFILL_API LengthView contiguous_lengths(const DecodeShape& shape, const std::int32_t* data);

// Checks everything that can be checked without reading device memory: pointers, strides, page
// sizes, scale. Errors: invalid_argument, naming the field.
WAVEFILL_API Status validate(const DecodeArgs& args);

}  // namespace wavefill
