// What finished tuning runs leave behind: files, and their words on the console.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "cli/json_output.h"
#include "report/report.h"
#include "report/text_table.h"
#include "tune/tuner.h"
#include "wavefill/status.h"

namespace wavefill::cli {

// Empty = not wanted.
struct OutputPaths {
  std::string profile, report, csv, junit, figures, ledger;
};

// Those of one among several shapes: "profile.json" -> "profile.tp4.json", the figures in "<figures>/tp4".
// They share the ledger.
OutputPaths paths_of_degree(const OutputPaths& paths, std::int64_t tp);

// Whether all of them could be written now. Errors: those of check_writable.
Status check_outputs(const OutputPaths& paths);

// A shape whose run is finished.
struct TunedShape {
  std::int64_t tp = 1;
  OutputPaths paths;
  TuneResult result;
  report::Report report;
};

// Errors: those of write_profile and write_file. What was written before an error stays.
Status write_outputs(const TunedShape& shape);

// The report without samples, and where everything is; of several shapes {"shapes": [such documents]}.
Json tune_document(const TunedShape& shape);
Json tune_document(std::span<const TunedShape> shapes);

// Of several shapes: one after another, then a summary of them.
std::string tune_text(const TunedShape& shape, const report::TerminalStyle& style);
std::string tune_text(std::span<const TunedShape> shapes, const report::TerminalStyle& style);

}  // namespace wavefill::cli
