// What kernels are launched with: plain data, shapes beside the pointers. No CUDA types, so that the host
// side compiles without the toolkit's headers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wavefill::cuda {

// x / divisor for 0 <= x < 2^31 as one multiplication: with L = ceil(log2 d) and m = ceil(2^(31+L) / d),
// the error m d - 2^(31+L) is below d <= 2^L, so x times it stays below 2^(31+L) and the floor is exact.
struct FastDivisor {
  std::uint32_t divisor = 1;
  std::uint32_t multiplier = 1U << 31;
  std::uint32_t shift = 31;
};

constexpr FastDivisor make_fast_divisor(std::uint32_t divisor) {
  std::uint32_t log2 = 0;
  while ((std::uint64_t{1} << log2) < divisor) ++log2;
  const std::uint64_t power = std::uint64_t{1} << (31 + log2);
  return {divisor, static_cast<std::uint32_t>((power + divisor - 1) / divisor), 31 + log2};
}

struct CacheParams {
  const std::byte* data = nullptr;        // [num_pages] pages, page_stride_bytes apart
  const std::int32_t* indices = nullptr;  // int32 [batch, s_q, topk]
  const std::int32_t* lengths = nullptr;  // int32 [batch, s_q]; nullptr: topk everywhere
  std::int64_t page_stride_bytes = 0;
  std::int64_t footer_offset_bytes = 0;  // from a page's begin to its scales, if they stand in a footer
  std::int64_t indices_stride_batch = 0;
  std::int64_t indices_stride_s_q = 0;
  std::int64_t lengths_stride_batch = 0;
  std::int64_t lengths_stride_s_q = 0;
  std::int64_t num_tokens = 0;  // of the pool
  FastDivisor page_size;
  std::int32_t topk = 0;
};

// wavefill::WorkItem as kernels read it.
struct PlanItem {
  std::int32_t row;
  std::int32_t head_tile;
  std::int32_t tile_begin;
  std::int32_t tile_end;
  std::int32_t partial_idx;
};

inline constexpr int kMaxUniformSplits = 64;
inline constexpr int kMaxClusterSplits = 10;

// Either a plan in device memory, or (items == nullptr) one that needs none: every row is cut at the same
// tiles. The split of row first_row + r is item (r * num_splits + split) * num_head_tiles + head_tile, and
// the row's partials are r * num_splits + split (none if num_splits == 1). The items are dealt to however
// many CTAs there are.
//
// A kernel whose rows are clusters (C::kRowIsCluster) takes the second form with num_splits >= 2, as clusters
// of num_splits CTAs: CTA `split` of cluster r * num_head_tiles + head_tile has that item, and there are no
// partials.
struct PlanParams {
  const PlanItem* items = nullptr;                  // [num_items]
  const std::int32_t* worker_begin = nullptr;       // [num_workers + 1]
  const std::int32_t* row_partial_begin = nullptr;  // [rows + 1]
  std::int32_t first_row = 0;                       // of the second form, like all that follows
  std::int32_t num_items = 0;
  std::int32_t num_splits = 1;
  std::int32_t num_head_tiles = 1;
  std::int32_t tile_begin[kMaxUniformSplits + 1] = {};  // [num_splits + 1]
};

// What a partial has of one head beside its values.
struct alignas(8) PartialHead {
  float lse_log2;            // base 2; -inf: no keys, and values that were never written
  std::int16_t exponent[2];  // of each half of the dims: a value is its fp16 times 2^exponent
};

struct OutputParams {
  std::uint16_t* out = nullptr;  // bf16 [batch, s_q, num_heads, 512]
  float* lse = nullptr;          // fp32 [batch, s_q, num_heads]; nullptr: not wanted
  const float* sink = nullptr;   // fp32 [num_heads]; nullptr: none
  std::int64_t out_stride_batch = 0;
  std::int64_t out_stride_s_q = 0;
  std::int64_t out_stride_head = 0;
  std::int64_t lse_stride_batch = 0;
  std::int64_t lse_stride_s_q = 0;
  std::int64_t lse_stride_head = 0;
  std::uint16_t* o_partial = nullptr;    // fp16 [num_partials, num_heads, 512], divided by their sums
  PartialHead* partial_heads = nullptr;  // [num_partials, num_heads]
  FastDivisor s_q;
  std::int32_t num_heads = 0;
};

// What one warp of a CTA that merges in its workers (C::kWorkerMerges) leaves of a piece of a row: 16 heads
// of half of the dims, in the order in which its lanes have them.
struct alignas(16) WarpPartial {
  static constexpr int kVectors = 16;
  static constexpr int kHeads = 16;

  struct Head {
    float lse_log2;  // -inf: no keys, and values that may be anything
    float unit;      // 2^n: a value is its fp16 times this
  };

  std::uint32_t values[kVectors][32][4];  // fp16, divided by their sums
  Head heads[kHeads];
  std::uint64_t call;  // WorkerMergeParams::call: all of it is there; whoever reads it clears it
};

struct WorkerMergeParams {
  WarpPartial* partials = nullptr;  // [num_partials, num_head_tiles, warps]
  std::uint64_t call = 0;           // no other call has it, and no workspace holds it by chance
};

struct SplitParams {
  CacheParams caches[2];             // main, extra
  const std::uint16_t* q = nullptr;  // bf16 [batch, s_q, num_heads, d_qk]
  std::int64_t q_stride_batch = 0;
  std::int64_t q_stride_s_q = 0;
  std::int64_t q_stride_head = 0;
  float scale_log2 = 0.0F;      // sm_scale * log2 e
  std::int32_t aligned_16 = 1;  // 0: cached rows begin at multiples of 8 bytes only
  OutputParams output;
  PlanParams plan;
  WorkerMergeParams merge;
};

struct CombineParams {
  OutputParams output;
  PlanParams plan;
};

}  // namespace wavefill::cuda
