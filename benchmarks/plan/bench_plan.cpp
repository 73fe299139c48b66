// How long a plan takes to make: it is made once a step, on the path of every token.
#include <benchmark/benchmark.h>

#include <random>
#include <string>
#include <vector>

#include "wavefill/plan.h"

namespace wavefill {
namespace {

constexpr std::int64_t kMostTokens =
    8320;  // a window of 128 and 8192 compressed: a million tokens of context

// Lengths as a server has them: most short, a few at the full width.
std::vector<std::int32_t> skewed_lengths(std::int64_t rows, std::int32_t width) {
  std::mt19937 rng(1);
  std::vector<std::int32_t> lengths;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int32_t most = row % 8 == 0 ? width : width / 8;
    lengths.push_back(std::uniform_int_distribution<std::int32_t>(0, most)(rng));
  }
  return lengths;
}

PlanRequest make_request(const Setting& setting, std::int32_t batch, std::int32_t extra_topk) {
  PlanRequest request;
  request.device = *find_known_device("h200");
  request.kernel.name = "bench";
  request.kernel.heads_per_cta = 16;
  request.shape.batch = batch;
  request.shape.num_heads = 32;
  request.shape.topk = 128;
  request.shape.extra_topk = extra_topk;
  request.setting = setting;
  return request;
}

void bench_plan(benchmark::State& state, const Setting& setting, bool skewed, bool batch_invariant) {
  PlanRequest request = make_request(setting, static_cast<std::int32_t>(state.range(0)),
                                     static_cast<std::int32_t>(state.range(1)));
  request.batch_invariant = batch_invariant;
  std::vector<std::int32_t> extra_lengths;
  if (skewed) extra_lengths = skewed_lengths(request.shape.rows(), request.shape.extra_topk);
  request.extra_lengths = extra_lengths;
  std::size_t items = 0;
  for (auto _ : state) {
    const Result<SplitPlan> plan = make_plan(request);
    if (!plan.ok()) {
      state.SkipWithError(plan.status().message().c_str());
      return;
    }
    items = plan->items.size();
    benchmark::DoNotOptimize(plan->items.data());
  }
  state.counters["items"] = static_cast<double>(items);
}

void register_benchmarks() {
  for (const char* text :
       {"fixed=10", "target-ctas=512", "efficiency", "tail-gap", "last-wave", "list-schedule", "balanced"}) {
    const Setting setting = *parse_setting(text);
    for (const bool skewed : {false, true}) {
      for (const bool batch_invariant : {false, true}) {
        const std::string name = std::string("plan/") + text + (skewed ? "/skewed" : "/equal") +
                                 (batch_invariant ? "/batch_invariant" : "");
        benchmark::RegisterBenchmark(name.c_str(), bench_plan, setting, skewed, batch_invariant)
            ->ArgNames({"batch", "extra_topk"})
            ->Args({512, 512})
            ->Args({512, kMostTokens - 128})
            ->Unit(benchmark::kMicrosecond);
      }
    }
  }
}

const bool registered = (register_benchmarks(), true);

}  // namespace
}  // namespace wavefill
