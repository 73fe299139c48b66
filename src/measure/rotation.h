// Keeping caches cold while timing: how many index sets, over how large a pool.
//
// A server's step touches other layers' caches and weights between two reads of the same token, so a
// timing loop that reads the same tokens again measures a cache it will not have. Index sets that share no
// page are therefore used in turn: the bytes read between two uses of a line are those of all other sets.
// With an LRU cache of C bytes, a line is gone once C other bytes were read. Real caches are not quite LRU
// and not always all ours, so twice that is asked for (kColdFactor). A cache shared with other tenants is
// counted at its full size: what is not ours can only make us colder.
#pragma once

#include <cstdint>
#include <string>

#include "wavefill/shape.h"
#include "wavefill/status.h"

namespace wavefill {

inline constexpr int kColdFactor = 2;

// How many sets share the pool, and what that makes of the caches.
struct Rotation {
  std::int32_t num_sets = 0;
  std::int64_t kv_bytes_per_set = 0;    // cache bytes one call reads
  std::int64_t bytes_between_uses = 0;  // (num_sets - 1) * kv_bytes_per_set
  std::int64_t cache_bytes = 0;         // the last-level cache; 0 = unknown
  std::int64_t pool_bytes = 0;          // both caches
  std::int64_t main_pages_per_set = 0;
  std::int64_t extra_pages_per_set = 0;

  // Proven cold: bytes_between_uses exceeds kColdFactor * cache_bytes, and that is known.
  bool cold() const { return cache_bytes > 0 && bytes_between_uses > kColdFactor * cache_bytes; }

  friend bool operator==(const Rotation&, const Rotation&) = default;
};

// "cold: 630.0 MiB are read between two uses of a line, 2 x the 300.0 MiB last-level cache" or
// "warm: ...": the state that a figure was measured in.
std::string describe(const Rotation& rotation);

struct RotationLimits {
  std::int32_t page_size = 64;
  std::int32_t extra_page_size = 64;
  std::int64_t cache_bytes = 0;     // the device's last-level cache
  std::int64_t min_pool_bytes = 0;  // at least this much, however small the cache
  std::int64_t max_pool_bytes = 0;  // never more than this
};

// The fewest sets that are cold and fill min_pool_bytes; fewer if max_pool_bytes ends first, in which case
// cold() is false. At least one. A shape that reads nothing (topk 0 and extra_topk 0) has one set.
// Errors: resource_exhausted (one set alone is larger than max_pool_bytes), invalid_argument (limits).
Result<Rotation> plan_rotation(const DecodeShape& shape, const RotationLimits& limits);

// Into how many graphs the calls of a rotation are cut, graph i with those of the sets from
// i * num_sets / num_graphs on. Samples replay whole graphs and go on where the last one stopped, so a cut
// moves no use of a set. No graph has fewer than kMinGraphCalls, unless there are fewer sets: it would time
// the gaps between graphs. Where sets are many, graphs stay near kGraphCalls: a sample is then little longer
// than was asked for, and no call is captured that is not timed soon.
inline constexpr std::int32_t kMinGraphCalls = 24;
inline constexpr std::int32_t kGraphCalls = 48;
std::int32_t num_graphs(std::int32_t num_sets);

}  // namespace wavefill
