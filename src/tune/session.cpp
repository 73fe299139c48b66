#include "tune/session.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "core/errors.h"
#include "measure/timers.h"

namespace wavefill {
namespace {

constexpr std::int32_t kMaxCallsPerSample = 10000;

// Elimination: looked at every so many rounds, with at least so many samples, and only of an arm that the
// interval puts this far behind the leader. 99.9 % because it is asked again and again.
constexpr std::int32_t kEliminationEvery = 4;
constexpr std::size_t kEliminationSamples = 6;
constexpr double kClearLoss = 0.03;
constexpr double kEliminationConfidence = 0.999;
constexpr std::int32_t kEliminationResamples = 1000;

// If nearly every round is contaminated, no arm ever has its samples: rounds are limited as well.
constexpr std::int32_t kMaxRoundsPerSample = 2;

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  std::uint64_t z = a * 0x9E37'79B9'7F4A'7C15ULL + b;  // splitmix64
  z = (z ^ (z >> 30)) * 0xBF58'476D'1CE4'E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D0'49BB'1331'11EBULL;
  return z ^ (z >> 31);
}

std::vector<double> times(const std::vector<TimedSample>& samples) {
  std::vector<double> us;
  for (const TimedSample& sample : samples) us.push_back(sample.us);
  return us;
}

class Session {
 public:
  Session(const SessionContext& context, const SessionSpec& spec, std::vector<Arm> arms)
      : context_(context), spec_(spec) {
    outcome_.arms = std::move(arms);
    rule_ = context.request.stop;
    if (spec.max_samples > 0) rule_.max_samples = spec.max_samples;
  }

  Result<SessionOutcome> run() {
    absorb_earlier();
    start_us_ = context_.workbench.now_us();
    if (num_active() > 0) WAVEFILL_RETURN_IF_ERROR(warm_up());
    WAVEFILL_RETURN_IF_ERROR(stop_arms());
    while (num_active() > 0 && !outcome_.cancelled) {
      WAVEFILL_RETURN_IF_ERROR(measure_round());
      WAVEFILL_RETURN_IF_ERROR(stop_arms());
    }
    outcome_.calls_per_sample = std::max(1, outcome_.calls_per_sample);
    if (!clocks_mhz_.empty()) outcome_.clock_mhz = median(clocks_mhz_);
    return std::move(outcome_);
  }

 private:
  Arm* find_arm(const std::string& setting, std::int32_t replica) {
    for (Arm& arm : outcome_.arms) {
      if (arm.candidate->name == setting && arm.replica == replica) return &arm;
    }
    return nullptr;
  }

  void absorb_earlier() {
    outcome_.calls_per_sample = 0;
    std::set<std::int32_t> clean_rounds;
    std::set<std::int32_t> contaminated_rounds;
    for (const Measurement& known : context_.earlier.measurements) {
      if (known.phase != spec_.phase || known.batch != spec_.batch) continue;
      next_round_ = std::max(next_round_, known.round + 1);
      outcome_.calls_per_sample = known.calls;
      (known.contaminated ? contaminated_rounds : clean_rounds).insert(known.round);
      if (known.contaminated) outcome_.contamination = known.reason;
      Arm* arm = find_arm(known.setting, known.replica);
      if (arm == nullptr) continue;
      ++outcome_.from_earlier;
      if (counts(known.contaminated)) arm->samples.push_back({known.round, known.us});
    }
    outcome_.contaminated_rounds = static_cast<std::int32_t>(contaminated_rounds.size());
    outcome_.rounds = static_cast<std::int32_t>(clean_rounds.size());
    if (context_.request.count_contaminated) outcome_.rounds += outcome_.contaminated_rounds;
    for (const ArmEnd& end : context_.earlier.ends) {
      const bool is_final = end.reason == StopReason::precision || end.reason == StopReason::max_samples ||
                            end.reason == StopReason::eliminated;
      if (end.phase != spec_.phase || end.batch != spec_.batch || !is_final) continue;
      if (Arm* arm = find_arm(end.setting, end.replica); arm != nullptr) arm->stop = end.reason;
    }
  }

  bool counts(bool contaminated) const { return !contaminated || context_.request.count_contaminated; }

  std::int32_t num_active() const {
    return static_cast<std::int32_t>(
        std::ranges::count_if(outcome_.arms, [](const Arm& arm) { return arm.stop == StopReason::none; }));
  }

  // One unrecorded call of every arm does what only a first call has to. Unless earlier samples fixed it, one
  // more of the first arm says how many calls make a burst.
  Status warm_up() {
    for (const Arm& arm : outcome_.arms) {
      if (arm.stop != StopReason::none) continue;
      const auto first = context_.workbench.time_calls(arm.candidate->plan, 1);
      if (!first.ok()) return first.status();
    }
    if (outcome_.calls_per_sample > 0) return {};
    const auto us = context_.workbench.time_calls(outcome_.arms.front().candidate->plan, 1);
    if (!us.ok()) return us.status();
    outcome_.calls_per_sample = calls_for_burst(*us, context_.request.burst_us, kMaxCallsPerSample);
    return {};
  }

  // The arms still running, in an order that neither favours one nor repeats from round to round.
  std::vector<Arm*> shuffled_arms() {
    std::vector<Arm*> order;
    for (Arm& arm : outcome_.arms) {
      if (arm.stop == StopReason::none) order.push_back(&arm);
    }
    const auto place = static_cast<std::uint64_t>(spec_.batch) * 4 + static_cast<std::uint64_t>(spec_.phase);
    std::mt19937_64 generator(
        mixed(mixed(context_.request.seed, place), static_cast<std::uint64_t>(next_round_)));
    for (std::size_t left = order.size(); left > 1; --left) {
      std::swap(order[left - 1], order[generator() % left]);
    }
    return order;
  }

  Status measure_round() {
    std::vector<Measurement> round;
    std::vector<Arm*> measured;
    context_.workbench.begin_watch();
    for (Arm* arm : shuffled_arms()) {
      if (context_.progress.cancelled()) {
        outcome_.cancelled = true;
        break;
      }
      const auto us = context_.workbench.time_calls(arm->candidate->plan, outcome_.calls_per_sample);
      if (!us.ok()) return us.status();
      round.push_back({.run = context_.earlier.id,
                       .phase = spec_.phase,
                       .batch = spec_.batch,
                       .setting = arm->candidate->name,
                       .replica = arm->replica,
                       .round = next_round_,
                       .position = static_cast<std::int32_t>(round.size()),
                       .calls = outcome_.calls_per_sample,
                       .us = *us,
                       .contaminated = false,
                       .reason = {},
                       .at_unix_us = unix_time_us()});
      measured.push_back(arm);
    }
    const WatchReport report = context_.workbench.end_watch();
    return round.empty() ? Status{} : keep_round(round, measured, report);
  }

  Status keep_round(std::vector<Measurement>& round, const std::vector<Arm*>& measured,
                    const WatchReport& report) {
    for (Measurement& measurement : round) {
      measurement.contaminated = report.contaminated;
      measurement.reason = report.reason;
    }
    WAVEFILL_RETURN_IF_ERROR(context_.sink.record(round));
    ++next_round_;
    ++rounds_here_;
    if (report.contaminated) {
      ++outcome_.contaminated_rounds;
      outcome_.contamination = report.reason;
    }
    if (counts(report.contaminated)) {
      ++outcome_.rounds;
      if (report.clock_mhz > 0.0) clocks_mhz_.push_back(report.clock_mhz);
      for (std::size_t i = 0; i < round.size(); ++i) {
        measured[i]->samples.push_back({round[i].round, round[i].us});
      }
    }
    if (spec_.on_round) spec_.on_round(next_round_, num_active(), std::ssize(round));
    return {};
  }

  // Candidates first; the references go on while a candidate does.
  Status stop_arms() {
    if (outcome_.cancelled) return stop_all(StopReason::cancelled);
    for (const bool references : {false, true}) {
      const bool waits = references && std::ranges::any_of(outcome_.arms, [](const Arm& arm) {
                           return !arm.is_reference && arm.stop == StopReason::none;
                         });
      if (waits) continue;
      for (Arm& arm : outcome_.arms) {
        if (arm.is_reference != references || arm.stop != StopReason::none) continue;
        if (const StopReason reason = reason_to_stop(arm); reason != StopReason::none) {
          WAVEFILL_RETURN_IF_ERROR(stop(arm, reason));
        }
      }
    }
    return {};
  }

  StopReason reason_to_stop(const Arm& arm) const {
    if (is_clear_loser(arm)) return StopReason::eliminated;
    const double elapsed_us = context_.workbench.now_us() - start_us_;
    const StopReason reason =
        should_stop(rule_, times(arm.samples), elapsed_us, spec_.deadline_us - start_us_);
    if (reason == StopReason::precision || reason == StopReason::max_samples) return reason;
    if (next_round_ < context_.request.verdict.min_samples) return StopReason::none;
    return rounds_here_ >= kMaxRoundsPerSample * rule_.max_samples ? StopReason::time_budget : reason;
  }

  bool is_clear_loser(const Arm& arm) const {
    if (arm.is_reference || !arm.may_be_eliminated || arm.samples.size() < kEliminationSamples ||
        next_round_ % kEliminationEvery != 0) {
      return false;
    }
    const Arm* leader = nullptr;
    double leader_us = 0.0;
    for (const Arm& other : outcome_.arms) {
      if (other.samples.size() < kEliminationSamples || other.replica != 0) continue;
      const double us = median(times(other.samples));
      if (leader != nullptr && us >= leader_us) continue;
      leader = &other;
      leader_us = us;
    }
    if (leader == nullptr || leader == &arm) return false;
    const Interval interval = effect_interval(leader->samples, arm.samples);
    return interval.high < -kClearLoss;
  }

  Interval effect_interval(const std::vector<TimedSample>& leader,
                           const std::vector<TimedSample>& arm) const {
    std::map<std::int32_t, double> leader_us;
    for (const TimedSample& sample : leader) leader_us.emplace(sample.round, sample.us);
    std::vector<double> numerator;
    std::vector<double> denominator;
    for (const TimedSample& sample : arm) {
      const auto found = leader_us.find(sample.round);
      if (found == leader_us.end()) continue;
      numerator.push_back(found->second);
      denominator.push_back(sample.us);
    }
    if (numerator.size() < kEliminationSamples) return {};
    const RatioEstimate estimate = ratio_of_medians(numerator, denominator, Pairing::by_index,
                                                    {.confidence = kEliminationConfidence,
                                                     .resamples = kEliminationResamples,
                                                     .seed = context_.request.seed});
    return {estimate.interval.low - 1.0, estimate.interval.high - 1.0};
  }

  Status stop(Arm& arm, StopReason reason) {
    arm.stop = reason;
    return context_.sink.record(ArmEnd{.run = context_.earlier.id,
                                       .phase = spec_.phase,
                                       .batch = spec_.batch,
                                       .setting = arm.candidate->name,
                                       .replica = arm.replica,
                                       .reason = reason,
                                       .samples = static_cast<std::int32_t>(arm.samples.size()),
                                       .at_unix_us = unix_time_us()});
  }

  Status stop_all(StopReason reason) {
    for (Arm& arm : outcome_.arms) {
      if (arm.stop == StopReason::none) WAVEFILL_RETURN_IF_ERROR(stop(arm, reason));
    }
    return {};
  }

  const SessionContext& context_;
  const SessionSpec& spec_;
  StoppingRule rule_;
  SessionOutcome outcome_;
  std::vector<double> clocks_mhz_;
  std::int32_t next_round_ = 0;   // after those of earlier processes
  std::int32_t rounds_here_ = 0;  // that this process measured
  double start_us_ = 0.0;
};

}  // namespace

Result<SessionOutcome> measure_arms(const SessionContext& context, const SessionSpec& spec,
                                    std::vector<Arm> arms) {
  return Session(context, spec, std::move(arms)).run();
}

}  // namespace wavefill
