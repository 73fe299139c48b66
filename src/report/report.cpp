#include "report/report.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "report/regret.h"
#include "tune/batch_list.h"
#include "tune/tuner.h"
#include "wavefill/version.h"

namespace wavefill::report {
namespace {

Estimate estimate_of(const Effect& effect) {
  return {.value = effect.effect, .low = effect.interval.low, .high = effect.interval.high};
}

// More time is less throughput, so the ends of the interval change places.
Estimate throughput_of(std::int64_t rows, const Estimate& us) {
  const auto per_s = [&](double time_us) {
    return time_us > 0.0 ? static_cast<double>(rows) * 1e6 / time_us : 0.0;
  };
  return {.value = per_s(us.value), .low = per_s(us.high), .high = per_s(us.low)};
}

// Every row has the same number of splits, each in a CTA of its own.
bool is_uniform(const SplitPlan& plan, const WaveStats& waves) {
  return waves.num_splits_total == waves.num_splits * plan.shape.rows() &&
         waves.num_ctas == waves.num_splits_total * num_head_tiles(plan.kernel, plan.shape.num_heads);
}

Arm arm_of(const ArmResult& result) {
  const SplitPlan& plan = result.candidate.plan;
  const WaveStats& waves = result.candidate.waves;
  Arm arm{.setting = result.candidate.name,
          .aliases = {},
          .num_splits = waves.num_splits,
          .is_uniform = is_uniform(plan, waves),
          .num_ctas = waves.num_ctas,
          .num_waves = waves.num_waves,
          .wave_efficiency = waves.wave_efficiency,
          .predicted_us = result.candidate.predicted_us,
          .fitted_us = result.fitted_us,
          .out_of_sample_us = result.out_of_sample_us,
          .verified = result.verified,
          .max_o_error = result.verification.max_o_error,
          .max_lse_error = result.verification.max_lse_error,
          .failure = result.verification.message,
          .samples_us = times_us(result.samples),
          .us = {.value = result.median_us, .low = result.interval_us.low, .high = result.interval_us.high},
          .tokens_per_s = {},
          .effect = estimate_of(result.effect),
          .verdict = std::string(to_string(result.verdict)),
          .stopped_by = std::string(to_string(result.stop))};
  arm.tokens_per_s = throughput_of(plan.shape.rows(), arm.us);
  for (const std::string& alias : result.candidate.aliases) {
    if (alias != arm.setting) arm.aliases.push_back(alias);
  }
  return arm;
}

// As the tuner does for the other side.
Estimate median_of(const std::vector<double>& samples_us) {
  if (samples_us.empty()) return {};
  const Interval interval = median_interval(samples_us);
  return {.value = median(samples_us), .low = interval.low, .high = interval.high};
}

Confirmation confirmation_of(const ConfirmResult& result) {
  return {.setting = result.setting,
          .us = {.value = result.median_us, .low = result.interval_us.low, .high = result.interval_us.high},
          .deployed_us = median_of(times_us(result.deployed_samples)),
          .effect = estimate_of(result.effect),
          .verdict = std::string(to_string(result.verdict)),
          .samples_us = times_us(result.samples),
          .deployed_samples_us = times_us(result.deployed_samples),
          .rounds = result.rounds,
          .contaminated_rounds = result.contaminated_rounds,
          .contamination = result.contamination,
          .clock_mhz = result.clock_mhz};
}

Batch batch_of(const TuneRequest& request, const BatchResult& result, const TuneResult& run) {
  Batch batch{.batch = result.batch,
              .is_searched = result.is_searched,
              .weight = weight_of(request.workload, result.batch),
              .arms = {},
              .chosen_idx = result.chosen_idx,
              .is_confirmed = false,
              .confirmation = {},
              .a_a_effect = estimate_of(result.a_a),
              .a_a_samples_us = times_us(result.a_a_samples),
              .noise = result.noise,
              .rounds = result.rounds,
              .contaminated_rounds = result.contaminated_rounds,
              .contamination = result.contamination,
              .clock_mhz = result.clock_mhz,
              .calls_per_sample = result.calls_per_sample,
              .cache_state = describe(result.rotation),
              .pruned_by = result.pruned_by};
  for (const ArmResult& arm : result.arms) batch.arms.push_back(arm_of(arm));
  const auto confirmed = std::ranges::find(run.confirmed, result.batch, &ConfirmResult::batch);
  if (confirmed != run.confirmed.end()) {
    batch.is_confirmed = true;
    batch.confirmation = confirmation_of(*confirmed);
  }
  return batch;
}

RejectedSetting rejected_of(const Rejected& rejected) {
  return {.setting = rejected.setting,
          .reason = std::string(to_string(rejected.reason)),
          .batch = rejected.batch,
          .effect = rejected.effect,
          .detail = rejected.detail};
}

KernelRow kernel_row_of(const KernelResult& result) {
  KernelRow row{.kernel = result.kernel.name,
                .figures = {},
                .throughput = result.throughput,
                .is_chosen = result.is_chosen,
                .reason = result.reason};
  for (const KernelFigure& figure : result.figures) {
    row.figures.push_back({.batch = figure.batch, .setting = figure.setting, .us = figure.us});
  }
  return row;
}

std::string time_text(std::int64_t unix_us) {
  const auto seconds = static_cast<std::time_t>(unix_us / 1'000'000);
  return fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(seconds));
}

ModelScore score_of(const FitScore& fit, std::vector<ModelPick> picks) {
  return {.rms_residual = fit.rms_relative_residual,
          .max_residual = fit.max_relative_residual,
          .rank_correlation = fit.rank_correlation,
          .rank_within_batches = fit.rank_within_batches,
          .ranked_batches = fit.ranked_batches,
          .picks = std::move(picks)};
}

ModelFit model_fit_of(const CostFit& fit, const OutOfSampleFit& others, const std::vector<Batch>& batches) {
  const CostModel& model = fit.model;
  const bool has_others = !others.models.empty();
  return {.is_fitted = true,
          .constants_us = {{"launch", model.launch_us},
                           {"kv tile on a lone slot", model.tile_us},
                           {"kv tile of the stream", model.tile_stream_us},
                           {"item (a wave of them)", model.cta_us},
                           {"combine", model.combine_us},
                           {"partial", model.partial_us}},
          .in_sample = score_of(fit, model_picks(batches, Scoring::in_sample)),
          .has_out_of_sample = has_others,
          .out_of_sample =
              has_others ? score_of(others, model_picks(batches, Scoring::out_of_sample)) : ModelScore{}};
}

}  // namespace

Report make_report(const TuneRequest& request, const TuneResult& result, const ReportLabels& labels) {
  Report report{.title = labels.title,
                .run = result.run,
                .created = time_text(labels.created_unix_us),
                .library_version = std::string(library_version()),
                .command = request.command,
                .device = result.device.name,
                .kernel = result.kernel.name,
                .kernels = {},
                .slots = num_slots(result.device, result.kernel),
                .shape = request.shape,
                .timing = result.timing,
                .seed = request.seed,
                .counts_contaminated = request.count_contaminated,
                .deployed = to_string(request.deployed),
                .decision = result.decision.decision,
                .keeps_deployed = result.decision.keeps_deployed,
                .weighted_gain = result.decision.weighted_gain,
                .summary = result.decision.summary,
                .next = {},
                .batches = {},
                .rejected = {},
                .dips = {},
                .regrets = {},
                .fit = {},
                .search_watch = result.search_watch,
                .confirm_watch = result.confirm_watch,
                .environment = {},
                .elapsed_s = result.elapsed_us * 1e-6,
                .budget_s = request.budget_us * 1e-6,
                .without_verdict = result.shortfall.batches,
                .enough_s = result.shortfall.enough_us * 1e-6};
  if (const auto& next = result.decision.next)
    report.next = fmt::format("{}: {}", next->setting, next->reason);
  for (const KernelResult& kernel : result.kernels) report.kernels.push_back(kernel_row_of(kernel));
  for (const BatchResult& batch : result.batches) report.batches.push_back(batch_of(request, batch, result));
  for (const Rejected& rejected : result.decision.rejected) report.rejected.push_back(rejected_of(rejected));
  report.dips = result.decision.dips;
  for (const EnvironmentField& field : result.environment.fields) {
    report.environment.emplace_back(field.name, field.value);
  }
  report.regrets = regrets_of(report.batches);
  if (result.fit) report.fit = model_fit_of(*result.fit, result.out_of_sample, report.batches);
  return report;
}

std::string shortfall_text(const Report& report) {
  if (report.without_verdict.empty()) return "";
  constexpr double kRounding = 10.0;  // an estimate has no more digits
  std::string text = fmt::format(
      "The budget of {:.0f} s was too small: {} of {} batches have no verdict ({}), "
      "and keep the deployed setting.",
      report.budget_s, report.without_verdict.size(), report.batches.size(),
      format_batches(report.without_verdict));
  if (report.enough_s > 0.0) {
    text +=
        fmt::format(" About {:.0f} s should be enough.", std::ceil(report.enough_s / kRounding) * kRounding);
  }
  return text;
}

}  // namespace wavefill::report
