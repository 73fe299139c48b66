// Host memory for one call: random but realistic tensors of a Case, or of a benchmark's pool.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/huge_pages.h"
#include "oracle/case.h"
#include "wavefill/decode_args.h"

namespace wavefill::oracle {

// A pool that several index sets share: what timing needs to keep caches cold.
struct PoolSpec {
  DecodeShape shape;
  std::int32_t page_size = 64;
  std::int32_t extra_page_size = 64;
  std::int64_t page_padding_bytes = 0;
  std::int64_t pool_tokens = 1024;        // main cache, rounded up to whole pages
  std::int64_t extra_pool_tokens = 1024;  // extra cache
  std::int32_t num_index_sets = 1;        // independent draws of every row's indices
  Sink sink = Sink::random;
  // [rows] each, or empty: topk (extra_topk) everywhere.
  std::vector<std::int32_t> lengths;
  std::vector<std::int32_t> extra_lengths;
  std::uint64_t seed = 1;
};

// Owns every buffer that args() points to. Not copyable; views stay valid when it is moved.
class Inputs {
 public:
  using PoolBytes = std::vector<std::byte, HugePageAllocator<std::byte>>;

  explicit Inputs(const Case& test_case);

  // Rows get full lengths or those given, valid random indices, contiguous strides. q and the outputs are
  // shared by all index sets.
  explicit Inputs(const PoolSpec& spec);

  Inputs(Inputs&&) noexcept = default;
  Inputs& operator=(Inputs&&) noexcept = default;
  Inputs(const Inputs&) = delete;
  Inputs& operator=(const Inputs&) = delete;

  // Views of host memory, without a workspace. out and lse hold NaN until something writes them.
  DecodeArgs args(std::int32_t index_set = 0);

  std::int32_t num_index_sets() const { return num_index_sets_; }

  // [rows] what a planner is given; empty where the args have no length tensor.
  std::span<const std::int32_t> row_lengths() const { return row_lengths_; }
  std::span<const std::int32_t> extra_row_lengths() const { return extra_row_lengths_; }

  // Bytes of cache that the rows of one index set name, counting a token once per row and column.
  std::int64_t kv_bytes_per_set() const { return kv_bytes_per_set_; }

  // NaN into out and lse, gaps included.
  void poison_outputs();

  // Whether the gaps of a strided output still hold the poison: nobody wrote beyond its row.
  bool gaps_intact() const;

  // The buffers behind args(), for copying to a device: same offsets there give the same call.
  std::span<const Bf16Bits> q_buffer() const { return q_; }
  std::span<const std::byte> kv_buffer() const { return main_.pool; }
  std::span<const std::byte> extra_kv_buffer() const { return extra_.pool; }
  std::span<const std::int32_t> index_buffer() const { return main_.indices; }  // of all index sets
  std::span<const std::int32_t> extra_index_buffer() const { return extra_.indices; }
  std::span<const std::int32_t> length_buffer() const { return main_.lengths; }
  std::span<const std::int32_t> extra_length_buffer() const { return extra_.lengths; }
  std::span<const float> sink_buffer() const { return sink_; }
  std::span<Bf16Bits> out_buffer() { return out_; }
  std::span<float> lse_buffer() { return lse_; }

 private:
  struct CacheBuffers {
    PoolBytes pool;
    std::vector<std::int32_t> indices;  // [num_index_sets] blocks of args' index tensor
    std::vector<std::int32_t> lengths;
    std::int64_t index_set_elements = 0;
    SparseCache view;  // data pointers null: filled in by args()
  };

  void build(const Case& c, std::span<const std::int32_t> lengths,
             std::span<const std::int32_t> extra_lengths);
  void build_query_and_outputs(const Case& c);
  SparseCache view_of(const CacheBuffers& buffers, std::int32_t index_set) const;

  DecodeArgs template_;
  std::int32_t num_index_sets_ = 1;
  std::int64_t kv_bytes_per_set_ = 0;
  std::vector<std::int32_t> row_lengths_;
  std::vector<std::int32_t> extra_row_lengths_;
  std::vector<Bf16Bits> q_;
  CacheBuffers main_;
  CacheBuffers extra_;
  std::vector<float> sink_;
  std::vector<Bf16Bits> out_;
  std::vector<float> lse_;
};

}  // namespace wavefill::oracle
