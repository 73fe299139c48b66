// The options that say how long the rows are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/option_set.h"
#include "wavefill/shape.h"
#include "wavefill/status.h"

namespace wavefill::cli {

struct LengthOptions {
  std::string length, extra_length;  // of every row; empty = full
  std::string file;                  // empty = none
};

void add_length_options(OptionSet& set, LengthOptions& options);

// Lengths of all rows there are; empty: full.
struct RowLengths {
  std::vector<std::int32_t> main;
  std::vector<std::int32_t> extra;
};

// `shape` has the largest batch that will be asked for; a smaller one takes the first of its rows.
// The file has one row a line, "length" or "length,extra_length"; blank lines and what follows '#' are
// left out. Errors: invalid_argument (an option; both), corrupt_data (the file: names the line), not_found,
// unavailable.
Result<RowLengths> read_lengths(const LengthOptions& options, const DecodeShape& shape);

}  // namespace wavefill::cli
