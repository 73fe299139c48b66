// What the wave model alone would do, and what a plan says about settings measured elsewhere.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tune/decision.h"
#include "wavefill/plan.h"

namespace wavefill {

// The split count of each batch that fills its waves best, of 1..max_splits; ties to fewer. It knows nothing
// of what a partial costs: a proposal to measure, which decide() rejects until somebody has.
// shape's batch is not used. Errors: those of make_plan.
Result<std::vector<Proposal>> wave_model_proposals(const DeviceSpec& device, const KernelSpec& kernel,
                                                   const DecodeShape& shape,
                                                   std::span<const std::int32_t> batches,
                                                   std::int32_t max_splits);

// Fills in num_splits and num_waves of the evidence whose setting is one that can be planned here. Others,
// such as another project's, stay unknown.
void annotate_with_plans(const DeviceSpec& device, const KernelSpec& kernel, const DecodeShape& shape,
                         std::span<Evidence> evidence);

}  // namespace wavefill
