// One work item of a plan, from indices to output or partial.
#pragma once

#include "backend_cpu/kernel.h"
#include "wavefill/decode_args.h"
#include "wavefill/plan.h"

namespace wavefill::cpu {

// Memory of one worker thread.
struct WorkerScratch {
  TileState state;
  alignas(kCacheLineBytes) float sum[kValueDim];  // of a combine
  std::byte* kernel = nullptr;                    // CpuKernel::scratch_bytes of it
};

// Precondition: check_run() and check_lengths() accepted the call. Writes the item's part of args.out and
// args.lse, or its partial.
void run_work_item(const CpuKernel& kernel, const SplitPlan& plan, const DecodeArgs& args,
                   const WorkItem& item, WorkerScratch& scratch);

}  // namespace wavefill::cpu
