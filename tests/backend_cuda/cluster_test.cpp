// Rows whose splits are a cluster: every split count against the fp64 oracle, values of any magnitude, and
// when there are clusters at all.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "backend_cuda/gpu_fixture.h"
#include "backend_cuda/gpu_graph.h"
#include "backend_cuda/kernel_table.h"
#include "backend_cuda/scaled_values.h"
#include "oracle/case.h"
#include "wavefill/plan.h"

namespace wavefill::test {
namespace {

// Random lengths within plans that are made for all of topk, so that all rows are cut alike.
oracle::Case short_rows(int num_heads, KvFormat format) {
  oracle::Case c;
  c.name = "cluster";
  c.shape = {.batch = 2, .s_q = 2, .num_heads = num_heads, .topk = 128, .extra_topk = 512};
  c.shape.kv_format = format;
  c.shape.d_qk = format == KvFormat::fp8_tile64_rope_bf16_footer ? 512 : 576;
  c.lengths = oracle::Lengths::one_empty_row;
  c.extra_lengths = oracle::Lengths::random;
  c.extra_indices = oracle::Indices::holes;
  c.sink = oracle::Sink::random;
  c.poison = c.strided = true;
  return c;
}

class ClusterTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (backend().device().compute_capability < 90) GTEST_SKIP() << "clusters came with capability 9.0";
  }

  static bool has_clusters(const KernelSpec& kernel) {
    return split_kernel(kernel).of_clusters.function != nullptr;
  }

  static SplitPlan plan(const KernelSpec& kernel, const DecodeShape& shape, int splits,
                        bool batch_invariant) {
    return full_plan(kernel, shape, fmt::format("fixed={}", splits), batch_invariant);
  }

  // How many kernels the call is, its outputs written by a replay of them.
  static std::size_t replay(const SplitPlan& plan, const DeviceInputs& device) {
    const DeviceBuffer workspace(backend().workspace_bytes(plan));
    DecodeArgs args = device.args();
    args.workspace = workspace.as();
    args.workspace_size_bytes = workspace.bytes();
    Graph graph([&](cudaStream_t stream) { EXPECT_TRUE(backend().run(plan, args, stream).ok()); });
    graph.replay();
    return graph.num_kernels();
  }
};

TEST_F(ClusterTest, EverySplitCountMergesRowsShorterThanPlanned) {
  for (const KvFormat format :
       {KvFormat::fp8_tile64_rope_bf16_footer, KvFormat::fp8_tile128_rope_bf16_inline}) {
    for (const int num_heads : {5, 8, 16, 24, 40, 64, 128}) {
      const oracle::Case c = short_rows(num_heads, format);
      oracle::Inputs host(c);
      DeviceInputs device(host);
      const oracle::Reference expected = oracle::reference(host.args());
      for (const KernelSpec& kernel : backend().kernels()) {
        if (!has_clusters(kernel) || !backend().supports(kernel, c.shape).ok()) continue;
        for (int splits = 2; splits <= cuda::kMaxClusterSplits; ++splits) {
          device.poison_outputs();
          check_cuda(cudaDeviceSynchronize());
          replay(plan(kernel, c.shape, splits, false), device);
          const auto comparison = oracle::compare(expected, device.fetch_outputs());
          EXPECT_TRUE(comparison.passed) << kernel.name << ", " << num_heads << " heads, " << splits
                                         << " splits: " << comparison.first_failure;
          EXPECT_TRUE(host.gaps_intact());
        }
      }
    }
  }
}

// Partials cross in fp16: powers of two have to bring every head into its range.
TEST_F(ClusterTest, ValuesOfAnyMagnitudeAreExchanged) {
  for (const int exponent : {-90, -40, 40, 90}) {
    for (const int num_heads : {8, 16, 64}) {
      const auto c = with_flat_scores(short_rows(num_heads, KvFormat::fp8_tile64_rope_bf16_footer));
      oracle::Inputs host(c);
      multiply_values(host, exponent);
      DeviceInputs device(host);
      const oracle::Reference expected = oracle::reference(host.args());
      for (const KernelSpec& kernel : backend().kernels()) {
        if (!has_clusters(kernel) || !backend().supports(kernel, c.shape).ok()) continue;
        replay(plan(kernel, c.shape, 3, false), device);
        const auto comparison = oracle::compare(expected, device.fetch_outputs());
        EXPECT_TRUE(comparison.passed) << kernel.name << ", " << num_heads << " heads, 2^" << exponent << ": "
                                       << comparison.first_failure;
      }
    }
  }
}

// One kernel a call where the row is a cluster. Where bits must not depend on the batch, or more clusters are
// wanted than the device holds, two.
TEST_F(ClusterTest, AreUsedWhereAllFitAtOnceAndBitsMayDependOnTheBatch) {
  for (const int num_heads : {8, 64}) {
    oracle::Case c = short_rows(num_heads, KvFormat::fp8_tile64_rope_bf16_footer);
    c.lengths = c.extra_lengths = oracle::Lengths::absent;
    c.shape.s_q = 1;
    for (const int batch : {2, 300}) {
      c.shape.batch = batch;
      oracle::Inputs host(c);
      const DeviceInputs device(host);
      for (const KernelSpec& kernel : backend().kernels()) {
        if (!backend().supports(kernel, c.shape).ok()) continue;
        const bool fits = has_clusters(kernel) && batch == 2;
        EXPECT_EQ(replay(plan(kernel, c.shape, 2, false), device), fits ? 1U : 2U) << kernel.name;
        EXPECT_EQ(replay(plan(kernel, c.shape, 2, true), device), 2U) << kernel.name;
      }
    }
  }
}

}  // namespace
}  // namespace wavefill::test
