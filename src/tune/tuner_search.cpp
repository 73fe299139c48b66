// Finding the winners: every batch's candidates, verified and then measured against each other.
#include <algorithm>
#include <limits>
#include <utility>

#include "core/errors.h"
#include "tune/comparison.h"
#include "tune/tuner_impl.h"

namespace wavefill {

namespace {

// A fit this rough does not prune better than vendor figures do.
constexpr double kUsefulResidual = 0.25;
constexpr std::size_t kBatchesToFit = 3;

std::vector<bool> batches_with_weight(const TuneRequest& request) {
  std::vector<bool> have;
  for (const std::int32_t batch : request.batches) have.push_back(weight_of(request.workload, batch) > 0.0);
  return have;
}

// What was measured while there was no time for more.
void keep_deployed(BatchResult& from, BatchResult& to) {
  Candidate candidate = std::move(to.arms.front().candidate);
  to.arms.front() = std::move(from.arms.front());
  to.arms.front().candidate = std::move(candidate);
  to.a_a_samples = std::move(from.a_a_samples);
  to.next_round = from.next_round;
  to.rounds = from.rounds;
  to.contaminated_rounds = from.contaminated_rounds;
  to.contamination = from.contamination;
  to.clock_mhz = from.clock_mhz;
  to.calls_per_sample = from.calls_per_sample;
}

}  // namespace

Status Tuner::search() {
  phase_start_us_ = workbench_.now_us();
  const double phase_deadline_us = start_us_ + request_.budget_us * kSearchShare;
  std::vector<std::int32_t> order;
  for (const std::size_t idx : search_order(request_.batches.size(), batches_with_weight(request_))) {
    order.push_back(request_.batches[idx]);
  }
  for (std::size_t i = 0; i < order.size() && !result_.cancelled; ++i) {
    const std::span left = std::span<const std::int32_t>(order).subspan(i);
    const double last_deadline_us = phase_deadline_us - least_due_us(left.subspan(1));
    WAVEFILL_RETURN_IF_ERROR(
        search_batch({.batch = order[i],
                      .place = static_cast<std::int32_t>(i),
                      .deadline_us = std::min(share_deadline(phase_deadline_us, left), last_deadline_us),
                      .last_deadline_us = last_deadline_us}));
  }
  WAVEFILL_RETURN_IF_ERROR(spend_rest(phase_deadline_us, order));
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

Status Tuner::search_batch(const Turn& turn) {
  ProgressUpdate update;
  update.activity = "verifying";
  update.batch = turn.batch;
  update.batch_idx = turn.place;
  update.num_batches = static_cast<std::int32_t>(request_.batches.size());
  report(update);

  const auto known = std::ranges::find(result_.batches, turn.batch, &BatchResult::batch);
  const bool goes_on = known != result_.batches.end();
  auto begun = goes_on && known->is_searched ? begin_again(std::move(*known)) : begin_batch(turn);
  if (!begun.ok()) return begun.status();
  BatchResult batch = std::move(*begun);
  if (goes_on) {
    if (!known->is_searched) keep_deployed(*known, batch);
    result_.batches.erase(known);
  }
  WAVEFILL_RETURN_IF_ERROR(verify_all(batch));
  if (result_.cancelled) return {};
  WAVEFILL_RETURN_IF_ERROR(measure_batch(batch, turn));
  result_.batches.push_back(std::move(batch));
  return {};
}

// Chooses the candidates, and lays the batch ready on the device.
Result<BatchResult> Tuner::begin_batch(const Turn& turn) {
  const DecodeShape shape = shape_at(turn.batch);
  const CostModel model = known_model(shape);
  auto candidates = candidates_at(shape, model);
  if (!candidates.ok()) return candidates.status();
  const SearchEffort effort = effort_for(*candidates, turn);
  BatchResult batch;
  batch.batch = turn.batch;
  batch.is_searched = effort != SearchEffort::deployed;
  batch.pruned_by = model.source;
  for (Candidate& candidate : *candidates) {
    const bool is_wanted = candidate.is_deployed || effort == SearchEffort::full ||
                           (effort == SearchEffort::lean && candidate.is_protected());
    if (!is_wanted) continue;
    batch.arms.push_back({});
    batch.arms.back().candidate = std::move(candidate);
  }
  return begin_again(std::move(batch));
}

Result<Rotation> Tuner::prepare_cold(std::int32_t batch) {
  auto rotation = workbench_.prepare(shape_at(batch));
  if (rotation.ok() && !rotation->cold() && !request_.allow_warm) {
    return make_status(StatusCode::unavailable, "caches cannot be shown to be cold at batch {}: {}", batch,
                       describe(*rotation));
  }
  return rotation;
}

Result<BatchResult> Tuner::begin_again(BatchResult batch) {
  cost_ = {.batch = batch.batch, .candidates = static_cast<std::int32_t>(batch.arms.size())};
  const double begin_us = workbench_.now_us();
  const auto rotation = prepare_cold(batch.batch);
  if (!rotation.ok()) return rotation.status();
  batch.rotation = *rotation;
  cost_.prepare_us = workbench_.now_us() - begin_us;
  cost_.setup_us = cost_.prepare_us;
  return batch;
}

Status Tuner::verify_all(BatchResult& batch) {
  for (std::size_t i = 0; i < batch.arms.size(); ++i) {
    if (progress_.cancelled()) {
      result_.cancelled = true;
      return {};
    }
    const double begin_us = workbench_.now_us();
    WAVEFILL_RETURN_IF_ERROR(verify(batch.batch, batch.arms[i]));
    const double us = workbench_.now_us() - begin_us;
    if (i == 0) {
      cost_.setup_us += us;
    } else {
      cost_.verify_us += us / static_cast<double>(batch.arms.size() - 1);
    }
  }
  return {};
}

Status Tuner::measure_batch(BatchResult& batch, const Turn& turn) {
  std::vector<Arm> arms;
  for (const ArmResult& arm : batch.arms) {
    if (!arm.verified) continue;
    const Candidate& candidate = arm.candidate;
    // Once more only for what could still win: the others have ended, and why is on record.
    const bool runs = candidate.is_deployed || arm.samples.empty() ||
                      (arm.stop == StopReason::time_budget && arm.effect.effect > 0.0);
    arms.push_back({.candidate = &candidate,
                    .replica = 0,
                    .is_reference = candidate.is_deployed,
                    .may_be_eliminated = !candidate.is_deployed && !candidate.is_default,
                    .samples = arm.samples,
                    .stop = runs ? StopReason::none : arm.stop});
  }
  arms.insert(arms.begin() + 1, {.candidate = arms.front().candidate,
                                 .replica = 1,
                                 .is_reference = true,
                                 .may_be_eliminated = false,
                                 .samples = batch.a_a_samples,
                                 .stop = StopReason::none});
  SessionSpec spec = session_spec(Phase::search, turn.batch, turn.place, turn.deadline_us);
  spec.last_deadline_us = std::max(turn.last_deadline_us, workbench_.now_us());
  spec.first_round = batch.next_round;
  spec.calls_per_sample = batch.calls_per_sample;
  if (!batch.is_searched) spec.deadline_us = workbench_.now_us();
  const double begin_us = workbench_.now_us();
  auto outcome = measure_arms(context(), spec, std::move(arms));
  if (!outcome.ok()) return outcome.status();
  // What an earlier process has already paid for says nothing of what is to be paid.
  if (batch.is_searched && batch.next_round == 0 && outcome->from_earlier == 0 && outcome->samples_here > 0) {
    cost_.sample_us = (workbench_.now_us() - begin_us) / static_cast<double>(outcome->samples_here);
    costs_.add(cost_);
  }
  keep_search(batch, *outcome);
  return {};
}

Status Tuner::verify(std::int32_t batch, ArmResult& arm) {
  if (arm.verified || arm.stop == StopReason::rejected) return {};
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
  batch.next_round = outcome.next_round;
  batch.rounds += outcome.rounds;
  batch.contaminated_rounds += outcome.contaminated_rounds;
  if (!outcome.contamination.empty()) batch.contamination = outcome.contamination;
  if (outcome.clock_mhz > 0.0) batch.clock_mhz = outcome.clock_mhz;
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
  summarise(batch);
}

void Tuner::summarise(BatchResult& batch) const {
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
