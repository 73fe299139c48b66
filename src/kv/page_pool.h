// The memory of a paged KV cache and who holds which page of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kv/token_codec.h"
#include "wavefill/decode_args.h"
#include "wavefill/kv_format.h"
#include "wavefill/status.h"

namespace wavefill {

// Which pages are free: bookkeeping only, whatever memory the pages lie in. Not thread-safe; one owner.
class PageAllocator {
 public:
  explicit PageAllocator(std::int32_t num_pages);

  std::int32_t num_pages() const { return static_cast<std::int32_t>(in_use_.size()); }
  std::int32_t num_free() const { return static_cast<std::int32_t>(free_.size()); }

  // `count` pages that nobody else holds. The pages freed last come first, since they are the likeliest to
  // be in a cache; a fresh allocator hands out 0, 1, 2, ...
  // Errors: invalid_argument (count < 0), resource_exhausted; either changes nothing.
  Result<std::vector<std::int32_t>> allocate(std::int32_t count);

  // Errors: invalid_argument (a page out of range, not in use, or named twice); frees none of them.
  Status free(std::span<const std::int32_t> pages);

 private:
  std::vector<std::int32_t> free_;  // a stack: the next page to hand out is its back
  std::vector<bool> in_use_;
};

struct PagePoolOptions {
  KvFormat format = KvFormat::fp8_tile64_rope_bf16_footer;
  std::int32_t d_qk = 512;
  std::int32_t page_size = 64;         // tokens a page
  std::int64_t page_stride_bytes = 0;  // 0 = the least; else any larger figure, for padded pages
  std::int64_t num_pages = 0;
};

// A pool of pages in host memory. The memory starts as zeros, taken from the system as it is touched, in huge
// pages where it grants them;
// a freed page keeps its bytes. Movable; views stay valid until the pool is destroyed.
class PagePool {
 public:
  // Errors: invalid_argument (a field out of range; more than 2^31 tokens, which int32 indices cannot
  // name), resource_exhausted (memory).
  static Result<PagePool> create(const PagePoolOptions& options);

  const PagePoolOptions& options() const { return options_; }  // page_stride_bytes filled in
  PageAllocator& pages() { return pages_; }
  const PageAllocator& pages() const { return pages_; }
  KvCacheView view() const { return mutable_view_.as_const(); }
  const MutableKvCacheView& mutable_view() { return mutable_view_; }

 private:
  struct Unmap {
    std::size_t size_bytes = 0;
    void operator()(std::byte* memory) const;
  };
  using Memory = std::unique_ptr<std::byte, Unmap>;

  PagePool(const PagePoolOptions& options, Memory memory);

  PagePoolOptions options_;
  Memory memory_;
  MutableKvCacheView mutable_view_;
  PageAllocator pages_;
};

}  // namespace wavefill
