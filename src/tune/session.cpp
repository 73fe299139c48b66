#include "tune/session.h"

#include <algorithm>
#include <random>
#include <set>

#include "core/errors.h"
#include "core/math.h"
#include "measure/timers.h"
#include "tune/elimination.h"

namespace wavefill {
namespace {

constexpr std::int32_t kMaxCallsPerSample = 10000;

// Looking less often costs less, and eliminates less often by luck.
constexpr std::int32_t kEliminationEvery = 4;

// If nearly every round is contaminated, no arm ever has its samples: rounds are limited as well.
constexpr std::int32_t kMaxRoundsPerSample = 2;

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) { return mix_bits(a * 0x9E37'79B9'7F4A'7C15ULL + b); }

class Session {
 public:
  Session(const SessionContext& context, const SessionSpec& spec, std::vector<Arm> arms)
      : context_(context), spec_(spec) {
    outcome_.arms = std::move(arms);
    rule_ = context.request.stop;
    if (spec.max_samples > 0) rule_.max_samples = spec.max_samples;
  }

  Result<SessionOutcome> run() {
    spec_.first_round > 0 ? go_on() : absorb_earlier();
    start_us_ = context_.workbench.now_us();
    if (num_active() > 0) WAVEFILL_RETURN_IF_ERROR(warm_up());
    deadline_us_ = spec_.deadline_us;
    WAVEFILL_RETURN_IF_ERROR(stop_arms());
    while (num_active() > 0 && !outcome_.cancelled) {
      WAVEFILL_RETURN_IF_ERROR(measure_round());
      WAVEFILL_RETURN_IF_ERROR(stop_arms());
    }
    outcome_.calls_per_sample = std::max(1, outcome_.calls_per_sample);
    outcome_.next_round = next_round_;
    outcome_.samples_here = samples_here_;
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

  void go_on() {
    next_round_ = spec_.first_round;
    outcome_.calls_per_sample = spec_.calls_per_sample;
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
    // A reference has ended for good only if nothing is left to be compared with it.
    absorb_ends(false);
    if (running_candidates().empty()) absorb_ends(true);
  }

  void absorb_ends(bool of_references) {
    for (const ArmEnd& end : context_.earlier.ends) {
      const bool is_final = end.reason == StopReason::precision || end.reason == StopReason::max_samples ||
                            end.reason == StopReason::eliminated;
      if (end.phase != spec_.phase || end.batch != spec_.batch || !is_final) continue;
      Arm* arm = find_arm(end.setting, end.replica);
      if (arm != nullptr && arm->is_reference == of_references) arm->stop = end.reason;
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
    samples_here_ += std::ssize(round);
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
    for (Arm& arm : outcome_.arms) {
      if (arm.stop == StopReason::none && is_clear_loser(arm)) {
        WAVEFILL_RETURN_IF_ERROR(stop(arm, StopReason::eliminated));
      }
    }
    WAVEFILL_RETURN_IF_ERROR(focus());
    for (const bool references : {false, true}) {
      const bool waits = references && !running_candidates().empty();
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
    const double elapsed_us = context_.workbench.now_us() - start_us_;
    const StopReason reason = should_stop(rule_, times_us(arm.samples), elapsed_us, deadline_us_ - start_us_);
    if (reason == StopReason::precision || reason == StopReason::max_samples) return reason;
    if (next_round_ < context_.request.verdict.min_samples) return StopReason::none;
    return rounds_here_ >= kMaxRoundsPerSample * rule_.max_samples ? StopReason::time_budget : reason;
  }

  bool is_clear_loser(const Arm& arm) const {
    if (arm.is_reference || !arm.may_be_eliminated || arm.samples.size() < kGulfSamples) return false;
    const Arm* leader = nullptr;
    double leader_us = 0.0;
    for (const Arm& other : outcome_.arms) {
      if (other.samples.size() < kGulfSamples || other.replica != 0) continue;
      const double us = median(times_us(other.samples));
      if (leader != nullptr && us >= leader_us) continue;
      leader = &other;
      leader_us = us;
    }
    if (leader == nullptr || leader == &arm) return false;
    if (beyond_gulf(leader->samples, arm.samples)) return true;
    return next_round_ % kEliminationEvery == 0 &&
           clearly_slower(leader->samples, arm.samples, context_.request.seed);
  }

  // Time until every candidate still running has the samples that a verdict takes.
  double us_until_enough() {
    const std::int32_t enough = std::min(rule_.min_samples, rule_.max_samples);
    std::int32_t rounds = 0;
    for (const Arm* arm : running_candidates()) {
      rounds = std::max(rounds, enough - static_cast<std::int32_t>(arm->samples.size()));
    }
    const double sample_us = (context_.workbench.now_us() - start_us_) / static_cast<double>(samples_here_);
    return sample_us * rounds * num_active();
  }

  std::vector<Arm*> running_candidates() {
    std::vector<Arm*> running;
    for (Arm& arm : outcome_.arms) {
      if (!arm.is_reference && arm.stop == StopReason::none) running.push_back(&arm);
    }
    return running;
  }

  bool beats_deployed(const Arm& arm) const {
    const auto deployed = std::ranges::find_if(
        outcome_.arms, [](const Arm& other) { return other.is_reference && other.replica == 0; });
    return deployed != outcome_.arms.end() && !deployed->samples.empty() &&
           median(times_us(arm.samples)) < median(times_us(deployed->samples));
  }

  // Where the share is too short for verdicts on all, the slowest leave the rest of it to the others. The
  // last one may go on to the last deadline, if it is ahead of the deployed setting: nothing else could
  // change what is served here.
  Status focus() {
    if (spec_.last_deadline_us <= 0.0 || samples_here_ == 0) return {};
    for (;;) {
      const double now_us = context_.workbench.now_us();
      const double needed_us = us_until_enough();
      if (now_us + needed_us <= deadline_us_) return {};
      const std::vector<Arm*> running = running_candidates();
      const auto is_new = [](const Arm* arm) { return arm->samples.size() < kGulfSamples; };
      if (running.empty() || std::ranges::any_of(running, is_new)) return {};
      if (running.size() == 1) {
        const bool fits = now_us + needed_us <= spec_.last_deadline_us;
        if (fits && beats_deployed(*running.front())) deadline_us_ = now_us + needed_us;
        return {};
      }
      Arm* slowest = *std::ranges::max_element(running, {},
                                               [](const Arm* arm) { return median(times_us(arm->samples)); });
      WAVEFILL_RETURN_IF_ERROR(stop(*slowest, StopReason::time_budget));
    }
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
  std::int32_t rounds_here_ = 0;  // that this session measured
  std::int64_t samples_here_ = 0;
  double start_us_ = 0.0;
  double deadline_us_ = 0.0;
};

}  // namespace

Result<SessionOutcome> measure_arms(const SessionContext& context, const SessionSpec& spec,
                                    std::vector<Arm> arms) {
  return Session(context, spec, std::move(arms)).run();
}

}  // namespace wavefill
