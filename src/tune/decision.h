// The decision rule: which setting the measurements allow to be deployed. A pure function over records.
//
// A setting is admissible when every batch it would serve was measured and verified, at none with weight it
// loses against the deployed setting or may lose more than the regress guard, and throughput does not fall as
// the batch grows. A fall that the deployed
// setting has as well does not count; any other refuses the setting until both its batches were measured
// again. If it is still there it is reported with its likely cause, and no longer refuses: a setting that is
// slower nowhere falls only from a height that it has gained.
// Of the admissible settings that are FASTER somewhere the highest workload-weighted gain wins; among those
// within noise of it the fewest splits. If none gains, the deployed setting stays: there is nothing to change
// it for. What was not measured is never chosen.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tune/verdict.h"
#include "wavefill/status.h"

namespace wavefill {

// The name that a per-batch table has among settings.
inline constexpr std::string_view kPerBatchTable = "measured";

// The samples of one setting at one batch.
struct Evidence {
  std::string setting;
  std::vector<std::string> aliases;  // settings that mean the very same plan at this batch
  std::int32_t batch = 0;
  std::vector<TimedSample> samples;  // clean ones
  bool verified = true;              // its output was checked, and right
  std::string failure;               // why not
  std::int32_t num_splits = 0;       // 0 = unknown
  std::int64_t num_waves = 0;        // 0 = unknown; names the cause of a dip
  double clock_mhz = 0.0;            // of the device while it was measured; 0 = unknown; likewise
};

struct WorkloadWeight {
  std::int32_t batch = 0;
  double weight = 0.0;  // >= 0
};
// What a batch weighs in a workload: the sum of what it names for it, and 1 if the workload is empty.
double weight_of(std::span<const WorkloadWeight> workload, std::int32_t batch);

struct TableEntry {
  std::int32_t batch = 0;
  std::string setting;
  std::int32_t num_splits = 0;  // 0 = unknown

  friend bool operator==(const TableEntry&, const TableEntry&) = default;
};

// A setting that someone proposes at one batch without having measured it.
struct Proposal {
  std::string setting;
  std::int32_t batch = 0;
  std::string source;           // who: "the wave model"
  std::int32_t num_splits = 0;  // 0 = unknown
};

struct DecisionInput {
  std::vector<Evidence> evidence;
  std::vector<Evidence> deployed_again;  // A/A: a second copy of the deployed setting; may be empty
  std::string deployed;
  std::vector<std::int32_t> batches;     // that the choice will serve; empty: every batch in evidence
  std::vector<WorkloadWeight> workload;  // empty: all batches alike; batches not named have weight 0
  std::vector<Proposal> proposals;
  // The per-batch table whose measurement as a whole stands in the evidence under kPerBatchTable.
  std::vector<TableEntry> table;
  // Only the table may replace the deployed setting: what else is in the evidence won a search, and a search
  // also picks the lucky.
  bool table_only = false;
  std::vector<std::int32_t> measured_again;  // batches measured again because throughput fell
  // Batches at which the table keeps the deployed setting for want of time to find a better one: a fall
  // towards one has its cause, and refuses nothing.
  std::vector<std::int32_t> out_of_time;
  std::int32_t capture_ceiling = 0;  // the largest batch that runs as a captured graph; 0 = unknown
  VerdictRule rule;
};

// The verdict of one setting at one batch.
struct VerdictRow {
  std::string setting;
  std::int32_t batch = 0;
  Verdict verdict = Verdict::undecided;
  Effect effect;
  double noise = 0.0;
  double median_us = 0.0;
  std::int32_t samples = 0;
  std::int32_t num_splits = 0;
};

enum class RejectReason : std::uint8_t {
  slower,        // at `batch`, by `effect`
  undecided,     // would be chosen, but its samples at `batch` do not exclude a loss beyond the guard
  unverified,    // its output was wrong at `batch`
  dip,           // throughput falls by `effect` towards `batch`
  not_measured,  // never measured at `batch`
  no_gain,       // not FASTER anywhere that has weight
  less_gain,     // admissible, but another gains more: `effect` is its weighted gain
  more_splits,   // within noise of the choice, which has fewer splits
  unconfirmed,   // won a search, but was not measured a second time
};
std::string_view to_string(RejectReason reason);  // "slower", ...

struct Rejected {
  std::string setting;
  RejectReason reason = RejectReason::no_gain;
  std::int32_t batch = 0;       // 0 = concerns no single batch
  double effect = 0.0;          // relative difference of throughput
  std::string detail;           // one sentence, with figures
  std::int32_t num_splits = 0;  // of a setting at `batch` that was only proposed; 0 = unknown, or measured
};

// Throughput that falls from one batch to the next larger one.
struct Dip {
  std::string setting;
  std::int32_t batch_before = 0;
  std::int32_t batch = 0;
  double effect = 0.0;      // < 0
  bool introduced = false;  // the deployed setting does not fall there as far
  bool measured_again = false;
  bool out_of_time = false;  // towards a batch that the budget was too small for
  // The likeliest: "out of time: batch 24 was not searched to the end", "capture ceiling: no graph beyond
  // batch 80", "clocks: 1980 -> 1755 MHz", "wave edge: 3 -> 4 waves", "unknown".
  std::string cause;
};

// What to measure next to get further.
struct NextMeasurement {
  std::string setting;            // kPerBatchTable or a setting
  std::vector<TableEntry> table;  // where: of a per-batch table, all of it; empty: wherever it is missing
  std::string reason;
};

struct Decision {
  std::string decision;  // a setting, or kPerBatchTable
  bool keeps_deployed = true;
  double weighted_gain = 0.0;     // of the decision; 0 for the deployed
  std::vector<TableEntry> table;  // what the decision means for each batch
  std::vector<Rejected> rejected;
  std::vector<VerdictRow> verdicts;  // by setting, then batch; the deployed one's are SAME with effect 0
  std::vector<Dip> dips;
  std::optional<NextMeasurement> next;
  // No figure was repeated, so nothing is known of the noise: verdicts believe what is beyond assumed_noise.
  bool at_face_value = false;
  std::string summary;  // one line
};

// Errors: invalid_argument (no evidence for the deployed setting, times that are not finite and positive,
// weights below 0), naming what was seen.
Result<Decision> decide(const DecisionInput& input);

// The best setting at each batch by itself: FASTER than the deployed one beyond noise, ties to the fewest
// splits, else the deployed. Errors: as decide().
Result<std::vector<TableEntry>> best_per_batch(const DecisionInput& input);

}  // namespace wavefill
