// Values far from 1, for what is exchanged in fp16.
#pragma once

#include <cstdint>

#include "oracle/inputs.h"

namespace wavefill::test {

// The case with scores that are flat, whatever the keys, so that values may have any magnitude.
oracle::Case with_flat_scores(oracle::Case c);

// Multiplies every value of the caches, which are dsv4, by 2^exponent.
void multiply_values(oracle::Inputs& inputs, std::int32_t exponent);

}  // namespace wavefill::test
