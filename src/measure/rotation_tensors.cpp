#include "measure/rotation_tensors.h"

namespace wavefill {
namespace {

constexpr std::int64_t kPatternTokens = 1024;

}  // namespace

oracle::PoolSpec pattern_pool(const DecodeShape& shape, std::uint64_t seed) {
  return {.shape = shape,
          .page_size = RotatingCache::kPageSize,
          .extra_page_size = RotatingCache::kPageSize,
          .pool_tokens = kPatternTokens,
          .extra_pool_tokens = kPatternTokens,
          .lengths = {},
          .extra_lengths = {},
          .seed = seed};
}

RotatingCache::Options main_cache_options(const DecodeShape& shape, const Rotation& rotation,
                                          std::uint64_t seed) {
  return {.pages_per_set = rotation.main_pages_per_set,
          .num_sets = rotation.num_sets,
          .topk = shape.topk,
          .order = RotatingCache::Order::sequential,
          .seed = seed};
}

RotatingCache::Options extra_cache_options(const DecodeShape& shape, const Rotation& rotation,
                                           std::uint64_t seed) {
  return {.pages_per_set = rotation.extra_pages_per_set,
          .num_sets = rotation.num_sets,
          .topk = shape.extra_topk,
          .order = RotatingCache::Order::shuffled,
          .seed = seed + 1};
}

}  // namespace wavefill
