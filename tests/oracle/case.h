// The case table: what correctness tests, `wavefill verify`, fuzz seeds and the support matrix run.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "oracle/oracle.h"
#include "wavefill/shape.h"

namespace wavefill::oracle {

// How the lengths of the rows are drawn, in 0..topk.
enum class Lengths : std::uint8_t {
  absent,         // no length tensor: all columns count
  full,           // topk everywhere
  zero,           // every row empty
  one,            // 1 everywhere: what a graph is captured with
  random,         // uniform over 0..topk
  skewed,         // one long row, the others short
  one_empty_row,  // full, but one row in the middle has none
};

// What stands in the columns below a row's length.
enum class Indices : std::uint8_t {
  random,            // valid tokens, drawn with replacement from the pool
  holes,             // one column in four is -1
  leading_16_holes,  // 16 leading -1
  leading_64_holes,  // 64 leading -1: a whole kv tile of every kernel
  only_last,         // -1 but for the last column
  all_holes,         // -1 everywhere, though the length says otherwise
  duplicates,        // few distinct tokens, each many times
};

enum class Sink : std::uint8_t { none, minus_infinity, zero, plus_30, random };

struct Case {
  std::string name;  // unique; a valid test name
  DecodeShape shape;
  std::int32_t page_size = 64;
  std::int32_t extra_page_size = 64;
  std::int64_t page_padding_bytes = 0;  // page stride beyond the least; filled with 0xFF
  std::int64_t pool_tokens = 1024;      // rounded up to whole pages
  std::int64_t extra_pool_tokens = 1024;
  Lengths lengths = Lengths::absent;
  Lengths extra_lengths = Lengths::absent;
  bool lengths_per_request = false;  // one length for all query tokens of a request (stride_s_q = 0)
  Indices indices = Indices::random;
  Indices extra_indices = Indices::random;
  Sink sink = Sink::none;
  // Slot 0 and every unreferenced slot is NaN in data and scales, no valid index names slot 0, and columns
  // at or beyond the length hold large positive garbage.
  bool poison = false;
  // q, indices, out and lse have gaps between rows and heads, and lse is [batch, num_heads, s_q].
  bool strided = false;
  bool wants_lse = true;
  // dsv32: scales that are no powers of two. dsv4: one block in seven has the least scale, 2^-127.
  bool odd_scales = false;
  float q_scale = 1.0F;  // standard deviation of q; scores have about the same
  Tolerances tolerances;
  std::uint64_t seed = 1;
};

std::span<const Case> all_cases();

}  // namespace wavefill::oracle
