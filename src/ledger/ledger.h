// The ledger: every measurement and every decision, append-only, in one SQLite file.
//
// Write-ahead log with synchronous=NORMAL, one transaction a round. A commit has then handed its pages to
// the operating system before record() returns, so killing the process loses nothing acknowledged. A power
// failure may lose the last commits but leaves the file sound; finish() flushes to the disk, so a decision
// and all it rests on survive that too.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "measure/records.h"
#include "wavefill/status.h"

namespace wavefill {

// One run, for listings.
struct RunSummary {
  RunId id = 0;
  RunKey key;
  std::int64_t started_unix_us = 0;
  std::int64_t num_measurements = 0;
  std::int64_t num_contaminated = 0;
  std::int32_t num_sessions = 0;  // processes that worked on it
  bool finished = false;
  std::string decision;  // setting text; empty if unfinished
  std::string summary;
};

class Ledger final : public RecordSink {
 public:
  // Opens or creates. Errors: corrupt_data (not SQLite, damaged, or another program's file), mismatch (a
  // newer schema than this build knows), unavailable (cannot be opened or created, or is locked).
  static Result<Ledger> open(const std::string& path);

  // The same for a ledger that must be there already: errors also not_found. For reading.
  static Result<Ledger> open_existing(const std::string& path);

  Ledger(Ledger&&) noexcept;
  Ledger& operator=(Ledger&&) noexcept;
  ~Ledger() override;

  // RecordSink. begin() refuses with `unavailable` if another living process works on the same key.
  Result<RunState> begin(const RunKey& key, const Environment& environment, bool resume) override;
  Status record(std::span<const Measurement> round) override;
  Status record(const Verification& verification) override;
  Status record(const ArmEnd& end) override;
  Status finish(const DecisionRecord& decision) override;
  void suspend(RunId run) override;

  // A decision that was made without measuring here: its run, which is finished from the start, in one
  // transaction and on the disk. `decision.run` is not used.
  Result<RunId> record_decision(const RunKey& key, const Environment& environment,
                                const DecisionRecord& decision);

  // Newest first; limit 0 = all.
  Result<std::vector<RunSummary>> runs(std::int64_t limit = 0) const;
  Result<std::vector<DecisionRecord>> decisions(std::int64_t limit = 0) const;

  // In the order recorded. Empty for a run that does not exist.
  Result<std::vector<Measurement>> measurements(RunId run) const;
  Result<std::vector<Verification>> verifications(RunId run) const;
  Result<std::vector<ArmEnd>> ends(RunId run) const;
  // Of the run's last session. Errors: not_found.
  Result<Environment> environment(RunId run) const;
  // Errors: not_found (no such run, or it has no decision).
  Result<DecisionRecord> decision(RunId run) const;

 private:
  struct Impl;
  explicit Ledger(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace wavefill
