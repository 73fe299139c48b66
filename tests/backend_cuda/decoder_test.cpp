// The decoder that users hold, on a GPU: every policy over rows of unlike lengths, with the workspace it asks
// for, and steered by the environment.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>  // setenv, unsetenv: POSIX, not in <cstdlib>

#include "backend_cuda/gpu_fixture.h"
#include "oracle/case.h"
#include "wavefill/decoder.h"

namespace wavefill::test {
namespace {

class GpuDecoder : public GpuTest {
 protected:
  static oracle::Case uneven_case() {
    oracle::Case c;
    c.name = "decoder";
    c.shape = {.batch = 7, .num_heads = 16, .topk = 128, .extra_topk = 512};
    c.lengths = c.extra_lengths = oracle::Lengths::skewed;
    c.sink = oracle::Sink::random;
    return c;
  }

  static Decoder make_decoder(std::optional<Setting> setting) {
    DecoderOptions options;
    options.device = "cuda:0";
    options.setting = std::move(setting);
    return Decoder::create(options).value();
  }
};

TEST_F(GpuDecoder, RunsEveryPolicyOverUnlikeRowsWithTheWorkspaceItAsksFor) {
  oracle::Inputs host(uneven_case());
  DeviceInputs device(host);
  const oracle::Reference expected = oracle::reference(host.args());
  for (const char* setting : {"fixed=1", "fixed=4", "target-ctas=512", "efficiency", "tail-gap", "last-wave",
                              "list-schedule", "balanced"}) {
    const Decoder decoder = make_decoder(parse_setting(setting).value());
    const SplitPlan plan =
        decoder.plan(uneven_case().shape, host.row_lengths(), host.extra_row_lengths()).value();
    const DeviceBuffer workspace(decoder.workspace_bytes(plan));
    DecodeArgs args = device.args();
    args.workspace = workspace.as();
    args.workspace_size_bytes = workspace.bytes();
    device.poison_outputs();
    const Status status = decoder.run(plan, args);
    ASSERT_TRUE(status.ok()) << setting << ": " << status.message();
    const auto comparison = oracle::compare(expected, device.fetch_outputs());
    EXPECT_TRUE(comparison.passed) << setting << ": " << comparison.first_failure;
    if (workspace.bytes() == 0) continue;
    args.workspace_size_bytes -= 1;
    EXPECT_EQ(decoder.run(plan, args).code(), StatusCode::resource_exhausted) << setting;
  }
}

TEST_F(GpuDecoder, TargetCtasAndItsAliasPlanAsTheSettingDoes) {
  const DecodeShape shape{.batch = 96, .num_heads = 32, .topk = 128, .extra_topk = 512};
  for (const char* variable : {"WAVEFILL_TARGET_CTAS", "SGLANG_SM120_MMA_TARGET_CTAS"}) {
    for (const char* target : {"256", "512", "768"}) {
      setenv(variable, target, 1);
      const Decoder steered = make_decoder(std::nullopt);
      unsetenv(variable);
      const std::string setting = std::string("target-ctas=") + target;
      EXPECT_EQ(to_string(steered.setting()), setting);
      EXPECT_EQ(steered.plan(shape).value(), make_decoder(parse_setting(setting).value()).plan(shape).value())
          << variable << " " << target;
    }
  }
}

}  // namespace
}  // namespace wavefill::test
