// Large buffers on large pages. Attention reads tokens at random places, two pages each (data and scales): on
// pages of 4 KiB nearly every one of them costs a walk of the page table.
#pragma once

#include <cstddef>
#include <limits>
#include <new>

namespace wavefill {

inline constexpr std::size_t kHugePageBytes = std::size_t{1} << 21;

// Asks the system to back the memory with huge pages as it is touched. A hint: nothing happens where there
// are none, where they are forbidden, or where the memory holds no whole one.
void advise_huge_pages(void* memory, std::size_t size_bytes);

// For containers whose buffers are then read at random. Buffers below two huge pages are ordinary ones.
template <typename T>
class HugePageAllocator {
 public:
  using value_type = T;

  HugePageAllocator() = default;
  template <typename U>
  HugePageAllocator(const HugePageAllocator<U>& /*other*/) {}

  T* allocate(std::size_t count) {
    if (count > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw std::bad_array_new_length();
    const std::size_t size_bytes = count * sizeof(T);
    void* memory = ::operator new(size_bytes, alignment_of(size_bytes));
    advise_huge_pages(memory, size_bytes);
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t count) {
    ::operator delete(memory, alignment_of(count * sizeof(T)));
  }

  template <typename U>
  bool operator==(const HugePageAllocator<U>& /*other*/) const {
    return true;
  }

 private:
  static std::align_val_t alignment_of(std::size_t size_bytes) {
    return std::align_val_t{size_bytes >= 2 * kHugePageBytes ? kHugePageBytes : alignof(std::max_align_t)};
  }
};

}  // namespace wavefill
