// Decoder::run allocates nothing: it may be called for every layer, and under CUDA graph capture.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

#include "oracle/inputs.h"
#include "runtime/counting_new.h"
#include "wavefill/decoder.h"

namespace wavefill {
namespace {

TEST(Allocation, CountsWhatIsAllocated) {
  const std::int64_t before = num_allocations();
  const std::vector<int> some(1000, 1);
  EXPECT_GT(num_allocations(), before) << some.size();
}

class RunAllocatesNothing : public ::testing::TestWithParam<const char*> {};

TEST_P(RunAllocatesNothing, FromTheSecondCallOn) {
  const DecodeShape shape{.batch = 4, .num_heads = 20, .topk = 300, .extra_topk = 100};
  oracle::PoolSpec spec;
  spec.shape = shape;
  spec.lengths = {300, 0, 7, 128};
  oracle::Inputs inputs(spec);
  const auto decoder =
      Decoder::create({.device = "cpu", .num_threads = 2, .setting = parse_setting(GetParam()).value()});
  ASSERT_TRUE(decoder.ok()) << decoder.status().message();
  const auto plan = decoder->plan(shape, inputs.row_lengths());
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  DecodeArgs args = inputs.args();
  const std::size_t bytes = workspace_bytes(*plan);
  const std::unique_ptr<void, decltype(&std::free)> workspace(
      std::aligned_alloc(256, bytes / 256 * 256 + 256), &std::free);
  args.workspace = workspace.get();
  args.workspace_size_bytes = bytes;
  // The first call may start threads.
  ASSERT_TRUE(decoder->run(*plan, args).ok());
  const std::int64_t before = num_allocations();
  for (int call = 0; call < 10; ++call) ASSERT_TRUE(decoder->run(*plan, args).ok());
  EXPECT_EQ(num_allocations(), before);
}

INSTANTIATE_TEST_SUITE_P(Settings, RunAllocatesNothing, ::testing::Values("fixed=1", "fixed=3", "balanced"));

}  // namespace
}  // namespace wavefill
