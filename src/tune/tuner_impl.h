// One run of the tuner. The parts of its work stand in tuner.cpp (frame and conclusion), tuner_kernels.cpp
// (which kernel), tuner_search.cpp, tuner_budget.cpp (what the search may spend, and on which batch) and
// tuner_confirm.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tune/batch_costs.h"
#include "tune/fit.h"
#include "tune/kernel_race.h"
#include "tune/session.h"
#include "tune/tuner.h"

namespace wavefill {

// How the budget is shared: finding the winners, measuring the table once more, and looking again at dips.
inline constexpr double kSearchShare = 0.75;
inline constexpr double kConfirmShare = 0.20;

// Of the intervals that are only shown: decisions use VerdictRule's.
inline constexpr std::int32_t kShownResamples = 2000;

class Tuner {
 public:
  Tuner(const TuneRequest& request, Workbench& workbench, RecordSink& sink, Progress& progress)
      : request_(request), workbench_(workbench), sink_(sink), progress_(progress) {}

  Result<TuneResult> run();

 private:
  Status begin();
  Status measure_and_decide();

  Result<std::vector<KernelSpec>> common_kernels() const;
  Status choose_kernel();
  Status race_at(std::int32_t batch, std::int32_t place, double deadline_us, KernelRace& race);
  Result<std::vector<Candidate>> racers(const DecodeShape& shape, const KernelSpec& kernel) const;
  Status conclude_race(KernelRace& race);

  // What a batch may have. `place`: how many batches had their turn before it.
  struct Turn {
    std::int32_t batch = 0;
    std::int32_t place = 0;
    double deadline_us = 0.0;       // of its share
    double last_deadline_us = 0.0;  // what the least that is due to later batches leaves
  };

  Status search();
  Status search_batch(const Turn& turn);
  Result<BatchResult> begin_batch(const Turn& turn);
  Result<BatchResult> begin_again(BatchResult batch);
  // Lays a batch ready on the device. Errors: those of the workbench, unavailable (warm caches).
  Result<Rotation> prepare_cold(std::int32_t batch);
  Status verify_all(BatchResult& batch);
  Status measure_batch(BatchResult& batch, const Turn& turn);

  SearchEffort effort_for(const std::vector<Candidate>& candidates, const Turn& turn) const;
  double least_due_us(std::span<const std::int32_t> batches) const;
  bool is_known_from_before(std::int32_t batch) const;
  Status spend_rest(double deadline_us, const std::vector<std::int32_t>& order);
  std::vector<std::int32_t> open_batches() const;
  double once_more_us(const BatchResult& batch) const;
  void note_shortfall(std::int32_t batch);
  void conclude_shortfall();

  CostModel known_model(const DecodeShape& shape);
  std::vector<FitObservation> observations() const;
  Result<std::vector<Candidate>> candidates_at(const DecodeShape& shape, const CostModel& model) const;
  Status verify(std::int32_t batch, ArmResult& arm);
  void keep_search(BatchResult& batch, SessionOutcome& outcome);
  void summarise(BatchResult& batch) const;

  Status confirm(std::vector<TableEntry> table);
  Status confirm_batch(Phase phase, const TableEntry& entry, std::int32_t place, double deadline_us);
  std::vector<std::int32_t> out_of_time(const std::vector<TableEntry>& table);
  Status settle(std::vector<TableEntry> table);
  Status measure_again(const TableEntry& entry, std::int32_t place, std::size_t left);
  Status conclude(DecisionInput input, Decision decision);
  void fit();

  DecodeShape shape_at(std::int32_t batch) const;
  BatchResult& batch_result(std::int32_t batch);
  SessionContext context() const { return {request_, workbench_, sink_, progress_, earlier_}; }
  SessionSpec session_spec(Phase phase, std::int32_t batch, std::int32_t place, double deadline_us);
  double share_deadline(double phase_deadline_us, std::span<const std::int32_t> batches_left) const;
  void report(const ProgressUpdate& update);
  double remaining_us(const ProgressUpdate& update) const;

  const TuneRequest& request_;
  Workbench& workbench_;
  RecordSink& sink_;
  Progress& progress_;
  RunState earlier_;
  std::vector<KernelSpec> kernels_;  // that take every batch, in the table's order
  TuneResult result_;
  double start_us_ = 0.0;
  double phase_start_us_ = 0.0;
  std::int64_t new_samples_ = 0;
  BatchCosts costs_;
  BatchCost cost_;                  // of the batch being searched, as far as it is known
  std::optional<CostFit> fitted_;   // absent: too little is known, or it fits too badly
  std::size_t fitted_batches_ = 0;  // that it was fitted to
};

}  // namespace wavefill
