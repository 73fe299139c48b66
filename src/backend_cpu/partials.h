// The partials of a plan in the caller's workspace, and their combine.
#pragma once

#include <cstdint>

#include "backend_cpu/kernel.h"
#include "wavefill/decode_args.h"
#include "wavefill/plan.h"

namespace wavefill::cpu {

struct WorkerScratch;

// o fp32 [num_partials, num_heads, kValueDim], each normalised by its own sum, then lse_log2 fp32
// [num_partials, num_heads].
struct Partials {
  Partials(const SplitPlan& plan, const DecodeArgs& args)
      : num_heads(args.shape.num_heads),
        o(static_cast<float*>(args.workspace)),
        lse_log2(o + plan.num_partials() * num_heads * kValueDim) {}

  float* o_of(std::int64_t partial, int head) const { return o + (partial * num_heads + head) * kValueDim; }
  float& lse_of(std::int64_t partial, int head) const { return lse_log2[partial * num_heads + head]; }

  std::int64_t num_heads;
  float* o;
  float* lse_log2;
};

// Merges the partials of `row` for heads [head_begin, head_end), in the order of their kv tiles, into
// args.out and args.lse. Precondition: the row has partials, and all its items have run.
void combine(const CpuKernel& kernel, const SplitPlan& plan, const DecodeArgs& args, std::int32_t row,
             int head_begin, int head_end, WorkerScratch& scratch);

}  // namespace wavefill::cpu
