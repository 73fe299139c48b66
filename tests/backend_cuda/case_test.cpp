// The whole case table on the GPU: every kernel that takes a case, several policies, against the fp64
// oracle, into poisoned outputs, twice.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "backend_cuda/gpu_fixture.h"
#include "oracle/case.h"
#include "wavefill/plan.h"

namespace wavefill::test {
namespace {

struct PolicyCase {
  const char* setting;
  bool batch_invariant;
};
constexpr PolicyCase kPolicies[] = {
    {"fixed=1", false}, {"fixed=3", false}, {"fixed=64", false}, {"balanced", false}, {"efficiency", true}};

// Runs `plan` twice into poison, with the plan in the call and laid ready. Empty, or what is wrong.
std::string run_plan(Backend& backend, const oracle::Case& test_case, const SplitPlan& plan,
                     oracle::Inputs& host, DeviceInputs& device, const oracle::Reference& expected) {
  const DeviceBuffer workspace(backend.workspace_bytes(plan));
  DecodeArgs args = device.args();
  args.workspace = workspace.as();
  args.workspace_size_bytes = workspace.bytes();
  const DeviceBuffer plan_memory(backend.plan_memory_bytes(plan));
  std::vector<Bf16Bits> first;
  for (int repeat = 0; repeat < 2; ++repeat) {
    device.poison_outputs();
    if (workspace.bytes() > 0) check_cuda(cudaMemset(workspace.as(), 0xFF, workspace.bytes()));
    if (repeat == 1) {  // with the plan laid ready instead
      const Status prepared = backend.prepare(plan, plan_memory.as(), plan_memory.bytes(), nullptr);
      if (!prepared.ok()) return prepared.message();
      args.plan_memory = plan_memory.as<const std::byte>();
      args.workspace_size_bytes = workspace_bytes(plan);
    }
    if (Status status = check_run(backend, plan, args); !status.ok()) return status.message();
    if (Status status = backend.run(plan, args, nullptr); !status.ok()) return status.message();
    const auto comparison = oracle::compare(expected, device.fetch_outputs(), test_case.tolerances);
    if (!comparison.passed) return comparison.first_failure;
    if (!host.gaps_intact()) return "wrote beyond a row";
    const auto out = host.out_buffer();
    if (repeat == 0) first.assign(out.begin(), out.end());
    if (std::memcmp(first.data(), out.data(), out.size_bytes()) != 0) return "two runs differ";
  }
  return "";
}

Result<SplitPlan> plan_for(const Backend& backend, const KernelSpec& kernel, const PolicyCase& policy,
                           const oracle::Case& test_case, const oracle::Inputs& host) {
  auto setting = parse_setting(policy.setting);
  if (!setting.ok()) return setting.status();
  return make_plan({.device = backend.device(),
                    .kernel = kernel,
                    .shape = test_case.shape,
                    .lengths = host.row_lengths(),
                    .extra_lengths = host.extra_row_lengths(),
                    .setting = *setting,
                    .cost_model = {},
                    .batch_invariant = policy.batch_invariant});
}

// Every kernel that takes the case, every policy. Empty, or the first thing that is wrong.
std::string run_case(Backend& backend, const oracle::Case& test_case) {
  oracle::Inputs host(test_case);
  const oracle::Reference expected = oracle::reference(host.args());
  DeviceInputs device(host);
  int kernels = 0;
  const char* only = std::getenv("WAVEFILL_KERNELS");  // a part of the names to run
  for (const KernelSpec& kernel : backend.kernels()) {
    if (only != nullptr && kernel.name.find(only) == std::string::npos) continue;
    if (!backend.supports(kernel, test_case.shape).ok()) continue;
    ++kernels;
    for (const PolicyCase& policy : kPolicies) {
      const auto plan = plan_for(backend, kernel, policy, test_case, host);
      const std::string wrong =
          plan.ok() ? run_plan(backend, test_case, *plan, host, device, expected) : plan.status().message();
      if (!wrong.empty())
        return fmt::format("{} {} {}: {}", test_case.name, kernel.name, policy.setting, wrong);
    }
  }
  return kernels > 0 || only != nullptr ? "" : test_case.name + ": no kernel takes it";
}

class CaseTable : public GpuTest {};

// One test for all cases, so that the context is made once; every failure is named.
TEST_F(CaseTable, EveryKernelAndPolicyMatchesTheOracleIntoPoisonedOutputsTwice) {
  const char* only = std::getenv("WAVEFILL_CASES");  // a part of the names to run, for sanitizers
  for (const oracle::Case& test_case : oracle::all_cases()) {
    if (only != nullptr && test_case.name.find(only) == std::string::npos) continue;
    EXPECT_EQ(run_case(backend(), test_case), "");
  }
}

}  // namespace
}  // namespace wavefill::test
