#include "tune/batch_costs.h"

#include <algorithm>

#include "tune/elimination.h"

namespace wavefill {
namespace {

// What a search usually comes to: until elimination all are timed, and from then on three candidates beside
// the deployed setting and its copy.
constexpr std::int32_t kRoundsOfAll = 8;
constexpr std::int32_t kArmsLeft = 5;
constexpr std::int32_t kLeastArms = 3;  // one candidate, the deployed setting, its copy

double samples_of(std::int32_t num_candidates, std::int32_t rounds_of_all, std::int32_t arms_left,
                  const StoppingRule& rule) {
  const std::int32_t arms = num_candidates + 1;
  const std::int32_t first = std::min(rounds_of_all, rule.min_samples);
  return static_cast<double>(first) * arms +
         static_cast<double>(rule.min_samples - first) * std::min(arms, arms_left);
}

}  // namespace

double BatchCost::search_us(std::int32_t num_candidates, const StoppingRule& rule) const {
  return setup_us + verify_us * (num_candidates - 1) +
         sample_us * samples_of(num_candidates, kRoundsOfAll, kArmsLeft, rule);
}

double BatchCost::least_us(std::int32_t num_candidates, const StoppingRule& rule) const {
  return setup_us + verify_us * (num_candidates - 1) +
         sample_us * samples_of(num_candidates, static_cast<std::int32_t>(kGulfSamples), kLeastArms, rule);
}

double BatchCost::deployed_us(std::int32_t rounds) const { return setup_us + sample_us * 2 * rounds; }

double BatchCost::confirm_us(const StoppingRule& rule) const {
  return prepare_us + sample_us * 2 * rule.min_samples;
}

std::optional<BatchCost> BatchCosts::expected(std::int32_t batch) const {
  const BatchCost* best = nullptr;
  for (const BatchCost& cost : known_) {
    const bool first = best == nullptr;
    const bool fits = cost.batch >= batch;
    const bool nearer =
        !first && (best->batch >= batch ? fits && cost.batch < best->batch : cost.batch > best->batch);
    if (first || nearer) best = &cost;
  }
  return best == nullptr ? std::nullopt : std::optional(*best);
}

double BatchCosts::enough_us(std::span<const std::int32_t> batches, const StoppingRule& rule,
                             double search_share, double confirm_share) const {
  double search_us = 0.0;
  double confirm_us = 0.0;
  for (const std::int32_t batch : batches) {
    const auto cost = expected(batch);
    if (!cost) return 0.0;
    search_us += cost->search_us(cost->candidates, rule);
    confirm_us += cost->confirm_us(rule);
  }
  return std::max(search_us / search_share, (search_us + confirm_us) / (search_share + confirm_share));
}

std::vector<std::size_t> search_order(std::size_t num_batches, const std::vector<bool>& matters) {
  std::vector<std::size_t> order;
  const auto add_once = [&](std::size_t idx) {
    if (std::ranges::find(order, idx) == order.end()) order.push_back(idx);
  };
  for (const std::size_t first : {std::size_t{0}, num_batches - 1, num_batches / 2}) add_once(first);
  for (const bool wanted : {true, false}) {
    for (std::size_t idx = num_batches; idx-- > 0;) {
      if (matters[idx] == wanted) add_once(idx);
    }
  }
  return order;
}

}  // namespace wavefill
