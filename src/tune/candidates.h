// Which settings are worth timing at one batch.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "wavefill/plan.h"
#include "wavefill/status.h"

namespace wavefill {

// A plan to time, under one name. Settings that give the very same plan are one candidate.
struct Candidate {
  Setting setting;
  std::string name;                  // to_string(setting): what records call it
  std::vector<std::string> aliases;  // all settings that give this plan, `name` first
  SplitPlan plan;
  WaveStats waves;
  double predicted_us = 0.0;  // by the cost model: says where to measure, never what to ship
  bool is_deployed = false;
  bool is_default = false;
  bool is_policy_pick = false;
  bool is_model_pick = false;  // what the wave model or the cost model would ship unmeasured
  bool is_neighbour = false;   // one split more or less than one of those

  bool is_protected() const {
    return is_deployed || is_default || is_policy_pick || is_model_pick || is_neighbour;
  }
};

struct CandidateOptions {
  Setting deployed;
  Setting default_setting;    // what the library does if nobody says anything
  std::vector<Setting> also;  // further settings the user wants to see
  CostModel cost_model;       // that prunes: fitted on this device where that is known, else the default
  double slack = 0.25;        // kept if predicted within this of the best prediction
  // And at most so many, best first. A model that ranks wrongly is not to hide the best: all of the counts that
  // are looked at one by one are below it, and only what is predicted beyond the slack is ruled out of them.
  std::int32_t max_unprotected = 32;
};

// The deployed setting first. Every policy's pick, every distinct split count that the cost model does not
// rule out; the deployed, the default, each policy's pick, what the models would ship and the neighbours of
// all these are never ruled out. Policies are planned as the runtime plans them, whatever cost_model says.
// Errors: those of make_plan for the deployed setting.
Result<std::vector<Candidate>> candidates_for(const DeviceSpec& device, const KernelSpec& kernel,
                                              const DecodeShape& shape, const CandidateOptions& options);

// Whether two plans launch the same work: what they were named aside.
bool same_work(const SplitPlan& a, const SplitPlan& b);

}  // namespace wavefill
