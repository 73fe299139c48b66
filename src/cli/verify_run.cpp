#include "cli/verify_run.h"

#include <memory>

#include "core/errors.h"
#include "measure/oracle_call.h"
#include "oracle/inputs.h"
#include "oracle/oracle.h"

namespace wavefill::cli {
namespace {

void keep_worst(double error, const std::string& name, double& worst, std::string& worst_case) {
  if (!(error > worst)) return;
  worst = error;
  worst_case = name;
}

// Runs `plan` into poisoned outputs; the comparison's failure says what else went wrong.
oracle::Comparison run_once(OracleCall& call, const SplitPlan& plan, oracle::Inputs& inputs,
                            const oracle::Reference& reference, const oracle::Tolerances& tolerances) {
  const Status status = call.run(plan, /*check_indices=*/true);
  if (!status.ok())
    return {.max_o_error = 0.0, .max_lse_error = 0.0, .passed = false, .first_failure = status.message()};
  oracle::Comparison comparison = oracle::compare(reference, inputs.args(), tolerances);
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
  const Result<std::unique_ptr<OracleCall>> call = make_oracle_call(backend, inputs);
  if (!call.ok()) return call.status();
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
    const oracle::Comparison comparison = run_once(**call, *plan, inputs, reference, test_case.tolerances);
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
