// How much each batch size matters, as users write it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tune/decision.h"
#include "wavefill/status.h"

namespace wavefill::cli {

// `text` is a list as in parse_batch_list ("48-80": these sizes, all alike), or else the path of a file with
// a size and its weight a line ("64 0.25" or "64,0.25"; '#' starts a comment). A size that is not among
// `batches` counts for the next larger one that is: what a server pads to.
// Errors: invalid_argument (the list; a size beyond the largest batch), corrupt_data (the file: names the
// line), not_found, unavailable.
Result<std::vector<WorkloadWeight>> read_workload(const std::string& text,
                                                  const std::vector<std::int32_t>& batches);

}  // namespace wavefill::cli
