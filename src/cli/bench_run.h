// Timing given settings at given batches: the measuring half of `wavefill bench`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "measure/bandwidth.h"
#include "measure/records.h"
#include "measure/statistics.h"
#include "measure/workbench.h"
#include "tune/tuner.h"
#include "wavefill/plan.h"
#include "wavefill/status.h"

namespace wavefill::cli {

struct BenchRequest {
  DecodeShape shape;  // its batch is not used
  std::vector<std::int32_t> batches;
  std::vector<Setting> settings;
  double budget_us = 0.0;  // of each batch, all settings together
  std::uint64_t seed = 1;
  bool count_contaminated = false;
};

// One setting at one batch. Without samples: `failure` says why.
struct BenchRow {
  std::int32_t batch = 0;
  std::string setting;
  WaveStats waves;
  VerifyOutcome verified;
  std::vector<double> samples_us;
  double us = 0.0;  // median
  Interval interval_us;
  double tokens_per_s = 0.0;
  double gbps = 0.0;  // 1e9 bytes/s: every token read, counted each time, plus q and out
  std::int32_t rounds = 0;
  std::int32_t contaminated_rounds = 0;
  std::string contamination;
  std::string stopped_by;
  std::string cache_state;
};

struct BenchResult {
  DeviceSpec device;
  KernelSpec kernel;
  std::string timing;
  std::vector<BenchRow> rows;  // by batch, then setting
  bool cancelled = false;
};

// Each output is checked before its time counts. Settings take turns, in shuffled rounds.
// Errors: those of the workbench and of make_plan.
Result<BenchResult> run_bench(const BenchRequest& request, Workbench& workbench, Progress& progress);

// Bytes one call has to move: every token each row names, and q and out in bf16.
std::int64_t bytes_per_call(const DecodeShape& shape);

}  // namespace wavefill::cli
