// Brings tokens near before they are needed.
#pragma once

#include <cstdint>
#include <span>

#include "backend_cpu/kernel.h"
#include "backend_cpu/token_walk.h"

namespace wavefill::cpu::amx {

// In assembly, because g++ 12 takes a function that only prefetches for one without effect and drops its
// calls.
inline void prefetch_line(std::uintptr_t address) {
  asm volatile("prefetcht1 %0" : : "m"(*reinterpret_cast<const char*>(address)));
}

// Into the second-level cache, all in one go: a core has few places for lines on their way from memory, and
// tile loads and dequantising, which live on the second-level cache, need them too. Spread over other work,
// prefetches cost more than they hide (docs/kernels/cpu.md).
inline void prefetch(const ByteMap& map, std::span<const TokenAddress> tokens) {
  constexpr auto kLine = static_cast<std::uintptr_t>(kCacheLineBytes);
  for (const TokenAddress& token : tokens) {
    const auto begin = reinterpret_cast<std::uintptr_t>(token.data);
    const std::uintptr_t end = begin + static_cast<std::uintptr_t>(map.data_bytes);
    for (std::uintptr_t line = begin / kLine * kLine; line < end; line += kLine) prefetch_line(line);
    if (map.scale_place == ScalePlace::footer) prefetch_line(reinterpret_cast<std::uintptr_t>(token.scales));
  }
}

}  // namespace wavefill::cpu::amx
