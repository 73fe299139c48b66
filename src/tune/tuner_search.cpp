// Finding the winners: every batch's candidates, verified and then measured against each other.
#include <algorithm>
#include <limits>
#include <utility>

#include "core/errors.h"
#include "tune/tuner_impl.h"

namespace wavefill {

namespace {

// A fit this rough does not prune better than vendor figures do.
constexpr double kUsefulResidual = 0.25;
constexpr std::size_t kBatchesToFit = 3;

// The smallest, the largest and the middle first: constants fitted to them are then asked about batches
// between, not beyond.
std::vector<std::size_t> search_order(std::size_t num_batches) {
  std::vector<std::size_t> order;
  const auto add_once = [&](std::size_t idx) {
    if (std::ranges::find(order, idx) == order.end()) order.push_back(idx);
  };
  for (const std::size_t first : {std::size_t{0}, num_batches - 1, num_batches / 2}) add_once(first);
  for (std::size_t idx = 0; idx < num_batches; ++idx) add_once(idx);
  return order;
}

}  // namespace

Status Tuner::search() {
  phase_start_us_ = workbench_.now_us();
  const double phase_deadline_us = start_us_ + request_.budget_us * kSearchShare;
  const std::vector<std::size_t> order = search_order(request_.batches.size());
  std::vector<std::int32_t> left;
  for (const std::size_t idx : order) left.push_back(request_.batches[idx]);
  for (std::size_t i = 0; i < order.size() && !result_.cancelled; ++i) {
    const double deadline_us = share_deadline(phase_deadline_us, std::span(left).subspan(i));
    WAVEFILL_RETURN_IF_ERROR(search_batch(order[i], static_cast<std::int32_t>(i), deadline_us));
  }
  std::ranges::sort(result_.batches, {}, &BatchResult::batch);
  return {};
}

// Fitted to what this run has measured so far, or else the default. Fitted anew whenever the batches measured
// have doubled: a fit of hundreds of times costs as much as some rounds.
CostModel Tuner::known_model(const DecodeShape& shape) {
  const std::size_t seen = result_.batches.size();
  if (seen >= kBatchesToFit && seen >= 2 * fitted_batches_) {
    fitted_batches_ = seen;
    auto fitted = fit_cost_model(observations());
    fitted_.reset();
    if (fitted.ok() && fitted->rms_relative_residual <= kUsefulResidual) fitted_ = std::move(*fitted);
  }
  return fitted_ ? fitted_->model : default_cost_model(result_.device, result_.kernel, shape);
}

Result<std::vector<Candidate>> Tuner::candidates_at(const DecodeShape& shape, const CostModel& model) const {
  const auto kernel = workbench_.kernel_for(shape);
  if (!kernel.ok()) return kernel.status();
  if (!(*kernel == result_.kernel)) {
    return make_status(StatusCode::unsupported,
                       "batch {} runs kernel {}, batch {} runs {}; allowed: one kernel a run",
                       request_.batches.front(), result_.kernel.name, shape.batch, kernel->name);
  }
  CandidateOptions options;
  options.deployed = request_.deployed;
  options.also = request_.also;
  options.cost_model = model;
  // A model rules out no more than it knows: by twice its worst error here, or, from vendor figures alone,
  // only by rank.
  options.slack = fitted_ ? std::max(options.slack, 2.0 * fitted_->max_relative_residual)
                          : std::numeric_limits<double>::infinity();
  return candidates_for(result_.device, result_.kernel, shape, options);
}

Status Tuner::search_batch(std::size_t batch_idx, std::int32_t place, double deadline_us) {
  const std::int32_t batch = request_.batches[batch_idx];
  ProgressUpdate update;
  update.activity = "verifying";
  update.batch = batch;
  update.batch_idx = place;
  update.num_batches = static_cast<std::int32_t>(request_.batches.size());
  report(update);

  const DecodeShape shape = shape_at(batch);
  const CostModel model = known_model(shape);
  auto candidates = candidates_at(shape, model);
  if (!candidates.ok()) return candidates.status();
  const auto rotation = workbench_.prepare(shape);
  if (!rotation.ok()) return rotation.status();
  if (!rotation->cold() && !request_.allow_warm) {
    return make_status(StatusCode::unavailable, "caches cannot be shown to be cold at batch {}: {}", batch,
                       describe(*rotation));
  }
  BatchResult result;
  result.batch = batch;
  result.rotation = *rotation;
  result.pruned_by = model.source;
  for (Candidate& candidate : *candidates) {
    result.arms.push_back({});
    result.arms.back().candidate = std::move(candidate);
    if (progress_.cancelled()) {
      result_.cancelled = true;
      return {};
    }
    WAVEFILL_RETURN_IF_ERROR(verify(batch, result.arms.back()));
  }
  std::vector<Arm> arms;
  for (const ArmResult& arm : result.arms) {
    if (!arm.verified) continue;
    const Candidate& candidate = arm.candidate;
    arms.push_back({.candidate = &candidate,
                    .replica = 0,
                    .is_reference = candidate.is_deployed,
                    .may_be_eliminated = !candidate.is_deployed && !candidate.is_default,
                    .samples = {},
                    .stop = StopReason::none});
  }
  arms.insert(arms.begin() + 1, {.candidate = arms.front().candidate,
                                 .replica = 1,
                                 .is_reference = true,
                                 .may_be_eliminated = false,
                                 .samples = {},
                                 .stop = StopReason::none});
  auto outcome =
      measure_arms(context(), session_spec(Phase::search, batch, place, deadline_us), std::move(arms));
  if (!outcome.ok()) return outcome.status();
  keep_search(result, *outcome);
  result_.batches.push_back(std::move(result));
  return {};
}

Status Tuner::verify(std::int32_t batch, ArmResult& arm) {
  const auto known = std::ranges::find_if(earlier_.verifications, [&](const Verification& verification) {
    return verification.batch == batch && verification.setting == arm.candidate.name;
  });
  if (known != earlier_.verifications.end()) {
    arm.verification = *known;
  } else {
    const auto outcome = workbench_.verify(arm.candidate.plan);
    if (!outcome.ok()) return outcome.status();
    arm.verification = {.run = result_.run,
                        .batch = batch,
                        .setting = arm.candidate.name,
                        .passed = outcome->passed,
                        .max_o_error = outcome->max_o_error,
                        .max_lse_error = outcome->max_lse_error,
                        .message = outcome->message,
                        .at_unix_us = unix_time_us()};
    WAVEFILL_RETURN_IF_ERROR(sink_.record(arm.verification));
  }
  arm.verified = arm.verification.passed;
  if (arm.verified) return {};
  arm.stop = StopReason::rejected;
  if (!arm.candidate.is_deployed) return {};
  return make_status(StatusCode::internal, "the deployed setting {} gives a wrong output at batch {}: {}",
                     arm.candidate.name, batch, arm.verification.message);
}

void Tuner::keep_search(BatchResult& batch, SessionOutcome& outcome) {
  batch.rounds = outcome.rounds;
  batch.contaminated_rounds = outcome.contaminated_rounds;
  batch.contamination = outcome.contamination;
  batch.clock_mhz = outcome.clock_mhz;
  batch.calls_per_sample = outcome.calls_per_sample;
  result_.reused_measurements += outcome.from_earlier;
  result_.cancelled = result_.cancelled || outcome.cancelled;
  for (Arm& arm : outcome.arms) {
    if (arm.replica == 1) {
      batch.a_a_samples = std::move(arm.samples);
      continue;
    }
    for (ArmResult& result : batch.arms) {
      if (&result.candidate != arm.candidate) continue;
      result.samples = std::move(arm.samples);
      result.stop = arm.stop;
    }
  }
  const std::vector<TimedSample>& deployed = batch.arms.front().samples;
  if (deployed.empty()) return;
  for (ArmResult& arm : batch.arms) {
    if (arm.samples.empty()) continue;
    std::vector<double> us;
    for (const TimedSample& sample : arm.samples) us.push_back(sample.us);
    arm.median_us = median(us);
    arm.interval_us =
        median_interval(us, {.confidence = 0.95, .resamples = kShownResamples, .seed = request_.seed});
    if (!arm.candidate.is_deployed) arm.effect = compare(deployed, arm.samples, request_.verdict);
  }
  if (batch.a_a_samples.empty()) return;
  batch.a_a = compare(deployed, batch.a_a_samples, request_.verdict);
  batch.noise = noise_floor(batch.a_a);
}

}  // namespace wavefill
