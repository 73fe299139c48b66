// Measuring several arms of one batch against each other, in interleaved rounds.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "measure/records.h"
#include "measure/workbench.h"
#include "tune/tuner.h"

namespace wavefill {

// One thing that is timed in every round.
struct Arm {
  const Candidate* candidate = nullptr;
  std::int32_t replica = 0;  // 1: the A/A copy of the deployed setting
  // The deployed and its copy: measured for as long as anything is compared with them, never eliminated.
  bool is_reference = false;
  bool may_be_eliminated = true;
  std::vector<TimedSample> samples;  // those that count
  StopReason stop = StopReason::none;
};

// What sessions of one run share.
struct SessionContext {
  const TuneRequest& request;
  Workbench& workbench;
  RecordSink& sink;
  const Progress& progress;
  const RunState& earlier;  // what previous processes recorded of this run
};

struct SessionSpec {
  Phase phase = Phase::search;
  std::int32_t batch = 0;
  double deadline_us = 0.0;
  // > 0: the search's rules for a share that is too short. The slowest candidates stop first, and the last
  // one may go on until this time for want of a verdict. 0: all go on to deadline_us.
  double last_deadline_us = 0.0;
  std::int32_t max_samples = 0;  // of each arm; 0 = the request's
  // > 0: goes on with arms that this process measured in the rounds before, with so many calls a sample.
  std::int32_t first_round = 0;
  std::int32_t calls_per_sample = 0;
  std::function<void(std::int32_t round, std::int32_t active_arms, std::int64_t new_samples)> on_round;
};

struct SessionOutcome {
  std::vector<Arm> arms;
  std::int32_t rounds = 0;  // that count
  std::int32_t contaminated_rounds = 0;
  std::string contamination;  // the last reason
  double clock_mhz = 0.0;     // median over the rounds that this process measured; 0 = not said
  std::int32_t calls_per_sample = 1;
  std::int64_t from_earlier = 0;  // samples that an earlier process had recorded
  std::int32_t next_round = 0;
  std::int64_t samples_here = 0;  // that this session measured, contaminated ones included
  bool cancelled = false;
};

// Rounds are measured until every arm has stopped. Arms start with what is known of them; a round that was
// recorded before is not measured again. At least verdict.min_samples rounds are measured even if
// the deadline has passed: a batch without samples would be worth nothing.
// The workbench has been prepared for the batch's shape.
Result<SessionOutcome> measure_arms(const SessionContext& context, const SessionSpec& spec,
                                    std::vector<Arm> arms);

}  // namespace wavefill
