// Writes random latents as cached tokens, byte by byte: the oracle's own encoder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "wavefill/decode_args.h"

namespace wavefill::oracle {

// Nearest e4m3 of `value`, saturating at +-448; ties go to even.
std::uint8_t e4m3_from_float(float value);

// The bytes of one token apart from any page: data, then scales (dsv4: 576 + 8; others: all data).
struct TokenBytes {
  std::vector<std::byte> data;
  std::vector<std::byte> scales;
};

// A latent of about unit variance whose blocks differ in size, as normalised latents do, quantised as the
// format says. odd_scales: see Case.
TokenBytes random_token(const DecodeShape& shape, bool odd_scales, std::mt19937_64& rng);

// Puts `token` into its slot; `pool` is the memory that view.data would point to.
void write_token(const DecodeShape& shape, const KvCacheView& view, std::byte* pool, std::int64_t token,
                 const TokenBytes& bytes);

}  // namespace wavefill::oracle
