#include "cli/bench_run.h"

#include <algorithm>

#include "core/errors.h"
#include "tune/session.h"

namespace wavefill::cli {
namespace {

// Precise enough that repeated runs agree in the figures that are printed.
constexpr StoppingRule kStop = {
    .relative_half_width = 0.005, .min_samples = 12, .max_samples = 200, .seed = 1};

Result<Candidate> candidate_of(const Workbench& workbench, const DecodeShape& shape, const Setting& setting) {
  const Result<KernelSpec> kernel = workbench.kernel_for(shape);
  if (!kernel.ok()) return kernel.status();
  PlanRequest request;
  request.device = workbench.device();
  request.kernel = *kernel;
  request.shape = shape;
  request.setting = setting;
  Result<SplitPlan> plan = make_plan(request);
  if (!plan.ok()) return plan.status();
  Candidate candidate;
  candidate.setting = setting;
  candidate.name = to_string(setting);
  candidate.aliases = {candidate.name};
  candidate.waves = wave_stats(*plan);
  candidate.plan = *std::move(plan);
  return candidate;
}

double gbps_of(std::int64_t bytes, double us) { return static_cast<double>(bytes) / us * 1e-3; }

// What stays the same over the batches of one run.
class Bench {
 public:
  Bench(const BenchRequest& request, Workbench& workbench, Progress& progress)
      : request_(request), workbench_(workbench), progress_(progress) {
    tune_.shape = request.shape;
    tune_.batches = request.batches;
    tune_.stop = kStop;
    tune_.seed = request.seed;
    tune_.count_contaminated = request.count_contaminated;
  }

  Result<BenchResult> run() {
    result_.device = workbench_.device();
    result_.timing = workbench_.timing();
    start_us_ = workbench_.now_us();
    for (std::size_t i = 0; i < request_.batches.size() && !result_.cancelled; ++i) {
      WAVEFILL_RETURN_IF_ERROR(run_batch(i));
    }
    return std::move(result_);
  }

 private:
  Status run_batch(std::size_t batch_idx) {
    DecodeShape shape = request_.shape;
    shape.batch = request_.batches[batch_idx];
    const Result<KernelSpec> kernel = workbench_.kernel_for(shape);
    if (!kernel.ok()) return kernel.status();
    result_.kernel = *kernel;
    const Result<Rotation> rotation = workbench_.prepare(shape);
    if (!rotation.ok()) return rotation.status();

    std::vector<Candidate> candidates;
    std::vector<VerifyOutcome> outcomes;
    for (const Setting& setting : request_.settings) {
      Result<Candidate> candidate = candidate_of(workbench_, shape, setting);
      if (!candidate.ok()) return candidate.status();
      report(batch_idx, "verifying", 0, 0);
      const Result<VerifyOutcome> outcome = workbench_.verify(candidate->plan);
      if (!outcome.ok()) return outcome.status();
      outcomes.push_back(*outcome);
      candidates.push_back(*std::move(candidate));
    }
    const Result<SessionOutcome> session = measure(batch_idx, candidates, outcomes);
    if (!session.ok()) return session.status();
    result_.cancelled = session->cancelled;
    for (std::size_t i = 0; i < candidates.size(); ++i)
      add_row(shape, candidates[i], outcomes[i], *session, *rotation);
    return {};
  }

  // Settings whose output is wrong are not timed.
  Result<SessionOutcome> measure(std::size_t batch_idx, const std::vector<Candidate>& candidates,
                                 const std::vector<VerifyOutcome>& outcomes) {
    std::vector<Arm> arms;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (!outcomes[i].passed) continue;
      Arm arm;
      arm.candidate = &candidates[i];
      arm.may_be_eliminated = false;
      arms.push_back(std::move(arm));
    }
    if (arms.empty()) return SessionOutcome{};
    SessionSpec spec;
    spec.batch = request_.batches[batch_idx];
    spec.deadline_us = workbench_.now_us() + request_.budget_us;
    spec.on_round = [this, batch_idx](std::int32_t, std::int32_t active_arms, std::int64_t samples) {
      num_samples_ += samples;
      report(batch_idx, "measuring", active_arms, num_samples_);
    };
    MemorySink sink;
    const Result<RunState> state = sink.begin(RunKey{}, Environment{}, false);
    if (!state.ok()) return state.status();
    return measure_arms(
        {.request = tune_, .workbench = workbench_, .sink = sink, .progress = progress_, .earlier = *state},
        spec, std::move(arms));
  }

  void add_row(const DecodeShape& shape, const Candidate& candidate, const VerifyOutcome& outcome,
               const SessionOutcome& session, const Rotation& rotation) {
    BenchRow row;
    row.batch = shape.batch;
    row.setting = candidate.name;
    row.waves = candidate.waves;
    row.verified = outcome;
    row.rounds = session.rounds;
    row.contaminated_rounds = session.contaminated_rounds;
    row.contamination = session.contamination;
    row.cache_state = describe(rotation);
    const auto arm = std::ranges::find(session.arms, candidate.name,
                                       [](const Arm& measured) { return measured.candidate->name; });
    if (arm != session.arms.end()) {
      row.stopped_by = to_string(arm->stop);
      for (const TimedSample& sample : arm->samples) row.samples_us.push_back(sample.us);
    }
    if (!row.samples_us.empty()) {
      row.us = median(row.samples_us);
      row.interval_us = median_interval(row.samples_us);
      row.tokens_per_s = static_cast<double>(shape.rows()) * 1e6 / row.us;
      row.gbps = gbps_of(bytes_per_call(shape), row.us);
    }
    result_.rows.push_back(std::move(row));
  }

  void report(std::size_t batch_idx, std::string activity, std::int32_t active_arms, std::int64_t samples) {
    ProgressUpdate update;
    update.activity = std::move(activity);
    update.batch = request_.batches[batch_idx];
    update.batch_idx = static_cast<std::int32_t>(batch_idx);
    update.num_batches = static_cast<std::int32_t>(request_.batches.size());
    update.active_arms = active_arms;
    update.samples = samples;
    update.elapsed_us = workbench_.now_us() - start_us_;
    const double per_batch_us =
        batch_idx == 0 ? request_.budget_us : update.elapsed_us / static_cast<double>(batch_idx);
    update.remaining_us = per_batch_us * static_cast<double>(request_.batches.size() - batch_idx);
    progress_.update(update);
  }

  const BenchRequest& request_;
  Workbench& workbench_;
  Progress& progress_;
  TuneRequest tune_;
  BenchResult result_;
  double start_us_ = 0.0;
  std::int64_t num_samples_ = 0;
};

}  // namespace

std::int64_t bytes_per_call(const DecodeShape& shape) {
  const std::int64_t tokens = shape.rows() * (std::int64_t{shape.topk} + shape.extra_topk);
  const std::int64_t q_and_out = shape.rows() * shape.num_heads * (shape.d_qk + kValueDim) *
                                 static_cast<std::int64_t>(sizeof(std::uint16_t));
  return tokens * kv_token_bytes(shape.kv_format, shape.d_qk) + q_and_out;
}

Result<BenchResult> run_bench(const BenchRequest& request, Workbench& workbench, Progress& progress) {
  return Bench(request, workbench, progress).run();
}

}  // namespace wavefill::cli
