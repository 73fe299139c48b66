// What a call needs beside its partials is the backend's to say, and check_run() asks it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "backend/backend.h"
#include "oracle/inputs.h"
#include "plan/plan_frame.h"
#include "wavefill/plan.h"

namespace wavefill {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kPlanBytes = 4096;

// Wants every plan in memory, behind the partials or where it was prepared.
class PlanReadingBackend : public Backend {
 public:
  PlanReadingBackend() {
    device_ = find_known_device("h200").value();
    kernels_.push_back({.name = "k", .heads_per_cta = 16, .kv_tile = 32, .threads = 1});
  }
  const DeviceSpec& device() const override { return device_; }
  std::span<const KernelSpec> kernels() const override { return kernels_; }
  Status supports(const KernelSpec&, const DecodeShape&) const override { return {}; }
  std::size_t workspace_bytes(const SplitPlan& plan) const override {
    return wavefill::workspace_bytes(plan) + kPlanBytes;
  }
  Status run(const SplitPlan&, const DecodeArgs&, void*) const override { return {}; }

 private:
  DeviceSpec device_;
  std::vector<KernelSpec> kernels_;
};

class Workspace : public ::testing::TestWithParam<const char*> {
 protected:
  Workspace() {
    shape_ = {.batch = 2, .num_heads = 16, .topk = 128};
    oracle::PoolSpec spec;
    spec.shape = shape_;
    inputs_.emplace(spec);
    PlanRequest request;
    request.device = backend_.device();
    request.kernel = backend_.kernels().front();
    request.shape = shape_;
    request.setting = parse_setting(GetParam()).value();
    plan_ = make_plan(request).value();
    args_ = inputs_->args();
    args_.workspace = reinterpret_cast<void*>(0x1000);  // checked, never read
  }

  Status check_with(std::size_t bytes) {
    args_.workspace_size_bytes = bytes;
    return check_run(backend_, plan_, args_);
  }

  PlanReadingBackend backend_;
  DecodeShape shape_;
  std::optional<oracle::Inputs> inputs_;
  SplitPlan plan_;
  DecodeArgs args_;
};

TEST_P(Workspace, LessThanTheBackendNeedsIsRefusedAlsoWhereThePartialsFit) {
  const std::size_t needed = workspace_bytes(plan_) + kPlanBytes;
  EXPECT_TRUE(check_with(needed).ok());
  const Status status = check_with(needed - 1);
  EXPECT_EQ(status.code(), StatusCode::resource_exhausted);
  EXPECT_THAT(status.message(), HasSubstr(std::to_string(needed)));
}

TEST_P(Workspace, APreparedPlanLeavesThePartialsAlone) {
  args_.plan_memory = reinterpret_cast<const void*>(0x2000);
  EXPECT_TRUE(check_with(workspace_bytes(plan_)).ok());
  if (workspace_bytes(plan_) > 0) {
    EXPECT_EQ(check_with(workspace_bytes(plan_) - 1).code(), StatusCode::resource_exhausted);
  }
}

INSTANTIATE_TEST_SUITE_P(WholeAndSplitRows, Workspace, ::testing::Values("fixed=1", "fixed=2"));

TEST(Backend, WithoutMoreToSayNeedsThePartialsAndNoPlanMemory) {
  class Plain final : public PlanReadingBackend {
    std::size_t workspace_bytes(const SplitPlan& plan) const override {
      return Backend::workspace_bytes(plan);
    }
  };
  const Plain plain;
  const Backend& backend = plain;
  PlanRequest request;
  request.device = backend.device();
  request.kernel = backend.kernels().front();
  request.shape = {.batch = 2, .num_heads = 16, .topk = 128};
  request.setting = parse_setting("fixed=2").value();
  const SplitPlan plan = make_plan(request).value();
  EXPECT_EQ(backend.workspace_bytes(plan), workspace_bytes(plan));
  EXPECT_EQ(backend.plan_memory_bytes(plan), 0U);
  EXPECT_TRUE(backend.prepare(plan, nullptr, 0, nullptr).ok());
  EXPECT_EQ(backend.memory_device(), kHostMemory);
}

// A frame's items stand for nothing: run as a plan it would leave every output unwritten.
TEST(Backend, AFrameIsNoPlanToRunOnTheHostOrWithoutItsMemory) {
  class Gpu final : public PlanReadingBackend {
    int memory_device() const override { return 0; }
  };
  const PlanReadingBackend host;
  const Gpu gpu;
  const DecodeShape shape = {.batch = 2, .num_heads = 16, .topk = 128};
  oracle::PoolSpec spec;
  spec.shape = shape;
  oracle::Inputs inputs(spec);
  PlanRequest request;
  request.device = host.device();
  request.kernel = host.kernels().front();
  request.shape = shape;
  request.setting = parse_setting("balanced").value();
  const SplitPlan frame = make_plan_frame(request).value();
  DecodeArgs args = inputs.args();
  args.workspace = reinterpret_cast<void*>(0x1000);
  args.workspace_size_bytes = workspace_bytes(frame) + kPlanBytes;
  EXPECT_EQ(check_run(gpu, frame, args).code(), StatusCode::invalid_argument);
  args.plan_memory = reinterpret_cast<const void*>(0x2000);
  EXPECT_TRUE(check_run(gpu, frame, args).ok());
  EXPECT_THAT(check_run(host, frame, args).message(), HasSubstr("frame"));
  EXPECT_EQ(host.replan(frame, {}, {}, nullptr, 0, nullptr).code(), StatusCode::unsupported);
}

}  // namespace
}  // namespace wavefill
