// The static shape of one decode-attention call.
#pragma once

#include <cstdint>

#include "wavefill/export.h"
#include "wavefill/kv_format.h"
#include "wavefill/status.h"

namespace wavefill {

inline constexpr int kMaxHeads = 128;

// What does not change while a captured graph replays. A *row* is one query token: there are
// batch * s_q of them, numbered request-major.
struct DecodeShape {
  std::int32_t batch = 1;                                      // requests, >= 1
  std::int32_t s_q = 1;                                        // query tokens a request, >= 1
  std::int32_t num_heads = 64;                                 // query heads on this rank, 1..128
  KvFormat kv_format = KvFormat::fp8_tile64_rope_bf16_footer;  // of both caches
  std::int32_t d_qk = 512;      // key width: 512 (dsv4), 576 (dsv32), 512 or 576 (bf16)
  std::int32_t topk = 0;        // index columns into the main (window) cache, >= 0
  std::int32_t extra_topk = 0;  // index columns into the extra (compressed) cache, >= 0; 0 = none

  std::int64_t rows() const { return std::int64_t{batch} * s_q; }

  friend bool operator==(const DecodeShape&, const DecodeShape&) = default;
};

// Errors: invalid_argument, naming the field, its value and the values allowed.
WAVEFILL_API Status validate(const DecodeShape& shape);

}  // namespace wavefill
