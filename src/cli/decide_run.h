// Judging measurements that were taken elsewhere: the thinking half of `wavefill decide`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/device_options.h"
#include "cli/json_output.h"
#include "cli/shape_options.h"
#include "cli/workload.h"
#include "report/text_table.h"
#include "tune/decision.h"
#include "tune/decision_json.h"
#include "wavefill/status.h"

namespace wavefill::cli {

// As written; empty = not given.
struct DecideOptions {
  std::string records, deployed, workload;
  std::vector<std::string> proposals;  // "fixed=8@96"
  std::string measured_again;          // batches
  std::string capture_ceiling;         // the largest batch that runs as a captured graph
  PlanTargetOptions target;            // what the records were measured on; device empty: unknown
  ShapeOptions shape;                  // given if and only if the device is
  std::string max_splits = "8";        // that the wave model may propose
};

// What the records were measured on.
struct MeasuredOn {
  PlanTarget target;
  DecodeShape shape;
};

// A decision with what it was made from.
struct JudgedRecords {
  RecordsFile records;
  std::optional<MeasuredOn> measured_on;  // absent: unknown
  std::vector<std::int32_t> batches;      // in the records
  DecisionInput input;
  ServedWorkload workload;
  std::vector<std::string> foreign;  // settings measured that wavefill cannot deploy by that name
  Decision decision;
};

// Errors: invalid_argument (an option; the deployed setting is not among the records), corrupt_data (the
// records: names the line), not_found, unavailable (a file, a device).
Result<JudgedRecords> judge_records(const DecideOptions& options);

// What was asked for, by `command`.
DecisionRequest request_of(const JudgedRecords& judged, const std::string& command);

Json document(const JudgedRecords& judged, const std::string& command);
std::string text_of(const JudgedRecords& judged, const report::TerminalStyle& style);

}  // namespace wavefill::cli
