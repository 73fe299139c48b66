// Measurements that were taken elsewhere, as evidence for decide().
#pragma once

#include <string_view>
#include <vector>

#include "tune/decision.h"
#include "wavefill/status.h"

namespace wavefill {

// CSV with a header line that names the columns `setting`, `batch`, and one of `tokens_per_s` and `us`, in
// any order. Repeated rows are samples. Blank lines and lines that begin with # are passed over; a field may
// be quoted, with "" for a quote. An empty figure is evidence without samples: proposed, not measured.
// tokens_per_s becomes the time of a step: batch * 1e6 / tokens_per_s. A setting is one of ours, `measured`
// (a per-batch table as a whole), or a foreign name; one that only looks like one of ours is an error, and so
// is one with control characters, which a terminal would obey. Errors: corrupt_data, naming the line, what
// was seen and what is allowed.
Result<std::vector<Evidence>> parse_records_csv(std::string_view text);

// JSON lines: an object a line with the same names, each once; null for an empty figure. Errors: as above.
Result<std::vector<Evidence>> parse_records_jsonl(std::string_view text);

// Either: JSON lines if the first line that is neither blank nor a comment begins with a brace.
Result<std::vector<Evidence>> parse_records(std::string_view text);

}  // namespace wavefill
