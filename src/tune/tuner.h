// Tuning: from a shape and a list of batches to a measured, verified, decided profile.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "measure/records.h"
#include "measure/stopping_rule.h"
#include "measure/workbench.h"
#include "tune/candidates.h"
#include "tune/decision.h"
#include "tune/fit.h"
#include "tune/phase_watch.h"
#include "wavefill/profile.h"

namespace wavefill {

struct TuneRequest {
  DecodeShape shape;                  // its batch is not used
  std::vector<std::int32_t> batches;  // >= 1 each, ascending, no repeats
  Setting deployed;                   // never `measured`
  std::vector<Setting> also;          // further settings to measure at every batch
  std::vector<WorkloadWeight> workload;
  double budget_us = 60e6;  // wall time of this call, as Workbench::now_us() counts
  StoppingRule stop;
  VerdictRule verdict;
  double burst_us = 2000.0;  // least length of one sample
  std::uint64_t seed = 1;    // order of arms, bootstrap
  std::string command;       // that asked for this, quoted for a shell: kept with the decision
  bool resume = true;
  bool allow_warm = false;          // measure although caches cannot be shown to be cold
  bool count_contaminated = false;  // on a machine that is never quiet: flag such rounds, yet use them
};

// Errors: invalid_argument, naming the field.
Status validate(const TuneRequest& request);

struct ProgressUpdate {
  Phase phase = Phase::search;
  std::string activity;  // "verifying", "measuring", "deciding"
  std::int32_t batch = 0;
  std::int32_t batch_idx = 0;  // of num_batches, in this phase
  std::int32_t num_batches = 0;
  std::int32_t round = 0;
  std::int32_t active_arms = 0;
  std::int64_t samples = 0;  // recorded so far, in this call
  double elapsed_us = 0.0;
  double remaining_us = 0.0;  // estimate
};

class Progress {
 public:
  virtual ~Progress() = default;
  virtual void update(const ProgressUpdate& update) = 0;  // often: after every round
  virtual bool cancelled() const = 0;                     // asked before every sample
};

// One candidate at one batch, as measured.
struct ArmResult {
  Candidate candidate;
  bool verified = false;
  Verification verification;
  std::vector<TimedSample> samples;  // clean ones, of the search
  double median_us = 0.0;            // 0 without samples
  Interval interval_us;              // 95 % of the median
  Effect effect;                     // against the deployed
  Verdict verdict = Verdict::undecided;
  StopReason stop = StopReason::none;
  double fitted_us = 0.0;         // by the model fitted to the whole run; 0 without a fit
  double out_of_sample_us = 0.0;  // by the model fitted without this batch; 0 without such a fit
};

struct BatchResult {
  std::int32_t batch = 0;
  bool is_searched = true;  // false: the budget had no room for more than the deployed setting
  Rotation rotation;
  std::vector<ArmResult> arms;           // the deployed first
  std::vector<TimedSample> a_a_samples;  // the second copy of the deployed
  Effect a_a;
  double noise = 0.0;           // noise floor, relative
  std::int32_t next_round = 0;  // of the search: those before it are recorded
  std::int32_t rounds = 0;      // clean ones
  std::int32_t contaminated_rounds = 0;
  std::string contamination;  // the last reason
  double clock_mhz = 0.0;     // of the device meanwhile; 0 = not said
  std::int32_t calls_per_sample = 1;
  std::size_t chosen_idx = 0;  // into arms: what the decision serves here
  std::string pruned_by;       // CostModel::source of what said where to measure
};

// The chosen table measured as a whole against the deployed, at one batch. Where a fall of throughput was
// measured again, samples and clock are those of that measurement, and rounds those of both.
struct ConfirmResult {
  std::int32_t batch = 0;
  std::string setting;
  std::vector<TimedSample> deployed_samples;
  std::vector<TimedSample> samples;  // of the table's setting
  double deployed_median_us = 0.0;
  double median_us = 0.0;
  Interval interval_us;
  Effect effect;
  Verdict verdict = Verdict::same;
  std::int32_t rounds = 0;  // clean ones
  std::int32_t contaminated_rounds = 0;
  std::string contamination;  // the last reason
  double clock_mhz = 0.0;     // of the device meanwhile; 0 = not said
};

// A row of the kernel table, as it did against the others before one was chosen to be tuned.
struct KernelFigure {
  std::int32_t batch = 0;
  std::string setting;  // its best here
  double us = 0.0;      // median; 0 without a clean sample
};
struct KernelResult {
  KernelSpec kernel;
  std::vector<KernelFigure> figures;  // one a batch, ascending
  double throughput = 0.0;  // weighted by the workload, relative to the fastest kernel; 0 if it is out
  bool is_chosen = false;
  std::string reason;  // why it is chosen, or not
};

// Where the budget ended before a verdict.
struct Shortfall {
  // At these the deployed setting stays although another could still prove faster, ascending.
  std::vector<std::int32_t> batches;
  double enough_us = 0.0;  // a budget that should do, as times were in this run; 0 = not known
};

struct TuneResult {
  RunId run = 0;
  bool resumed = false;
  bool cancelled = false;                // no decision: a later call resumes
  std::int64_t reused_measurements = 0;  // measurements that an earlier process had already made
  Environment environment;
  DeviceSpec device;
  KernelSpec kernel;                  // that was tuned
  std::vector<KernelResult> kernels;  // compared before; empty: there was no choice
  std::string timing;
  std::vector<BatchResult> batches;  // those reached
  std::vector<ConfirmResult> confirmed;
  PhaseWatch search_watch;
  PhaseWatch confirm_watch;  // of what won the search; without rounds: nothing did
  Decision decision;
  std::optional<Profile> profile;  // what the decision serves, as measured; absent if cancelled
  std::optional<CostFit> fit;      // absent with too few observations
  OutOfSampleFit out_of_sample;    // without models: too few batches
  Shortfall shortfall;
  double elapsed_us = 0.0;
};

// Errors: invalid_argument (request), unsupported (shape), unavailable (warm caches without allow_warm,
// the machine too busy to measure, another process tuning the same), those of the workbench and the sink.
// What was recorded before an error stays recorded.
Result<TuneResult> tune(const TuneRequest& request, Workbench& workbench, RecordSink& sink,
                        Progress& progress);

}  // namespace wavefill
