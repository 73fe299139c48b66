// Where throughput falls although the batch grows.
#include <algorithm>
#include <cmath>

#include "core/errors.h"
#include "tune/judged_evidence.h"

namespace wavefill {
namespace {

double throughput(const JudgedCell& cell) { return cell.evidence.batch / cell.median_us; }

// A fall up to this is noise.
double tolerance(const JudgedCell& before, const JudgedCell& after, const VerdictRule& rule) {
  return std::max({before.noise, after.noise, rule.equality_margin});
}

bool enough(const JudgedCell& cell, const VerdictRule& rule) {
  return std::ssize(cell.evidence.samples) >= rule.min_samples;
}

// Of time before over time after. The two were measured at different times, so their samples are not pairs.
Interval interval_of_times(const JudgedCell& before, const JudgedCell& after, const Scatter& scatter,
                           const VerdictRule& rule) {
  if (!enough(before, rule) || !enough(after, rule)) {
    return student_interval(before.evidence.samples, after.evidence.samples, scatter);
  }
  const BootstrapOptions bootstrap{.confidence = 0.95, .resamples = rule.resamples, .seed = rule.seed};
  return ratio_of_medians(times_us(before.evidence.samples), times_us(after.evidence.samples),
                          Pairing::independent, bootstrap)
      .interval;
}

bool falls(const JudgedCell& before, const JudgedCell& after, const Scatter& scatter,
           const VerdictRule& rule) {
  const double fall = throughput(after) / throughput(before) - 1.0;
  const bool is_resampled = enough(before, rule) && enough(after, rule);
  if (!is_resampled && !scatter.is_known()) return fall < -rule.assumed_noise;
  if (fall >= -tolerance(before, after, rule)) return false;  // nor does the upper end of its interval
  const double growth = static_cast<double>(after.evidence.batch) / before.evidence.batch;
  return growth * interval_of_times(before, after, scatter, rule).high - 1.0 <
         -tolerance(before, after, rule);
}

// In the order of how much each explains: without its graph a batch runs another way altogether; slower
// clocks slow down everything; a wave edge is what is left.
std::string likely_cause(const JudgedCell& before, const JudgedCell& after, std::int32_t capture_ceiling) {
  constexpr double kClockFall = 0.02;  // less is the device's ordinary wander
  if (before.evidence.batch <= capture_ceiling && capture_ceiling < after.evidence.batch) {
    return fmt::format("capture ceiling: no graph beyond batch {}", capture_ceiling);
  }
  const double clock_before = before.evidence.clock_mhz;
  const double clock_after = after.evidence.clock_mhz;
  if (clock_after > 0.0 && clock_after < clock_before * (1.0 - kClockFall)) {
    return fmt::format("clocks: {:.0f} -> {:.0f} MHz", clock_before, clock_after);
  }
  const std::int64_t waves_before = before.evidence.num_waves;
  const std::int64_t waves_after = after.evidence.num_waves;
  if (waves_before > 0 && waves_after > waves_before) {
    return fmt::format("wave edge: {} -> {} waves", waves_before, waves_after);
  }
  return "unknown";
}

const JudgedCell* usable_cell(const JudgedEvidence& evidence, std::string_view setting, std::int32_t batch) {
  const JudgedCell* cell = evidence.find(setting, batch);
  return cell != nullptr && cell->usable() ? cell : nullptr;
}

}  // namespace

std::vector<Dip> find_dips(const JudgedEvidence& evidence, std::string_view setting,
                           const DecisionInput& input) {
  const VerdictRule& rule = input.rule;
  const auto measured_again = [&](std::int32_t batch) {
    return std::ranges::find(input.measured_again, batch) != input.measured_again.end();
  };
  const auto out_of_time = [&](std::int32_t batch) {
    return setting == kPerBatchTable &&
           std::ranges::find(input.out_of_time, batch) != input.out_of_time.end();
  };
  std::vector<Dip> dips;
  const JudgedCell* before = nullptr;
  for (const std::int32_t batch : evidence.batches()) {
    const JudgedCell* after = usable_cell(evidence, setting, batch);
    if (after == nullptr) continue;
    if (before != nullptr && falls(*before, *after, evidence.scatter(), rule)) {
      const double fall = throughput(*after) / throughput(*before) - 1.0;
      const JudgedCell* deployed_before = usable_cell(evidence, input.deployed, before->evidence.batch);
      const JudgedCell* deployed_after = usable_cell(evidence, input.deployed, batch);
      const bool comparable = deployed_before != nullptr && deployed_after != nullptr;
      const double deployed_fall =
          comparable ? throughput(*deployed_after) / throughput(*deployed_before) - 1.0 : 0.0;
      dips.push_back(
          {.setting = std::string(setting),
           .batch_before = before->evidence.batch,
           .batch = batch,
           .effect = fall,
           .introduced = setting != input.deployed && deployed_fall - fall > tolerance(*before, *after, rule),
           .measured_again = measured_again(before->evidence.batch) && measured_again(batch),
           .out_of_time = out_of_time(batch),
           .cause = out_of_time(batch)
                        ? fmt::format("out of time: batch {} was not searched to the end", batch)
                        : likely_cause(*before, *after, input.capture_ceiling)});
    }
    before = after;
  }
  return dips;
}

}  // namespace wavefill
