// The options that say what is attended to: a model, or the numbers themselves.
#pragma once

#include <string>

#include "cli/option_set.h"
#include "wavefill/shape.h"
#include "wavefill/status.h"

namespace wavefill::cli {

// As written; empty = not given.
struct ShapeOptions {
  std::string model, tp, layer, context;
  std::string heads, topk, extra_topk, format, d_qk, s_q;
};

void add_shape_options(OptionSet& set, ShapeOptions& options);

bool is_given(const ShapeOptions& options);

struct NamedShape {
  DecodeShape shape;  // its batch is 1
  std::string title;  // "dsv4-flash, TP 8", or the numbers
};

// Errors: invalid_argument (a value; model and numbers together; neither).
Result<NamedShape> read_shape(const ShapeOptions& options);

}  // namespace wavefill::cli
