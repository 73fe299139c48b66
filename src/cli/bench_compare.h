// A bench run against an earlier one: what `wavefill bench --compare` says to continuous integration.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/bench_base.h"
#include "cli/bench_run.h"
#include "cli/json_output.h"
#include "report/text_table.h"
#include "tune/verdict.h"
#include "wavefill/status.h"

namespace wavefill::cli {

// One setting at one batch, now and then.
struct ComparedRow {
  std::int32_t batch = 0;
  std::string setting;
  double base_us = 0.0;
  double us = 0.0;
  Effect effect = {};  // of throughput: +0.05 is 5 % more than in the base
  double noise = 0.0;  // by which two runs of the same may differ
  Verdict verdict = Verdict::undecided;
};

// In the base, and not measured now.
struct MissingRow {
  std::int32_t batch = 0;
  std::string setting;
};

struct BenchComparison {
  std::string base;
  std::vector<ComparedRow> rows;
  std::vector<MissingRow> missing;
  std::vector<std::string> notes;  // another kernel, rows of only one side

  std::int64_t regressions() const;
  // A gate that passes because its figures have vanished is none.
  bool fails() const { return regressions() > 0 || !missing.empty(); }
};

// What the user named, and so left out on purpose: that is noted. Anything else of the base that was not
// measured is missing.
struct CompareScope {
  bool names_batches = false;
  bool names_settings = false;
};

// SLOWER: by more than `max_loss` and than the noise of either run, beyond chance with all rows accounted
// for. The runs were not interleaved, so a loss smaller than machines drift by from day to day must not
// count; max_loss says how much that is where the samples do not. Noise: a machine that is busy in one run
// and not in the other makes their medians as different as samples within a run are. So it is half the range
// of the middle 80 % of the samples, over their median, of the run in which that is larger, and at most 10 %.
// Errors: mismatch (another device, shape or timing: figures that may not be compared), invalid_argument
// (nothing in common).
Result<BenchComparison> compare_with_base(const BenchBase& base, const std::string& title,
                                          const BenchResult& result, double max_loss,
                                          const CompareScope& scope);

Json document(const BenchComparison& comparison);
std::string text_of(const BenchComparison& comparison, const report::TerminalStyle& style);
std::string junit_of(const BenchComparison& comparison);

// "2%" or "0.5%". Errors: invalid_argument.
Result<double> parse_percent(std::string_view option, std::string_view text);

}  // namespace wavefill::cli
