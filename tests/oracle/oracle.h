// The oracle: sparse-MLA decode attention in double, naive, straight from the formula in
// wavefill/decode_args.h. It shares no code with any backend, nor with src/kv: it decodes caches itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wavefill/decode_args.h"

namespace wavefill::oracle {

struct Reference {
  std::vector<double> out;  // [rows, num_heads, kValueDim]
  std::vector<double> lse;  // [rows, num_heads]; natural log, sink excluded, -inf for a row with no keys
};

// Reads host memory. args must pass validate(); outputs and workspace are not looked at.
// num_threads: 0 = all hardware threads. The result does not depend on it.
Reference reference(const DecodeArgs& args, int num_threads = 0);

// How far an output may be from the reference. The output is bf16: rounding alone costs a row up to
// 2^-9 = 2e-3 of its norm; the rest is room for bf16 operands of matrix units.
struct Tolerances {
  double o_relative = 4e-3;    // ||o - ref|| / ||ref|| of one (row, head)
  double lse_absolute = 1e-5;  // |lse - ref|
};

struct Comparison {
  double max_o_error = 0.0;
  double max_lse_error = 0.0;
  bool passed = true;
  std::string first_failure;  // row, head and both values; empty when passed
};

// Compares args.out (and args.lse unless null) on the host with `expected`. NaN anywhere fails. Where the
// reference is exactly 0 / -inf (no keys, or a sink that takes everything) so must the output be.
Comparison compare(const Reference& expected, const DecodeArgs& args, const Tolerances& tolerances = {});

// The double value of one component of a cached token, decoded from the bytes: [0, shape.d_qk).
double cached_value(const DecodeShape& shape, const KvCacheView& kv, std::int64_t token, int dim);

}  // namespace wavefill::oracle
