#include "cli/verify_run.h"

#include <cmath>
#include <cstddef>
#include <memory>
#include <new>

#include "core/errors.h"
#include "oracle/inputs.h"
#include "oracle/oracle.h"

namespace wavefill::cli {
namespace {

constexpr std::size_t kWorkspaceAlignment = 256;

struct AlignedDelete {
  void operator()(std::byte* memory) const {
    ::operator delete[](memory, std::align_val_t{kWorkspaceAlignment});
  }
};
using Workspace = std::unique_ptr<std::byte[], AlignedDelete>;

Workspace make_workspace(std::size_t bytes) {
  return Workspace(static_cast<std::byte*>(::operator new[](bytes, std::align_val_t{kWorkspaceAlignment})));
}

void keep_worst(double error, const std::string& name, double& worst, std::string& worst_case) {
  if (!(error > worst)) return;
  worst = error;
  worst_case = name;
}

// Runs `plan` into poisoned outputs; the comparison's failure says what else went wrong.
oracle::Comparison run_once(const Backend& backend, const SplitPlan& plan, oracle::Inputs& inputs,
                            const oracle::Reference& reference, const oracle::Tolerances& tolerances) {
  inputs.poison_outputs();
  DecodeArgs args = inputs.args();
  args.workspace_size_bytes = workspace_bytes(plan);
  const Workspace workspace = make_workspace(args.workspace_size_bytes);
  args.workspace = args.workspace_size_bytes == 0 ? nullptr : workspace.get();
  args.check_indices = true;
  Status status = check_run(backend, plan, args);
  if (status.ok()) status = backend.run(plan, args, nullptr);
  if (!status.ok())
    return {.max_o_error = 0.0, .max_lse_error = 0.0, .passed = false, .first_failure = status.message()};
  oracle::Comparison comparison = oracle::compare(reference, args, tolerances);
  if (comparison.passed && !inputs.gaps_intact()) {
    comparison.passed = false;
    comparison.first_failure = "something was written between the rows of a strided output";
  }
  return comparison;
}

}  // namespace

Status verify_case(const Backend& backend, const DeviceOptions& device, const oracle::Case& test_case,
                   const std::vector<Setting>& settings, VerifySummary& summary) {
  const Result<KernelSpec> kernel = read_kernel(backend, device, test_case.shape);
  if (!kernel.ok() && kernel.status().code() == StatusCode::unsupported) {
    summary.unsupported.push_back({.name = test_case.name, .message = kernel.status().message()});
    return {};
  }
  if (!kernel.ok()) return kernel.status();
  oracle::Inputs inputs(test_case);
  const oracle::Reference reference = oracle::reference(inputs.args());
  for (const Setting& setting : settings) {
    PlanRequest request;
    request.device = backend.device();
    request.kernel = *kernel;
    request.shape = test_case.shape;
    request.lengths = inputs.row_lengths();
    request.extra_lengths = inputs.extra_row_lengths();
    request.setting = setting;
    const Result<SplitPlan> plan = make_plan(request);
    if (!plan.ok()) return plan.status();
    const oracle::Comparison comparison = run_once(backend, *plan, inputs, reference, test_case.tolerances);
    const std::string name = fmt::format("{}, {}", test_case.name, to_string(setting));
    ++summary.num_run;
    keep_worst(comparison.max_o_error, name, summary.worst_o_error, summary.worst_o_case);
    keep_worst(comparison.max_lse_error, name, summary.worst_lse_error, summary.worst_lse_case);
    if (comparison.passed) {
      ++summary.num_passed;
    } else {
      summary.failures.push_back({.name = name, .message = comparison.first_failure});
    }
  }
  return {};
}

}  // namespace wavefill::cli
