// Scores that keep outgrowing what the softmax has seen, or stay far below it: what a running reference must
// get right.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "backend_cpu/call.h"
#include "backend_cpu/cpu_backend.h"
#include "core/bf16.h"
#include "oracle/oracle.h"

namespace wavefill {
namespace {

constexpr int kTokens = 500;
constexpr int kHeads = 18;
constexpr int kDims = 512;
// Scores of some hundreds: one unit in the last place of an fp32 lse is 3e-5.
constexpr oracle::Tolerances kTolerances = {.o_relative = 4e-3, .lse_absolute = 2e-4};

// Token t's key is level[t] in dim 0, so that head h scores (h + 1) / kHeads * level[t]; the other dims tell
// tokens apart.
struct Levels {
  explicit Levels(const std::vector<float>& levels) {
    for (std::size_t token = 0; token < levels.size(); ++token) {
      indices.push_back(static_cast<std::int32_t>(token));
      for (int dim = 0; dim < kDims; ++dim) {
        const float value = dim == 0 ? levels[token] : std::sin(static_cast<float>(dim * (token + 1)));
        pool.push_back(bf16_from_float(value));
      }
    }
    for (int head = 0; head < kHeads; ++head) {
      q.resize(q.size() + kDims, 0);
      q[q.size() - kDims] = bf16_from_float(static_cast<float>(head + 1) / kHeads);
    }
    args.shape = {.num_heads = kHeads, .kv_format = KvFormat::bf16, .d_qk = kDims, .topk = kTokens};
    args.q = contiguous_query(args.shape, q.data());
    args.main.kv = {.data = reinterpret_cast<const std::byte*>(pool.data()),
                    .num_pages = 1,
                    .page_size = kTokens,
                    .page_stride_bytes = 2LL * kDims * kTokens};
    args.main.indices = contiguous_indices(args.shape, indices.data(), kTokens);
    args.out = contiguous_output(args.shape, out.data());
    args.lse = contiguous_lse(args.shape, lse.data());
    args.sm_scale = 1.0F;
  }
  Levels(const Levels&) = delete;
  Levels& operator=(const Levels&) = delete;

  std::vector<Bf16Bits> q, pool;
  std::vector<std::int32_t> indices;
  std::vector<Bf16Bits> out = std::vector<Bf16Bits>(kHeads * kValueDim, 0xFFFF);
  std::vector<float> lse = std::vector<float>(kHeads, NAN);
  DecodeArgs args;
};

void expect_reference(Levels& call) {
  const oracle::Reference expected = oracle::reference(call.args);
  const auto backend = std::move(make_cpu_backend(2)).value();
  for (const KernelSpec& kernel : backend->kernels()) {
    for (const char* setting : {"fixed=1", "fixed=3"}) {
      PlanRequest request;
      request.device = backend->device();
      request.kernel = kernel;
      request.shape = call.args.shape;
      request.setting = test::setting_of(setting);
      const SplitPlan plan = std::move(make_plan(request)).value();
      const test::Workspace workspace(workspace_bytes(plan));
      workspace.attach(call.args);
      ASSERT_TRUE(check_run(*backend, plan, call.args).ok());
      ASSERT_TRUE(backend->run(plan, call.args, nullptr).ok());
      const oracle::Comparison comparison = oracle::compare(expected, call.args, kTolerances);
      EXPECT_TRUE(comparison.passed) << kernel.name << " " << setting << ": " << comparison.first_failure;
    }
  }
}

std::vector<float> levels(float (*level)(int token)) {
  std::vector<float> result;
  for (int token = 0; token < kTokens; ++token) result.push_back(level(token));
  return result;
}

TEST(Softmax, ScoresThatKeepRising) {
  Levels call(levels([](int token) { return -300.0F + 1.25F * static_cast<float>(token); }));
  expect_reference(call);
}

TEST(Softmax, ScoresThatKeepFalling) {
  Levels call(levels([](int token) { return 300.0F - 1.25F * static_cast<float>(token); }));
  expect_reference(call);
}

TEST(Softmax, OneScoreFarAboveInTheMiddleOfARow) {
  Levels call(levels([](int token) { return token == 300 ? 400.0F : -2.0F; }));
  expect_reference(call);
}

TEST(Softmax, RiseWithinTheSlackOfAReference) {
  Levels call(levels([](int token) { return 0.04F * static_cast<float>(token); }));
  expect_reference(call);
}

}  // namespace
}  // namespace wavefill
