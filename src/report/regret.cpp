#include "report/regret.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace wavefill::report {
namespace {

using Picker = std::function<const Arm*(const Batch&)>;

// Batches where the picker finds nothing measured do not count.
PolicyRegret regret_of(std::string setting, const std::vector<Batch>& batches, const Picker& pick) {
  PolicyRegret regret;
  regret.setting = std::move(setting);
  double log_sum = 0.0;
  for (const Batch& batch : batches) {
    if (!is_compared(batch)) continue;
    ++regret.num_compared;
    const Arm* arm = pick(batch);
    const Arm* best = best_arm(batch);
    if (arm == nullptr || !arm->is_measured()) continue;
    const double ratio = arm->us.value / best->us.value;
    log_sum += std::log(ratio);
    if (regret.num_batches == 0 || ratio - 1.0 > regret.worst) {
      regret.worst = ratio - 1.0;
      regret.worst_batch = batch.batch;
    }
    ++regret.num_batches;
  }
  if (regret.num_batches > 0) regret.geometric_mean = std::exp(log_sum / regret.num_batches) - 1.0;
  return regret;
}

// 0 = unknown.
double model_us(const Arm& arm, Scoring scoring) {
  if (scoring == Scoring::out_of_sample) return arm.out_of_sample_us;
  return arm.fitted_us > 0.0 ? arm.fitted_us : arm.predicted_us;
}

const Arm* model_pick(const Batch& batch, Scoring scoring) {
  const auto least =
      std::ranges::min_element(batch.arms, {}, [&](const Arm& arm) { return model_us(arm, scoring); });
  return least == batch.arms.end() || model_us(*least, scoring) <= 0.0 ? nullptr : &*least;
}

bool has_pick(const std::vector<Batch>& batches, Scoring scoring) {
  return std::ranges::any_of(batches, [&](const Batch& batch) {
    return is_compared(batch) && model_pick(batch, scoring) != nullptr;
  });
}

bool is_fitted(const std::vector<Batch>& batches) {
  return std::ranges::any_of(batches, [](const Batch& batch) {
    return std::ranges::any_of(batch.arms, [](const Arm& arm) { return arm.fitted_us > 0.0; });
  });
}

}  // namespace

bool is_model(std::string_view setting) {
  return setting == kModelInSample || setting == kModelOutOfSample || setting == kModelUnfitted;
}

bool is_split_count(std::string_view setting) { return setting.starts_with("fixed="); }

const Arm* find_arm(const Batch& batch, std::string_view setting) {
  for (const Arm& arm : batch.arms) {
    if (!arm.is_measured()) continue;
    if (arm.setting == setting || std::ranges::find(arm.aliases, setting) != arm.aliases.end()) return &arm;
  }
  return nullptr;
}

const Arm* best_arm(const Batch& batch) {
  const Arm* best = nullptr;
  for (const Arm& arm : batch.arms) {
    if (arm.is_measured() && (best == nullptr || arm.us.value < best->us.value)) best = &arm;
  }
  return best;
}

bool is_compared(const Batch& batch) { return batch.is_searched && best_arm(batch) != nullptr; }

std::vector<std::string> settings_to_price(const std::vector<Batch>& batches) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  for (const Batch& batch : batches) {
    if (!is_compared(batch)) continue;
    for (const Arm& arm : batch.arms) {
      add(arm.setting);
      for (const std::string& alias : arm.aliases) add(alias);
    }
  }
  std::erase_if(names, [&](const std::string& name) {
    const auto is_missing = [&](const Batch& batch) {
      return is_compared(batch) && find_arm(batch, name) == nullptr;
    };
    const auto is_measured = [&](const Batch& batch) {
      return is_compared(batch) && find_arm(batch, name) != nullptr;
    };
    return is_split_count(name) ? std::ranges::any_of(batches, is_missing)
                                : std::ranges::none_of(batches, is_measured);
  });
  std::stable_partition(names.begin(), names.end(),
                        [](const std::string& name) { return !is_split_count(name); });
  return names;
}

std::vector<ModelPick> model_picks(const std::vector<Batch>& batches, Scoring scoring) {
  std::vector<ModelPick> picks;
  for (const Batch& batch : batches) {
    const Arm* pick = is_compared(batch) ? model_pick(batch, scoring) : nullptr;
    if (pick == nullptr) {
      picks.push_back({.batch = batch.batch});
      continue;
    }
    const Arm& best = *best_arm(batch);
    const bool is_measured = pick->is_measured();
    picks.push_back({.batch = batch.batch,
                     .setting = pick->setting,
                     .predicted_us = model_us(*pick, scoring),
                     .us = is_measured ? pick->us.value : 0.0,
                     .best_setting = best.setting,
                     .best_us = best.us.value,
                     .cost = is_measured ? pick->us.value / best.us.value - 1.0 : 0.0});
  }
  return picks;
}

std::vector<PolicyRegret> regrets_of(const std::vector<Batch>& batches) {
  std::vector<PolicyRegret> regrets;
  if (std::ranges::none_of(batches, is_compared)) return regrets;
  regrets.push_back(regret_of("chosen", batches, [](const Batch& batch) { return &batch.chosen(); }));
  for (const std::string& setting : settings_to_price(batches)) {
    regrets.push_back(
        regret_of(setting, batches, [&](const Batch& batch) { return find_arm(batch, setting); }));
  }
  for (const Scoring scoring : {Scoring::in_sample, Scoring::out_of_sample}) {
    if (!has_pick(batches, scoring)) continue;
    const std::string_view name = scoring == Scoring::out_of_sample ? kModelOutOfSample
                                  : is_fitted(batches)              ? kModelInSample
                                                                    : kModelUnfitted;
    regrets.push_back(regret_of(std::string(name), batches,
                                [&](const Batch& batch) { return model_pick(batch, scoring); }));
  }
  const auto order = [](const PolicyRegret& regret) {
    return std::pair(regret.num_batches < regret.num_compared, regret.geometric_mean);
  };
  std::stable_sort(regrets.begin() + 1, regrets.end(),
                   [&](const PolicyRegret& a, const PolicyRegret& b) { return order(a) < order(b); });
  return regrets;
}

}  // namespace wavefill::report
