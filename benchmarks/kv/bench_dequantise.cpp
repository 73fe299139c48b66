// Tokens a second through the reference codec, on a pool small enough to stay in cache: the cost of the
// arithmetic, not of memory. Kernels have vectorised ones of their own.
#include <benchmark/benchmark.h>

#include <random>
#include <vector>

#include "kv/page_pool.h"
#include "kv/token_codec.h"

namespace wavefill {
namespace {

constexpr std::int32_t kPageSize = 64;
constexpr std::int64_t kNumTokens = 256;

PagePool filled_pool(KvFormat format, int d_qk) {
  auto pool = PagePool::create(
      {.format = format, .d_qk = d_qk, .page_size = kPageSize, .num_pages = kNumTokens / kPageSize});
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> k(d_qk);
  for (std::int64_t token = 0; token < kNumTokens; ++token) {
    for (float& value : k) value = normal(random);
    benchmark::DoNotOptimize(quantise_token(format, d_qk, k, pool->mutable_view(), token).ok());
  }
  return std::move(pool).value();
}

void count(benchmark::State& state, KvFormat format, int d_qk) {
  state.SetItemsProcessed(state.iterations());
  state.SetBytesProcessed(state.iterations() * kv_token_bytes(format, d_qk));
}

void dequantise(benchmark::State& state, KvFormat format, int d_qk) {
  const PagePool pool = filled_pool(format, d_qk);
  std::vector<float> k(d_qk);
  std::int64_t token = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(dequantise_token(pool.view(), format, d_qk, token, k).ok());
    benchmark::ClobberMemory();
    token = (token + 1) % kNumTokens;
  }
  count(state, format, d_qk);
}

void quantise(benchmark::State& state, KvFormat format, int d_qk) {
  PagePool pool = filled_pool(format, d_qk);
  std::vector<float> k(d_qk);
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  for (float& value : k) value = normal(random);
  std::int64_t token = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(quantise_token(format, d_qk, k, pool.mutable_view(), token).ok());
    benchmark::ClobberMemory();
    token = (token + 1) % kNumTokens;
  }
  count(state, format, d_qk);
}

BENCHMARK_CAPTURE(dequantise, dsv4, KvFormat::fp8_tile64_rope_bf16_footer, 512);
BENCHMARK_CAPTURE(dequantise, dsv32, KvFormat::fp8_tile128_rope_bf16_inline, 576);
BENCHMARK_CAPTURE(dequantise, bf16, KvFormat::bf16, 512);
BENCHMARK_CAPTURE(quantise, dsv4, KvFormat::fp8_tile64_rope_bf16_footer, 512);
BENCHMARK_CAPTURE(quantise, dsv32, KvFormat::fp8_tile128_rope_bf16_inline, 576);
BENCHMARK_CAPTURE(quantise, bf16, KvFormat::bf16, 512);

}  // namespace
}  // namespace wavefill
