// Tuning shapes in turn, each with its own budget, run and outputs.
#pragma once

#include <span>
#include <vector>

#include "cli/console.h"
#include "cli/shape_options.h"
#include "cli/tune_output.h"
#include "ledger/ledger.h"
#include "measure/workbench.h"
#include "tune/tuner.h"
#include "wavefill/status.h"

namespace wavefill::cli {

// A shape to tune, and where its results go.
struct ShapeRun {
  NamedShape named;
  TuneRequest request;
  OutputPaths paths;
};

// Tries everything that would make the end of a run fail, before the first budget is spent: whether all
// outputs can be written, and the ledger, whose path is set in `runs` where `given` has none.
// Errors: those of check_writable, default_ledger_path and Ledger::open.
Result<Ledger> prepare_outputs(const OutputPaths& given, std::span<ShapeRun> runs);

// A kernel that is named may take one shape and not the next. Errors: those of Workbench::kernel_for.
Status check_kernels(const Workbench& workbench, std::span<const ShapeRun> runs);

// Those finished, their outputs written, in the order of `runs`; fewer than `runs` after Ctrl-C, when the
// console has said how to go on. Errors: those of tune() and write_outputs(); the outputs of the shapes
// before stay.
Result<std::vector<TunedShape>> tune_shapes(std::span<const ShapeRun> runs, Workbench& workbench,
                                            Ledger& ledger, Console& console);

}  // namespace wavefill::cli
