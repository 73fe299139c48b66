// The oracle itself, held to results computed by hand.
#include "oracle/oracle.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <vector>

#include "core/bf16.h"
#include "oracle/case.h"
#include "oracle/inputs.h"
#include "oracle/token_writer.h"

namespace wavefill::oracle {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// One request, one head, bf16 caches of one page each; token t of the main cache is value(t) everywhere.
struct TinyCall {
  explicit TinyCall(int topk, int extra_topk) {
    args.shape = {
        .num_heads = 1, .kv_format = KvFormat::bf16, .d_qk = 512, .topk = topk, .extra_topk = extra_topk};
    args.q = contiguous_query(args.shape, q.data());
    args.out = contiguous_output(args.shape, out.data());
    args.lse = contiguous_lse(args.shape, &lse);
    args.sm_scale = 1.0F;
    fill(main_pool, main_indices, topk, args.main, 1.0F);
    fill(extra_pool, extra_indices, extra_topk, args.extra, 100.0F);
  }
  TinyCall(const TinyCall&) = delete;
  TinyCall& operator=(const TinyCall&) = delete;

  static void fill(std::vector<Bf16Bits>& pool, std::vector<std::int32_t>& indices, int count,
                   SparseCache& cache, float first) {
    for (int token = 0; token < count; ++token) {
      pool.insert(pool.end(), 512, bf16_from_float(first + static_cast<float>(token)));
      indices.push_back(token);
    }
    cache.kv = {.data = reinterpret_cast<const std::byte*>(pool.data()),
                .num_pages = 1,
                .page_size = std::max(count, 1),
                .page_stride_bytes = 1024LL * std::max(count, 1)};
    cache.indices = {.data = indices.data(), .stride_batch = count, .stride_s_q = count};
  }

  std::vector<Bf16Bits> q = std::vector<Bf16Bits>(512, 0);
  std::vector<Bf16Bits> out = std::vector<Bf16Bits>(512, 0);
  float lse = 0.0F;
  std::vector<Bf16Bits> main_pool, extra_pool;
  std::vector<std::int32_t> main_indices, extra_indices;
  DecodeArgs args;
};

TEST(Oracle, OneKeyReturnsItsValueAndItsScore) {
  TinyCall call(1, 0);
  call.q[3] = bf16_from_float(0.5F);
  call.args.sm_scale = 0.25F;
  const Reference result = reference(call.args);
  EXPECT_DOUBLE_EQ(result.out[0], 1.0);
  EXPECT_DOUBLE_EQ(result.out[511], 1.0);
  EXPECT_DOUBLE_EQ(result.lse[0], 0.25 * 0.5 * 1.0);
}

TEST(Oracle, LseOfShardsWithSums2And8IsNaturalLog) {
  // q = 0: every score is 0 and the sum of exponentials is the number of keys.
  EXPECT_DOUBLE_EQ(reference(TinyCall(2, 0).args).lse[0], std::log(2.0));
  EXPECT_DOUBLE_EQ(reference(TinyCall(0, 8).args).lse[0], std::log(8.0));
  EXPECT_DOUBLE_EQ(reference(TinyCall(2, 8).args).lse[0], std::log(10.0));
}

TEST(Oracle, BothCachesShareOneSoftmax) {
  TinyCall call(2, 1);  // values 1, 2 and 100, equal weights
  EXPECT_NEAR(reference(call.args).out[7], 103.0 / 3.0, 1e-12);
}

TEST(Oracle, WeightsFollowTheScores) {
  TinyCall call(2, 0);
  call.q[0] = bf16_from_float(1.0F);  // scores 1 and 2
  const Reference result = reference(call.args);
  EXPECT_NEAR(result.out[0], (std::exp(1.0) + 2.0 * std::exp(2.0)) / (std::exp(1.0) + std::exp(2.0)), 1e-12);
  EXPECT_NEAR(result.lse[0], std::log(std::exp(1.0) + std::exp(2.0)), 1e-12);
}

TEST(Oracle, SinkEntersTheDenominatorOnceAndNotTheLse) {
  TinyCall call(1, 0);
  const auto out_with_sink = [&](float sink) {
    call.args.sink = &sink;
    const Reference result = reference(call.args);
    EXPECT_DOUBLE_EQ(result.lse[0], 0.0);
    return result.out[0];
  };
  EXPECT_DOUBLE_EQ(out_with_sink(0.0F), 0.5);
  EXPECT_NEAR(out_with_sink(std::log(3.0F)), 0.25, 1e-7);
  EXPECT_DOUBLE_EQ(out_with_sink(-std::numeric_limits<float>::infinity()), 1.0);
  EXPECT_DOUBLE_EQ(out_with_sink(std::numeric_limits<float>::infinity()), 0.0);
}

TEST(Oracle, HolesAndTailColumnsAreNotKeys) {
  TinyCall call(4, 0);
  const std::int32_t length = 3;
  call.main_indices = {-1, 1, -7, 0x7FFF'0000};
  call.args.main.indices.data = call.main_indices.data();
  call.args.main.lengths.data = &length;
  const Reference result = reference(call.args);
  EXPECT_DOUBLE_EQ(result.out[0], 2.0);
  EXPECT_DOUBLE_EQ(result.lse[0], 0.0);
}

TEST(Oracle, RowWithoutKeysIsZeroAndMinusInfinity) {
  TinyCall call(2, 0);
  const float sink = 1.0F;
  call.args.sink = &sink;
  call.main_indices = {-1, -1};
  call.args.main.indices.data = call.main_indices.data();
  const Reference result = reference(call.args);
  EXPECT_EQ(result.out[0], 0.0);
  EXPECT_EQ(result.lse[0], -kInfinity);
}

TEST(Oracle, Dsv4BytesDecodeByTheirMap) {
  const DecodeShape shape{.kv_format = KvFormat::fp8_tile64_rope_bf16_footer, .d_qk = 512};
  std::vector<std::uint8_t> page(3 * 584, 0);
  page[576 + 65] = 0x7E;       // token 1, dim 65: 448
  page[576 + 0] = 0x81;        // token 1, dim 0: -2^-9
  page[576 + 448 + 2] = 0x80;  // token 1, dim 449: bf16 0x3F80 = 1
  page[576 + 448 + 3] = 0x3F;
  page[3 * 576 + 8 + 0] = 127 + 3;  // token 1, block 0: 2^3
  page[3 * 576 + 8 + 1] = 127 - 2;  // token 1, block 1: 2^-2
  const KvCacheView kv{.data = reinterpret_cast<const std::byte*>(page.data()),
                       .num_pages = 1,
                       .page_size = 3,
                       .page_stride_bytes = 3 * 584};
  EXPECT_EQ(cached_value(shape, kv, 1, 65), 112.0);
  EXPECT_EQ(cached_value(shape, kv, 1, 0), -8.0 / 512.0);
  EXPECT_EQ(cached_value(shape, kv, 1, 449), 1.0);
  page[3 * 576 + 8] = 0xFF;
  EXPECT_TRUE(std::isnan(cached_value(shape, kv, 1, 0)));
  page[3 * 576 + 8] = 0x00;
  EXPECT_EQ(cached_value(shape, kv, 1, 0), -std::ldexp(1.0, -127 - 9));
  page[3 * 576 + 8] = 0xFE;
  EXPECT_EQ(cached_value(shape, kv, 1, 0), -std::ldexp(1.0, 127 - 9));
}

TEST(Oracle, Dsv32ScaleIsAFullFp32) {
  const DecodeShape shape{.kv_format = KvFormat::fp8_tile128_rope_bf16_inline, .d_qk = 576};
  std::vector<std::uint8_t> token(656, 0);
  token[130] = 0x38;  // 1.0 in block 1
  const float scale = 1.5F * 0.25F;
  std::memcpy(&token[512 + 4], &scale, 4);
  token[528 + 2 * 63 + 1] = 0xC0;  // dim 575: bf16 0xC000 = -2
  const KvCacheView kv{.data = reinterpret_cast<const std::byte*>(token.data()),
                       .num_pages = 1,
                       .page_size = 1,
                       .page_stride_bytes = 656};
  EXPECT_EQ(cached_value(shape, kv, 0, 130), 0.375);
  EXPECT_EQ(cached_value(shape, kv, 0, 575), -2.0);
}

TEST(Oracle, EncoderInvertsTheDecoderAndRoundsToNearest) {
  const DecodeShape shape{.kv_format = KvFormat::fp8_tile128_rope_bf16_inline, .d_qk = 576};
  std::vector<std::uint8_t> token(656, 0);
  const float one = 1.0F;
  std::memcpy(&token[512], &one, 4);
  const KvCacheView kv{.data = reinterpret_cast<const std::byte*>(token.data()),
                       .num_pages = 1,
                       .page_size = 1,
                       .page_stride_bytes = 656};
  double previous = -1.0;
  for (int bits = 0; bits < 0x7F; ++bits) {
    token[0] = static_cast<std::uint8_t>(bits);
    const double value = cached_value(shape, kv, 0, 0);
    EXPECT_EQ(e4m3_from_float(static_cast<float>(value)), bits);
    EXPECT_EQ(e4m3_from_float(static_cast<float>(-value)), bits | 0x80);
    if (bits > 0) {
      EXPECT_EQ(e4m3_from_float(static_cast<float>(0.51 * value + 0.49 * previous)), bits);
    }
    EXPECT_GT(value, previous);
    previous = value;
  }
  EXPECT_EQ(e4m3_from_float(1e9F), 0x7E);
}

// A call whose outputs hold the reference, rounded.
struct Answered {
  explicit Answered(const Case& c) : inputs(c), args(inputs.args()), expected(reference(args)) {
    for (std::size_t at = 0; at < expected.out.size(); ++at) {
      args.out.data[at] = bf16_from_float(static_cast<float>(expected.out[at]));
    }
    for (std::size_t at = 0; at < expected.lse.size(); ++at)
      args.lse.data[at] = static_cast<float>(expected.lse[at]);
  }
  Inputs inputs;
  DecodeArgs args;
  Reference expected;
};

Case small_case() {
  Case c;
  c.shape = {.batch = 3, .num_heads = 2, .topk = 20};
  c.lengths = Lengths::one_empty_row;  // row 1 has no keys
  return c;
}

TEST(OracleCompare, AcceptsTheRoundedReference) {
  const Answered answered(small_case());
  const Comparison comparison = compare(answered.expected, answered.args);
  EXPECT_TRUE(comparison.passed) << comparison.first_failure;
  EXPECT_GT(comparison.max_o_error, 0.0);
  EXPECT_LT(comparison.max_o_error, 2.1e-3);
}

TEST(OracleCompare, RejectsUnwrittenOutputs) {
  Answered answered(small_case());
  answered.inputs.poison_outputs();
  EXPECT_FALSE(compare(answered.expected, answered.args).passed);
}

TEST(OracleCompare, RejectsOneNaN) {
  Answered answered(small_case());
  answered.args.out.data[5 * kValueDim + 17] = 0x7FC0;
  const Comparison comparison = compare(answered.expected, answered.args);
  EXPECT_FALSE(comparison.passed);
  EXPECT_NE(comparison.first_failure.find("row 2 head 1"), std::string::npos) << comparison.first_failure;
}

TEST(OracleCompare, RejectsASmallValueInAnEmptyRow) {
  Answered answered(small_case());
  answered.args.out.data[2 * kValueDim] = 0x0001;
  EXPECT_FALSE(compare(answered.expected, answered.args).passed);
}

TEST(OracleCompare, RejectsPlusInfinityForAnEmptyRow) {
  Answered answered(small_case());
  answered.args.lse.data[2] = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(compare(answered.expected, answered.args).passed);
}

TEST(OracleCompare, RejectsLseInBaseTwo) {
  Answered answered(small_case());
  answered.args.lse.data[0] *= 1.442695F;
  EXPECT_FALSE(compare(answered.expected, answered.args).passed);
}

TEST(OracleCompare, RejectsAnOutputScaledByOnePercent) {
  Answered answered(small_case());
  for (int dim = 0; dim < kValueDim; ++dim) {
    answered.args.out.data[dim] =
        bf16_from_float(static_cast<float>(answered.expected.out[static_cast<std::size_t>(dim)] * 1.01));
  }
  EXPECT_FALSE(compare(answered.expected, answered.args).passed);
}

TEST(OracleCases, NamesAreUniqueAndShapesValid) {
  std::set<std::string> names;
  for (const Case& c : all_cases()) {
    EXPECT_TRUE(names.insert(c.name).second) << c.name;
    EXPECT_TRUE(validate(c.shape).ok()) << c.name << ": " << validate(c.shape).message();
    Inputs inputs(c);
    EXPECT_TRUE(validate(inputs.args()).ok()) << c.name << ": " << validate(inputs.args()).message();
  }
}

TEST(OracleInputs, PoisonedSlotsAreNaNAndNeverNamed) {
  Case c = small_case();
  c.poison = true;
  c.pool_tokens = 128;
  Inputs inputs(c);
  const DecodeArgs args = inputs.args();
  std::set<std::int32_t> named;
  for (std::int64_t row = 0; row < 3; ++row) {
    for (int column = 0; column < inputs.row_lengths()[static_cast<std::size_t>(row)]; ++column) {
      named.insert(args.main.indices.data[row * c.shape.topk + column]);
    }
    for (int column = inputs.row_lengths()[static_cast<std::size_t>(row)]; column < c.shape.topk; ++column) {
      EXPECT_GT(args.main.indices.data[row * c.shape.topk + column], 1 << 30);
    }
  }
  EXPECT_EQ(named.count(0), 0U);
  for (int token = 0; token < 128; ++token) {
    EXPECT_EQ(std::isnan(cached_value(c.shape, args.main.kv, token, 0)), named.count(token) == 0) << token;
  }
}

TEST(OracleInputs, IndexSetsDiffer) {
  PoolSpec spec;
  spec.shape = {.batch = 2, .num_heads = 1, .topk = 50, .extra_topk = 20};
  spec.num_index_sets = 3;
  Inputs inputs(spec);
  const auto first = reference(inputs.args(0));
  const auto last = reference(inputs.args(2));
  EXPECT_NE(first.lse, last.lse);
  EXPECT_EQ(inputs.kv_bytes_per_set(), 2 * 70 * 584);
}

TEST(OracleInputs, GapsNoticeAStrayWrite) {
  Case c = small_case();
  c.strided = true;
  Inputs inputs(c);
  const DecodeArgs args = inputs.args();
  args.out.data[kValueDim - 1] = 0;
  EXPECT_TRUE(inputs.gaps_intact());
  args.out.data[kValueDim] = 0;
  EXPECT_FALSE(inputs.gaps_intact());
}

}  // namespace
}  // namespace wavefill::oracle
