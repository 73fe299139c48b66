// What the search may spend on a batch, and where the time goes that is left when all had their turn.
#include <algorithm>
#include <span>
#include <vector>

#include "core/errors.h"
#include "tune/tuner_impl.h"

namespace wavefill {
namespace {

// Rounds that going on with a batch must have time for: fewer are not worth preparing it again.
constexpr double kRoundsOnceMore = 4.0;
constexpr double kArmsOnceMore = 3.0;  // one candidate, the deployed setting, its copy

// A budget that was not enough is not called enough, whatever the estimate.
constexpr double kLeastMore = 1.5;

// The arms that could still take the batch: ahead of the deployed setting and of what is known to be faster,
// without a verdict, and out of time. `verdicts` are of the arms but the deployed.
std::vector<const ArmResult*> contenders(const BatchResult& batch, std::span<const Verdict> verdicts,
                                         const VerdictRule& rule) {
  double best = 0.0;
  for (std::size_t i = 1; i < batch.arms.size(); ++i) {
    if (verdicts[i - 1] == Verdict::faster) best = std::max(best, batch.arms[i].effect.effect);
  }
  std::vector<const ArmResult*> found;
  for (std::size_t i = 1; i < batch.arms.size(); ++i) {
    const ArmResult& arm = batch.arms[i];
    const bool may_win =
        !arm.effect.has_interval || arm.effect.interval.high > std::max(batch.noise, rule.min_effect);
    if (verdicts[i - 1] == Verdict::undecided && arm.stop == StopReason::time_budget &&
        arm.effect.effect > best && may_win) {
      found.push_back(&arm);
    }
  }
  return found;
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
  std::vector<Effect> family;
  std::vector<double> noise;
  for (const BatchResult& batch : result_.batches) {
    for (std::size_t i = 1; i < batch.arms.size(); ++i) {
      family.push_back(batch.arms[i].effect);
      noise.push_back(batch.noise);
    }
  }
  const std::vector<Verdict> verdicts = judge(family, noise, request_.verdict);
  std::span<const Verdict> rest(verdicts);
  std::vector<std::int32_t> open;
  for (const BatchResult& batch : result_.batches) {
    const std::size_t count = batch.arms.size() - 1;
    const bool can_change = !contenders(batch, rest.first(count), request_.verdict).empty();
    if (!batch.is_searched || can_change) open.push_back(batch.batch);
    rest = rest.subspan(count);
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
