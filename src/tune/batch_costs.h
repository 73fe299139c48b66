// What it costs to search a batch, told from those already searched: the budget is shared out by it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "measure/stopping_rule.h"

namespace wavefill {

// How a batch is searched. Less than lean would leave out what must always be compared.
enum class SearchEffort : std::uint8_t {
  full,      // all candidates
  lean,      // those that no model may rule out
  deployed,  // the deployed setting alone: no candidate would come to a verdict
};

struct BatchCost {
  std::int32_t batch = 0;
  std::int32_t candidates = 0;  // the deployed one among them
  double prepare_us = 0.0;
  double setup_us = 0.0;   // preparing, and verifying the first candidate, which makes the reference
  double verify_us = 0.0;  // each further candidate
  double sample_us = 0.0;  // all that goes with one sample

  // Until losers are dropped and the few that are left have the samples that a verdict takes.
  double search_us(std::int32_t num_candidates, const StoppingRule& rule) const;
  // The least that can end in a verdict: all but one candidate are dropped as soon as they may be.
  double least_us(std::int32_t num_candidates, const StoppingRule& rule) const;
  // The deployed setting and its copy, `rounds` times.
  double deployed_us(std::int32_t rounds) const;
  // One candidate against the deployed setting once more.
  double confirm_us(const StoppingRule& rule) const;
};

class BatchCosts {
 public:
  void add(const BatchCost& cost) { known_.push_back(cost); }

  // That of the next larger batch known, else of the largest: more often too much than too little. Absent:
  // none is known.
  std::optional<BatchCost> expected(std::int32_t batch) const;

  // A budget of which the search's share is enough for all batches, and both shares for confirming as many
  // too; 0 if nothing is known.
  double enough_us(std::span<const std::int32_t> batches, const StoppingRule& rule, double search_share,
                   double confirm_share) const;

 private:
  std::vector<BatchCost> known_;
};

// Smallest, largest and middle first: constants fitted to them are then asked about sizes between, not
// beyond. Then those that `matters` names before the others, from large to small: wherever the budget ends,
// throughput does not fall from a size that was searched to a larger one that was not. Indices of batches in
// ascending order, each once. Preconditions: num_batches >= 1, one `matters` each.
std::vector<std::size_t> search_order(std::size_t num_batches, const std::vector<bool>& matters);

}  // namespace wavefill
