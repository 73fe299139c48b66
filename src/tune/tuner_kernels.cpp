// Which kernel to tune, where several take the shape.
#include <algorithm>
#include <vector>

#include "core/errors.h"
#include "tune/cost_prediction.h"
#include "tune/kernel_race.h"
#include "tune/tuner_impl.h"

namespace wavefill {
namespace {

constexpr double kRaceShare = 0.15;  // of the budget
constexpr std::size_t kRaceBatches = 5;
constexpr std::int32_t kRaceSamples = 8;  // enough to tell kernels apart that differ by more than noise
constexpr std::int64_t kRaceSplits[] = {1, 2, 4, 8};

}  // namespace

Result<std::vector<KernelSpec>> Tuner::common_kernels() const {
  std::vector<KernelSpec> common;
  for (const std::int32_t batch : request_.batches) {
    auto kernels = workbench_.kernels_for(shape_at(batch));
    if (!kernels.ok()) return kernels.status();
    if (batch == request_.batches.front()) common = *kernels;
    std::erase_if(common, [&](const KernelSpec& kernel) {
      return std::ranges::find(*kernels, kernel) == kernels->end();
    });
    if (common.empty()) {
      return make_status(StatusCode::unsupported,
                         "no kernel takes batch {} and those before it; allowed: one kernel a run", batch);
    }
  }
  return common;
}

// The choice of an earlier process stands: what it measured since is of that kernel.
Status Tuner::choose_kernel() {
  KernelRace race(kernels_);
  for (const Verification& known : earlier_.verifications) race.add(known);
  const auto chosen = std::ranges::find_if(earlier_.ends, [](const ArmEnd& end) {
    return end.phase == Phase::kernels && end.batch == 0 && end.reason == StopReason::precision;
  });
  if (chosen != earlier_.ends.end()) {
    for (const Measurement& known : earlier_.measurements) {
      const bool counts = !known.contaminated || request_.count_contaminated;
      if (known.phase == Phase::kernels && counts) race.add(known.batch, known.setting, {&known.us, 1});
    }
    result_.kernels = race.results(request_.workload, request_.verdict.min_effect);
    for (KernelResult& kernel : result_.kernels) {
      kernel.is_chosen = kernel.kernel.name == chosen->setting;
      if (kernel.is_chosen) result_.kernel = kernel.kernel;
    }
    return {};
  }
  phase_start_us_ = workbench_.now_us();
  const double deadline_us = start_us_ + request_.budget_us * kRaceShare;
  const auto batches = KernelRace::batches_for(request_.batches, request_.workload, kRaceBatches);
  double longest_us = 0.0;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const double begin_us = workbench_.now_us();
    if (i > 0 && begin_us + longest_us > deadline_us) break;
    const double share_us = std::max(0.0, deadline_us - begin_us) / static_cast<double>(batches.size() - i);
    WAVEFILL_RETURN_IF_ERROR(race_at(batches[i], static_cast<std::int32_t>(i), begin_us + share_us, race));
    if (result_.cancelled) return {};
    longest_us = std::max(longest_us, workbench_.now_us() - begin_us);
  }
  return conclude_race(race);
}

// What every policy picks, the deployed setting and a few even splits.
Result<std::vector<Candidate>> Tuner::racers(const DecodeShape& shape, const KernelSpec& kernel) const {
  CandidateOptions options;
  options.deployed = request_.deployed;
  options.also = request_.also;
  for (const std::int64_t splits : kRaceSplits) {
    Setting setting;
    setting.kind = PolicyKind::fixed;
    setting.value = splits;
    options.also.push_back(setting);
  }
  options.cost_model = default_cost_model(result_.device, kernel, shape);
  options.max_unprotected = 0;
  auto candidates = candidates_for(result_.device, kernel, shape, options);
  if (!candidates.ok()) return candidates;
  std::erase_if(*candidates, [](const Candidate& candidate) {
    return !candidate.is_deployed && !candidate.is_default && !candidate.is_policy_pick;
  });
  return candidates;
}

Status Tuner::race_at(std::int32_t batch, std::int32_t place, double deadline_us, KernelRace& race) {
  const DecodeShape shape = shape_at(batch);
  if (const auto rotation = prepare_cold(batch); !rotation.ok()) return rotation.status();
  std::vector<ArmResult> checked;
  std::vector<std::size_t> kernel_of;  // of those checked
  for (std::size_t kernel = 0; kernel < kernels_.size(); ++kernel) {
    auto candidates = racers(shape, kernels_[kernel]);
    if (!candidates.ok()) return candidates.status();
    for (Candidate& candidate : *candidates) {
      if (race.is_out(kernel)) break;
      if (progress_.cancelled()) {
        result_.cancelled = true;
        return {};
      }
      ArmResult arm;
      arm.candidate = std::move(candidate);
      arm.candidate.name = race.name_of(kernel, arm.candidate.name);
      arm.candidate.is_deployed = false;  // a wrong kernel loses; only a wrong tune must end
      WAVEFILL_RETURN_IF_ERROR(verify(batch, arm));
      race.add(arm.verification);
      checked.push_back(std::move(arm));
      kernel_of.push_back(kernel);
    }
  }
  std::vector<Arm> arms;
  for (std::size_t i = 0; i < checked.size(); ++i) {
    if (race.is_out(kernel_of[i])) continue;
    arms.push_back({.candidate = &checked[i].candidate,
                    .replica = 0,
                    .is_reference = false,
                    .may_be_eliminated = true,
                    .samples = {},
                    .stop = StopReason::none});
  }
  if (arms.empty()) return {};
  SessionSpec spec = session_spec(Phase::kernels, batch, place, deadline_us);
  spec.max_samples = kRaceSamples;
  auto outcome = measure_arms(context(), spec, std::move(arms));
  if (!outcome.ok()) return outcome.status();
  result_.reused_measurements += outcome->from_earlier;
  result_.cancelled = result_.cancelled || outcome->cancelled;
  for (const Arm& arm : outcome->arms) race.add(batch, arm.candidate->name, times_us(arm.samples));
  return {};
}

// The choice goes on record: a later process must not come to another one from more samples.
Status Tuner::conclude_race(KernelRace& race) {
  result_.kernels = race.results(request_.workload, request_.verdict.min_effect);
  for (std::size_t kernel = 0; kernel < result_.kernels.size(); ++kernel) {
    const KernelResult& result = result_.kernels[kernel];
    if (result.is_chosen) {
      if (race.is_out(kernel)) {
        return make_status(StatusCode::internal, "every kernel is out; {}: {}", result.kernel.name,
                           result.reason);
      }
      result_.kernel = result.kernel;
    }
    const StopReason reason = result.is_chosen      ? StopReason::precision
                              : race.is_out(kernel) ? StopReason::rejected
                                                    : StopReason::eliminated;
    WAVEFILL_RETURN_IF_ERROR(sink_.record(ArmEnd{.run = result_.run,
                                                 .phase = Phase::kernels,
                                                 .batch = 0,
                                                 .setting = result.kernel.name,
                                                 .replica = 0,
                                                 .reason = reason,
                                                 .samples = 0,
                                                 .at_unix_us = unix_time_us()}));
  }
  return {};
}

}  // namespace wavefill
