// Shapes and argument views: what is refused, by which name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "wavefill/decode_args.h"

namespace wavefill {
namespace {

using testing::AllOf;
using testing::HasSubstr;

template <typename T>
void expect_refused(T value, const char* named) {
  const Status status = validate(value);
  EXPECT_EQ(status.code(), StatusCode::invalid_argument) << named;
  EXPECT_THAT(status.message(), AllOf(HasSubstr(named), HasSubstr("allowed")));
}

DecodeShape shape_with(auto change) {
  DecodeShape shape;
  change(shape);
  return shape;
}

TEST(Shape, AcceptsEveryHeadCountAndTheEndsOfTheWidths) {
  for (int heads = 1; heads <= kMaxHeads; ++heads) {
    EXPECT_TRUE(validate(shape_with([&](DecodeShape& s) { s.num_heads = heads; })).ok()) << heads;
  }
  for (const int topk : {0, 1, 63, 65, 1152, INT32_MAX}) {
    EXPECT_TRUE(validate(shape_with([&](DecodeShape& s) { s.topk = s.extra_topk = topk; })).ok()) << topk;
  }
}

TEST(Shape, RefusesByName) {
  expect_refused(shape_with([](DecodeShape& s) { s.batch = 0; }), "batch is 0");
  expect_refused(shape_with([](DecodeShape& s) { s.batch = -1; }), "batch is -1");
  expect_refused(shape_with([](DecodeShape& s) { s.s_q = 0; }), "s_q is 0");
  expect_refused(shape_with([](DecodeShape& s) { s.num_heads = 0; }), "num_heads is 0");
  expect_refused(shape_with([](DecodeShape& s) { s.num_heads = 129; }), "num_heads is 129");
  expect_refused(shape_with([](DecodeShape& s) { s.topk = -1; }), "topk is -1");
  expect_refused(shape_with([](DecodeShape& s) { s.extra_topk = -5; }), "extra_topk is -5");
  expect_refused(shape_with([](DecodeShape& s) { s.d_qk = 576; }), "d_qk is 576");
  expect_refused(shape_with([](DecodeShape& s) {
                   s.kv_format = KvFormat::bf16;
                   s.d_qk = 513;
                 }),
                 "512, 576");
}

// 65536 * 65536 is 0 in 32 bits: rows must be counted in 64.
TEST(Shape, RowsAreCountedIn64Bits) {
  const DecodeShape shape = shape_with([](DecodeShape& s) { s.batch = s.s_q = 1 << 16; });
  EXPECT_EQ(shape.rows(), std::int64_t{1} << 32);
  expect_refused(shape, "batch * s_q is 4294967296");
}

TEST(KvFormat, BytesAreThoseOfTheLayouts) {
  EXPECT_EQ(kv_token_bytes(KvFormat::fp8_tile64_rope_bf16_footer, 512), 584);
  EXPECT_EQ(kv_token_bytes(KvFormat::fp8_tile128_rope_bf16_inline, 576), 656);
  EXPECT_EQ(kv_token_bytes(KvFormat::bf16, 512), 1024);
  EXPECT_EQ(kv_token_bytes(KvFormat::bf16, 576), 1152);
  EXPECT_EQ(min_page_stride_bytes(KvFormat::fp8_tile64_rope_bf16_footer, 512, 64), 37'376);
  EXPECT_EQ(min_page_stride_bytes(KvFormat::bf16, 576, INT32_MAX), 1152LL * INT32_MAX);
}

TEST(KvFormat, BothNamesOfEachAreParsed) {
  for (const KvFormat format : kAllKvFormats) {
    EXPECT_EQ(*parse_kv_format(to_string(format)), format);
    EXPECT_EQ(*parse_kv_format(short_name(format)), format);
    EXPECT_TRUE(is_valid_d_qk(format, default_d_qk(format)));
  }
  EXPECT_EQ(parse_kv_format("DSV4").status().code(), StatusCode::invalid_argument);
  EXPECT_THAT(parse_kv_format("fp8").status().message(),
              AllOf(HasSubstr("'fp8'"), HasSubstr("dsv4"), HasSubstr("dsv32"), HasSubstr("bf16")));
}

// Small but complete arguments over both caches.
class Args : public testing::Test {
 protected:
  Args() {
    DecodeShape& shape = args.shape;
    shape.batch = 2;
    shape.num_heads = 3;
    shape.topk = 4;
    shape.extra_topk = 5;
    bf16.resize(std::size_t{2} * 3 * 512);
    indices.resize(10);
    cache.resize(std::size_t{584} * 8);
    args.q = contiguous_query(shape, bf16.data());
    args.out = contiguous_output(shape, bf16.data());
    const KvCacheView kv{.data = cache.data(), .num_pages = 1, .page_size = 8, .page_stride_bytes = 584 * 8};
    args.main = {.kv = kv, .indices = contiguous_indices(shape, indices.data(), 4), .lengths = {}};
    args.extra = {.kv = kv, .indices = contiguous_indices(shape, indices.data(), 5), .lengths = {}};
    args.sm_scale = 0.04419417F;
  }

  std::vector<Bf16Bits> bf16;
  std::vector<std::int32_t> indices;
  std::vector<std::byte> cache;
  DecodeArgs args;
};

TEST_F(Args, CompleteOnesAreAccepted) { EXPECT_TRUE(validate(args).ok()) << validate(args).message(); }

TEST_F(Args, ContiguousStridesAreInElements) {
  DecodeShape shape = args.shape;
  shape.s_q = 7;
  EXPECT_EQ(contiguous_query(shape, nullptr).stride_head, 512);
  EXPECT_EQ(contiguous_query(shape, nullptr).stride_s_q, 3 * 512);
  EXPECT_EQ(contiguous_query(shape, nullptr).stride_batch, 7 * 3 * 512);
  EXPECT_EQ(contiguous_lse(shape, nullptr).stride_batch, 7 * 3);
  EXPECT_EQ(contiguous_indices(shape, nullptr, 4).stride_batch, 7 * 4);
  EXPECT_EQ(contiguous_lengths(shape, nullptr).stride_batch, 7);
  shape.kv_format = KvFormat::fp8_tile128_rope_bf16_inline;
  shape.d_qk = 576;
  EXPECT_EQ(contiguous_query(shape, nullptr).stride_head, 576);
  EXPECT_EQ(contiguous_output(shape, nullptr).stride_head, 512);
}

TEST_F(Args, StridesDoNotOverflow32Bits) {
  DecodeShape shape;
  shape.batch = 1;
  shape.s_q = 1 << 25;
  shape.num_heads = 128;
  EXPECT_EQ(contiguous_output(shape, nullptr).stride_batch, (std::int64_t{1} << 25) * 128 * 512);
}

TEST_F(Args, NullPointersAreRefusedByName) {
  const auto refused = [&](const char* named, auto change) {
    DecodeArgs copy = args;
    change(copy);
    expect_refused(copy, named);
  };
  refused("q.data", [](DecodeArgs& a) { a.q.data = nullptr; });
  refused("out.data", [](DecodeArgs& a) { a.out.data = nullptr; });
  refused("main.kv.data", [](DecodeArgs& a) { a.main.kv.data = nullptr; });
  refused("extra.indices.data", [](DecodeArgs& a) { a.extra.indices.data = nullptr; });
}

TEST_F(Args, SizesAndStridesAreRefusedByName) {
  const auto refused = [&](const char* named, auto change) {
    DecodeArgs copy = args;
    change(copy);
    expect_refused(copy, named);
  };
  refused("main.kv.page_size is 0", [](DecodeArgs& a) { a.main.kv.page_size = 0; });
  refused("extra.kv.num_pages is -1", [](DecodeArgs& a) { a.extra.kv.num_pages = -1; });
  refused(">= 4672 (8 tokens of 584 bytes)", [](DecodeArgs& a) { a.main.kv.page_stride_bytes = 4671; });
  refused("q.stride_head is -512", [](DecodeArgs& a) { a.q.stride_head = -512; });
  refused("out.stride_batch is -1", [](DecodeArgs& a) { a.out.stride_batch = -1; });
  refused("main.indices.stride_batch is -4", [](DecodeArgs& a) { a.main.indices.stride_batch = -4; });
  refused("num_heads", [](DecodeArgs& a) { a.shape.num_heads = 0; });
}

TEST_F(Args, ScaleMustBeFiniteAndPositive) {
  for (const float scale :
       {0.0F, -1.0F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    DecodeArgs copy = args;
    copy.sm_scale = scale;
    expect_refused(copy, "sm_scale");
  }
}

// A cache that the shape does not use may be left out; so may lse and a pool without pages.
TEST_F(Args, WhatIsNotUsedIsNotAsked) {
  args.shape.extra_topk = 0;
  args.extra = {};
  EXPECT_TRUE(validate(args).ok()) << validate(args).message();
  args.shape.topk = 0;
  args.main = {};
  EXPECT_TRUE(validate(args).ok()) << validate(args).message();
  args.lse = {.data = nullptr, .stride_batch = -1, .stride_s_q = -1, .stride_head = -1};
  EXPECT_TRUE(validate(args).ok()) << validate(args).message();
}

}  // namespace
}  // namespace wavefill
