#include "oracle/oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>

namespace wavefill::oracle {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// dsv4: per token 448 e4m3 and 64 bf16, then the page's footer of 8 scale bytes a token.
constexpr int kDsv4Fp8Dims = 448;
constexpr int kDsv4DataBytes = 576;
constexpr int kDsv4ScaleBytes = 8;
constexpr int kDsv4ScaleBlock = 64;
// dsv32: per token 512 e4m3, 4 fp32 scales, 64 bf16.
constexpr int kDsv32Fp8Dims = 512;
constexpr int kDsv32ScaleBlock = 128;
constexpr int kDsv32RopeOffset = 528;
constexpr int kDsv32TokenBytes = 656;

template <typename T>
T read(const std::byte* address) {
  T value;
  std::memcpy(&value, address, sizeof(T));
  return value;
}

double from_bf16(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

// OCP e4m3: bias 7, no infinities, NaN is S.1111.111, subnormals m * 2^-9.
double from_e4m3(std::uint8_t bits) {
  const int exponent = (bits >> 3) & 15;
  const int mantissa = bits & 7;
  if (exponent == 15 && mantissa == 7) return kNaN;
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 7 - 3);
  return bits & 0x80 ? -magnitude : magnitude;
}

// UE8M0: 2^(byte - 127), 0xFF is NaN.
double from_ue8m0(std::uint8_t bits) { return bits == 0xFF ? kNaN : std::ldexp(1.0, bits - 127); }

double dsv4_value(const std::byte* page, int page_size, int slot, int dim) {
  const std::byte* data = page + std::int64_t{kDsv4DataBytes} * slot;
  if (dim >= kDsv4Fp8Dims) {
    return from_bf16(read<std::uint16_t>(data + kDsv4Fp8Dims + 2 * (dim - kDsv4Fp8Dims)));
  }
  const std::byte* scales =
      page + std::int64_t{kDsv4DataBytes} * page_size + std::int64_t{kDsv4ScaleBytes} * slot;
  return from_e4m3(read<std::uint8_t>(data + dim)) *
         from_ue8m0(read<std::uint8_t>(scales + dim / kDsv4ScaleBlock));
}

double dsv32_value(const std::byte* token, int dim) {
  if (dim >= kDsv32Fp8Dims) {
    return from_bf16(read<std::uint16_t>(token + kDsv32RopeOffset + 2 * (dim - kDsv32Fp8Dims)));
  }
  return from_e4m3(read<std::uint8_t>(token + dim)) *
         double{read<float>(token + kDsv32Fp8Dims + 4 * (dim / kDsv32ScaleBlock))};
}

struct Row {
  std::int64_t batch = 0;
  std::int64_t s_q = 0;
};

Row row_of(const DecodeShape& shape, std::int64_t row) { return {row / shape.s_q, row % shape.s_q}; }

// Decodes the row's tokens of one cache behind those already in `keys` ([tokens, d_qk]).
void append_keys(const DecodeShape& shape, const SparseCache& cache, int topk, Row row,
                 std::vector<double>& keys) {
  std::int32_t length = topk;
  if (cache.lengths.data != nullptr) {
    length = cache.lengths.data[row.batch * cache.lengths.stride_batch + row.s_q * cache.lengths.stride_s_q];
  }
  const std::int32_t* indices =
      cache.indices.data + row.batch * cache.indices.stride_batch + row.s_q * cache.indices.stride_s_q;
  for (std::int32_t column = 0; column < length; ++column) {
    if (indices[column] < 0) continue;
    for (int dim = 0; dim < shape.d_qk; ++dim) {
      keys.push_back(cached_value(shape, cache.kv, indices[column], dim));
    }
  }
}

double dot(const std::vector<double>& q, const double* key) {
  double sum = 0.0;
  for (std::size_t dim = 0; dim < q.size(); ++dim) sum += q[dim] * key[dim];
  return sum;
}

// One head of one row: out[kValueDim] (zeroed by the caller) and the returned lse.
double attend(const std::vector<double>& q, const std::vector<double>& keys, double sm_scale, double sink,
              double* out) {
  const std::size_t num_keys = keys.size() / q.size();
  if (num_keys == 0) return -kInfinity;
  std::vector<double> scores(num_keys);
  for (std::size_t key = 0; key < num_keys; ++key) {
    scores[key] = sm_scale * dot(q, keys.data() + key * q.size());
  }
  const double max_score = *std::max_element(scores.begin(), scores.end());
  double sum = 0.0;
  for (std::size_t key = 0; key < num_keys; ++key) {
    const double weight = std::exp(scores[key] - max_score);
    sum += weight;
    const double* value = keys.data() + key * q.size();
    for (int dim = 0; dim < kValueDim; ++dim) out[dim] += weight * value[dim];
  }
  const double denominator = sum + std::exp(sink - max_score);
  for (int dim = 0; dim < kValueDim; ++dim) out[dim] /= denominator;
  return max_score + std::log(sum);
}

void attend_row(const DecodeArgs& args, std::int64_t row_idx, Reference& result) {
  const DecodeShape& shape = args.shape;
  const Row row = row_of(shape, row_idx);
  std::vector<double> keys;
  if (shape.topk > 0) append_keys(shape, args.main, shape.topk, row, keys);
  if (shape.extra_topk > 0) append_keys(shape, args.extra, shape.extra_topk, row, keys);
  std::vector<double> q(static_cast<std::size_t>(shape.d_qk));
  for (int head = 0; head < shape.num_heads; ++head) {
    const Bf16Bits* bits = args.q.data + row.batch * args.q.stride_batch + row.s_q * args.q.stride_s_q +
                           head * args.q.stride_head;
    std::transform(bits, bits + shape.d_qk, q.begin(), from_bf16);
    const auto at = static_cast<std::size_t>(row_idx * shape.num_heads + head);
    result.lse[at] = attend(q, keys, double{args.sm_scale}, args.sink ? double{args.sink[head]} : -kInfinity,
                            result.out.data() + at * kValueDim);
  }
}

struct RowError {
  double o_relative = 0.0;
  bool finite = true;
};

// ||o - ref|| / ||ref||; 0 when both are exactly 0, infinite when only the reference is.
RowError row_error(const double* expected, const Bf16Bits* actual) {
  double difference2 = 0.0;
  double norm2 = 0.0;
  for (int dim = 0; dim < kValueDim; ++dim) {
    const double value = from_bf16(actual[dim]);
    if (!std::isfinite(value)) return {.o_relative = kInfinity, .finite = false};
    difference2 += (value - expected[dim]) * (value - expected[dim]);
    norm2 += expected[dim] * expected[dim];
  }
  if (norm2 == 0.0) return {.o_relative = difference2 == 0.0 ? 0.0 : kInfinity, .finite = true};
  return {.o_relative = std::sqrt(difference2 / norm2), .finite = true};
}

double lse_error(double expected, float actual) {
  if (std::isnan(actual)) return kInfinity;
  if (std::isinf(expected) || std::isinf(actual)) return expected == double{actual} ? 0.0 : kInfinity;
  return std::abs(double{actual} - expected);
}

void fail(Comparison& comparison, std::string message) {
  if (comparison.passed) comparison.first_failure = std::move(message);
  comparison.passed = false;
}

}  // namespace

double cached_value(const DecodeShape& shape, const KvCacheView& kv, std::int64_t token, int dim) {
  const std::byte* page = kv.data + token / kv.page_size * kv.page_stride_bytes;
  const int slot = static_cast<int>(token % kv.page_size);
  switch (shape.kv_format) {
    case KvFormat::fp8_tile64_rope_bf16_footer: return dsv4_value(page, kv.page_size, slot, dim);
    case KvFormat::fp8_tile128_rope_bf16_inline:
      return dsv32_value(page + std::int64_t{kDsv32TokenBytes} * slot, dim);
    case KvFormat::bf16:
      return from_bf16(
          read<std::uint16_t>(page + std::int64_t{2} * shape.d_qk * slot + std::int64_t{2} * dim));
  }
  return kNaN;
}

Reference reference(const DecodeArgs& args, int num_threads) {
  const std::int64_t rows = args.shape.rows();
  const auto row_heads = static_cast<std::size_t>(rows * args.shape.num_heads);
  Reference result{.out = std::vector<double>(row_heads * kValueDim), .lse = std::vector<double>(row_heads)};
  if (num_threads <= 0) num_threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  // Each row is computed whole by one thread, so the result does not depend on how many there are.
  const auto stride = std::min<std::int64_t>(num_threads, rows);
  std::vector<std::thread> threads;
  for (std::int64_t first = 0; first < stride; ++first) {
    threads.emplace_back([&args, &result, first, stride, rows] {
      for (std::int64_t row = first; row < rows; row += stride) attend_row(args, row, result);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return result;
}

Comparison compare(const Reference& expected, const DecodeArgs& args, const Tolerances& tolerances) {
  Comparison comparison;
  const DecodeShape& shape = args.shape;
  for (std::int64_t row_idx = 0; row_idx < shape.rows(); ++row_idx) {
    const Row row = row_of(shape, row_idx);
    for (int head = 0; head < shape.num_heads; ++head) {
      const auto at = static_cast<std::size_t>(row_idx * shape.num_heads + head);
      const Bf16Bits* out = args.out.data + row.batch * args.out.stride_batch +
                            row.s_q * args.out.stride_s_q + head * args.out.stride_head;
      const RowError error = row_error(expected.out.data() + at * kValueDim, out);
      comparison.max_o_error = std::max(comparison.max_o_error, error.o_relative);
      if (!(error.o_relative <= tolerances.o_relative)) {
        fail(comparison,
             fmt::format("row {} head {}: out differs by {} of its norm; allowed: <= {}{}", row_idx, head,
                         error.o_relative, tolerances.o_relative, error.finite ? "" : " (not finite)"));
      }
      if (args.lse.data == nullptr) continue;
      const float lse = args.lse.data[row.batch * args.lse.stride_batch + row.s_q * args.lse.stride_s_q +
                                      head * args.lse.stride_head];
      const double lse_difference = lse_error(expected.lse[at], lse);
      comparison.max_lse_error = std::max(comparison.max_lse_error, lse_difference);
      if (!(lse_difference <= tolerances.lse_absolute)) {
        fail(comparison, fmt::format("row {} head {}: lse is {}; expected {} within {}", row_idx, head, lse,
                                     expected.lse[at], tolerances.lse_absolute));
      }
    }
  }
  return comparison;
}

}  // namespace wavefill::oracle
