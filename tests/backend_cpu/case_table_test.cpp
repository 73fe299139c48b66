// The whole case table against the oracle, under every policy and on every instruction set of this machine.
#include <gtest/gtest.h>

#include "backend_cpu/call.h"
#include "backend_cpu/cpu_backend.h"
#include "oracle/case.h"
#include "oracle/oracle.h"

namespace wavefill {
namespace oracle {
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }
}  // namespace oracle
namespace {

constexpr const char* kSettings[] = {"fixed=1",        "fixed=3",    "fixed=4096",
                                     "target-ctas=24", "efficiency", "list-schedule",
                                     "tail-gap",       "last-wave",  "balanced"};

class CaseTable : public testing::TestWithParam<oracle::Case> {};

TEST_P(CaseTable, AgreesWithTheOracle) {
  const oracle::Case& c = GetParam();
  const auto backend = std::move(make_cpu_backend(2)).value();
  oracle::Inputs inputs(c);
  const DecodeArgs args = inputs.args();
  const oracle::Reference expected = oracle::reference(args);
  for (const KernelSpec& kernel : backend->kernels()) {
    for (const char* setting : kSettings) {
      SCOPED_TRACE(kernel.name + " " + setting);
      const SplitPlan plan = test::plan_of(*backend, kernel, inputs, c.shape, test::setting_of(setting));
      const Status status = test::run(*backend, plan, inputs, args);
      ASSERT_TRUE(status.ok()) << status.message();
      const oracle::Comparison comparison = oracle::compare(expected, args, c.tolerances);
      EXPECT_TRUE(comparison.passed) << comparison.first_failure;
      EXPECT_TRUE(inputs.gaps_intact());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, CaseTable,
                         testing::ValuesIn(oracle::all_cases().begin(), oracle::all_cases().end()),
                         [](const auto& case_info) { return case_info.param.name; });

}  // namespace
}  // namespace wavefill
