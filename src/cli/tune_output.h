// What a finished tuning run leaves behind: files, and its words on the console.
#pragma once

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

// Whether all of them could be written now. Errors: those of check_writable.
Status check_outputs(const OutputPaths& paths);

// Errors: those of write_profile and write_file. What was written before an error stays.
Status write_outputs(const OutputPaths& paths, const TuneResult& result, const report::Report& report);

// The report without samples, and where everything is.
Json tune_document(const report::Report& report, const OutputPaths& paths);

std::string tune_text(const report::Report& report, const TuneResult& result, const OutputPaths& paths,
                      const report::TerminalStyle& style);

}  // namespace wavefill::cli
