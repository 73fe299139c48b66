// Device memory for timing: cache pools far larger than the L2, and index sets over them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wavefill/kv_format.h"

namespace wavefill::test {

// Random but realistic tokens: finite e4m3, scales 2^-8 .. 2^-5, bf16 in (-2, 2). Any bytes between are
// random too.
void fill_pool(std::byte* pool, std::size_t bytes, KvFormat format, int page_size,
               std::int64_t page_stride_bytes, std::uint64_t seed);

// bf16, near normal with standard deviation 1.
void fill_query(std::uint16_t* q, std::size_t count, std::uint64_t seed);

// Uniform over [0, num_tokens).
void fill_indices(std::int32_t* indices, std::size_t count, std::int64_t num_tokens, std::uint64_t seed);

}  // namespace wavefill::test
