// The file form of a profile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "wavefill/profile.h"

namespace wavefill {

// Changes whenever a reader of the old form would misread the new one.
inline constexpr std::string_view kProfileSchema = "wavefill-profile-2";

// A profile of all batches up to a hundred thousand is smaller; anything larger is not a profile.
inline constexpr std::size_t kMaxProfileBytes = std::size_t{16} << 20;

// Every field of a key, once: reading, writing and comparing cannot disagree about one. Calls
// visit("num_sms", &ProfileKey::num_sms, least value); text fields have no least value.
template <typename Visit>
void for_each_key_field(Visit visit) {
  visit("device", &ProfileKey::device, 0);
  visit("num_sms", &ProfileKey::num_sms, 1);
  visit("smem_per_block_optin_bytes", &ProfileKey::smem_per_block_optin_bytes, 0);
  visit("l2_bytes", &ProfileKey::l2_bytes, 0);
  visit("driver_version", &ProfileKey::driver_version, 0);
  visit("cuda_version", &ProfileKey::cuda_version, 0);
  visit("kernel", &ProfileKey::kernel, 0);
  visit("heads_per_cta", &ProfileKey::heads_per_cta, 1);
  visit("kv_tile", &ProfileKey::kv_tile, 1);
  visit("threads", &ProfileKey::threads, 0);
  visit("smem_bytes", &ProfileKey::smem_bytes, 0);
  visit("ctas_per_sm", &ProfileKey::ctas_per_sm, 1);
  visit("kv_format", &ProfileKey::kv_format, 0);
  visit("d_qk", &ProfileKey::d_qk, 1);
  visit("num_heads", &ProfileKey::num_heads, 1);
  visit("s_q", &ProfileKey::s_q, 1);
  visit("topk", &ProfileKey::topk, 0);
  visit("extra_topk", &ProfileKey::extra_topk, 0);
  visit("library_version", &ProfileKey::library_version, 0);
  visit("timing", &ProfileKey::timing, 0);
}

}  // namespace wavefill
