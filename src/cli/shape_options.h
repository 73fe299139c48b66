// The options that say what is attended to: a model, or the numbers themselves.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/option_set.h"
#include "wavefill/shape.h"
#include "wavefill/status.h"

namespace wavefill::cli {

// As written; empty = not given.
struct ShapeOptions {
  std::string model, tp, layer, context;
  std::string heads, topk, extra_topk, format, d_qk, s_q;
};

// What --tp takes.
enum class Degrees : std::uint8_t { one, list };

void add_shape_options(OptionSet& set, ShapeOptions& options, Degrees degrees = Degrees::one);

bool is_given(const ShapeOptions& options);

struct NamedShape {
  DecodeShape shape;  // its batch is 1
  std::string title;  // "dsv4-flash, TP 8", or the numbers
  std::int64_t tp = 1;
};

// Errors: invalid_argument (a value; model and numbers together; neither).
Result<NamedShape> read_shape(const ShapeOptions& options);

// One for each degree that --tp lists, ascending; without --tp the one of read_shape().
// Errors: those of parse_number_list and, for any degree, of read_shape.
Result<std::vector<NamedShape>> read_shapes(const ShapeOptions& options);

}  // namespace wavefill::cli
