// What is looked at before anything is written: it needs the values of lengths and indices.
#pragma once

#include "wavefill/decode_args.h"
#include "wavefill/plan.h"

namespace wavefill::cpu {

// Every length is within 0..topk, and no row has more kv tiles than it was planned with (then some would be
// left out). Errors: invalid_argument, mismatch, naming the row and both values.
Status check_lengths(const SplitPlan& plan, const DecodeArgs& args);

// Every index that counts is below its pool's size. Errors: invalid_argument, naming row, column, value and
// pool size.
Status check_indices(const DecodeArgs& args);

}  // namespace wavefill::cpu
