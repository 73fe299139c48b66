// Tokens around the places where 32-bit byte offsets wrap. The caches are sparse: only a few of their pages
// exist.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <random>
#include <vector>

#include "backend_cpu/call.h"
#include "backend_cpu/cpu_backend.h"
#include "core/bf16.h"
#include "oracle/oracle.h"
#include "oracle/token_writer.h"

namespace wavefill {
namespace {

// Address space without memory behind it until it is written.
class SparseMemory {
 public:
  explicit SparseMemory(std::int64_t bytes)
      : bytes_(static_cast<std::size_t>(bytes)),
        data_(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                   0)) {}
  ~SparseMemory() {
    if (ok()) munmap(data_, bytes_);
  }
  SparseMemory(const SparseMemory&) = delete;
  SparseMemory& operator=(const SparseMemory&) = delete;

  bool ok() const { return data_ != MAP_FAILED; }
  std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  std::size_t bytes_;
  void* data_;
};

void expect_reference_at(KvFormat format, std::int32_t page_size, const std::vector<std::int32_t>& tokens) {
  const DecodeShape shape = {.num_heads = 3,
                             .kv_format = format,
                             .d_qk = default_d_qk(format),
                             .topk = static_cast<std::int32_t>(tokens.size())};
  KvCacheView kv = {.page_size = page_size,
                    .page_stride_bytes = min_page_stride_bytes(format, shape.d_qk, page_size)};
  kv.num_pages = *std::ranges::max_element(tokens) / page_size + 1;
  const SparseMemory memory(kv.num_pages * kv.page_stride_bytes);
  ASSERT_TRUE(memory.ok());
  kv.data = memory.data();
  std::mt19937_64 rng(11);
  for (const std::int32_t token : tokens) {
    oracle::write_token(shape, kv, memory.data(), token, oracle::random_token(shape, false, rng));
  }
  std::vector<Bf16Bits> q(static_cast<std::size_t>(3 * shape.d_qk));
  std::normal_distribution<float> normal;
  for (Bf16Bits& bits : q) bits = bf16_from_float(normal(rng));
  std::vector<Bf16Bits> out(3 * kValueDim);
  std::vector<float> lse(3);
  DecodeArgs args;
  args.shape = shape;
  args.q = contiguous_query(shape, q.data());
  args.main = {.kv = kv, .indices = contiguous_indices(shape, tokens.data(), shape.topk), .lengths = {}};
  args.sm_scale = 0.05F;
  args.out = contiguous_output(shape, out.data());
  args.lse = contiguous_lse(shape, lse.data());
  args.check_indices = true;

  const oracle::Reference expected = oracle::reference(args);
  const auto backend = std::move(make_cpu_backend(2)).value();
  for (const KernelSpec& kernel : backend->kernels()) {
    PlanRequest request;
    request.device = backend->device();
    request.kernel = kernel;
    request.shape = shape;
    request.setting = test::setting_of("fixed=1");
    const SplitPlan plan = std::move(make_plan(request)).value();
    ASSERT_TRUE(check_run(*backend, plan, args).ok());
    ASSERT_TRUE(backend->run(plan, args, nullptr).ok());
    const oracle::Comparison comparison = oracle::compare(expected, args);
    EXPECT_TRUE(comparison.passed) << kernel.name << ": " << comparison.first_failure;
  }
}

// Three tokens around byte offset 2^31, and three around 2^32.
TEST(Addresses, Dsv4OffsetsBeyond32Bits) {
  expect_reference_at(KvFormat::fp8_tile64_rope_bf16_footer, 64,
                      {3'677'198, 3'677'199, 3'677'200, 7'354'395, 7'354'396, 7'354'397});
}

TEST(Addresses, Dsv32OffsetsBeyond32Bits) {
  expect_reference_at(KvFormat::fp8_tile128_rope_bf16_inline, 64,
                      {3'273'603, 3'273'604, 3'273'605, 6'547'206, 6'547'207, 6'547'208});
}

TEST(Addresses, PagesOf256TokensAroundPage14340) {
  expect_reference_at(KvFormat::fp8_tile64_rope_bf16_footer, 256,
                      {14'339 * 256 + 255, 14'340 * 256, 14'340 * 256 + 1, 14'364 * 256 + 255, 28'729 * 256});
}

TEST(Addresses, Bf16OffsetsBeyond32Bits) {
  expect_reference_at(KvFormat::bf16, 1, {2'097'151, 2'097'152, 4'194'303, 4'194'304});
}

}  // namespace
}  // namespace wavefill
