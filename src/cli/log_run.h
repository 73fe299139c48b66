// One run of the ledger with a summary of its measurements.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/json_output.h"
#include "ledger/ledger.h"
#include "report/text_table.h"
#include "wavefill/status.h"

namespace wavefill::cli {

// All samples of one setting at one batch in one phase.
struct MeasuredArm {
  Phase phase = Phase::search;
  std::int32_t batch = 0;
  std::string setting;
  std::int32_t replica = 0;
  std::vector<double> clean_us;
  std::int64_t contaminated = 0;
  std::string stopped_by;
  std::optional<Verification> verification;
};

struct RunDetails {
  RunSummary summary;
  Environment environment;
  std::vector<MeasuredArm> arms;  // by phase, batch, setting, replica
  std::optional<DecisionRecord> decision;
};

// Errors: not_found, those of the ledger.
Result<RunDetails> read_run(const Ledger& ledger, RunId id);

Json json_of(const RunSummary& run);
Json document(const RunDetails& details);
std::string text_of(const RunDetails& details, const report::TerminalStyle& style);

std::string utc_text(std::int64_t unix_us);     // "2026-12-01 23:45"
std::string shape_text(const ProfileKey& key);  // "8 heads, 128 + 512"

}  // namespace wavefill::cli
