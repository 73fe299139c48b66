#include "tune/kernel_race.h"

#include <algorithm>

#include "core/errors.h"
#include "measure/statistics.h"

namespace wavefill {
namespace {

std::string percent_behind(double throughput) { return fmt::format("{:.1f} %", (1.0 - throughput) * 100.0); }

}  // namespace

std::vector<std::int32_t> KernelRace::batches_for(std::span<const std::int32_t> batches,
                                                  const std::vector<WorkloadWeight>& workload,
                                                  std::size_t most) {
  std::vector<std::int32_t> weighted;
  for (const std::int32_t batch : batches) {
    if (weight_of(workload, batch) > 0.0) weighted.push_back(batch);
  }
  if (weighted.empty()) weighted.assign(batches.begin(), batches.end());
  const std::size_t count = std::min(most, weighted.size());
  std::vector<std::int32_t> spread;
  for (std::size_t i = 0; i < count; ++i) {
    spread.push_back(count == 1 ? weighted[weighted.size() / 2]
                                : weighted[i * (weighted.size() - 1) / (count - 1)]);
  }
  std::vector<std::int32_t> order;
  const auto add_once = [&](std::int32_t batch) {
    if (std::ranges::find(order, batch) == order.end()) order.push_back(batch);
  };
  for (const std::size_t first : {count / 2, count - 1, std::size_t{0}}) add_once(spread[first]);
  for (const std::int32_t batch : spread) add_once(batch);
  return order;
}

std::string KernelRace::name_of(std::size_t kernel, const std::string& setting) const {
  return kernels_[kernel].name + ": " + setting;
}

std::size_t KernelRace::kernel_of(const std::string& name) const {
  for (std::size_t kernel = 0; kernel < kernels_.size(); ++kernel) {
    if (name.starts_with(name_of(kernel, ""))) return kernel;
  }
  return kernels_.size();
}

void KernelRace::add(std::int32_t batch, const std::string& name, std::span<const double> us) {
  const std::size_t kernel = kernel_of(name);
  if (kernel == kernels_.size()) return;
  std::vector<double>& known = us_[{kernel, batch, name.substr(name_of(kernel, "").size())}];
  known.insert(known.end(), us.begin(), us.end());
}

void KernelRace::add(const Verification& verification) {
  const std::size_t kernel = kernel_of(verification.setting);
  if (kernel == kernels_.size() || verification.passed || is_out(kernel)) return;
  failures_[kernel] =
      fmt::format("wrong output at batch {} with {}: {}", verification.batch,
                  verification.setting.substr(name_of(kernel, "").size()), verification.message);
}

std::map<std::int32_t, KernelRace::Best> KernelRace::best_of(std::size_t kernel) const {
  std::map<std::int32_t, Best> best;
  for (const auto& [key, us] : us_) {
    const auto& [of, batch, setting] = key;
    if (of != kernel || us.empty()) continue;
    const double time = median(us);
    Best& here = best[batch];
    if (here.us == 0.0 || time < here.us) here = {setting, time, relative_half_width(us)};
  }
  return best;
}

std::vector<KernelResult> KernelRace::results(const std::vector<WorkloadWeight>& workload,
                                              double least_noise) const {
  std::vector<std::map<std::int32_t, Best>> best;
  std::map<std::int32_t, double> fastest_us;
  for (std::size_t kernel = 0; kernel < kernels_.size(); ++kernel) {
    best.push_back(best_of(kernel));
    for (const auto& [batch, here] : best.back()) {
      double& us = fastest_us[batch];
      if (!is_out(kernel) && (us == 0.0 || here.us < us)) us = here.us;
    }
  }
  double total_weight = 0.0;
  for (const auto& [batch, us] : fastest_us) total_weight += us > 0.0 ? weight_of(workload, batch) : 0.0;

  std::vector<KernelResult> results;
  std::vector<double> noise(kernels_.size(), 0.0);
  for (std::size_t kernel = 0; kernel < kernels_.size(); ++kernel) {
    KernelResult result{.kernel = kernels_[kernel], .figures = {}, .reason = failures_[kernel]};
    for (const auto& [batch, fastest] : fastest_us) {
      const auto here = best[kernel].find(batch);
      const bool is_known = here != best[kernel].end();
      result.figures.push_back(is_known ? KernelFigure{batch, here->second.setting, here->second.us}
                                        : KernelFigure{batch, "", 0.0});
      if (!is_known || is_out(kernel) || fastest <= 0.0) continue;
      const double share = weight_of(workload, batch) / total_weight;
      result.throughput += share * fastest / here->second.us;
      noise[kernel] += share * here->second.noise;
    }
    results.push_back(std::move(result));
  }
  std::size_t leader = 0;
  for (std::size_t kernel = 0; kernel < kernels_.size(); ++kernel) {
    const bool is_better = results[kernel].throughput > results[leader].throughput;
    if (!is_out(kernel) && (is_out(leader) || is_better)) leader = kernel;
  }
  const double top = results[leader].throughput;
  std::size_t chosen = leader;
  for (std::size_t kernel = 0; kernel < chosen; ++kernel) {
    const double margin = std::max(least_noise, noise[leader] + noise[kernel]);
    if (top > 0.0 && results[kernel].throughput >= top * (1.0 - margin)) chosen = kernel;
  }
  const bool is_tied = chosen != leader;
  for (std::size_t kernel = 0; kernel < kernels_.size(); ++kernel) {
    KernelResult& result = results[kernel];
    if (top > 0.0) result.throughput /= top;
    result.is_chosen = kernel == chosen;
    if (!result.reason.empty()) continue;
    if (top == 0.0) {
      result.reason = result.is_chosen ? "the first: nothing could be measured" : "nothing could be measured";
    } else if (!result.is_chosen) {
      result.reason = kernel == leader ? "within noise, and later in the table"
                                       : percent_behind(result.throughput) + " less throughput";
    } else {
      result.reason =
          is_tied ? fmt::format("within noise of {}, and earlier in the table", results[leader].kernel.name)
                  : std::string("the fastest");
    }
  }
  return results;
}

}  // namespace wavefill
