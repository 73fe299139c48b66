#include "measure/rotating_cache.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "core/errors.h"

namespace wavefill {

Status RotatingCache::prepare(const DecodeShape& shape, const KvCacheView& pattern, const Options& options) {
  view_ = {};
  set_elements_ = shape.rows() * options.topk;
  indices_.clear();
  if (options.topk == 0) return {};
  WAVEFILL_RETURN_IF_ERROR(reserve(shape, pattern, options.pages_per_set * options.num_sets));
  view_.kv = pool_->view();
  view_.indices = contiguous_indices(shape, nullptr, options.topk);
  draw_index_sets(options);
  return {};
}

SparseCache RotatingCache::view(std::int32_t set) const {
  SparseCache view = view_;
  if (view.kv.data != nullptr) view.indices.data = indices_.data() + set * set_elements_;
  return view;
}

Status RotatingCache::reserve(const DecodeShape& shape, const KvCacheView& pattern, std::int64_t num_pages) {
  const bool reusable = pool_ && pool_->options().format == shape.kv_format &&
                        pool_->options().d_qk == shape.d_qk && pool_->options().num_pages >= num_pages;
  if (reusable) return {};
  // Sets of the next batch may need a few pages more, and filling a pool takes a second.
  constexpr std::int64_t kSpareShare = 8;
  pool_.reset();  // before the next one is taken: there may not be memory for both
  num_pages += num_pages / kSpareShare;
  auto pool = PagePool::create({.format = shape.kv_format,
                                .d_qk = shape.d_qk,
                                .page_size = kPageSize,
                                .page_stride_bytes = pattern.page_stride_bytes,
                                .num_pages = num_pages});
  if (!pool.ok()) return pool.status();
  pool_.emplace(std::move(*pool));
  ++pools_made_;
  for (std::int64_t page = 0; page < num_pages; ++page) {
    std::memcpy(pool_->mutable_view().data + page * pattern.page_stride_bytes,
                pattern.data + page % pattern.num_pages * pattern.page_stride_bytes,
                static_cast<std::size_t>(pattern.page_stride_bytes));
  }
  return {};
}

void RotatingCache::draw_index_sets(const Options& options) {
  std::mt19937_64 generator(options.seed);
  std::vector<std::int32_t> pages(static_cast<std::size_t>(options.pages_per_set * options.num_sets));
  std::iota(pages.begin(), pages.end(), 0);
  std::ranges::shuffle(pages, generator);
  indices_.resize(static_cast<std::size_t>(set_elements_ * options.num_sets));
  std::vector<std::int32_t> tokens;
  for (std::int32_t set = 0; set < options.num_sets; ++set) {
    tokens.clear();
    for (std::int64_t at = set * options.pages_per_set; at < (set + 1) * options.pages_per_set; ++at) {
      const std::int32_t first = pages[static_cast<std::size_t>(at)] * kPageSize;
      for (std::int32_t offset = 0; offset < kPageSize; ++offset) tokens.push_back(first + offset);
    }
    if (options.order == Order::shuffled) std::ranges::shuffle(tokens, generator);
    std::copy_n(tokens.begin(), set_elements_, indices_.begin() + set * set_elements_);
  }
}

}  // namespace wavefill
