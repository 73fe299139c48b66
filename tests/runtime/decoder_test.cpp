// The decoder as users hold it, on the CPU: what it takes from where, what it refuses, and that its const
// members may be called from several threads.
#include "wavefill/decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>  // setenv, unsetenv: POSIX, not in <cstdlib>

#include <cstring>
#include <memory>
#include <thread>

#include "oracle/inputs.h"
#include "wavefill/profile.h"

namespace wavefill {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::size_t kAlignment = 256;

DecodeShape small_shape(std::int32_t batch = 8) {
  return {.batch = batch, .num_heads = 8, .topk = 128, .extra_topk = 192};
}

oracle::Inputs inputs_for(const DecodeShape& shape, std::uint64_t seed = 1) {
  oracle::PoolSpec spec;
  spec.shape = shape;
  spec.seed = seed;
  return oracle::Inputs(spec);
}

Decoder make_decoder(std::string_view setting, std::int32_t num_threads = 2) {
  auto decoder = Decoder::create(
      {.device = "cpu", .num_threads = num_threads, .setting = parse_setting(setting).value()});
  EXPECT_TRUE(decoder.ok()) << decoder.status().message();
  return std::move(decoder).value();
}

// A workspace of exactly what a plan needs, at the alignment asked for.
class Workspace {
 public:
  explicit Workspace(const SplitPlan& plan) : bytes_(workspace_bytes(plan)), memory_(bytes_ + kAlignment) {
    void* begin = memory_.data();
    std::size_t space = memory_.size();
    begin_ = static_cast<std::byte*>(std::align(kAlignment, bytes_, begin, space));
  }
  void give_to(DecodeArgs& args) const {
    args.workspace = begin_;
    args.workspace_size_bytes = bytes_;
  }

 private:
  std::size_t bytes_;
  std::vector<std::byte> memory_;
  std::byte* begin_;
};

struct EnvironmentVariable {
  const char* name;
  EnvironmentVariable(const char* variable, const char* value) : name(variable) { setenv(name, value, 1); }
  ~EnvironmentVariable() { unsetenv(name); }
};

TEST(Decoder, TakesTheOptionThenTheEnvironmentThenTheDefault) {
  EXPECT_EQ(Decoder::create({.device = "cpu"})->setting(), Setting{});
  const EnvironmentVariable variable("WAVEFILL_TARGET_CTAS", "512");
  EXPECT_EQ(to_string(Decoder::create({.device = "cpu"})->setting()), "target-ctas=512");
  EXPECT_EQ(to_string(make_decoder("fixed=3").setting()), "fixed=3");
}

TEST(Decoder, AMalformedVariableIsAnErrorOnlyWhereItWouldCount) {
  const EnvironmentVariable variable("SGLANG_SM120_MMA_TARGET_CTAS", "512 # for C64");
  const auto decoder = Decoder::create({.device = "cpu"});
  EXPECT_EQ(decoder.status().code(), StatusCode::invalid_argument);
  EXPECT_THAT(decoder.status().message(), HasSubstr("SGLANG_SM120_MMA_TARGET_CTAS"));
  EXPECT_EQ(to_string(make_decoder("balanced").setting()), "balanced");
}

TEST(Decoder, RefusesUnknownDevicesAndKernelsByName) {
  EXPECT_THAT(Decoder::create({.device = "gpu"}).status().message(), HasSubstr("'gpu'"));
  const Decoder decoder = make_decoder("fixed=1");
  const Status status = Decoder::create({.device = "cpu", .kernel = "fast"}).status();
  EXPECT_EQ(status.code(), StatusCode::not_found);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("'fast'"), HasSubstr(decoder.kernels().front().name)));
}

TEST(Decoder, PlansWithTheKernelAskedFor) {
  const auto kernels = make_decoder("fixed=1").kernels();
  ASSERT_FALSE(kernels.empty());
  for (const KernelSpec& kernel : kernels) {
    const auto decoder = Decoder::create({.device = "cpu", .kernel = kernel.name});
    ASSERT_TRUE(decoder.ok()) << decoder.status().message();
    EXPECT_EQ(decoder->kernels(), kernels);
    EXPECT_EQ(decoder->plan(small_shape())->kernel, kernel);
  }
}

TEST(Decoder, SupportsAgreesWithPlan) {
  const Decoder decoder = make_decoder("fixed=1");
  EXPECT_TRUE(decoder.supports(small_shape()).ok());
  DecodeShape bad = small_shape();
  bad.num_heads = 129;
  EXPECT_THAT(decoder.supports(bad).message(), HasSubstr("num_heads is 129"));
  EXPECT_EQ(decoder.plan(bad).status(), decoder.supports(bad));
}

TEST(Decoder, MatchesTheOracleForWholeAndSplitRows) {
  const DecodeShape shape = small_shape(2);
  for (const std::string_view setting : {"fixed=1", "fixed=4", "balanced", "efficiency"}) {
    const Decoder decoder = make_decoder(setting);
    oracle::Inputs inputs = inputs_for(shape);
    const auto plan = decoder.plan(shape);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    const Workspace workspace(*plan);
    DecodeArgs args = inputs.args();
    workspace.give_to(args);
    const Status status = decoder.run(*plan, args);
    ASSERT_TRUE(status.ok()) << status.message();
    const auto comparison = oracle::compare(oracle::reference(args), args);
    EXPECT_TRUE(comparison.passed) << setting << ": " << comparison.first_failure;
  }
}

// A profile in which fixed=2 was the best at batch 4.
Setting measured_at_batch_4(const ProfileKey& key) {
  const std::vector<ProfileEntry> entries = {{.batch = 4,
                                              .setting = parse_setting("fixed=2").value(),
                                              .us = 1,
                                              .us_low = 1,
                                              .us_high = 1,
                                              .samples = 9}};
  Setting measured{.kind = PolicyKind::measured};
  measured.profile = std::make_shared<const Profile>(key, entries);
  return measured;
}

TEST(Decoder, AMeasuredSettingIsUsedForItsShapeAndRefusedByNameElsewhere) {
  const DecodeShape shape = small_shape(4);
  const Decoder plain = make_decoder("fixed=1");
  const KernelSpec kernel = plain.plan(shape)->kernel;
  const Setting measured = measured_at_batch_4(key_of(plain.device(), kernel, shape));
  const auto decoder = Decoder::create({.device = "cpu", .num_threads = 2, .setting = measured});
  ASSERT_TRUE(decoder.ok());

  const auto plan = decoder->plan(shape);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->items, make_decoder("fixed=2").plan(shape)->items);

  DecodeShape wider = shape;
  wider.extra_topk = 256;
  const Status mismatch = decoder->plan(wider).status();
  EXPECT_EQ(mismatch.code(), StatusCode::mismatch);
  EXPECT_THAT(mismatch.message(), AllOf(HasSubstr("extra_topk"), HasSubstr("192"), HasSubstr("256")));

  const Status beyond = decoder->plan(small_shape(5)).status();
  EXPECT_EQ(beyond.code(), StatusCode::not_found);
  EXPECT_THAT(beyond.message(), HasSubstr("batch 5"));
}

// A tune that compares kernels may choose another than the first: its profile would be a miss everywhere.
TEST(Decoder, AProfilesKernelIsTakenUnlessAnotherIsNamed) {
  const DecodeShape shape = small_shape(4);
  const Decoder plain = make_decoder("fixed=1");
  if (plain.kernels().size() < 2) GTEST_SKIP() << "one kernel here";
  const KernelSpec last = plain.kernels().back();
  ASSERT_NE(plain.plan(shape)->kernel.name, last.name);
  const Setting measured = measured_at_batch_4(key_of(plain.device(), last, shape));
  const auto decoder = Decoder::create({.device = "cpu", .num_threads = 2, .setting = measured});
  ASSERT_TRUE(decoder.ok());
  const auto plan = decoder->plan(shape);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->kernel.name, last.name);
  EXPECT_EQ(decoder->profile_counters().hits, 1U);

  const auto named = Decoder::create(
      {.device = "cpu", .num_threads = 2, .setting = measured, .kernel = plain.kernels().front().name});
  ASSERT_TRUE(named.ok());
  const Status miss = named->plan(shape).status();
  EXPECT_EQ(miss.code(), StatusCode::mismatch);
  EXPECT_THAT(miss.message(), HasSubstr("kernel"));
}

Setting measured_for(const Decoder& plain, const DecodeShape& shape,
                     const std::vector<std::int32_t>& batches) {
  std::vector<ProfileEntry> entries;
  for (const std::int32_t batch : batches) {
    entries.push_back({.batch = batch,
                       .setting = parse_setting("fixed=2").value(),
                       .us = 1,
                       .us_low = 1,
                       .us_high = 1,
                       .samples = 9});
  }
  Setting measured{.kind = PolicyKind::measured};
  measured.profile = std::make_shared<const Profile>(key_of(plain.device(), plain.plan(shape)->kernel, shape),
                                                     std::move(entries));
  return measured;
}

TEST(Decoder, WhatBecameOfEachLookupIsCounted) {
  const Decoder plain = make_decoder("fixed=1");
  const Setting measured = measured_for(plain, small_shape(), {2, 4});
  const auto decoder = Decoder::create({.device = "cpu", .num_threads = 2, .setting = measured});
  ASSERT_TRUE(decoder.ok());
  EXPECT_EQ(decoder->profile_counters(), ProfileCounters{});
  EXPECT_TRUE(decoder->plan(small_shape(4)).ok());
  EXPECT_TRUE(decoder->plan(small_shape(3)).ok());
  EXPECT_TRUE(decoder->plan(small_shape(1)).ok());
  EXPECT_FALSE(decoder->plan(small_shape(5)).ok());
  const ProfileCounters counters = decoder->profile_counters();
  EXPECT_EQ(counters.hits, 1U);
  EXPECT_EQ(counters.rounded_up, 2U);
  EXPECT_EQ(counters.misses, 1U);
  EXPECT_EQ(counters.fallbacks, 0U);
  EXPECT_THAT(counters.last_miss, HasSubstr("batch 5"));
  EXPECT_TRUE(plain.plan(small_shape(4)).ok());
  EXPECT_EQ(plain.profile_counters(), ProfileCounters{}) << "no profile, nothing to count";
}

TEST(Decoder, AFallbackServesMissesAndSaysSo) {
  const Decoder plain = make_decoder("fixed=1");
  const Setting measured = measured_for(plain, small_shape(), {4});
  const auto decoder = Decoder::create(
      {.device = "cpu", .num_threads = 2, .setting = measured, .fallback = parse_setting("fixed=3").value()});
  ASSERT_TRUE(decoder.ok()) << decoder.status().message();
  DecodeShape other = small_shape(4);
  other.extra_topk = 256;
  const auto plan = decoder->plan(other);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->items, make_decoder("fixed=3").plan(other)->items);
  EXPECT_EQ(decoder->profile_counters().misses, 1U);
  EXPECT_EQ(decoder->profile_counters().fallbacks, 1U);
  EXPECT_THAT(decoder->profile_counters().last_miss, HasSubstr("extra_topk"));
  DecodeShape wrong = small_shape(4);
  wrong.num_heads = 0;
  EXPECT_FALSE(decoder->plan(wrong).ok());
  EXPECT_EQ(decoder->profile_counters().misses, 1U) << "a shape that is wrong is not a miss";
  EXPECT_FALSE(Decoder::create({.device = "cpu", .setting = measured, .fallback = measured}).ok());
}

class RefusedRun : public ::testing::Test {
 protected:
  RefusedRun()
      : decoder_(make_decoder("fixed=2")),
        inputs_(inputs_for(small_shape())),
        plan_(decoder_.plan(small_shape()).value()),
        workspace_(plan_),
        args_(inputs_.args()) {
    workspace_.give_to(args_);
  }

  // Refused with this code and these parts in the message, and not a byte of output written.
  void expect_refused(StatusCode code, const std::vector<std::string>& parts) {
    const std::vector<Bf16Bits> before(inputs_.out_buffer().begin(), inputs_.out_buffer().end());
    const Status status = decoder_.run(plan_, args_);
    EXPECT_EQ(status.code(), code) << status.message();
    for (const std::string& part : parts) EXPECT_THAT(status.message(), HasSubstr(part));
    EXPECT_TRUE(std::equal(before.begin(), before.end(), inputs_.out_buffer().begin()));
  }

  Decoder decoder_;
  oracle::Inputs inputs_;
  SplitPlan plan_;
  Workspace workspace_;
  DecodeArgs args_;
};

TEST_F(RefusedRun, PlanForAnotherBatch) {
  plan_ = decoder_.plan(small_shape(16)).value();
  expect_refused(StatusCode::mismatch, {"batch", "16", "8"});
}

TEST_F(RefusedRun, PlanForAnotherLayerType) {
  DecodeShape window_only = small_shape();
  window_only.extra_topk = 0;
  plan_ = decoder_.plan(window_only).value();
  expect_refused(StatusCode::mismatch, {"extra_topk", "0", "192"});
}

TEST_F(RefusedRun, PlanForAnotherFormat) {
  DecodeShape bf16 = small_shape();
  bf16.kv_format = KvFormat::bf16;
  plan_ = decoder_.plan(bf16).value();
  expect_refused(StatusCode::mismatch, {"kv_format", "bf16", "fp8_tile64_rope_bf16_footer"});
}

TEST_F(RefusedRun, PlanForAnotherNumberOfThreads) {
  plan_ = make_decoder("fixed=2", 1).plan(small_shape()).value();
  expect_refused(StatusCode::mismatch, {"num_sms", "1", "2"});
}

TEST_F(RefusedRun, PlanForAnotherDevice) {
  plan_.device = find_known_device("h200").value();
  expect_refused(StatusCode::mismatch, {"device", plan_.device.name, decoder_.device().name});
}

TEST_F(RefusedRun, PlanForAnotherKernel) {
  plan_.kernel.kv_tile *= 2;
  expect_refused(StatusCode::mismatch,
                 {plan_.kernel.name, "kv_tile " + std::to_string(plan_.kernel.kv_tile)});
}

TEST_F(RefusedRun, WorkspaceOneByteTooSmall) {
  args_.workspace_size_bytes -= 1;
  expect_refused(StatusCode::resource_exhausted, {std::to_string(args_.workspace_size_bytes),
                                                  std::to_string(args_.workspace_size_bytes + 1)});
}

TEST_F(RefusedRun, WorkspaceMissing) {
  args_.workspace = nullptr;
  expect_refused(StatusCode::resource_exhausted, {"workspace is 0 bytes"});
}

TEST_F(RefusedRun, WorkspaceMisaligned) {
  args_.workspace = static_cast<std::byte*>(args_.workspace) + 128;
  expect_refused(StatusCode::invalid_argument, {"workspace", "256"});
}

TEST_F(RefusedRun, ArgsThatAreNoCall) {
  args_.sm_scale = 0.0F;
  expect_refused(StatusCode::invalid_argument, {"sm_scale"});
}

TEST(Decoder, WholeRowsNeedNoWorkspace) {
  const Decoder decoder = make_decoder("fixed=1");
  oracle::Inputs inputs = inputs_for(small_shape());
  const auto plan = decoder.plan(small_shape());
  EXPECT_EQ(workspace_bytes(*plan), 0U);
  EXPECT_TRUE(decoder.run(*plan, inputs.args()).ok());
}

TEST(Decoder, ConstMembersMayBeCalledFromSeveralThreads) {
  const DecodeShape shape = small_shape(2);
  const Decoder decoder = make_decoder("fixed=3");
  const auto decode = [&](oracle::Inputs& inputs) {
    const auto plan = decoder.plan(shape);
    const Workspace workspace(*plan);
    DecodeArgs args = inputs.args();
    workspace.give_to(args);
    return decoder.supports(shape).ok() && decoder.run(*plan, args).ok();
  };
  std::vector<oracle::Inputs> alone;
  std::vector<oracle::Inputs> together;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    alone.push_back(inputs_for(shape, seed));
    together.push_back(inputs_for(shape, seed));
    ASSERT_TRUE(decode(alone.back()));
  }
  std::vector<char> succeeded(together.size(), 0);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < together.size(); ++i) {
      threads.emplace_back([&, i] {
        succeeded[i] = 1;
        for (int repeat = 0; repeat < 5; ++repeat) {
          if (!decode(together[i])) succeeded[i] = 0;
        }
      });
    }
  }
  for (std::size_t i = 0; i < together.size(); ++i) {
    EXPECT_TRUE(succeeded[i]) << "thread " << i;
    EXPECT_EQ(std::memcmp(alone[i].out_buffer().data(), together[i].out_buffer().data(),
                          alone[i].out_buffer().size_bytes()),
              0)
        << "thread " << i << " got other bits than when alone";
  }
}

TEST(Decoder, MovesWithItsBackend) {
  Decoder decoder = make_decoder("fixed=1");
  const auto plan = decoder.plan(small_shape());
  Decoder moved = std::move(decoder);
  oracle::Inputs inputs = inputs_for(small_shape());
  EXPECT_TRUE(moved.run(*plan, inputs.args()).ok());
}

}  // namespace
}  // namespace wavefill
