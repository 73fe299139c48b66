// Brings tokens near before they are needed.
//
// A core has few places for lines on their way from memory, and tile loads and dequantising, which live on
// the second-level cache, need them too. Prefetches in one go, with nothing else under way, cost less than
// prefetches spread over the other work hide (docs/kernels/cpu.md).
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "backend_cpu/amx/layout.h"
#include "backend_cpu/token_walk.h"

namespace wavefill::cpu::amx {

// The chunks of an item in order. Three are known: the one being scored, the one being dequantised, and the
// one being prefetched.
class Chunks {
 public:
  Chunks(TokenWalk& walk, const ByteMap& map, Scratch& scratch) : walk_(walk), map_(map), scratch_(scratch) {
    for (int i = 0; i < 3; ++i) lists_[i] = walk_.next(scratch_.tokens[i]);
  }

  // Empty behind the end.
  std::span<const TokenAddress> current() const { return lists_[at_]; }
  std::span<const TokenAddress> next() const { return lists_[(at_ + 1) % 3]; }

  void advance() {
    lists_[at_] = walk_.next(scratch_.tokens[at_]);
    at_ = (at_ + 1) % 3;
  }

  // Into the second-level cache: the current, the next, or the chunk after that.
  void prefetch_current() const { prefetch(current()); }
  void prefetch_next() const { prefetch(next()); }
  void prefetch_ahead() const { prefetch(lists_[(at_ + 2) % 3]); }

 private:
  // In assembly, because g++ 12 takes a function that only prefetches for one without effect and drops its
  // calls.
  static void prefetch_line(std::uintptr_t address) {
    asm volatile("prefetcht1 %0" : : "m"(*reinterpret_cast<const char*>(address)));
  }

  void prefetch(std::span<const TokenAddress> tokens) const {
    for (const TokenAddress& token : tokens) prefetch(token);
  }

  void prefetch(const TokenAddress& token) const {
    constexpr auto kLine = static_cast<std::uintptr_t>(kCacheLineBytes);
    const auto begin = reinterpret_cast<std::uintptr_t>(token.data);
    const std::uintptr_t end = begin + static_cast<std::uintptr_t>(map_.data_bytes);
    for (std::uintptr_t line = begin / kLine * kLine; line < end; line += kLine) {
      prefetch_line(line);
    }
    if (map_.scale_place == ScalePlace::footer) {
      prefetch_line(reinterpret_cast<std::uintptr_t>(token.scales));
    }
  }

  TokenWalk& walk_;
  const ByteMap& map_;
  Scratch& scratch_;
  std::array<std::span<const TokenAddress>, 3> lists_;
  int at_ = 0;
};

}  // namespace wavefill::cpu::amx
