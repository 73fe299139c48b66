// Runs the checks written in C, and holds a decode in C to the C++ one, bit for bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "capi/c_checks.h"
#include "capi/errors.h"
#include "oracle/inputs.h"
#include "wavefill/decoder.h"
#include "wavefill/profile.h"

namespace wavefill {
namespace {

TEST(CApi, NamesAndSizes) { EXPECT_STREQ(check_names_and_sizes(), nullptr); }
TEST(CApi, NullArgumentsAreInvalidNotACrash) { EXPECT_STREQ(check_null_arguments(), nullptr); }
TEST(CApi, OlderAndNewerStructsAreReadOrRefused) { EXPECT_STREQ(check_struct_sizes(), nullptr); }
TEST(CApi, BadValuesNameThemselves) { EXPECT_STREQ(check_bad_values(), nullptr); }
TEST(CApi, LastErrorIsOfTheLastCall) { EXPECT_STREQ(check_last_error(), nullptr); }
TEST(CApi, RunRefusesWhatThePlanWasNotMadeFor) { EXPECT_STREQ(check_run_refusals(), nullptr); }

TEST(CApi, WhatBecameOfEachProfileLookupIsCounted) {
  const DecodeShape shape = {.batch = 1, .num_heads = 4, .topk = 256};
  const Setting fixed2 = parse_setting("fixed=2").value();
  const auto decoder = Decoder::create({.device = "cpu", .num_threads = 1, .setting = fixed2});
  ASSERT_TRUE(decoder.ok());
  std::vector<ProfileEntry> entries;
  for (const std::int32_t batch : {2, 4}) {
    entries.push_back({.batch = batch, .setting = fixed2, .us = 1, .us_low = 1, .us_high = 1, .samples = 9});
  }
  const Profile profile(key_of(decoder->device(), decoder->plan(shape)->kernel, shape), std::move(entries));
  const std::string path = testing::TempDir() + "wavefill_capi_profile.json";
  std::ofstream(path) << profile.to_json();
  EXPECT_STREQ(check_profile_counters(("measured=" + path).c_str()), nullptr) << wf_last_error();
  std::remove(path.c_str());
}

TEST(CApi, LastErrorIsOfTheThread) {
  std::int32_t format = 0;
  ASSERT_EQ(wf_parse_kv_format("nonsense", &format), WF_INVALID_ARGUMENT);
  std::string of_other_thread = "not asked";
  std::jthread([&] { of_other_thread = wf_last_error(); }).join();
  EXPECT_EQ(of_other_thread, "");
  EXPECT_THAT(wf_last_error(), ::testing::HasSubstr("nonsense"));
}

TEST(CApi, NoExceptionLeaves) {
  EXPECT_EQ(capi::guarded([]() -> Status { throw std::bad_alloc(); }), WF_RESOURCE_EXHAUSTED);
  EXPECT_STREQ(wf_last_error(), "out of memory");
  EXPECT_EQ(capi::guarded([]() -> Status { throw std::runtime_error("a broken promise"); }), WF_INTERNAL);
  EXPECT_STREQ(wf_last_error(), "a broken promise");
  EXPECT_EQ(capi::guarded([]() -> Status { throw 7; }), WF_INTERNAL);
  EXPECT_THAT(wf_last_error(), ::testing::HasSubstr("no std::exception"));
  EXPECT_EQ(capi::guarded([] { return Status(); }), WF_OK);
  EXPECT_STREQ(wf_last_error(), "");
}

wf_shape to_c(const DecodeShape& shape) {
  return {.struct_size = sizeof(wf_shape),
          .batch = shape.batch,
          .s_q = shape.s_q,
          .num_heads = shape.num_heads,
          .kv_format = static_cast<std::int32_t>(shape.kv_format),
          .d_qk = shape.d_qk,
          .topk = shape.topk,
          .extra_topk = shape.extra_topk,
          .reserved = 0};
}

wf_sparse_cache to_c(const SparseCache& cache) {
  return {.data = cache.kv.data,
          .num_pages = cache.kv.num_pages,
          .page_stride_bytes = cache.kv.page_stride_bytes,
          .page_size = cache.kv.page_size,
          .indices = cache.indices.data,
          .indices_stride_batch = cache.indices.stride_batch,
          .indices_stride_s_q = cache.indices.stride_s_q,
          .lengths = cache.lengths.data,
          .lengths_stride_batch = cache.lengths.stride_batch,
          .lengths_stride_s_q = cache.lengths.stride_s_q};
}

wf_decode_args to_c(const DecodeArgs& args) {
  return {.struct_size = sizeof(wf_decode_args),
          .q = {args.q.data, args.q.stride_batch, args.q.stride_s_q, args.q.stride_head},
          .main = to_c(args.main),
          .extra = to_c(args.extra),
          .sink = args.sink,
          .out = {args.out.data, args.out.stride_batch, args.out.stride_s_q, args.out.stride_head},
          .lse = {args.lse.data, args.lse.stride_batch, args.lse.stride_s_q, args.lse.stride_head},
          .workspace = nullptr,
          .workspace_size_bytes = 0,
          .sm_scale = args.sm_scale,
          .check_indices = args.check_indices ? 1 : 0,
          .plan_memory = nullptr};
}

// The same decode through the C++ interface.
Status decode_in_cpp(std::string_view setting, DecodeArgs args, std::span<const std::int32_t> lengths) {
  auto decoder =
      Decoder::create({.device = "cpu", .num_threads = 2, .setting = parse_setting(setting).value()});
  if (!decoder.ok()) return decoder.status();
  const auto plan = decoder->plan(args.shape, lengths);
  if (!plan.ok()) return plan.status();
  args.workspace_size_bytes = workspace_bytes(*plan);
  const std::unique_ptr<void, decltype(&std::free)> workspace(
      std::aligned_alloc(256, args.workspace_size_bytes / 256 * 256 + 256), &std::free);
  args.workspace = workspace.get();
  return decoder->run(*plan, args);
}

TEST(CApi, DecodesTheSameBitsAsCpp) {
  const DecodeShape dsv4 = {.batch = 3, .s_q = 2, .num_heads = 5, .topk = 200, .extra_topk = 130};
  DecodeShape dsv32 = dsv4;
  dsv32.kv_format = KvFormat::fp8_tile128_rope_bf16_inline;
  dsv32.d_qk = 576;
  for (const DecodeShape& shape : {dsv4, dsv32}) {
    oracle::PoolSpec spec;
    spec.shape = shape;
    spec.page_size = 32;
    spec.page_padding_bytes = 64;
    spec.lengths = {200, 0, 1, 77, 128, 199};
    for (const char* setting : {"fixed=1", "fixed=3", "balanced"}) {
      SCOPED_TRACE(std::string(setting) + ", " + std::string(short_name(shape.kv_format)));
      oracle::Inputs in_c(spec);
      oracle::Inputs in_cpp(spec);
      const wf_shape c_shape = to_c(shape);
      const wf_decode_args c_args = to_c(in_c.args());
      const auto lengths = in_c.row_lengths();
      ASSERT_EQ(decode_in_c(setting, 2, &c_shape, lengths.data(), lengths.size(), &c_args), WF_OK)
          << wf_last_error();
      const Status status = decode_in_cpp(setting, in_cpp.args(), in_cpp.row_lengths());
      ASSERT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(
          std::memcmp(in_c.out_buffer().data(), in_cpp.out_buffer().data(), in_c.out_buffer().size_bytes()),
          0);
      EXPECT_EQ(
          std::memcmp(in_c.lse_buffer().data(), in_cpp.lse_buffer().data(), in_c.lse_buffer().size_bytes()),
          0);
      const auto comparison = oracle::compare(oracle::reference(in_c.args()), in_c.args());
      EXPECT_TRUE(comparison.passed) << comparison.first_failure;
    }
  }
}

TEST(CApi, ContiguousStridesAreThoseOfCpp) {
  const DecodeShape shape = {.batch = 3, .s_q = 2, .num_heads = 5, .topk = 200, .extra_topk = 130};
  oracle::PoolSpec spec;
  spec.shape = shape;
  spec.lengths = std::vector<std::int32_t>(6, 200);
  spec.extra_lengths = std::vector<std::int32_t>(6, 130);
  oracle::Inputs inputs(spec);
  const wf_decode_args expected = to_c(inputs.args());
  wf_decode_args args = expected;
  for (std::int64_t* stride :
       {&args.q.stride_batch, &args.q.stride_s_q, &args.q.stride_head, &args.out.stride_batch,
        &args.out.stride_s_q, &args.out.stride_head, &args.lse.stride_batch, &args.lse.stride_s_q,
        &args.lse.stride_head, &args.main.indices_stride_batch, &args.main.indices_stride_s_q,
        &args.main.lengths_stride_batch, &args.main.lengths_stride_s_q, &args.extra.indices_stride_batch,
        &args.extra.indices_stride_s_q, &args.extra.lengths_stride_batch, &args.extra.lengths_stride_s_q}) {
    *stride = -1;
  }
  const wf_shape c_shape = to_c(shape);
  ASSERT_EQ(wf_set_contiguous_strides(&c_shape, &args), WF_OK) << wf_last_error();
  EXPECT_EQ(std::memcmp(&args, &expected, sizeof args), 0);
}

}  // namespace
}  // namespace wavefill
