#include "tune/candidates.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "plan/split_problem.h"
#include "tune/cost_prediction.h"

namespace wavefill {
namespace {

// Up to here every split count is looked at; beyond, one for each length that the longest share can have.
constexpr std::int64_t kExhaustiveTiles = 32;

// What a row may be taken to cost by balanced=N, beside what balanced alone takes: fewer kv tiles suit
// kernels whose next row is under way while one ends.
constexpr std::int64_t kRowOverheads[] = {1, 2, 3};

Setting fixed_setting(std::int64_t num_splits) {
  Setting setting;
  setting.kind = PolicyKind::fixed;
  setting.value = num_splits;
  return setting;
}

class CandidateSet {
 public:
  CandidateSet(const DeviceSpec& device, const KernelSpec& kernel, const DecodeShape& shape,
               const CostModel& model)
      : model_(model) {
    request_.device = device;
    request_.kernel = kernel;
    request_.shape = shape;
  }

  // The candidate that `setting` means, made if it is new.
  Result<Candidate*> add(const Setting& setting) {
    request_.setting = setting;
    auto plan = make_plan(request_);
    if (!plan.ok()) return plan.status();
    const std::string name = to_string(setting);
    for (Candidate& known : candidates_) {
      if (!same_work(known.plan, *plan)) continue;
      if (std::ranges::find(known.aliases, name) == known.aliases.end()) known.aliases.push_back(name);
      if (setting.kind == PolicyKind::fixed && known.setting.kind != PolicyKind::fixed) {
        known.setting = setting;  // says what is done, whatever policies become later
      }
      return &known;
    }
    Candidate candidate;
    candidate.setting = setting;
    candidate.aliases = {name};
    candidate.waves = wave_stats(*plan);
    candidate.predicted_us = predict_us(*plan, model_);
    candidate.plan = std::move(*plan);
    candidates_.push_back(std::move(candidate));
    return &candidates_.back();
  }

  // The splits that list-schedule picks if it is given our constants. Absent if it cannot plan this.
  std::optional<std::int64_t> scheduled_splits() const {
    PlanRequest request = request_;
    request.setting = Setting{.kind = PolicyKind::list_schedule};
    request.cost_model = model_;
    const auto plan = make_plan(request);
    return plan.ok() ? std::optional<std::int64_t>(wave_stats(*plan).num_splits) : std::nullopt;
  }

  // Whether it cuts every row as fixed=N does, whatever it is called.
  bool is_even(const Candidate& candidate) const {
    if (candidate.setting.kind == PolicyKind::fixed) return true;
    PlanRequest request = request_;
    request.setting = fixed_setting(candidate.waves.num_splits);
    const auto plan = make_plan(request);
    return plan.ok() && same_work(*plan, candidate.plan);
  }

  std::int64_t longest_row_tiles() const {
    return num_kv_tiles(request_.shape.topk, request_.shape.extra_topk, request_.kernel.kv_tile);
  }

  std::vector<Candidate>& all() { return candidates_; }

 private:
  const CostModel& model_;
  PlanRequest request_;
  std::vector<Candidate> candidates_;
};

void add_policy_picks(CandidateSet& set, const CandidateOptions& options) {
  // A policy that cannot plan this shape has no pick here.
  const auto add_pick = [&](const Setting& setting) {
    if (auto added = set.add(setting); added.ok()) (*added)->is_policy_pick = true;
  };
  for (const PolicyInfo& policy : all_policies()) {
    if (!policy.parameter.empty() && !policy.is_parameter_optional) continue;  // picks nothing by itself
    add_pick({.kind = policy.kind});
  }
  for (const std::int64_t tiles : kRowOverheads) add_pick({.kind = PolicyKind::balanced, .value = tiles});
  for (const Setting& setting : options.also) add_pick(setting);
}

// Of even splits, the fullest waves; ties to fewer.
std::int64_t fullest_waves(CandidateSet& set, std::int64_t tiles) {
  std::int64_t fullest = 1;
  double best = 0.0;
  for (const Candidate& candidate : set.all()) {
    if (candidate.setting.kind != PolicyKind::fixed || candidate.setting.value > tiles) continue;
    const double efficiency = candidate.waves.wave_efficiency;
    if (efficiency < best || (efficiency == best && candidate.setting.value >= fullest)) continue;
    best = efficiency;
    fullest = candidate.setting.value;
  }
  return fullest;
}

std::vector<std::int64_t> split_counts(std::int64_t tiles) {
  std::vector<std::int64_t> counts;
  if (tiles <= kExhaustiveTiles) {
    for (std::int64_t count = 1; count <= std::max<std::int64_t>(1, tiles); ++count) counts.push_back(count);
    return counts;
  }
  for_each_split_count(tiles, [&](std::int64_t count, std::int64_t) {
    counts.push_back(count);
    return count < kMaxNumSplits;
  });
  std::erase_if(counts, [](std::int64_t count) { return count > kMaxNumSplits; });
  return counts;
}

// All split counts are in the set. What the models would ship is timed, so that the report can say what that
// would have cost.
void add_model_picks(CandidateSet& set) {
  const std::int64_t tiles = std::max<std::int64_t>(1, set.longest_row_tiles());
  std::vector<std::int64_t> picks = {fullest_waves(set, tiles)};
  if (const auto scheduled = set.scheduled_splits()) picks.push_back(*scheduled);
  for (const std::int64_t pick : picks) {
    if (auto added = set.add(fixed_setting(pick)); added.ok()) (*added)->is_model_pick = true;
  }
}

// Even splits only: a plan that splits rows unevenly has no "one more" or "one less".
void add_neighbours(CandidateSet& set) {
  std::vector<std::int64_t> picks;
  for (const Candidate& candidate : set.all()) {
    if (candidate.is_protected() && set.is_even(candidate)) picks.push_back(candidate.waves.num_splits);
  }
  const std::int64_t most = std::clamp<std::int64_t>(set.longest_row_tiles(), 1, kMaxNumSplits);
  for (const std::int64_t pick : picks) {
    for (const std::int64_t count : {pick - 1, pick + 1}) {
      if (count < 1 || count > most) continue;
      if (auto added = set.add(fixed_setting(count)); added.ok()) (*added)->is_neighbour = true;
    }
  }
}

// Drops what the cost model rules out; protected candidates stay whatever it says.
void prune(std::vector<Candidate>& candidates, const CandidateOptions& options) {
  double best_us = candidates.front().predicted_us;
  for (const Candidate& candidate : candidates) best_us = std::min(best_us, candidate.predicted_us);
  std::vector<double> unprotected;
  for (const Candidate& candidate : candidates) {
    if (!candidate.is_protected()) unprotected.push_back(candidate.predicted_us);
  }
  std::ranges::sort(unprotected);
  double limit_us = best_us * (1.0 + options.slack);
  if (std::ssize(unprotected) > options.max_unprotected) {
    limit_us = options.max_unprotected < 1
                   ? -1.0
                   : std::min(limit_us, unprotected[static_cast<std::size_t>(options.max_unprotected) - 1]);
  }
  std::erase_if(candidates,
                [&](const Candidate& c) { return !c.is_protected() && c.predicted_us > limit_us; });
}

void name_and_sort(std::vector<Candidate>& candidates) {
  for (Candidate& candidate : candidates) {
    candidate.name = to_string(candidate.setting);
    const auto own = std::ranges::find(candidate.aliases, candidate.name);
    std::rotate(candidate.aliases.begin(), own, own + 1);
  }
  std::ranges::stable_sort(candidates, {}, [](const Candidate& candidate) {
    return std::pair(!candidate.is_deployed, candidate.waves.num_splits_total);
  });
}

}  // namespace

Result<std::vector<Candidate>> candidates_for(const DeviceSpec& device, const KernelSpec& kernel,
                                              const DecodeShape& shape, const CandidateOptions& options) {
  CandidateSet set(device, kernel, shape, options.cost_model);
  auto deployed = set.add(options.deployed);
  if (!deployed.ok()) return deployed.status();
  (*deployed)->is_deployed = true;
  auto standard = set.add(options.default_setting);
  if (!standard.ok()) return standard.status();
  (*standard)->is_default = true;
  add_policy_picks(set, options);
  for (const std::int64_t count : split_counts(set.longest_row_tiles())) {
    if (auto added = set.add(fixed_setting(count)); !added.ok()) return added.status();
  }
  add_model_picks(set);
  add_neighbours(set);
  prune(set.all(), options);
  name_and_sort(set.all());
  return std::move(set.all());
}

bool same_work(const SplitPlan& a, const SplitPlan& b) {
  return a.items == b.items && a.worker_begin == b.worker_begin && a.row_partial_begin == b.row_partial_begin;
}

}  // namespace wavefill
