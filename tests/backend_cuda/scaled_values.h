// Values far from 1, for what is exchanged in fp16.
#pragma once

#include <cstdint>

#include "wavefill/decode_args.h"

namespace wavefill::test {

// Multiplies every value of a dsv4 cache by 2^exponent, in place.
void multiply_values(const KvCacheView& kv, std::int32_t exponent);

}  // namespace wavefill::test
