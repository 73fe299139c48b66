#include "plan/policies.h"

#include <array>

#include "core/errors.h"
#include "core/math.h"
#include "plan/balanced.h"
#include "plan/list_schedule.h"

namespace wavefill {
namespace {

Result<Schedule> split_fixed(const SplitProblem& problem) { return even_shares(problem, problem.value); }

Result<Schedule> split_target_ctas(const SplitProblem& problem) {
  return even_shares(problem,
                     target_ctas_splits(problem.units(), problem.longest_row_tiles(), problem.value));
}

Result<Schedule> split_efficiency(const SplitProblem& problem) {
  return even_shares(problem, efficiency_splits(problem.units(), problem.longest_row_tiles(), problem.slots));
}

Result<Schedule> split_tail_gap(const SplitProblem& problem) {
  const std::int64_t kv_tiles = problem.longest_row_tiles();
  return even_shares(problem, ceil_div(kv_tiles, tail_gap_chunk(problem.units(), kv_tiles, problem.slots)));
}

Result<Schedule> split_last_wave(const SplitProblem& problem) {
  const std::int64_t rows = std::ssize(problem.row_tiles);
  const LastWave last = last_wave(rows, problem.head_tiles, problem.slots);
  return even_shares(problem, last.num_splits, rows - last.rows);
}

Result<Schedule> split_list_schedule(const SplitProblem& problem) {
  return even_shares(problem, list_schedule_splits(problem));
}

constexpr std::array kPolicies = {
    Policy{.info = {.kind = PolicyKind::fixed,
                    .name = "fixed",
                    .parameter = "N",
                    .summary = "N splits a row, fewer where a row has fewer kv tiles"},
           .max_value = kMaxNumSplits,
           .split = split_fixed},
    Policy{.info = {.kind = PolicyKind::target_ctas,
                    .name = "target-ctas",
                    .parameter = "T",
                    .summary = "as many splits as make at least T CTAs of the batch"},
           .max_value = kMaxTargetCtas,
           .split = split_target_ctas},
    Policy{.info = {.kind = PolicyKind::efficiency,
                    .name = "efficiency",
                    .parameter = "",
                    .summary = "FlashAttention-2: the fewest splits within 85 % of the best wave efficiency"},
           .split = split_efficiency},
    Policy{.info = {.kind = PolicyKind::tail_gap,
                    .name = "tail-gap",
                    .parameter = "",
                    .summary = "FlashInfer SM120: at most 3 waves, the least of the last one unfilled"},
           .split = split_tail_gap},
    Policy{
        .info = {.kind = PolicyKind::last_wave,
                 .name = "last-wave",
                 .parameter = "",
                 .summary = "whole rows, but those of the last, partial wave in as many splits as fill it"},
        .split = split_last_wave},
    Policy{.info = {.kind = PolicyKind::list_schedule,
                    .name = "list-schedule",
                    .parameter = "",
                    .summary = "the shortest simulated schedule, combine included, under the cost model"},
           .split = split_list_schedule},
    Policy{
        .info = {.kind = PolicyKind::balanced,
                 .name = "balanced",
                 .parameter = "N",
                 .summary = "FlashMLA: contiguous shares of all kv tiles, one a slot; a row costs N more (5)",
                 .is_parameter_optional = true},
        .max_value = kMaxRowOverheadTiles,
        .split = split_balanced},
    Policy{.info = {.kind = PolicyKind::measured,
                    .name = "measured",
                    .parameter = "PROFILE",
                    .summary = "what a profile (a file) measured to be best for this batch"}},
};

constexpr auto kInfos = [] {
  std::array<PolicyInfo, kPolicies.size()> infos{};
  for (std::size_t i = 0; i < infos.size(); ++i) infos[i] = kPolicies[i].info;
  return infos;
}();

}  // namespace

std::span<const PolicyInfo> all_policies() { return kInfos; }

const Policy* find_policy(PolicyKind kind) {
  for (const Policy& policy : kPolicies) {
    if (policy.info.kind == kind) return &policy;
  }
  return nullptr;
}

std::string to_string(const PolicyInfo& info) {
  if (info.parameter.empty()) return std::string(info.name);
  if (info.is_parameter_optional) return fmt::format("{}[={}]", info.name, info.parameter);
  return fmt::format("{}={}", info.name, info.parameter);
}

std::string allowed_settings(bool with_measured) {
  std::string list;
  for (const PolicyInfo& info : kInfos) {
    if (info.kind == PolicyKind::measured && !with_measured) continue;
    if (!list.empty()) list += ", ";
    list += to_string(info);
  }
  return list;
}

std::int64_t target_ctas_splits(std::int64_t units, std::int64_t kv_tiles, std::int64_t target) {
  return std::clamp<std::int64_t>(ceil_div(target, units), 1, kv_tiles);
}

std::int64_t efficiency_splits(std::int64_t units, std::int64_t kv_tiles, std::int64_t slots) {
  constexpr double kFullEnough = 0.8;       // of the slots: the rule's own constants, here and below
  constexpr double kCloseToBest = 0.85;     // of the best efficiency
  constexpr std::int64_t kMaxSplits = 128;  // the rule's bound on the search
  if (static_cast<double>(units) >= kFullEnough * static_cast<double>(slots)) return 1;

  const auto efficiency = [&](std::int64_t num_splits) {
    const std::int64_t ctas = units * num_splits;
    return static_cast<double>(ctas) / static_cast<double>(ceil_div(ctas, slots) * slots);
  };
  const std::int64_t most = std::min({kMaxSplits, slots, kv_tiles});
  double best = 0.0;
  for_each_split_count(kv_tiles, [&](std::int64_t num_splits, std::int64_t) {
    if (num_splits > most) return false;
    best = std::max(best, efficiency(num_splits));
    return true;
  });
  std::int64_t chosen = 1;
  for_each_split_count(kv_tiles, [&](std::int64_t num_splits, std::int64_t) {
    chosen = num_splits;
    return efficiency(num_splits) < kCloseToBest * best;
  });
  return chosen;
}

std::int64_t tail_gap_chunk(std::int64_t units, std::int64_t kv_tiles, std::int64_t slots) {
  constexpr std::int64_t kMaxWaves = 3;  // the rule's own constant
  std::int64_t best_chunk = kv_tiles;
  std::int64_t least_gap = kMaxWaves * slots + 1;
  for_each_split_count(kv_tiles, [&](std::int64_t num_splits, std::int64_t chunk) {
    const std::int64_t ctas = units * num_splits;
    const std::int64_t waves = ceil_div(ctas, slots);
    if (waves > kMaxWaves) return false;  // more splits only make more waves
    if (const std::int64_t gap = waves * slots - ctas; gap < least_gap) {
      least_gap = gap;
      best_chunk = chunk;
    }
    return true;
  });
  return best_chunk;
}

LastWave last_wave(std::int64_t rows, std::int64_t head_tiles, std::int64_t slots) {
  const std::int64_t rows_a_wave = std::max<std::int64_t>(slots / head_tiles, 1);
  const std::int64_t left = rows % rows_a_wave;
  if (left == 0) return {};
  return {.rows = left, .num_splits = rows_a_wave / left};
}

}  // namespace wavefill
