#include "tune/tuner.h"

#include <algorithm>
#include <cmath>

#include "core/errors.h"
#include "tune/batch_list.h"
#include "tune/cost_prediction.h"
#include "tune/decision_json.h"
#include "tune/tune_evidence.h"
#include "tune/tuner_impl.h"

namespace wavefill {
namespace {

// Half of a phase's time is shared evenly over batches and half by their rows: large batches cost more a
// round, but small ones need as many rounds.
double time_weight(std::int32_t batch, double mean_batch) { return 0.5 + 0.5 * batch / mean_batch; }

Status check_batches(const std::vector<std::int32_t>& batches) {
  if (batches.empty()) return invalid_argument("batches is empty; allowed: at least one");
  for (std::size_t i = 0; i < batches.size(); ++i) {
    if (batches[i] < 1) return invalid_argument("batches[{}] is {}; allowed: >= 1", i, batches[i]);
    if (i > 0 && batches[i] <= batches[i - 1]) {
      return invalid_argument("batches[{}] is {} after {}; allowed: ascending, each once", i, batches[i],
                              batches[i - 1]);
    }
  }
  return {};
}

Status check_stopping_rule(const StoppingRule& rule, const VerdictRule& verdict) {
  if (!(rule.relative_half_width > 0.0)) {
    return invalid_argument("stop.relative_half_width is {}; allowed: > 0", rule.relative_half_width);
  }
  if (rule.min_samples < verdict.min_samples || rule.max_samples < rule.min_samples) {
    return invalid_argument("stop takes {}..{} samples; allowed: {} <= least <= most", rule.min_samples,
                            rule.max_samples, verdict.min_samples);
  }
  return {};
}

}  // namespace

Result<TuneResult> Tuner::run() {
  WAVEFILL_RETURN_IF_ERROR(validate(request_));
  WAVEFILL_RETURN_IF_ERROR(begin());
  Status status = measure_and_decide();
  if (!status.ok() || result_.cancelled) sink_.suspend(result_.run);
  if (!status.ok()) return status;
  result_.elapsed_us = workbench_.now_us() - start_us_;
  return std::move(result_);
}

Status Tuner::begin() {
  start_us_ = workbench_.now_us();
  auto kernels = common_kernels();
  if (!kernels.ok()) return kernels.status();
  kernels_ = *std::move(kernels);
  result_.device = workbench_.device();
  result_.kernel = kernels_.front();
  result_.timing = workbench_.timing();
  result_.environment = workbench_.environment();
  // With a choice of kernels the run is not that of the first of them alone.
  KernelSpec any = result_.kernel;
  for (std::size_t i = 1; i < kernels_.size(); ++i) any.name += " or " + kernels_[i].name;
  const RunKey key{.profile = key_of(result_.device, any, request_.shape),
                   .deployed = to_string(request_.deployed),
                   .batches = format_batches(request_.batches),
                   .timing = result_.timing,
                   .seed = request_.seed};
  auto state = sink_.begin(key, result_.environment, request_.resume);
  if (!state.ok()) return state.status();
  earlier_ = std::move(*state);
  result_.run = earlier_.id;
  result_.resumed = earlier_.resumed;
  return {};
}

Status Tuner::measure_and_decide() {
  if (kernels_.size() > 1) WAVEFILL_RETURN_IF_ERROR(choose_kernel());
  if (result_.cancelled) return {};
  WAVEFILL_RETURN_IF_ERROR(search());
  if (result_.cancelled) return {};
  DecisionInput input = search_evidence(request_, result_.batches);
  if (input.batches.empty()) {
    std::int64_t rounds = 0;
    for (const BatchResult& batch : result_.batches) rounds += batch.contaminated_rounds;
    return make_status(StatusCode::unavailable,
                       "all {} rounds were contaminated ({}); wait until the machine is quiet", rounds,
                       result_.batches.back().contamination);
  }
  auto table = best_per_batch(input);
  if (!table.ok()) return table.status();
  const bool changes_something = std::ranges::any_of(*table, [&](const TableEntry& entry) {
    return entry.setting != batch_result(entry.batch).arms.front().candidate.name;
  });
  if (!changes_something) {
    auto decision = decide(input);
    return decision.ok() ? conclude(std::move(input), std::move(*decision)) : decision.status();
  }
  return confirm(std::move(*table));
}

DecodeShape Tuner::shape_at(std::int32_t batch) const {
  DecodeShape shape = request_.shape;
  shape.batch = batch;
  return shape;
}

BatchResult& Tuner::batch_result(std::int32_t batch) {
  return *std::ranges::find(result_.batches, batch, &BatchResult::batch);
}

// The end of the share that the first of `batches_left` has of the time left to the phase.
double Tuner::share_deadline(double phase_deadline_us, std::span<const std::int32_t> batches_left) const {
  double mean = 0.0;
  for (const std::int32_t batch : request_.batches) mean += batch;
  mean /= static_cast<double>(request_.batches.size());
  double left = 0.0;
  for (const std::int32_t batch : batches_left) left += time_weight(batch, mean);
  const double now_us = workbench_.now_us();
  const double share = time_weight(batches_left.front(), mean) / left;
  return now_us + std::max(0.0, phase_deadline_us - now_us) * share;
}

double Tuner::remaining_us(const ProgressUpdate& update) const {
  const double now_us = workbench_.now_us();
  const double budget_us = std::max(0.0, start_us_ + request_.budget_us - now_us);
  if (update.batch_idx == 0 || update.phase == Phase::dip) return budget_us;
  const double per_batch_us = (now_us - phase_start_us_) / update.batch_idx;
  double estimate_us = per_batch_us * (update.num_batches - update.batch_idx);
  if (update.phase == Phase::search) {
    estimate_us += per_batch_us * update.num_batches * kConfirmShare / kSearchShare;
  }
  return std::min(budget_us, estimate_us);
}

void Tuner::report(const ProgressUpdate& update) {
  ProgressUpdate complete = update;
  complete.samples = new_samples_;
  complete.elapsed_us = workbench_.now_us() - start_us_;
  complete.remaining_us = remaining_us(update);
  progress_.update(complete);
}

SessionSpec Tuner::session_spec(Phase phase, std::int32_t batch, std::int32_t place, double deadline_us) {
  const auto on_round = [this, phase, batch, place](std::int32_t round, std::int32_t arms,
                                                    std::int64_t samples) {
    new_samples_ += samples;
    ProgressUpdate update;
    update.phase = phase;
    update.activity = "measuring";
    update.batch = batch;
    update.batch_idx = place;
    update.num_batches = static_cast<std::int32_t>(request_.batches.size());
    update.round = round;
    update.active_arms = arms;
    report(update);
  };
  return {.phase = phase, .batch = batch, .deadline_us = deadline_us, .max_samples = 0, .on_round = on_round};
}

std::vector<FitObservation> Tuner::observations() const {
  std::vector<FitObservation> observations;
  for (const BatchResult& batch : result_.batches) {
    for (const ArmResult& arm : batch.arms) {
      if (arm.median_us > 0.0) observations.push_back({&arm.candidate.plan, arm.median_us});
    }
  }
  return observations;
}

void Tuner::fit() {
  const std::vector<FitObservation> seen = observations();
  auto fitted = fit_cost_model(seen);
  if (!fitted.ok()) return;
  result_.fit = std::move(*fitted);
  result_.out_of_sample = fit_out_of_sample(seen);
  for (BatchResult& batch : result_.batches) {
    const auto without = result_.out_of_sample.models.find(batch.batch);
    const bool has_other = without != result_.out_of_sample.models.end();
    for (ArmResult& arm : batch.arms) {
      arm.fitted_us = predict_us(arm.candidate.plan, result_.fit->model);
      if (has_other) arm.out_of_sample_us = predict_us(arm.candidate.plan, without->second);
    }
  }
}

Status Tuner::conclude(DecisionInput input, Decision decision) {
  auto profile = profile_of(key_of(result_.device, result_.kernel, request_.shape), input, decision);
  if (!profile.ok()) return profile.status();
  for (ConfirmResult& confirmed : result_.confirmed) {
    std::vector<double> us;
    for (const TimedSample& sample : confirmed.samples) us.push_back(sample.us);
    std::vector<double> deployed_us;
    for (const TimedSample& sample : confirmed.deployed_samples) deployed_us.push_back(sample.us);
    if (us.empty() || deployed_us.empty()) continue;
    confirmed.median_us = median(us);
    confirmed.deployed_median_us = median(deployed_us);
    confirmed.interval_us =
        median_interval(us, {.confidence = 0.95, .resamples = kShownResamples, .seed = request_.seed});
    for (const VerdictRow& row : decision.verdicts) {
      if (row.setting != kPerBatchTable || row.batch != confirmed.batch) continue;
      confirmed.effect = row.effect;
      confirmed.verdict = row.verdict;
    }
  }
  mark_arms(decision, result_.batches);
  conclude_shortfall();
  for (const BatchResult& batch : result_.batches) add_to(result_.search_watch, batch);
  for (const ConfirmResult& confirmed : result_.confirmed) add_to(result_.confirm_watch, confirmed);
  result_.search_watch.counts_contaminated = request_.count_contaminated;
  result_.confirm_watch.counts_contaminated = request_.count_contaminated;
  fit();
  result_.profile = std::move(*profile);
  result_.decision = std::move(decision);
  return sink_.finish({.run = result_.run,
                       .deployed = to_string(request_.deployed),
                       .decision = result_.decision.decision,
                       .summary = result_.decision.summary,
                       .json = to_json(request_, result_),
                       .at_unix_us = unix_time_us()});
}

Status validate(const TuneRequest& request) {
  WAVEFILL_RETURN_IF_ERROR(check_batches(request.batches));
  DecodeShape shape = request.shape;
  shape.batch = request.batches.back();
  WAVEFILL_RETURN_IF_ERROR(validate(shape));
  if (request.deployed.kind == PolicyKind::measured) {
    return invalid_argument("deployed is {}; allowed: a policy, since a profile is what tuning makes",
                            to_string(request.deployed));
  }
  if (!(request.budget_us > 0.0) || !std::isfinite(request.budget_us)) {
    return invalid_argument("budget is {} us; allowed: > 0", request.budget_us);
  }
  if (!(request.burst_us > 0.0)) return invalid_argument("burst is {} us; allowed: > 0", request.burst_us);
  return check_stopping_rule(request.stop, request.verdict);
}

Result<TuneResult> tune(const TuneRequest& request, Workbench& workbench, RecordSink& sink,
                        Progress& progress) {
  return Tuner(request, workbench, sink, progress).run();
}

}  // namespace wavefill
