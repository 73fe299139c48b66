// Rows that neighbouring workers share and merge without a second kernel: against the fp64 oracle, again and
// again in the same workspace, and when they are merged so at all.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <vector>

#include "backend_cuda/gpu_fixture.h"
#include "backend_cuda/gpu_graph.h"
#include "backend_cuda/scaled_values.h"
#include "oracle/case.h"
#include "wavefill/plan.h"

namespace wavefill::test {
namespace {

class WorkerMerge : public GpuTest {
 protected:
  // The kernels that have it: on some GPUs none.
  static std::vector<KernelSpec> merging_kernels() {
    std::vector<KernelSpec> kernels;
    std::ranges::copy_if(backend().kernels(), std::back_inserter(kernels), [](const KernelSpec& kernel) {
      return split_kernel(kernel).of_neighbours.function != nullptr;
    });
    return kernels;
  }

  // Some of whose rows are in two or three pieces: rows per worker of a head tile as `rows_a_worker` says.
  static oracle::Case shared_rows(const KernelSpec& kernel, int num_heads, double rows_a_worker) {
    oracle::Case c;
    c.name = "worker_merge";
    c.shape = {.num_heads = num_heads, .topk = 130, .extra_topk = 250};
    const cuda::SplitKernel tokens = split_kernel(kernel);
    c.shape.kv_format = tokens.kv_format;
    c.shape.d_qk = tokens.d_qk;
    const auto workers =
        static_cast<double>(num_slots(backend().device(), kernel) / num_head_tiles(kernel, num_heads));
    c.shape.batch = static_cast<std::int32_t>(rows_a_worker * workers);
    c.extra_indices = oracle::Indices::holes;
    c.sink = oracle::Sink::random;
    c.poison = c.strided = true;
    return c;
  }

  // A call whose plan is laid ready, captured.
  struct PreparedCall {
    PreparedCall(const SplitPlan& plan, const DeviceInputs& device)
        : workspace(workspace_bytes(plan)),
          memory(backend().plan_memory_bytes(plan)),
          graph([&](cudaStream_t stream) {
            DecodeArgs args = device.args();
            args.workspace = workspace.as();
            args.workspace_size_bytes = workspace.bytes();
            if (memory.bytes() > 0) args.plan_memory = memory.as<const void>();
            EXPECT_TRUE(backend().run(plan, args, stream).ok());
          }) {
      EXPECT_TRUE(backend().prepare(plan, memory.as(), memory.bytes(), nullptr).ok());
      check_cuda(cudaDeviceSynchronize());
    }

    const DeviceBuffer workspace;
    const DeviceBuffer memory;
    Graph graph;
  };

  // Replays a call in a poisoned workspace, and again in what that left.
  static void expect_right(const SplitPlan& plan, oracle::Inputs& host, DeviceInputs& device) {
    const oracle::Reference expected = oracle::reference(host.args());
    PreparedCall call(plan, device);
    EXPECT_EQ(call.graph.num_kernels(), 1U);
    check_cuda(cudaMemset(call.workspace.as(), 0xFF, call.workspace.bytes()));
    std::vector<Bf16Bits> first;
    for (int repeat = 0; repeat < 4; ++repeat) {
      device.poison_outputs();
      call.graph.replay();
      const auto comparison = oracle::compare(expected, device.fetch_outputs());
      EXPECT_TRUE(comparison.passed) << plan.kernel.name << ", " << to_string(plan.setting) << ", "
                                     << plan.shape.batch << " rows of " << plan.shape.num_heads
                                     << " heads, repeat " << repeat << ": " << comparison.first_failure;
      EXPECT_TRUE(host.gaps_intact());
      const auto out = host.out_buffer();
      if (repeat == 0) first.assign(out.begin(), out.end());
      EXPECT_EQ(std::memcmp(first.data(), out.data(), out.size_bytes()), 0) << "two runs differ";
    }
  }
};

TEST_F(WorkerMerge, RowsSharedByWorkersAreRightAgainAndAgain) {
  for (const KernelSpec& kernel : merging_kernels()) {
    for (const int num_heads : {33, 64, 71, 128}) {
      for (const double rows_a_worker : {0.35, 0.7, 1.2}) {
        const oracle::Case c = shared_rows(kernel, num_heads, rows_a_worker);
        oracle::Inputs host(c);
        DeviceInputs device(host);
        const SplitPlan plan = full_plan(kernel, c.shape, "balanced=1");
        ASSERT_GT(plan.num_partials(), 0);
        expect_right(plan, host, device);
      }
    }
  }
}

// Pieces with no tokens of their row, rows with none at all.
TEST_F(WorkerMerge, RowsShorterThanPlannedAreRight) {
  for (const KernelSpec& kernel : merging_kernels()) {
    for (const auto lengths : {oracle::Lengths::random, oracle::Lengths::zero}) {
      oracle::Case c = shared_rows(kernel, 64, 0.7);
      c.lengths = lengths;
      c.extra_lengths = lengths;
      oracle::Inputs host(c);
      DeviceInputs device(host);
      for (const char* setting : {"balanced=1", "balanced=2"}) {
        expect_right(full_plan(kernel, c.shape, setting), host, device);
      }
    }
  }
}

// Partials are fp16: powers of two have to bring every head into its range.
TEST_F(WorkerMerge, ValuesOfAnyMagnitudeAreExchanged) {
  for (const KernelSpec& kernel : merging_kernels()) {
    for (const int exponent : {-90, 90}) {
      const auto c = with_flat_scores(shared_rows(kernel, 64, 0.7));
      if (c.shape.kv_format != KvFormat::fp8_tile64_rope_bf16_footer) continue;
      oracle::Inputs host(c);
      multiply_values(host, exponent);
      DeviceInputs device(host);
      expect_right(full_plan(kernel, c.shape, "balanced=1"), host, device);
    }
  }
}

// A workspace in which another plan's call has run.
TEST_F(WorkerMerge, CallsOfOtherPlansMayShareTheWorkspace) {
  for (const KernelSpec& kernel : merging_kernels()) {
    const oracle::Case c = shared_rows(kernel, 64, 0.7);
    oracle::Inputs host(c);
    DeviceInputs device(host);
    const oracle::Reference expected = oracle::reference(host.args());
    const SplitPlan plans[] = {full_plan(kernel, c.shape, "balanced=1"),
                               full_plan(kernel, c.shape, "fixed=3"),
                               full_plan(kernel, c.shape, "balanced=2")};
    std::size_t bytes = 0;
    for (const SplitPlan& plan : plans) bytes = std::max(bytes, backend().workspace_bytes(plan));
    const DeviceBuffer workspace(bytes);
    DecodeArgs args = device.args();
    args.workspace = workspace.as();
    args.workspace_size_bytes = workspace.bytes();
    check_cuda(cudaMemset(workspace.as(), 0, workspace.bytes()));
    for (int round = 0; round < 3; ++round) {
      for (const SplitPlan& plan : plans) {
        device.poison_outputs();
        check_cuda(cudaDeviceSynchronize());
        ASSERT_TRUE(backend().run(plan, args, nullptr).ok());
        const auto comparison = oracle::compare(expected, device.fetch_outputs());
        EXPECT_TRUE(comparison.passed) << kernel.name << ", " << to_string(plan.setting) << ", round "
                                       << round << ": " << comparison.first_failure;
      }
    }
  }
}

// Bits that must not depend on the batch are a second kernel's work, and so are rows of many pieces.
TEST_F(WorkerMerge, IsForRowsOfFewPiecesWhoseBitsMayDependOnTheBatch) {
  for (const KernelSpec& kernel : merging_kernels()) {
    for (const auto& [rows_a_worker, batch_invariant] : {std::pair{0.7, true}, {0.23, false}}) {
      oracle::Case c = shared_rows(kernel, 64, rows_a_worker);
      c.shape.topk = 640;  // with 0.23 rows a worker, five pieces of some
      oracle::Inputs host(c);
      const DeviceInputs device(host);
      const SplitPlan plan = full_plan(kernel, c.shape, "balanced=1", batch_invariant);
      ASSERT_GT(plan.num_partials(), 0);
      EXPECT_EQ(PreparedCall(plan, device).graph.num_kernels(), 2U) << kernel.name;
    }
  }
}

}  // namespace
}  // namespace wavefill::test
