// How much each batch size matters, as users write it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tune/decision.h"
#include "wavefill/status.h"

namespace wavefill::cli {

// The sizes and weights of `text`, by size: a list as in parse_batch_list ("48-80": these sizes, all alike),
// or else the path of a file with a size and its weight a line ("64 0.25" or "64,0.25"; '#' starts a
// comment). Empty for an empty text. Errors: invalid_argument (the list; no weight at all), corrupt_data (the
// file: names the line), not_found, unavailable.
Result<std::vector<WorkloadWeight>> parse_workload(const std::string& text);

// A workload over the batches that there are. A size that is not among them counts for the next larger one:
// what a server pads to.
struct ServedWorkload {
  std::vector<WorkloadWeight> weights;  // by batch
  std::vector<WorkloadWeight> beyond;   // sizes that no batch serves
};
ServedWorkload serve_workload(const std::vector<WorkloadWeight>& workload,
                              const std::vector<std::int32_t>& batches);  // ascending

// Both; errors also invalid_argument for a size beyond the largest batch.
Result<std::vector<WorkloadWeight>> read_workload(const std::string& text,
                                                  const std::vector<std::int32_t>& batches);

}  // namespace wavefill::cli
