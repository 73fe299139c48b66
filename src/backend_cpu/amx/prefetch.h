// Brings tokens near before they are needed.
#pragma once

#include <immintrin.h>

#include <array>
#include <span>

#include "backend_cpu/amx/layout.h"
#include "backend_cpu/token_walk.h"

namespace wavefill::cpu::amx {

// The chunks of an item in order: a window of them is known, and is prefetched a token at a time. A core has
// few places for lines under way, and loads need them too, so prefetches are spread over all the work on a
// chunk.
class Chunks {
 public:
  Chunks(TokenWalk& walk, const ByteMap& map, Scratch& scratch) : walk_(walk), map_(map), scratch_(scratch) {
    for (int chunk = 0; chunk < kKnownChunks - 1; ++chunk) learn();
  }

  // The chunk at work, and the one after it; empty behind the end.
  std::span<const TokenAddress> current() const { return lists_[at_]; }
  std::span<const TokenAddress> next() const { return lists_[(at_ + 1) % kKnownChunks]; }

  void advance() {
    learn();
    at_ = (at_ + 1) % kKnownChunks;
  }

  // The next token that nobody asked for yet goes to the second-level cache.
  void prefetch_token() {
    if (prefetch_token_ == lists_[prefetch_chunk_].size()) {
      const int following = (prefetch_chunk_ + 1) % kKnownChunks;
      if (following == end_) return;
      prefetch_chunk_ = following;
      prefetch_token_ = 0;
      if (lists_[following].empty()) return;
    }
    prefetch(lists_[prefetch_chunk_][prefetch_token_++]);
  }

 private:
  // Position end_ is free: it is behind the last known chunk, and before the current one.
  void learn() {
    lists_[end_] = walk_.next(scratch_.tokens[end_]);
    end_ = (end_ + 1) % kKnownChunks;
  }

  void prefetch(const TokenAddress& token) const {
    for (int line = 0; line < map_.data_bytes; line += static_cast<int>(kCacheLineBytes)) {
      _mm_prefetch(reinterpret_cast<const char*>(token.data + line), _MM_HINT_T1);
    }
    // A token rarely begins with a line, so that its last bytes are in one more.
    _mm_prefetch(reinterpret_cast<const char*>(token.data + map_.data_bytes - 1), _MM_HINT_T1);
    _mm_prefetch(reinterpret_cast<const char*>(token.scales), _MM_HINT_T1);
  }

  TokenWalk& walk_;
  const ByteMap& map_;
  Scratch& scratch_;
  std::array<std::span<const TokenAddress>, kKnownChunks> lists_;
  int at_ = 0;
  int end_ = 0;
  int prefetch_chunk_ = 0;
  std::size_t prefetch_token_ = 0;
};

// Calls something `count` times, evenly over `calls` calls of its own.
class Spread {
 public:
  Spread(int count, int calls) : count_(count), calls_(calls) {}
  // How often it is due now.
  int due() {
    credit_ += count_;
    const int times = credit_ / calls_;
    credit_ -= times * calls_;
    return times;
  }

 private:
  int count_;
  int calls_;
  int credit_ = 0;
};

}  // namespace wavefill::cpu::amx
