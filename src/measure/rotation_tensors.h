// What every workbench makes of a rotation: the tokens that its pools repeat, and how each cache is read.
#pragma once

#include <cstdint>

#include "measure/rotating_cache.h"
#include "measure/rotation.h"
#include "oracle/inputs.h"
#include "wavefill/shape.h"

namespace wavefill {

inline constexpr std::int64_t kMemoryShare = 4;  // a pool takes at most 1/4 of the memory there is

// Few distinct tokens; pools repeat them at other addresses.
oracle::PoolSpec pattern_pool(const DecodeShape& shape, std::uint64_t seed);

// The main cache is read as a window, the extra cache as an indexer picks.
RotatingCache::Options main_cache_options(const DecodeShape& shape, const Rotation& rotation,
                                          std::uint64_t seed);
RotatingCache::Options extra_cache_options(const DecodeShape& shape, const Rotation& rotation,
                                           std::uint64_t seed);

}  // namespace wavefill
