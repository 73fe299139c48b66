// What the CPU backend must refuse, and that it does so before it writes anything.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "backend_cpu/call.h"
#include "backend_cpu/cpu_backend.h"

namespace wavefill {
namespace {

using testing::AllOf;
using testing::HasSubstr;

oracle::Case two_cache_case() {
  oracle::Case c;
  c.shape = {.batch = 3, .num_heads = 4, .topk = 100, .extra_topk = 80};
  c.lengths = oracle::Lengths::full;
  c.extra_lengths = oracle::Lengths::full;
  c.pool_tokens = 128;
  c.extra_pool_tokens = 192;
  return c;
}

class Refusal : public testing::Test {
 protected:
  Refusal() : inputs_(two_cache_case()), args_(inputs_.args()) {}

  SplitPlan plan() const {
    return test::plan_of(*backend_, backend_->kernels().front(), inputs_, args_.shape,
                         test::setting_of("fixed=2"));
  }

  Status run(const SplitPlan& plan) { return test::run(*backend_, plan, inputs_, args_); }

  bool nothing_written() {
    return std::ranges::all_of(inputs_.out_buffer(), [](Bf16Bits bits) { return bits == 0xFFFF; }) &&
           std::ranges::all_of(inputs_.lse_buffer(), [](float lse) { return std::isnan(lse); });
  }

  // A copy of the call's index or length tensor that may be changed.
  static std::vector<std::int32_t> copy(std::span<const std::int32_t> values) {
    return {values.begin(), values.end()};
  }

  std::unique_ptr<Backend> backend_ = std::move(make_cpu_backend(2)).value();
  oracle::Inputs inputs_;
  DecodeArgs args_;
};

TEST(MakeCpuBackend, RefusesNegativeAndAbsurdThreadCounts) {
  for (const int num_threads : {-1, 1025}) {
    const auto backend = make_cpu_backend(num_threads);
    ASSERT_FALSE(backend.ok());
    EXPECT_EQ(backend.status().code(), StatusCode::invalid_argument);
    EXPECT_THAT(backend.status().message(), HasSubstr(std::to_string(num_threads)));
  }
}

TEST(MakeCpuBackend, ThreadsAreTheSlotsOfTheDevice) {
  const auto backend = std::move(make_cpu_backend(3)).value();
  EXPECT_EQ(backend->device().num_sms, 3);
  EXPECT_EQ(backend->device().compute_capability, 0);
  EXPECT_EQ(backend->device().name.substr(0, 4), "cpu ");
  EXPECT_GE(std::move(make_cpu_backend(0)).value()->device().num_sms, 1);
}

TEST(MakeCpuBackend, TableEndsInAKernelThatRunsOnEveryMachineOfItsKind) {
  const auto backend = std::move(make_cpu_backend(1)).value();
  EXPECT_THAT(backend->kernels().back().name, testing::AnyOf("cpu_mla_portable", "cpu_mla_neon"));
  for (const KernelSpec& kernel : backend->kernels()) {
    EXPECT_EQ(std::ranges::count(backend->kernels(), kernel.name, &KernelSpec::name), 1) << kernel.name;
    EXPECT_TRUE(backend->supports(kernel, {.num_heads = 7, .topk = 1}).ok());
  }
}

TEST(MakeCpuBackend, DoesNotSupportKernelsOfOtherDevices) {
  const auto backend = std::move(make_cpu_backend(1)).value();
  KernelSpec kernel = backend->kernels().front();
  kernel.name = "sm90_mla";
  const Status status = backend->supports(kernel, {});
  EXPECT_EQ(status.code(), StatusCode::unsupported);
  EXPECT_THAT(status.message(), HasSubstr("sm90_mla"));
}

TEST_F(Refusal, RowLongerThanPlanned) {
  SplitPlan short_plan = plan();
  short_plan.row_kv_tiles[1] = 1;  // it has 2 + 2 tiles of 64
  const Status status = run(short_plan);
  EXPECT_EQ(status.code(), StatusCode::mismatch);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("row 1"), HasSubstr("1 kv tiles"), HasSubstr("has 4")));
  EXPECT_TRUE(nothing_written());
}

TEST_F(Refusal, LengthOutsideTheIndexTensor) {
  for (const std::int32_t length : {-1, 81}) {
    auto lengths = copy(inputs_.extra_length_buffer());
    lengths[2] = length;
    args_.extra.lengths.data = lengths.data();
    const Status status = run(plan());
    EXPECT_EQ(status.code(), StatusCode::invalid_argument);
    EXPECT_THAT(status.message(), AllOf(HasSubstr("extra"), HasSubstr("row 2"),
                                        HasSubstr(std::to_string(length)), HasSubstr("0..80")));
    EXPECT_TRUE(nothing_written());
  }
}

TEST_F(Refusal, IndexBeyondThePoolInCheckedMode) {
  auto indices = copy(inputs_.index_buffer());
  indices[1 * 100 + 37] = 128;
  args_.main.indices.data = indices.data();
  args_.check_indices = true;
  const Status status = run(plan());
  EXPECT_EQ(status.code(), StatusCode::invalid_argument);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("main"), HasSubstr("row 1"), HasSubstr("column 37"),
                                      HasSubstr("is 128"), HasSubstr("128 tokens")));
  EXPECT_TRUE(nothing_written());
}

TEST_F(Refusal, ExtraIndexBeyondThePoolInCheckedMode) {
  auto indices = copy(inputs_.extra_index_buffer());
  indices[2 * 80 + 79] = 0x7FFF'FFFF;
  args_.extra.indices.data = indices.data();
  args_.check_indices = true;
  const Status status = run(plan());
  EXPECT_THAT(status.message(), AllOf(HasSubstr("extra"), HasSubstr("row 2"), HasSubstr("column 79"),
                                      HasSubstr("2147483647"), HasSubstr("192 tokens")));
  EXPECT_TRUE(nothing_written());
}

TEST_F(Refusal, CheckedModeAcceptsHolesAndGarbageBehindTheLength) {
  auto indices = copy(inputs_.index_buffer());
  auto lengths = copy(inputs_.length_buffer());
  indices[0] = -1;
  indices[1] = -2'000'000'000;
  lengths[0] = 50;
  indices[50] = 0x7FFF'FFFF;
  args_.main.indices.data = indices.data();
  args_.main.lengths.data = lengths.data();
  args_.check_indices = true;
  const Status status = run(plan());
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST_F(Refusal, PlanOfAnotherThreadCount) {
  const auto other = std::move(make_cpu_backend(1)).value();
  const SplitPlan foreign =
      test::plan_of(*other, other->kernels().front(), inputs_, args_.shape, test::setting_of("fixed=2"));
  const Status status = run(foreign);
  EXPECT_EQ(status.code(), StatusCode::mismatch);
  EXPECT_TRUE(nothing_written());
}

}  // namespace
}  // namespace wavefill
