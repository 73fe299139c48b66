#include "measure/rotation.h"

#include <algorithm>
#include <limits>

#include "core/errors.h"
#include "core/math.h"

namespace wavefill {
namespace {

struct SetGeometry {
  std::int64_t main_pages = 0;
  std::int64_t extra_pages = 0;
  std::int64_t read_bytes = 0;
  std::int64_t pool_bytes = 0;
};

SetGeometry geometry_of(const DecodeShape& shape, const RotationLimits& limits) {
  SetGeometry set;
  set.main_pages = ceil_div(shape.rows() * shape.topk, std::int64_t{limits.page_size});
  set.extra_pages = ceil_div(shape.rows() * shape.extra_topk, std::int64_t{limits.extra_page_size});
  const std::int64_t tokens = shape.rows() * (std::int64_t{shape.topk} + shape.extra_topk);
  set.read_bytes = tokens * kv_token_bytes(shape.kv_format, shape.d_qk);
  set.pool_bytes =
      set.main_pages * min_page_stride_bytes(shape.kv_format, shape.d_qk, limits.page_size) +
      set.extra_pages * min_page_stride_bytes(shape.kv_format, shape.d_qk, limits.extra_page_size);
  return set;
}

// How many sets the pool's limit and 32-bit token indices leave room for.
std::int64_t most_sets(const SetGeometry& set, const RotationLimits& limits) {
  constexpr std::int64_t kMaxTokens = std::numeric_limits<std::int32_t>::max();
  std::int64_t most = limits.max_pool_bytes / set.pool_bytes;
  if (set.main_pages > 0) most = std::min(most, kMaxTokens / (set.main_pages * limits.page_size));
  if (set.extra_pages > 0) most = std::min(most, kMaxTokens / (set.extra_pages * limits.extra_page_size));
  return most;
}

double mib(std::int64_t bytes) { return static_cast<double>(bytes) / (1024.0 * 1024.0); }

}  // namespace

std::string describe(const Rotation& rotation) {
  if (rotation.cache_bytes <= 0) {
    return fmt::format("unknown: {:.1f} MiB are read between two uses of a line; the cache size is not known",
                       mib(rotation.bytes_between_uses));
  }
  return fmt::format(
      "{}: {:.1f} MiB are read between two uses of a line, {:.2f} x the {:.1f} MiB last-level cache",
      rotation.cold() ? "cold" : "warm", mib(rotation.bytes_between_uses),
      static_cast<double>(rotation.bytes_between_uses) / static_cast<double>(rotation.cache_bytes),
      mib(rotation.cache_bytes));
}

Result<Rotation> plan_rotation(const DecodeShape& shape, const RotationLimits& limits) {
  WAVEFILL_RETURN_IF_ERROR(validate(shape));
  if (limits.page_size < 1 || limits.extra_page_size < 1) {
    return invalid_argument("page sizes are {} and {}; allowed: >= 1", limits.page_size,
                            limits.extra_page_size);
  }
  const SetGeometry set = geometry_of(shape, limits);
  Rotation rotation{.num_sets = 1,
                    .kv_bytes_per_set = set.read_bytes,
                    .bytes_between_uses = 0,
                    .cache_bytes = limits.cache_bytes,
                    .pool_bytes = set.pool_bytes,
                    .main_pages_per_set = set.main_pages,
                    .extra_pages_per_set = set.extra_pages};
  if (set.pool_bytes == 0) return rotation;

  const std::int64_t most = most_sets(set, limits);
  if (most < 1) {
    return make_status(StatusCode::resource_exhausted,
                       "one index set of batch {} needs a pool of {:.1f} MiB; allowed: {:.1f} MiB",
                       shape.batch, mib(set.pool_bytes), mib(limits.max_pool_bytes));
  }
  // The least n with (n - 1) * read_bytes > kColdFactor * cache_bytes.
  const std::int64_t for_cold =
      limits.cache_bytes > 0 ? kColdFactor * limits.cache_bytes / set.read_bytes + 2 : 1;
  const std::int64_t for_pool = ceil_div(limits.min_pool_bytes, set.pool_bytes);
  const std::int64_t num_sets = std::min(most, std::max(for_cold, for_pool));
  rotation.num_sets = static_cast<std::int32_t>(num_sets);
  rotation.bytes_between_uses = (num_sets - 1) * set.read_bytes;
  rotation.pool_bytes = num_sets * set.pool_bytes;
  return rotation;
}

std::int32_t num_graphs(std::int32_t num_sets) {
  constexpr std::int32_t kFewGraphs = 8;  // as many as short graphs are worth their gaps for
  const std::int32_t shortest = std::min(num_sets / kMinGraphCalls, kFewGraphs);
  return std::max({1, shortest, num_sets / kGraphCalls});
}

}  // namespace wavefill
