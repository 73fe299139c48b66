// Evidence put in order: one cell a (setting, batch), each compared once with the deployed setting.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tune/comparison.h"
#include "tune/decision.h"

namespace wavefill {

struct JudgedCell {
  Evidence evidence;
  bool is_deployed = false;  // it, or a setting that means the same plan here
  double median_us = 0.0;    // 0 without samples
  Effect effect;
  double noise = 0.0;
  Verdict verdict = Verdict::undecided;

  bool usable() const { return evidence.verified && !evidence.samples.empty(); }
};

class JudgedEvidence {
 public:
  // Errors: invalid_argument, as decide().
  static Result<JudgedEvidence> make(const DecisionInput& input);

  // The cell that `setting` means at `batch`; nullptr if nothing was measured.
  const JudgedCell* find(std::string_view setting, std::int32_t batch) const;
  const JudgedCell* deployed(std::int32_t batch) const { return find(deployed_, batch); }

  const std::vector<JudgedCell>& cells() const { return cells_; }        // by setting as given, then by batch
  const std::vector<std::int32_t>& batches() const { return batches_; }  // to serve, ascending
  const std::vector<std::string>& settings() const { return settings_; }  // aliases included, as first named
  const Scatter& scatter() const { return scatter_; }                     // of all that is usable
  double weight(std::int32_t batch) const;  // of all batches to serve: sums to 1

 private:
  JudgedEvidence() = default;

  Status add_cells(const DecisionInput& input);
  void set_batches(const DecisionInput& input);
  Status set_weights(const DecisionInput& input);
  void judge_cells(const DecisionInput& input);

  std::string deployed_;
  std::vector<JudgedCell> cells_;
  std::map<std::pair<std::string, std::int32_t>, std::size_t> cell_of_;  // names and aliases
  std::vector<std::string> settings_;
  std::vector<std::int32_t> batches_;
  std::map<std::int32_t, double> weights_;
  Scatter scatter_;
};

// Throughput that falls from one served batch to the next larger one that was measured, beyond noise.
std::vector<Dip> find_dips(const JudgedEvidence& evidence, std::string_view setting,
                           const DecisionInput& input);

}  // namespace wavefill
