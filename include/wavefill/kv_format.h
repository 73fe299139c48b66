// What a cached token is. Formats are named by content; the model's name is an alias.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "wavefill/export.h"
#include "wavefill/status.h"

namespace wavefill {

enum class KvFormat : std::uint8_t {
  // DeepSeek-V4, 584 B a token: 448 e4m3 + 64 bf16 inline (576 B), and per token 7 UE8M0 scales
  // (one for 64 values) + 1 pad byte in a footer behind the page's tokens.
  fp8_tile64_rope_bf16_footer,
  // DeepSeek-V3.2, 656 B a token: 512 e4m3, 4 fp32 scales (one for 128 values), 64 bf16.
  fp8_tile128_rope_bf16_inline,
  // d_qk plain bf16 values, 512 or 576 wide.
  bf16,
};

inline constexpr std::array kAllKvFormats = {KvFormat::fp8_tile64_rope_bf16_footer,
                                             KvFormat::fp8_tile128_rope_bf16_inline, KvFormat::bf16};

// The value vector is the first 512 dims of the key, in every format.
inline constexpr int kValueDim = 512;

WAVEFILL_API std::string_view to_string(KvFormat format);   // "fp8_tile64_rope_bf16_footer"
WAVEFILL_API std::string_view short_name(KvFormat format);  // "dsv4", "dsv32", "bf16"

// Accepts either name. Errors: invalid_argument, listing the names.
WAVEFILL_API Result<KvFormat> parse_kv_format(std::string_view name);

// The key width a format implies: 512 (dsv4), 576 (dsv32). bf16 takes 512 or 576: its default is 512.
WAVEFILL_API int default_d_qk(KvFormat format);
WAVEFILL_API bool is_valid_d_qk(KvFormat format, int d_qk);

// Bytes one token occupies, scales included: 584, 656, or 2 * d_qk.
WAVEFILL_API std::int64_t kv_token_bytes(KvFormat format, int d_qk);

// The least page stride that holds `page_size` tokens. A cache may pad beyond it: dsv4 pages are
// commonly rounded up to a multiple of 576 (37,440 B for 64 tokens), so kernels take it from the caller.
WAVEFILL_API std::int64_t min_page_stride_bytes(KvFormat format, int d_qk, int page_size);

}  // namespace wavefill
