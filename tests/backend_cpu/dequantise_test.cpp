// Every fp8 value under every scale, exactly. With q = 0 all scores are 0, so that a row with one key returns
// the key itself: out shows what the kernel made of its bytes.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "backend_cpu/call.h"
#include "backend_cpu/cpu_backend.h"
#include "core/bf16.h"
#include "oracle/oracle.h"

namespace wavefill {
namespace {

constexpr int kDsv4Bytes = 576;
constexpr int kDsv4Fp8Dims = 448;
constexpr int kDsv32Bytes = 656;
constexpr int kDsv32Fp8Dims = 512;

// One row and one head for each token of a pool of raw bytes.
class OneKeyRows {
 public:
  OneKeyRows(KvFormat format, int num_tokens, std::vector<std::uint8_t> pool) : pool_(std::move(pool)) {
    args_.shape = {
        .batch = num_tokens, .num_heads = 1, .kv_format = format, .d_qk = default_d_qk(format), .topk = 1};
    q_.assign(static_cast<std::size_t>(num_tokens * args_.shape.d_qk), 0);
    out_.assign(static_cast<std::size_t>(num_tokens * kValueDim), 0xFFFF);
    for (int token = 0; token < num_tokens; ++token) indices_.push_back(token);
    args_.q = contiguous_query(args_.shape, q_.data());
    args_.out = contiguous_output(args_.shape, out_.data());
    args_.main.kv = {.data = reinterpret_cast<const std::byte*>(pool_.data()),
                     .num_pages = 1,
                     .page_size = num_tokens,
                     .page_stride_bytes = static_cast<std::int64_t>(pool_.size())};
    args_.main.indices = contiguous_indices(args_.shape, indices_.data(), 1);
    args_.sm_scale = 1.0F;
  }

  void run(const Backend& backend, const KernelSpec& kernel) {
    PlanRequest request;
    request.device = backend.device();
    request.kernel = kernel;
    request.shape = args_.shape;
    request.setting = test::setting_of("fixed=1");
    const SplitPlan plan = std::move(make_plan(request)).value();
    ASSERT_TRUE(check_run(backend, plan, args_).ok()) << check_run(backend, plan, args_).message();
    ASSERT_TRUE(backend.run(plan, args_, nullptr).ok());
  }

  const DecodeArgs& args() const { return args_; }
  float out(int token, int dim) const {
    return bf16_to_float(out_[static_cast<std::size_t>(token * kValueDim + dim)]);
  }
  // The key as the oracle decodes it, rounded once to bf16.
  float expected(int token, int dim) const {
    const double value = oracle::cached_value(args_.shape, args_.main.kv, token, dim);
    return bf16_to_float(bf16_from_float(static_cast<float>(value)));
  }

 private:
  std::vector<std::uint8_t> pool_;
  std::vector<Bf16Bits> q_;
  std::vector<Bf16Bits> out_;
  std::vector<std::int32_t> indices_;
  DecodeArgs args_;
};

bool is_nan(int byte) { return (byte & 0x7F) == 0x7F; }

// Values below the least normal number may be flushed to zero: matrix units do.
bool is_exact(float actual, float expected) {
  constexpr float kLeastNormal = std::numeric_limits<float>::min();
  return actual == expected || (std::abs(expected) < kLeastNormal && actual == 0.0F);
}

// Token s has the scale byte s in all blocks, and all bytes but NaN in its first 256 dims. Products that fp32
// cannot hold are left out: 0 * infinity would make the whole row NaN.
OneKeyRows dsv4_rows() {
  constexpr int kTokens = 255;
  std::vector<std::uint8_t> pool(kTokens * (kDsv4Bytes + 8), 0);
  for (int scale = 0; scale < kTokens; ++scale) {
    for (int dim = 0; dim < 256; ++dim) {
      const int exponent = (dim >> 3) & 15;
      const bool overflows = std::max(exponent, 1) - 7 + scale - 127 > 127;
      pool[static_cast<std::size_t>(scale * kDsv4Bytes + dim)] =
          static_cast<std::uint8_t>(is_nan(dim) || overflows ? 0 : dim);
    }
    std::memset(&pool[static_cast<std::size_t>(kTokens * kDsv4Bytes + scale * 8)], scale, 7);
  }
  return {KvFormat::fp8_tile64_rope_bf16_footer, kTokens, std::move(pool)};
}

TEST(Dequantise, EveryE4m3UnderEveryUe8m0) {
  const auto backend = std::move(make_cpu_backend(2)).value();
  OneKeyRows rows = dsv4_rows();
  for (const KernelSpec& kernel : backend->kernels()) {
    rows.run(*backend, kernel);
    for (int scale = 0; scale < 255; ++scale) {
      for (int dim = 0; dim < kDsv4Fp8Dims; ++dim) {
        ASSERT_TRUE(is_exact(rows.out(scale, dim), rows.expected(scale, dim)))
            << kernel.name << ": byte " << dim % 256 << " under scale byte " << scale << " is "
            << rows.out(scale, dim) << ", not " << rows.expected(scale, dim);
      }
    }
  }
}

TEST(Dequantise, Fp32ScalesThatAreNoPowersOfTwo) {
  const auto backend = std::move(make_cpu_backend(2)).value();
  const float scales[] = {1.5F, 1.0F, 0x1.8p-20F, 1.9999999F, 0.1F, 3e-3F, 0x1p-60F, 1e10F};
  std::vector<std::uint8_t> pool;
  for (const float scale : scales) {
    std::vector<std::uint8_t> token(kDsv32Bytes, 0);
    for (int dim = 0; dim < kDsv32Fp8Dims; ++dim) {
      token[static_cast<std::size_t>(dim)] = static_cast<std::uint8_t>(is_nan(dim) ? 0 : dim);
    }
    for (std::size_t tile = 0; tile < 4; ++tile) std::memcpy(&token[kDsv32Fp8Dims + 4 * tile], &scale, 4);
    pool.insert(pool.end(), token.begin(), token.end());
  }
  OneKeyRows rows(KvFormat::fp8_tile128_rope_bf16_inline, std::size(scales), std::move(pool));
  for (const KernelSpec& kernel : backend->kernels()) {
    rows.run(*backend, kernel);
    for (int token = 0; token < static_cast<int>(std::size(scales)); ++token) {
      for (int dim = 0; dim < kDsv32Fp8Dims; ++dim) {
        ASSERT_EQ(rows.out(token, dim), rows.expected(token, dim))
            << kernel.name << ": byte " << dim % 256 << " under scale " << scales[token];
      }
    }
  }
}

TEST(Dequantise, NaNsOfUsedTokensAreNotHidden) {
  const auto backend = std::move(make_cpu_backend(1)).value();
  // Token 0: an e4m3 NaN; token 1: the scale 0xFF; token 2: a NaN among the bf16 dims; token 3: sound.
  std::vector<std::uint8_t> pool(4 * (kDsv4Bytes + 8), 0x38);
  std::memset(&pool[4 * kDsv4Bytes], 127, 4 * 8);
  pool[100] = 0x7F;
  std::memset(&pool[4 * kDsv4Bytes + 8], 0xFF, 7);
  std::memset(&pool[2 * kDsv4Bytes + kDsv4Fp8Dims + 20], 0xFF, 2);
  OneKeyRows rows(KvFormat::fp8_tile64_rope_bf16_footer, 4, std::move(pool));
  for (const KernelSpec& kernel : backend->kernels()) {
    rows.run(*backend, kernel);
    EXPECT_TRUE(std::isnan(rows.out(0, 100))) << kernel.name;
    EXPECT_TRUE(std::isnan(rows.out(1, 100))) << kernel.name;
    EXPECT_TRUE(std::isnan(rows.out(2, kDsv4Fp8Dims + 10))) << kernel.name;
    EXPECT_EQ(rows.out(3, 100), 1.0F) << kernel.name;
  }
}

}  // namespace
}  // namespace wavefill
