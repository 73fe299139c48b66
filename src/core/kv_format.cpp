#include "wavefill/kv_format.h"

#include "core/errors.h"

namespace wavefill {
namespace {

struct FormatInfo {
  KvFormat format;
  std::string_view name;
  std::string_view short_name;
  int default_d_qk;
};

constexpr std::array<FormatInfo, kAllKvFormats.size()> kFormats = {{
    {.format = KvFormat::fp8_tile64_rope_bf16_footer,
     .name = "fp8_tile64_rope_bf16_footer",
     .short_name = "dsv4",
     .default_d_qk = 512},
    {.format = KvFormat::fp8_tile128_rope_bf16_inline,
     .name = "fp8_tile128_rope_bf16_inline",
     .short_name = "dsv32",
     .default_d_qk = 576},
    {.format = KvFormat::bf16, .name = "bf16", .short_name = "bf16", .default_d_qk = 512},
}};

const FormatInfo& info(KvFormat format) { return kFormats[static_cast<std::size_t>(format)]; }

}  // namespace

std::string_view to_string(KvFormat format) { return info(format).name; }
std::string_view short_name(KvFormat format) { return info(format).short_name; }
int default_d_qk(KvFormat format) { return info(format).default_d_qk; }

Result<KvFormat> parse_kv_format(std::string_view name) {
  for (const FormatInfo& candidate : kFormats) {
    if (name == candidate.name || name == candidate.short_name) return candidate.format;
  }
  return invalid_argument(
      "kv format is '{}'; allowed: dsv4 (fp8_tile64_rope_bf16_footer), dsv32 "
      "(fp8_tile128_rope_bf16_inline), bf16",
      name);
}

bool is_valid_d_qk(KvFormat format, int d_qk) {
  if (format == KvFormat::bf16) return d_qk == 512 || d_qk == 576;
  return d_qk == default_d_qk(format);
}

std::int64_t kv_token_bytes(KvFormat format, int d_qk) {
  switch (format) {
    case KvFormat::fp8_tile64_rope_bf16_footer: return 448 + 64 * 2 + 8;
    case KvFormat::fp8_tile128_rope_bf16_inline: return 512 + 4 * 4 + 64 * 2;
    case KvFormat::bf16: return std::int64_t{2} * d_qk;
  }
  return 0;
}

std::int64_t min_page_stride_bytes(KvFormat format, int d_qk, int page_size) {
  return kv_token_bytes(format, d_qk) * page_size;
}

}  // namespace wavefill
