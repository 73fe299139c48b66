// What the search may spend on a batch, and where the time goes that is left when all had their turn.
#include <algorithm>
#include <span>
#include <vector>

#include "core/errors.h"
#include "tune/comparison.h"
#include "tune/tuner_impl.h"

namespace wavefill {
namespace {

// Rounds that going on with a batch must have time for: fewer are not worth preparing it again.
constexpr double kRoundsOnceMore = 4.0;
constexpr double kArmsOnceMore = 3.0;  // one candidate, the deployed setting, its copy

// A budget that was not enough is not called enough, whatever the estimate.
constexpr double kLeastMore = 1.5;

// The arms that could still take the batch: ahead of the deployed setting and of what is known to be faster,
// without a verdict, and out of time. `effects` and `verdicts` are of the arms but the deployed.
std::vector<const ArmResult*> contenders(const BatchResult& batch, std::span<const Effect> effects,
                                         std::span<const Verdict> verdicts, const VerdictRule& rule) {
  double best = 0.0;
  for (std::size_t i = 1; i < batch.arms.size(); ++i) {
    if (verdicts[i - 1] == Verdict::faster) best = std::max(best, effects[i - 1].effect);
  }
  std::vector<const ArmResult*> found;
  for (std::size_t i = 1; i < batch.arms.size(); ++i) {
    const ArmResult& arm = batch.arms[i];
    const Effect& effect = effects[i - 1];
    const bool may_win =
        !effect.has_interval || effect.interval.high > std::max(batch.noise, rule.min_effect);
    if (verdicts[i - 1] == Verdict::undecided && arm.stop == StopReason::time_budget &&
        effect.effect > best && may_win) {
      found.push_back(&arm);
    }
  }
  return found;
}

bool is_compared(const BatchResult& batch, std::size_t arm_idx) {
  return !batch.arms.front().samples.empty() && !batch.arms[arm_idx].samples.empty();
}

// Of all arms but the deployed ones, as the decision would see them: one family. Arms without a sample have
// no effect.
std::vector<Effect> effects_of(const std::vector<BatchResult>& batches, const VerdictRule& rule) {
  std::vector<SamplePair> family;
  Scatter times;
  for (const BatchResult& batch : batches) {
    const ArmResult& deployed = batch.arms.front();
    times.add(deployed.samples);
    for (std::size_t i = 1; i < batch.arms.size(); ++i) {
      const ArmResult& arm = batch.arms[i];
      times.add(arm.samples);
      if (!is_compared(batch, i)) continue;
      family.push_back({.baseline = deployed.samples, .candidate = arm.samples, .alone = &arm.effect});
    }
  }
  const std::vector<Effect> compared = compare_family(family, times, rule);
  std::vector<Effect> effects;
  std::size_t next = 0;
  for (const BatchResult& batch : batches) {
    for (std::size_t i = 1; i < batch.arms.size(); ++i) {
      effects.push_back(is_compared(batch, i) ? compared[next++] : Effect{});
    }
  }
  return effects;
}

}  // namespace

double Tuner::least_due_us(std::span<const std::int32_t> batches) const {
  double us = 0.0;
  for (const std::int32_t batch : batches) {
    if (const auto cost = costs_.expected(batch)) us += cost->deployed_us(request_.verdict.min_samples);
  }
  return us;
}

// What an earlier process measured of the candidates is not thrown away for want of time.
bool Tuner::is_known_from_before(std::int32_t batch) const {
  const std::string deployed = to_string(request_.deployed);
  return std::ranges::any_of(earlier_.measurements, [&](const Measurement& known) {
    return known.phase == Phase::search && known.batch == batch && known.setting != deployed;
  });
}

SearchEffort Tuner::effort_for(const std::vector<Candidate>& candidates, const Turn& turn) const {
  const auto cost = costs_.expected(turn.batch);
  if (!cost || candidates.size() == 1 || is_known_from_before(turn.batch)) return SearchEffort::full;
  const double now_us = workbench_.now_us();
  const auto all = static_cast<std::int32_t>(candidates.size());
  const auto few = static_cast<std::int32_t>(std::ranges::count_if(candidates, &Candidate::is_protected));
  if (now_us + cost->least_us(few, request_.stop) > turn.last_deadline_us) return SearchEffort::deployed;
  return now_us + cost->search_us(all, request_.stop) > turn.deadline_us ? SearchEffort::lean
                                                                         : SearchEffort::full;
}

// Where the deployed setting stays for want of time alone, as the decision would see it.
std::vector<std::int32_t> Tuner::open_batches() const {
  std::vector<double> noise;
  for (const BatchResult& batch : result_.batches)
    noise.insert(noise.end(), batch.arms.size() - 1, batch.noise);
  const std::vector<Effect> effects = effects_of(result_.batches, request_.verdict);
  const std::vector<Verdict> verdicts = judge(effects, noise, request_.verdict);
  std::vector<std::int32_t> open;
  std::size_t begin = 0;
  for (const BatchResult& batch : result_.batches) {
    const std::size_t count = batch.arms.size() - 1;
    const auto of_batch = [&](const auto& items) { return std::span(items).subspan(begin, count); };
    const bool can_change =
        !contenders(batch, of_batch(effects), of_batch(verdicts), request_.verdict).empty();
    if (!batch.is_searched || can_change) open.push_back(batch.batch);
    begin += count;
  }
  return open;
}

double Tuner::once_more_us(const BatchResult& batch) const {
  const auto cost = costs_.expected(batch.batch);
  if (!cost) return 0.0;
  return batch.is_searched ? cost->prepare_us + kRoundsOnceMore * kArmsOnceMore * cost->sample_us
                           : cost->least_us(cost->candidates, request_.stop);
}

// Whatever batches left over goes to those that it may still change something at, again and again.
Status Tuner::spend_rest(double deadline_us, const std::vector<std::int32_t>& order) {
  for (bool spends = true; spends && !result_.cancelled;) {
    spends = false;
    const std::vector<std::int32_t> open = open_batches();
    std::vector<std::int32_t> turns;
    std::ranges::copy_if(order, std::back_inserter(turns),
                         [&](std::int32_t batch) { return std::ranges::find(open, batch) != open.end(); });
    for (std::size_t i = 0; i < turns.size() && !result_.cancelled; ++i) {
      const double now_us = workbench_.now_us();
      if (now_us >= deadline_us || now_us + once_more_us(batch_result(turns[i])) > deadline_us) continue;
      WAVEFILL_RETURN_IF_ERROR(
          search_batch({.batch = turns[i],
                        .place = static_cast<std::int32_t>(order.size()) - 1,
                        .deadline_us = share_deadline(deadline_us, std::span(turns).subspan(i)),
                        .last_deadline_us = deadline_us}));
      spends = true;
    }
  }
  for (const std::int32_t batch : result_.cancelled ? std::vector<std::int32_t>{} : open_batches()) {
    const std::vector<ArmResult>& arms = batch_result(batch).arms;
    const bool is_short =
        !batch_result(batch).is_searched || std::ranges::any_of(arms, [this](const ArmResult& arm) {
          return arm.stop == StopReason::time_budget && arm.effect.effect > 0.0 &&
                 std::ssize(arm.samples) < request_.stop.min_samples;
        });
    if (is_short) note_shortfall(batch);
  }
  return {};
}

void Tuner::note_shortfall(std::int32_t batch) {
  std::vector<std::int32_t>& batches = result_.shortfall.batches;
  batches.insert(std::ranges::upper_bound(batches, batch), batch);
}

// Once it is known what is served.
void Tuner::conclude_shortfall() {
  std::erase_if(result_.shortfall.batches,
                [this](std::int32_t batch) { return batch_result(batch).chosen_idx != 0; });
  if (result_.shortfall.batches.empty()) return;
  const double us = costs_.enough_us(request_.batches, request_.stop, kSearchShare, kConfirmShare);
  if (us > 0.0) result_.shortfall.enough_us = std::max(us, kLeastMore * request_.budget_us);
}

}  // namespace wavefill
