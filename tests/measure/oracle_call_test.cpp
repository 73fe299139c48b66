// One call over the oracle's tensors through make_oracle_call(), on every device of this machine.
#include "measure/oracle_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "oracle/oracle.h"
#include "runtime/devices.h"
#include "runtime/kernel_choice.h"

namespace wavefill {
namespace {

oracle::Case uneven_case() {
  oracle::Case c;
  c.name = "call";
  c.shape = {.batch = 5, .num_heads = 16, .topk = 128, .extra_topk = 192};
  c.lengths = c.extra_lengths = oracle::Lengths::skewed;
  c.sink = oracle::Sink::random;
  return c;
}

TEST(OracleCall, MatchesTheOracleOnEveryDeviceHereForEveryWayOfSplitting) {
  for (const std::string& device : usable_devices()) {
    const auto backend = make_backend(device, 2).value();
    oracle::Inputs inputs(uneven_case());
    const oracle::Reference expected = oracle::reference(inputs.args());
    const auto call = make_oracle_call(*backend, inputs);
    ASSERT_TRUE(call.ok()) << call.status().message();
    for (const char* setting : {"fixed=1", "fixed=4", "balanced"}) {
      PlanRequest request;
      request.device = backend->device();
      request.kernel = *choose_kernel(*backend, backend->kernels(), uneven_case().shape).value();
      request.shape = uneven_case().shape;
      request.lengths = inputs.row_lengths();
      request.extra_lengths = inputs.extra_row_lengths();
      request.setting = parse_setting(setting).value();
      const Status status = (*call)->run(make_plan(request).value(), true);
      ASSERT_TRUE(status.ok()) << device << " " << setting << ": " << status.message();
      const auto comparison = oracle::compare(expected, inputs.args());
      EXPECT_TRUE(comparison.passed) << device << " " << setting << ": " << comparison.first_failure;
      EXPECT_TRUE(inputs.gaps_intact());
    }
  }
}

TEST(OracleCall, APlanForAnotherShapeIsRefused) {
  const auto backend = make_backend("cpu", 2).value();
  oracle::Inputs inputs(uneven_case());
  const auto call = make_oracle_call(*backend, inputs).value();
  PlanRequest request;
  request.device = backend->device();
  request.kernel = backend->kernels().front();
  request.shape = uneven_case().shape;
  request.shape.batch = 6;
  EXPECT_EQ(call->run(make_plan(request).value(), true).code(), StatusCode::mismatch);
}

}  // namespace
}  // namespace wavefill
