// The same inputs and plan give the same bits: on a repeat, on any number of threads, beside other calls,
// and, where a row is split as if alone, in any batch.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "backend_cpu/call.h"
#include "backend_cpu/cpu_backend.h"
#include "oracle/oracle.h"

namespace wavefill {
namespace {

constexpr int kBatch = 7;

oracle::Case ragged_case() {
  oracle::Case c;
  c.shape = {.batch = kBatch, .num_heads = 20, .topk = 200, .extra_topk = 300};
  c.lengths = c.extra_lengths = oracle::Lengths::random;
  c.indices = oracle::Indices::holes;
  c.sink = oracle::Sink::random;
  c.seed = 77;
  return c;
}

struct Bits {
  std::vector<Bf16Bits> out;
  std::vector<float> lse;
  friend bool operator==(const Bits&, const Bits&) = default;
};

Bits bits_of(oracle::Inputs& inputs) {
  return {{inputs.out_buffer().begin(), inputs.out_buffer().end()},
          {inputs.lse_buffer().begin(), inputs.lse_buffer().end()}};
}

Bits bits_of_run(const Backend& backend, const SplitPlan& plan, oracle::Inputs& inputs) {
  const Status status = test::run(backend, plan, inputs, inputs.args());
  EXPECT_TRUE(status.ok()) << status.message();
  return bits_of(inputs);
}

TEST(Determinism, RepeatsBitForBit) {
  const auto backend = std::move(make_cpu_backend(2)).value();
  oracle::Inputs inputs(ragged_case());
  for (const KernelSpec& kernel : backend->kernels()) {
    const SplitPlan plan =
        test::plan_of(*backend, kernel, inputs, ragged_case().shape, test::setting_of("fixed=3"));
    const Bits first = bits_of_run(*backend, plan, inputs);
    for (int repeat = 0; repeat < 5; ++repeat)
      EXPECT_EQ(bits_of_run(*backend, plan, inputs), first) << kernel.name;
  }
}

TEST(Determinism, ThreadCountChangesNoBit) {
  oracle::Inputs inputs(ragged_case());
  const auto single = std::move(make_cpu_backend(1)).value();
  for (const KernelSpec& kernel : single->kernels()) {
    const auto run_on = [&](const Backend& backend) {
      return bits_of_run(
          backend, test::plan_of(backend, kernel, inputs, ragged_case().shape, test::setting_of("fixed=4")),
          inputs);
    };
    const Bits expected = run_on(*single);
    for (const int num_threads : {2, 3, 5}) {
      EXPECT_EQ(run_on(*std::move(make_cpu_backend(num_threads)).value()), expected)
          << kernel.name << " on " << num_threads << " threads";
    }
  }
}

TEST(Determinism, ConcurrentCallsOnOneBackendDoNotMix) {
  const auto backend = std::move(make_cpu_backend(2)).value();
  constexpr int kCallers = 4;
  std::vector<oracle::Inputs> inputs;
  std::vector<Bits> expected;
  std::vector<SplitPlan> plans;
  for (int caller = 0; caller < kCallers; ++caller) {
    oracle::Case c = ragged_case();
    c.seed = static_cast<std::uint64_t>(caller + 1);
    inputs.emplace_back(c);
    plans.push_back(test::plan_of(*backend, backend->kernels()[static_cast<std::size_t>(caller) % 2],
                                  inputs.back(), c.shape, test::setting_of("balanced")));
    expected.push_back(bits_of_run(*backend, plans.back(), inputs.back()));
  }
  std::vector<std::thread> threads;
  for (std::size_t caller = 0; caller < kCallers; ++caller) {
    threads.emplace_back([&, caller] {
      for (int repeat = 0; repeat < 5; ++repeat) {
        EXPECT_EQ(bits_of_run(*backend, plans[caller], inputs[caller]), expected[caller]) << caller;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// The call that has request `row` of `batch` alone.
DecodeArgs alone(DecodeArgs args, std::int64_t row) {
  args.shape.batch = 1;
  args.q.data += row * args.q.stride_batch;
  args.out.data += row * args.out.stride_batch;
  args.lse.data += row * args.lse.stride_batch;
  for (SparseCache* cache : {&args.main, &args.extra}) {
    cache->indices.data += row * cache->indices.stride_batch;
    cache->lengths.data += row * cache->lengths.stride_batch;
  }
  return args;
}

SplitPlan plan_alone(const Backend& backend, const KernelSpec& kernel, const oracle::Inputs& inputs,
                     const DecodeShape& shape, const Setting& setting, std::size_t row) {
  PlanRequest request;
  request.device = backend.device();
  request.kernel = kernel;
  request.shape = shape;
  request.lengths = inputs.row_lengths().subspan(row, 1);
  request.extra_lengths = inputs.extra_row_lengths().subspan(row, 1);
  request.setting = setting;
  request.batch_invariant = true;
  return std::move(make_plan(request)).value();
}

TEST(Determinism, BatchInvariantRowKeepsItsBitsAlone) {
  const auto backend = std::move(make_cpu_backend(2)).value();
  oracle::Inputs inputs(ragged_case());
  for (const KernelSpec& kernel : backend->kernels()) {
    for (const char* text : {"fixed=3", "efficiency", "target-ctas=40", "balanced", "list-schedule"}) {
      SCOPED_TRACE(kernel.name + " " + text);
      const Setting setting = test::setting_of(text);
      const SplitPlan plan = test::plan_of(*backend, kernel, inputs, ragged_case().shape, setting, true);
      const Bits together = bits_of_run(*backend, plan, inputs);
      inputs.poison_outputs();
      for (std::size_t row = 0; row < kBatch; ++row) {
        DecodeArgs args = alone(inputs.args(), static_cast<std::int64_t>(row));
        const SplitPlan single = plan_alone(*backend, kernel, inputs, args.shape, setting, row);
        const test::Workspace workspace(workspace_bytes(single));
        workspace.attach(args);
        ASSERT_TRUE(check_run(*backend, single, args).ok());
        ASSERT_TRUE(backend->run(single, args, nullptr).ok());
      }
      EXPECT_EQ(bits_of(inputs), together);
    }
  }
}

TEST(Determinism, PlanForFullLengthsServesAnyShorterOnes) {
  const auto backend = std::move(make_cpu_backend(2)).value();
  oracle::Case full = ragged_case();
  full.lengths = full.extra_lengths = oracle::Lengths::full;
  const oracle::Inputs captured(full);
  for (const oracle::Lengths kind :
       {oracle::Lengths::zero, oracle::Lengths::one, oracle::Lengths::random, oracle::Lengths::skewed}) {
    oracle::Case shorter = full;
    shorter.lengths = shorter.extra_lengths = kind;
    oracle::Inputs inputs(shorter);
    const oracle::Reference expected = oracle::reference(inputs.args());
    for (const char* setting : {"fixed=1", "fixed=5", "balanced", "target-ctas=64"}) {
      SCOPED_TRACE(setting);
      const SplitPlan plan = test::plan_of(*backend, backend->kernels().front(), captured, full.shape,
                                           test::setting_of(setting));
      ASSERT_TRUE(test::run(*backend, plan, inputs, inputs.args()).ok());
      const auto comparison = oracle::compare(expected, inputs.args());
      EXPECT_TRUE(comparison.passed) << comparison.first_failure;
    }
  }
}

}  // namespace
}  // namespace wavefill
