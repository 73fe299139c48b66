#include "kv/page_pool.h"

#include <sys/mman.h>

#include <numeric>
#include <utility>

#include "core/errors.h"
#include "core/huge_pages.h"

namespace wavefill {
namespace {

// Token indices are int32, so the last token of a pool is at most 2^31 - 1.
constexpr std::int64_t kMaxTokens = std::int64_t{1} << 31;

Status validate(const PagePoolOptions& options) {
  WAVEFILL_RETURN_IF_ERROR(check_d_qk(options.format, options.d_qk));
  if (options.page_size < 1) return invalid_argument("page_size is {}; allowed: >= 1", options.page_size);
  if (options.num_pages < 0 || options.num_pages > kMaxTokens / options.page_size) {
    return invalid_argument("num_pages is {}; allowed for pages of {} tokens: 0..{} (2^31 tokens)",
                            options.num_pages, options.page_size, kMaxTokens / options.page_size);
  }
  if (options.num_pages > INT32_MAX) {
    return invalid_argument("num_pages is {}; allowed: 0..{}", options.num_pages, INT32_MAX);
  }
  const std::int64_t least = min_page_stride_bytes(options.format, options.d_qk, options.page_size);
  const std::int64_t most = INT64_MAX / (options.num_pages + 1);
  if (options.page_stride_bytes != 0 &&
      (options.page_stride_bytes < least || options.page_stride_bytes > most)) {
    return invalid_argument("page_stride_bytes is {}; allowed: 0 (the least) or {}..{}",
                            options.page_stride_bytes, least, most);
  }
  return {};
}

}  // namespace

PageAllocator::PageAllocator(std::int32_t num_pages) : free_(num_pages), in_use_(num_pages, false) {
  std::iota(free_.rbegin(), free_.rend(), 0);
}

Result<std::vector<std::int32_t>> PageAllocator::allocate(std::int32_t count) {
  if (count < 0) return invalid_argument("count is {}; allowed: >= 0", count);
  if (count > num_free()) {
    return make_status(StatusCode::resource_exhausted, "{} pages wanted; {} of {} are free", count,
                       num_free(), num_pages());
  }
  std::vector<std::int32_t> pages(free_.rbegin(), free_.rbegin() + count);
  free_.resize(free_.size() - count);
  for (const std::int32_t page : pages) in_use_[page] = true;
  return pages;
}

Status PageAllocator::free(std::span<const std::int32_t> pages) {
  for (std::size_t i = 0; i < pages.size(); ++i) {
    const std::int32_t page = pages[i];
    if (page >= 0 && page < num_pages() && in_use_[page]) {
      in_use_[page] = false;  // so that a second mention of the page in `pages` is seen
      continue;
    }
    for (const std::int32_t undone : pages.first(i)) in_use_[undone] = true;
    if (page < 0 || page >= num_pages()) {
      return invalid_argument("page is {}; allowed: 0..{}", page, num_pages() - 1);
    }
    return invalid_argument("page {} is not in use; allowed: pages allocated and not freed since", page);
  }
  free_.insert(free_.end(), pages.rbegin(), pages.rend());
  return {};
}

void PagePool::Unmap::operator()(std::byte* memory) const { munmap(memory, size_bytes); }

PagePool::PagePool(const PagePoolOptions& options, Memory memory)
    : options_(options),
      memory_(std::move(memory)),
      mutable_view_{.data = memory_.get(),
                    .num_pages = options.num_pages,
                    .page_size = options.page_size,
                    .page_stride_bytes = options.page_stride_bytes},
      pages_(static_cast<std::int32_t>(options.num_pages)) {}

Result<PagePool> PagePool::create(const PagePoolOptions& options) {
  WAVEFILL_RETURN_IF_ERROR(validate(options));
  PagePoolOptions filled = options;
  if (filled.page_stride_bytes == 0) {
    filled.page_stride_bytes = min_page_stride_bytes(options.format, options.d_qk, options.page_size);
  }
  const auto size_bytes = static_cast<std::size_t>(filled.page_stride_bytes * filled.num_pages);
  if (size_bytes == 0) return PagePool(filled, Memory(nullptr, Unmap{}));
  void* memory = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return make_status(StatusCode::resource_exhausted, "{} bytes for {} pages cannot be had", size_bytes,
                       filled.num_pages);
  }
  advise_huge_pages(memory, size_bytes);
  return PagePool(filled, Memory(static_cast<std::byte*>(memory), Unmap{size_bytes}));
}

}  // namespace wavefill
