#include "report/sample_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "measure/statistics.h"
#include "report/regret.h"

namespace wavefill::report {
namespace {

constexpr std::int64_t kSlots = 188;
constexpr std::int32_t kHeadTiles = 2;
constexpr std::int32_t kTiles = 10;
constexpr double kTileUs = 6.0;

// Sessions whose samples differ.
constexpr int kAgain = 1;
constexpr int kConfirmed = 2;

// A plain wave model: good enough to make curves with dips.
double modelled_us(std::int32_t batch, std::int32_t num_splits) {
  const double waves = std::ceil(static_cast<double>(batch) * kHeadTiles * num_splits / kSlots);
  return 9.0 + waves * std::ceil(static_cast<double>(kTiles) / num_splits) * kTileUs +
         (num_splits > 1 ? 2.5 + 0.2 * num_splits : 0.0);
}

std::string verdict(double effect) {
  if (effect > 0.01) return "FASTER";
  if (effect < -0.01) return "SLOWER";
  return "SAME";
}

// A second measurement finds other times than the search did. At every sixth batch the winner does not hold,
// and the deployed setting stays.
void confirm(Batch& batch) {
  const Arm& deployed = batch.deployed();
  const Arm& winner = batch.chosen();
  const double deployed_us = deployed.us.value * 1.02;
  const Arm deployed_again =
      sample_arm(batch.batch, deployed.setting, deployed.num_splits, deployed_us, deployed_us, kConfirmed);
  const Arm again = sample_arm(batch.batch, winner.setting, winner.num_splits, winner.us.value * 0.97,
                               deployed_us, kConfirmed);
  batch.is_confirmed = true;
  batch.confirmation = {.setting = winner.setting,
                        .us = again.us,
                        .deployed_us = deployed_again.us,
                        .effect = again.effect,
                        .verdict = again.verdict,
                        .samples_us = again.samples_us,
                        .deployed_samples_us = deployed_again.samples_us,
                        .rounds = 24,
                        .contaminated_rounds = 0,
                        .contamination = {},
                        .clock_mhz = 1980.0};
  if (batch.batch % 6 == 0) batch.chosen_idx = 0;
}

Batch sample_batch(std::int32_t batch) {
  Batch result;
  result.batch = batch;
  result.weight = 1.0;
  const double deployed_us = modelled_us(batch, 4);
  result.arms.push_back(sample_arm(batch, "fixed=4", 4, deployed_us, deployed_us));
  for (const std::int32_t splits : {1, 2, 3, 5, 10}) {
    result.arms.push_back(
        sample_arm(batch, fmt::format("fixed={}", splits), splits, modelled_us(batch, splits), deployed_us));
  }
  result.arms[1].aliases = {"efficiency"};
  result.arms[4].aliases = {"tail-gap"};
  result.arms.push_back(sample_arm(batch, "balanced", 3, modelled_us(batch, 3) * 1.04, deployed_us));
  result.arms.back().is_uniform = false;
  const auto best = std::ranges::min_element(result.arms, {}, [](const Arm& arm) { return arm.us.value; });
  result.chosen_idx = static_cast<std::size_t>(best - result.arms.begin());
  const Arm again = sample_arm(batch, "fixed=4", 4, deployed_us * 1.002, deployed_us, kAgain);
  result.a_a_samples_us = again.samples_us;
  result.a_a_effect = again.effect;
  result.noise = std::max(std::abs(again.effect.low), std::abs(again.effect.high));
  result.rounds = 24;
  result.calls_per_sample = 20;
  result.cache_state =
      "cold: 630.0 MiB are read between two uses of a line, 2.1 x the 300.0 MiB last-level cache";
  if (batch % 2 == 0) confirm(result);
  return result;
}

}  // namespace

Arm sample_arm(std::int32_t batch, const std::string& setting, std::int32_t num_splits, double us,
               double deployed_us, int session) {
  Arm arm;
  arm.setting = setting;
  arm.num_splits = num_splits;
  arm.num_ctas = std::int64_t{batch} * kHeadTiles * num_splits;
  arm.num_waves = (arm.num_ctas + kSlots - 1) / kSlots;
  arm.wave_efficiency = static_cast<double>(arm.num_ctas) / static_cast<double>(arm.num_waves * kSlots);
  arm.predicted_us = us * 1.05;
  arm.fitted_us = us * (num_splits == 3 ? 0.9 : 1.02);          // a model that likes 3 splits too much
  arm.out_of_sample_us = us * (num_splits == 2 ? 0.85 : 1.03);  // without the batch it likes 2 splits
  arm.verified = true;
  arm.max_o_error = 1.7e-3;
  arm.max_lse_error = 4.1e-7;
  std::mt19937 random(static_cast<unsigned>(batch * 100 + num_splits + session * 10'000));
  for (int i = 0; i < 24; ++i) {
    arm.samples_us.push_back(us * (1.0 + 0.02 * (static_cast<double>(random() % 1000) / 1000.0 - 0.4)));
  }
  const double scale = us / median(arm.samples_us);  // so that their median is what is said
  for (double& sample : arm.samples_us) sample *= scale;
  arm.us = {.value = us, .low = us * 0.994, .high = us * 1.007};
  arm.tokens_per_s = {
      .value = batch * 1e6 / us, .low = batch * 1e6 / arm.us.high, .high = batch * 1e6 / arm.us.low};
  const double effect = deployed_us / us - 1.0;
  arm.effect = {.value = effect, .low = effect - 0.006, .high = effect + 0.008};
  arm.verdict = verdict(effect);
  arm.stopped_by = "precision";
  return arm;
}

Report sample_report(std::int32_t num_batches) {
  Report report;
  report.title = "dsv4-flash, TP 2";
  report.run = 7;
  report.created = "2026-12-01 23:45 UTC";
  report.library_version = "0.1.0";
  report.command = "wavefill tune --device cuda:0 --model dsv4-flash --tp 2 --batch 1-96";
  report.device = "NVIDIA RTX PRO 6000 Blackwell Workstation Edition";
  report.kernel = "sparse_mla_h16_kv64";
  report.slots = kSlots;
  report.shape = {.batch = 1,
                  .s_q = 1,
                  .num_heads = 32,
                  .kv_format = KvFormat::fp8_tile64_rope_bf16_footer,
                  .d_qk = 512,
                  .topk = 128,
                  .extra_topk = 512};
  report.timing = "graph replay, cold caches";
  report.deployed = "fixed=4";
  report.decision = "measured";
  report.keeps_deployed = false;
  report.weighted_gain = 0.043;
  report.summary = "The per-batch table gains 4.3% over fixed=4 and is slower nowhere.";
  for (std::int32_t batch = 1; batch <= num_batches; ++batch) report.batches.push_back(sample_batch(batch));
  report.rejected = {
      {.setting = "fixed=10",
       .reason = "slower",
       .batch = 64,
       .effect = -0.054,
       .detail = "5.4% slower than the deployed setting at batch 64 (95% interval 4.9% to 6.0%)."},
      {.setting = "fixed=8",
       .reason = "not_measured",
       .batch = 96,
       .effect = 0.0,
       .detail = "Proposed by the wave model at batch 96, and never measured."}};
  report.dips = {{.setting = "fixed=4",
                  .batch_before = 23,
                  .batch = 24,
                  .effect = -0.061,
                  .introduced = false,
                  .measured_again = false,
                  .out_of_time = false,
                  .cause = "wave edge: 1 -> 2 waves"},
                 {.setting = "fixed=10",
                  .batch_before = 9,
                  .batch = 10,
                  .effect = -0.032,
                  .introduced = true,
                  .measured_again = true,
                  .out_of_time = false,
                  .cause = "wave edge: 1 -> 2 waves"}};
  report.regrets = regrets_of(report.batches);
  report.fit = {.is_fitted = true,
                .constants_us = {{"launch", 2.5}, {"kv tile on a lone slot", 6.0}},
                .in_sample = {.rms_residual = 0.048,
                              .max_residual = 0.13,
                              .rank_correlation = 0.97,
                              .rank_within_batches = 0.81,
                              .ranked_batches = 2,
                              .picks = model_picks(report.batches, Scoring::in_sample)},
                .has_out_of_sample = true,
                .out_of_sample = {.rms_residual = 0.071,
                                  .max_residual = 0.22,
                                  .rank_correlation = 0.95,
                                  .rank_within_batches = 0.64,
                                  .ranked_batches = 2,
                                  .picks = model_picks(report.batches, Scoring::out_of_sample)}};
  report.search_watch = {.rounds = 24 * num_batches,
                         .contaminated_rounds = 0,
                         .contamination = {},
                         .clock_low_mhz = 1965.0,
                         .clock_high_mhz = 1980.0};
  report.confirm_watch = report.search_watch;
  report.environment = {{"driver", "590.10"}, {"cuda", "13.1"}, {"load_average_1m", "0.12"}};
  report.elapsed_s = 62.4;
  return report;
}

Report tiny_report() {
  Report report = sample_report(0);
  for (const std::int32_t batch : {1, 2}) {
    Batch tiny;
    tiny.batch = batch;
    tiny.arms = {sample_arm(batch, "fixed=1", 1, 100.0, 100.0), sample_arm(batch, "fixed=2", 2, 80.0, 100.0)};
    for (Arm& arm : tiny.arms) {
      arm.samples_us = {arm.us.value * 0.995, arm.us.value, arm.us.value * 1.006};
    }
    tiny.chosen_idx = 1;
    tiny.noise = 0.01;
    tiny.rounds = 3;
    report.batches.push_back(tiny);
  }
  report.deployed = "fixed=1";
  report.decision = "fixed=2";
  report.regrets = regrets_of(report.batches);
  return report;
}

}  // namespace wavefill::report
