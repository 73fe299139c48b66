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
  Verdict verdict = Verdict::undecided;
};

struct BenchComparison {
  std::string base;
  std::vector<ComparedRow> rows;
  std::vector<std::string> notes;  // another kernel, rows of only one side

  std::int64_t regressions() const;
};

// SLOWER: by more than `max_loss`, beyond chance with all rows accounted for. The runs were not interleaved,
// so a loss smaller than machines drift by from day to day must not count; max_loss says how much that is.
// Errors: mismatch (another device, shape or timing: figures that may not be compared), invalid_argument
// (nothing in common).
Result<BenchComparison> compare_with_base(const BenchBase& base, const std::string& title,
                                          const BenchResult& result, double max_loss);

Json document(const BenchComparison& comparison);
std::string text_of(const BenchComparison& comparison, const report::TerminalStyle& style);
std::string junit_of(const BenchComparison& comparison);

// "2%" or "0.5%". Errors: invalid_argument.
Result<double> parse_percent(std::string_view option, std::string_view text);

}  // namespace wavefill::cli
