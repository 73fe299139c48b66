// What is written down while measuring, and the interface of whoever writes it down.
//
// Records are append-only. A record that record() has acknowledged survives the death of the process.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "measure/environment.h"
#include "wavefill/profile.h"
#include "wavefill/status.h"

namespace wavefill {

using RunId = std::int64_t;

// Why a sample was taken.
enum class Phase : std::uint8_t {
  search,   // comparing all candidates of one batch
  confirm,  // measuring the chosen table once more, as a whole
  dip,      // measuring again where throughput seemed to fall
  kernels,  // before all others: which row of the kernel table to tune; settings are "kernel: setting"
};
std::string_view to_string(Phase phase);           // "search", ...
Result<Phase> parse_phase(std::string_view text);  // errors: invalid_argument

// Why an arm took no more samples.
enum class StopReason : std::uint8_t {
  none,         // still running
  precision,    // its relative half-width was met
  max_samples,  // as many samples as are allowed at most
  time_budget,  // its time was out
  eliminated,   // clearly slower than the leader
  rejected,     // its output was wrong: its times do not count
  cancelled,    // by the user
};
std::string_view to_string(StopReason reason);
Result<StopReason> parse_stop_reason(std::string_view text);

// One burst of calls. (run, phase, batch, setting, replica, round) names it: never measured twice.
struct Measurement {
  RunId run = 0;
  Phase phase = Phase::search;
  std::int32_t batch = 0;
  std::string setting;        // "fixed=4"
  std::int32_t replica = 0;   // 0; 1 = the A/A arm, a second copy of the deployed setting
  std::int32_t round = 0;     // all arms of a round were measured one after another
  std::int32_t position = 0;  // in the round's shuffled order
  std::int32_t calls = 1;     // calls in the burst
  double us = 0.0;            // mean time of one call of the burst
  bool contaminated = false;  // something else used the device: kept, counted, and left out of statistics
  std::string reason;         // of the contamination
  std::int64_t at_unix_us = 0;

  friend bool operator==(const Measurement&, const Measurement&) = default;
};

// The error for recording a measurement a second time.
Status measured_before(const Measurement& measurement);

// A candidate's output against the fp64 oracle.
struct Verification {
  RunId run = 0;
  std::int32_t batch = 0;
  std::string setting;
  bool passed = false;
  double max_o_error = 0.0;    // ||o - reference|| / ||reference||, worst (row, head)
  double max_lse_error = 0.0;  // absolute, natural log
  std::string message;         // of the first failure
  std::int64_t at_unix_us = 0;

  friend bool operator==(const Verification&, const Verification&) = default;
};

struct ArmEnd {
  RunId run = 0;
  Phase phase = Phase::search;
  std::int32_t batch = 0;
  std::string setting;
  std::int32_t replica = 0;
  StopReason reason = StopReason::none;
  std::int32_t samples = 0;  // clean ones
  std::int64_t at_unix_us = 0;

  friend bool operator==(const ArmEnd&, const ArmEnd&) = default;
};

// A decision as it is kept: readable columns for listings, and the whole as JSON.
struct DecisionRecord {
  RunId run = 0;
  std::string deployed;  // setting text
  std::string decision;  // setting text; "measured" for a per-batch table
  std::string summary;   // one line
  std::string json;      // everything (tune/decision_json.h)
  std::int64_t at_unix_us = 0;

  friend bool operator==(const DecisionRecord&, const DecisionRecord&) = default;
};

// What must be equal for two processes to add to the same run.
struct RunKey {
  ProfileKey profile;
  std::string deployed;  // setting text
  std::string batches;   // "1-16"
  std::string timing;    // "cpu, cold caches": how calls were timed
  std::uint64_t seed = 0;

  friend bool operator==(const RunKey&, const RunKey&) = default;
};

// One line a field, "name=value", with backslash and control characters escaped: unique, whatever a device
// is called.
std::string to_string(const RunKey& key);

// What is already known of a run.
struct RunState {
  RunId id = 0;
  bool resumed = false;
  std::vector<Measurement> measurements;
  std::vector<Verification> verifications;
  std::vector<ArmEnd> ends;
};

// Implemented by the ledger, and by MemorySink. Used from one thread.
class RecordSink {
 public:
  virtual ~RecordSink() = default;

  // Continues the last run of this key if `resume` and that run has no decision yet, else starts a new
  // one. The run belongs to this process until finish() or suspend().
  // Errors: unavailable (another process is measuring this key: says which), or those of the medium.
  virtual Result<RunState> begin(const RunKey& key, const Environment& environment, bool resume) = 0;

  // Each returns only once the record survives a kill of this process.
  // A round's measurements are kept together or not at all.
  // Errors: invalid_argument (a measurement was recorded before), or those of the medium.
  virtual Status record(std::span<const Measurement> round) = 0;
  virtual Status record(const Verification& verification) = 0;
  virtual Status record(const ArmEnd& end) = 0;

  // Ends the run with its decision.
  virtual Status finish(const DecisionRecord& decision) = 0;

  // Lets go of the run without ending it: a later begin() resumes it.
  virtual void suspend(RunId run) = 0;
};

// Keeps records in memory only: `wavefill bench`, tests.
class MemorySink final : public RecordSink {
 public:
  Result<RunState> begin(const RunKey& key, const Environment& environment, bool resume) override;
  Status record(std::span<const Measurement> round) override;
  Status record(const Verification& verification) override;
  Status record(const ArmEnd& end) override;
  Status finish(const DecisionRecord& decision) override;
  void suspend(RunId run) override;

  const std::vector<Measurement>& measurements() const { return measurements_; }
  const std::vector<Verification>& verifications() const { return verifications_; }
  const std::vector<ArmEnd>& ends() const { return ends_; }
  const std::vector<DecisionRecord>& decisions() const { return decisions_; }

 private:
  struct Run {
    RunKey key;
    bool finished = false;
  };
  std::vector<Run> runs_;  // run id = place + 1
  std::vector<Measurement> measurements_;
  std::vector<Verification> verifications_;
  std::vector<ArmEnd> ends_;
  std::vector<DecisionRecord> decisions_;
};

// Now, for at_unix_us.
std::int64_t unix_time_us();

}  // namespace wavefill
