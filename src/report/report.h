// What a report says, as plain values: made from a tuning result, and turned into JSON, HTML, CSV and
// terminal tables. Throughput is query tokens per second: rows / time of one call.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tune/decision.h"
#include "tune/phase_watch.h"
#include "wavefill/shape.h"

namespace wavefill {
struct TuneRequest;
struct TuneResult;
}  // namespace wavefill

namespace wavefill::report {

struct TerminalStyle;  // report/text_table.h

// A value with its 95 % interval.
struct Estimate {
  double value = 0.0;
  double low = 0.0;
  double high = 0.0;
};

// One setting measured at one batch.
struct Arm {
  std::string setting;
  std::vector<std::string> aliases;  // other settings that give the same plan
  std::int32_t num_splits = 0;
  bool is_uniform = true;  // every row has num_splits splits, a CTA each
  std::int64_t num_ctas = 0;
  std::int64_t num_waves = 0;
  double wave_efficiency = 0.0;
  double predicted_us = 0.0;      // by the cost model; says where to measure, never what to ship
  double fitted_us = 0.0;         // in sample: by the model fitted to the whole run; 0 without a fit
  double out_of_sample_us = 0.0;  // by the model fitted without this batch; 0 without such a fit
  bool verified = false;
  double max_o_error = 0.0;
  double max_lse_error = 0.0;
  std::string failure;
  std::vector<double> samples_us;
  Estimate us;             // median; 0 without samples
  Estimate tokens_per_s;   // of the median
  Estimate effect;         // relative gain of throughput over the deployed setting
  std::string verdict;     // "FASTER", "SLOWER", "SAME", "UNDECIDED"
  std::string stopped_by;  // "precision", "time_budget", ...

  bool is_measured() const { return !samples_us.empty() && verified; }
};

// A setting that won the search, measured once more against the deployed one. Where it did not hold, the
// choice is another.
struct Confirmation {
  std::string setting;
  Estimate us;  // 0 without samples
  Estimate deployed_us;
  Estimate effect;
  std::string verdict;
  std::vector<double> samples_us;
  std::vector<double> deployed_samples_us;
  std::int32_t rounds = 0;
  std::int32_t contaminated_rounds = 0;
  std::string contamination = {};
  double clock_mhz = 0.0;  // 0 = not said
};

struct Batch {
  std::int32_t batch = 0;
  bool is_searched = true;  // false: the budget had no room for more than the deployed setting
  double weight = 1.0;      // in the workload
  std::vector<Arm> arms;    // the deployed first
  std::size_t chosen_idx = 0;
  bool is_confirmed = false;
  Confirmation confirmation;
  Estimate a_a_effect;  // of a second copy of the deployed setting
  std::vector<double> a_a_samples_us;
  double noise = 0.0;  // noise floor, relative
  std::int32_t rounds = 0;
  std::int32_t contaminated_rounds = 0;
  std::string contamination;
  double clock_mhz = 0.0;  // of the device during the search; 0 = not said
  std::int32_t calls_per_sample = 1;
  std::string cache_state;  // "cold: 630 MiB are read between two uses of a line, ..."
  std::string pruned_by;    // where the constants came from that chose what to measure

  const Arm& deployed() const { return arms.front(); }
  const Arm& chosen() const { return arms[chosen_idx]; }
};

// A kernel that was compared with others before one was tuned.
struct KernelRow {
  struct Figure {
    std::int32_t batch = 0;
    std::string setting;
    double us = 0.0;  // 0: not measured
  };
  std::string kernel;
  std::vector<Figure> figures;  // its best setting at each batch
  double throughput = 0.0;      // weighted, relative to the fastest; 0 if it is out
  bool is_chosen = false;
  std::string reason;
};

struct RejectedSetting {
  std::string setting;
  std::string reason;  // "slower", "dip", ...
  std::int32_t batch = 0;
  double effect = 0.0;
  std::string detail;
};

// What a policy costs against the best setting measured at each batch.
struct PolicyRegret {
  std::string setting;
  double geometric_mean = 0.0;  // 0.02: 2 % slower than the best
  double worst = 0.0;
  std::int32_t worst_batch = 0;
  std::int32_t num_batches = 0;   // at which it was measured
  std::int32_t num_compared = 0;  // at which settings were compared: those that were searched
};

// What the cost model would have shipped at one batch, had nobody measured.
struct ModelPick {
  std::int32_t batch = 0;
  // Empty: unknown, since the batch was not searched, or too little was measured at others to fit without it.
  std::string setting = {};
  double predicted_us = 0.0;
  double us = 0.0;                // as measured; 0 where nobody did
  std::string best_setting = {};  // of those measured
  double best_us = 0.0;
  double cost = 0.0;  // 0.04: 4 % slower than the best measured

  bool is_known() const { return !setting.empty(); }
  bool is_priced() const { return us > 0.0; }
};

// How far a cost model can be trusted.
struct ModelScore {
  double rms_residual = 0.0;
  double max_residual = 0.0;
  double rank_correlation = 0.0;
  double rank_within_batches = 0.0;
  std::int32_t ranked_batches = 0;    // that it is the average of; 0: nothing is known of it
  std::vector<ModelPick> picks = {};  // one a batch
};

// The cost model fitted to the run. What it says of the times that it was fitted to flatters it: what it says
// of a batch that was left out of the fit is what it would be worth without measuring there.
struct ModelFit {
  bool is_fitted = false;
  std::vector<std::pair<std::string, double>> constants_us;  // "launch", "tile", ...; fitted to all times
  ModelScore in_sample;
  bool has_out_of_sample = false;  // batches enough to leave one out
  ModelScore out_of_sample;
};

struct Report {
  std::string title;  // "dsv4-flash, TP 8"
  std::int64_t run = 0;
  std::string created;  // "2026-12-01 23:45 UTC"
  std::string library_version;
  std::string command;  // that reproduces the run
  std::string device;
  std::string kernel;
  std::vector<KernelRow> kernels;  // empty: there was no choice
  std::int64_t slots = 0;
  DecodeShape shape;  // its batch is not used
  std::string timing;
  std::uint64_t seed = 1;            // of the order of measuring and of the bootstrap
  bool counts_contaminated = false;  // rounds in which something else used the machine were used all the same
  std::string deployed;
  std::string decision;
  bool keeps_deployed = true;
  double weighted_gain = 0.0;
  std::string summary;
  std::string next;  // what to measure next; may be empty
  std::vector<Batch> batches;
  std::vector<RejectedSetting> rejected;
  std::vector<Dip> dips;
  std::vector<PolicyRegret> regrets;  // the chosen first
  ModelFit fit;
  PhaseWatch search_watch;
  PhaseWatch confirm_watch;  // without rounds: there was no confirmation
  std::vector<std::pair<std::string, std::string>> environment;
  double elapsed_s = 0.0;
  double budget_s = 0.0;
  std::vector<std::int32_t> without_verdict;  // batches that the budget was too small for
  double enough_s = 0.0;                      // a budget that should do; 0: it was enough, or is not known
};

// What the tuner does not know.
struct ReportLabels {
  std::string title;
  std::int64_t created_unix_us = 0;
};

// Precondition: the run was not cancelled.
Report make_report(const TuneRequest& request, const TuneResult& result, const ReportLabels& labels);

// One JSON document; its fields are those above.
std::string to_json(const Report& report);

// One row a setting and batch.
std::string to_csv(const Report& report);

// The page: one file, no network, light and dark.
std::string to_html(const Report& report);

// The table batch by batch, and the decision, for a terminal.
std::string to_text(const Report& report, const TerminalStyle& style);

// "keep efficiency", "deploy the per-batch table".
std::string decision_text(const Report& report);

// Each figure as an SVG file of its own: name ("throughput.svg") and content.
std::vector<std::pair<std::string, std::string>> to_svg_files(const Report& report);

// The kernels compared; empty if there was no choice.
std::string kernels_text(const Report& report, const TerminalStyle& style);

// "The budget was too small: ..."; empty if it was not.
std::string shortfall_text(const Report& report);

// "8 heads, 128 + 512 tokens, dsv4 cache".
std::string shape_text(const DecodeShape& shape);

}  // namespace wavefill::report
