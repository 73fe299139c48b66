#include "backend_cuda/bench_pool.h"

namespace wavefill::test {
namespace {

__device__ std::uint64_t mix(std::uint64_t x) {  // splitmix64
  x += 0x9E37'79B9'7F4A'7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58'476D'1CE4'E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D0'49BB'1331'11EBULL;
  return x ^ (x >> 31);
}

// A bf16 in (-2, 2) from 16 random bits: exponents 120..127 equally often.
__device__ std::uint16_t bf16_of(std::uint32_t bits) {
  return static_cast<std::uint16_t>((bits & 0x8000U) | ((120U + ((bits >> 7) & 7U)) << 7) | (bits & 0x7FU));
}

struct PoolShape {
  int page_size;
  std::int64_t page_stride;
  int data_bytes;
  int fp8_end;    // bytes [0, fp8_end) of a token are e4m3
  int scale_end;  // bytes [fp8_end, scale_end) are fp32 scales; the rest bf16
  bool footer;
};

// The two bytes at `at` (even).
__device__ std::uint16_t bytes_at(const PoolShape& shape, std::int64_t at, std::uint64_t random) {
  const std::int64_t in_page = at % shape.page_stride;
  const auto bits = static_cast<std::uint32_t>(random);
  if (shape.footer && in_page >= std::int64_t{shape.data_bytes} * shape.page_size) {
    return static_cast<std::uint16_t>((119U + (bits & 3U)) | ((119U + ((bits >> 2) & 3U)) << 8));
  }
  const auto in_token = static_cast<int>(in_page % shape.data_bytes);
  if (in_token < shape.fp8_end) {
    // Exponent 15 holds the NaN; without it values stay below 256.
    std::uint32_t pair = bits & 0xFFFFU;
    if ((pair & 0x78U) == 0x78U) pair ^= 0x40U;
    if ((pair & 0x7800U) == 0x7800U) pair ^= 0x4000U;
    return static_cast<std::uint16_t>(pair);
  }
  if (in_token < shape.scale_end) {  // fp32 2^-8 .. 2^-5: upper half set, lower half 0
    if (in_token % 4 == 0) return 0;
    const std::uint64_t whole = mix(static_cast<std::uint64_t>(at / 4));
    return static_cast<std::uint16_t>((119U + (static_cast<std::uint32_t>(whole) & 3U)) << 7);
  }
  return bf16_of(bits);
}

__global__ void fill_pool_kernel(std::uint16_t* pool, std::size_t pairs, PoolShape shape,
                                 std::uint64_t seed) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < pairs; i += step) {
    pool[i] = bytes_at(shape, static_cast<std::int64_t>(i) * 2, mix(seed ^ i));
  }
}

__global__ void fill_query_kernel(std::uint16_t* q, std::size_t count, std::uint64_t seed) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    const std::uint64_t random = mix(seed ^ i);
    float sum = 0.0F;  // of four uniforms: variance 1 / 3
    for (int part = 0; part < 4; ++part) {
      sum += static_cast<float>((random >> (16 * part)) & 0xFFFFU) / 65536.0F - 0.5F;
    }
    q[i] = static_cast<std::uint16_t>(__float_as_uint(sum * 1.732F) >> 16);
  }
}

__global__ void fill_indices_kernel(std::int32_t* indices, std::size_t count, std::int64_t num_tokens,
                                    std::uint64_t seed) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    indices[i] = static_cast<std::int32_t>(mix(seed ^ i) % static_cast<std::uint64_t>(num_tokens));
  }
}

constexpr int kBlocks = 2048;
constexpr int kThreadsPerBlock = 256;

}  // namespace

void fill_pool(std::byte* pool, std::size_t bytes, KvFormat format, int page_size,
               std::int64_t page_stride_bytes, std::uint64_t seed) {
  PoolShape shape{.page_size = page_size,
                  .page_stride = page_stride_bytes,
                  .data_bytes = 1024,
                  .fp8_end = 0,
                  .scale_end = 0,
                  .footer = false};
  if (format == KvFormat::fp8_tile64_rope_bf16_footer) {
    shape.data_bytes = 576;
    shape.fp8_end = shape.scale_end = 448;
    shape.footer = true;
  } else if (format == KvFormat::fp8_tile128_rope_bf16_inline) {
    shape.data_bytes = 656;
    shape.fp8_end = 512;
    shape.scale_end = 528;
  }
  fill_pool_kernel<<<kBlocks, kThreadsPerBlock>>>(reinterpret_cast<std::uint16_t*>(pool), bytes / 2, shape,
                                                  seed);
}

void fill_query(std::uint16_t* q, std::size_t count, std::uint64_t seed) {
  fill_query_kernel<<<kBlocks, kThreadsPerBlock>>>(q, count, seed);
}

void fill_indices(std::int32_t* indices, std::size_t count, std::int64_t num_tokens, std::uint64_t seed) {
  fill_indices_kernel<<<kBlocks, kThreadsPerBlock>>>(indices, count, num_tokens, seed);
}

}  // namespace wavefill::test
