// More rows than the device holds CTAs: items in turn by one CTA, and a last wave of its own, against the
// fp64 oracle.
#include <gtest/gtest.h>

#include "backend_cuda/gpu_fixture.h"
#include "oracle/case.h"
#include "wavefill/plan.h"

namespace wavefill::test {
namespace {

class WavesTest : public GpuTest {
 protected:
  // `more` rows beyond a full wave of whole rows.
  static oracle::Case rows_beyond_a_wave(const KernelSpec& kernel, int num_heads, std::int64_t more) {
    oracle::Case c;
    c.name = "waves";
    c.shape = {.num_heads = num_heads, .topk = 70, .extra_topk = 200};
    const std::int64_t rows_a_wave =
        num_slots(backend().device(), kernel) / num_head_tiles(kernel, num_heads);
    c.shape.batch = static_cast<std::int32_t>(rows_a_wave + more);
    c.sink = oracle::Sink::random;
    c.extra_indices = oracle::Indices::holes;
    c.poison = c.strided = true;
    return c;
  }

  static void expect_right(const KernelSpec& kernel, const oracle::Case& c, const char* setting) {
    oracle::Inputs host(c);
    DeviceInputs device(host);
    const SplitPlan plan = full_plan(kernel, c.shape, setting);
    const DeviceBuffer workspace(backend().workspace_bytes(plan));
    DecodeArgs args = device.args();
    args.workspace = workspace.as();
    args.workspace_size_bytes = workspace.bytes();
    device.poison_outputs();
    check_cuda(cudaDeviceSynchronize());
    ASSERT_TRUE(backend().run(plan, args, nullptr).ok());
    check_cuda(cudaDeviceSynchronize());
    const auto comparison = oracle::compare(oracle::reference(host.args()), device.fetch_outputs());
    EXPECT_TRUE(comparison.passed) << kernel.name << ", " << setting << ", " << c.shape.batch
                                   << " rows: " << comparison.first_failure;
    EXPECT_TRUE(host.gaps_intact());
  }
};

TEST_F(WavesTest, RowsBeyondAFullWaveAreRight) {
  for (const KernelSpec& kernel : backend().kernels()) {
    for (const int num_heads : {8, 16, 64}) {
      for (const std::int64_t more : {4, 28}) {
        oracle::Case c = rows_beyond_a_wave(kernel, num_heads, more);
        if (num_heads != kernel.heads_per_cta || !backend().supports(kernel, c.shape).ok()) continue;
        for (const char* setting : {"fixed=1", "fixed=2", "last-wave"}) expect_right(kernel, c, setting);
      }
    }
  }
}

// Rows that are shorter than planned, an empty one among them, one behind the other in one CTA.
TEST_F(WavesTest, ShortAndEmptyRowsInTurnAreRight) {
  for (const KernelSpec& kernel : backend().kernels()) {
    oracle::Case c = rows_beyond_a_wave(kernel, kernel.heads_per_cta, 60);
    if (!backend().supports(kernel, c.shape).ok()) continue;
    c.lengths = oracle::Lengths::one_empty_row;
    c.extra_lengths = oracle::Lengths::random;
    for (const char* setting : {"fixed=1", "last-wave"}) expect_right(kernel, c, setting);
  }
}

}  // namespace
}  // namespace wavefill::test
