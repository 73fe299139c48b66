// What is timed over: pools far larger than the L2, and as many index sets as a round needs.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "backend_cuda/bench_pool.h"
#include "backend_cuda/device_inputs.h"
#include "wavefill/decode_args.h"

namespace wavefill::test {

inline constexpr std::int64_t kPoolTokens = 2 << 20;
inline constexpr int kPageSize = 64;
// What is touched between two uses of an index set.
inline constexpr std::int64_t kMinRoundBytes = 256LL << 20;

struct Options {
  KvFormat format = KvFormat::fp8_tile64_rope_bf16_footer;
  std::vector<int> heads = {64, 16, 8};
  std::vector<int> batches = {1, 64, 128};
  std::vector<std::string> settings = {"fixed=1", "balanced"};
  std::string kernel;              // a part of the names to time
  std::string indices = "random";  // "same": one token, so that all comes from the L2; "none": no tokens
  int topk = 128;
  int extra_topk = 512;
};

// Pools, queries and index sets for the largest shape; smaller ones use their beginnings.
class Pool {
 public:
  explicit Pool(const Options& options) : options_(options) {
    d_qk_ = default_d_qk(options.format);
    page_stride_ = (min_page_stride_bytes(options.format, d_qk_, kPageSize) + 575) / 576 * 576;
    if (options.format != KvFormat::fp8_tile64_rope_bf16_footer) {
      page_stride_ = min_page_stride_bytes(options.format, d_qk_, kPageSize);
    }
    const auto bytes = static_cast<std::size_t>(kPoolTokens / kPageSize * page_stride_);
    const int caches = options.extra_topk > 0 ? 2 : 1;
    for (int i = 0; i < caches; ++i) {
      kv_[i] = DeviceBuffer(bytes);
      fill_pool(kv_[i].as<std::byte>(), bytes, options.format, kPageSize, page_stride_, 17 + i);
    }
    const int batch = *std::ranges::max_element(options.batches);
    const int heads = *std::ranges::max_element(options.heads);
    q_ = DeviceBuffer(std::size_t(batch) * heads * d_qk_ * 2);
    fill_query(q_.as<std::uint16_t>(), q_.bytes() / 2, 3);
    out_ = DeviceBuffer(std::size_t(batch) * heads * kValueDim * 2);
    lse_ = DeviceBuffer(std::size_t(batch) * heads * 4);
    std::size_t rows = 0;
    for (const int b : options.batches) rows = std::max(rows, std::size_t(b) * num_sets(b));
    indices_[0] = DeviceBuffer(rows * options.topk * 4);
    indices_[1] = DeviceBuffer(rows * options.extra_topk * 4);
    for (int i = 0; i < caches; ++i) {
      fill_indices(indices_[i].as<std::int32_t>(), indices_[i].bytes() / 4,
                   options.indices == "same" ? 1 : kPoolTokens, 29 + i);
      if (options.indices == "none") check_cuda(cudaMemset(indices_[i].as(), 0xFF, indices_[i].bytes()));
    }
    check_cuda(cudaDeviceSynchronize());
  }

  DecodeShape shape(int heads, int batch) const {
    return {.batch = batch,
            .s_q = 1,
            .num_heads = heads,
            .kv_format = options_.format,
            .d_qk = d_qk_,
            .topk = options_.topk,
            .extra_topk = options_.extra_topk};
  }

  int num_sets(int batch) const {
    const std::int64_t bytes =
        batch * kv_token_bytes(options_.format, d_qk_) * (options_.topk + options_.extra_topk);
    return static_cast<int>(std::max<std::int64_t>(2, (kMinRoundBytes + bytes - 1) / bytes));
  }

  DecodeArgs args(const DecodeShape& shape, int set) const {
    DecodeArgs args;
    args.shape = shape;
    args.q = contiguous_query(shape, q_.as<const Bf16Bits>());
    args.main = cache(shape, 0, shape.topk, set);
    if (shape.extra_topk > 0) args.extra = cache(shape, 1, shape.extra_topk, set);
    args.sm_scale = 1.0F / std::sqrt(static_cast<float>(shape.d_qk));
    args.out = contiguous_output(shape, out_.as<Bf16Bits>());
    args.lse = contiguous_lse(shape, lse_.as<float>());
    return args;
  }

  std::vector<Bf16Bits> fetch_out(const DecodeShape& shape) const {
    std::vector<Bf16Bits> host(static_cast<std::size_t>(shape.rows()) * shape.num_heads * kValueDim);
    out_.copy_to(std::span(host));
    return host;
  }

 private:
  SparseCache cache(const DecodeShape& shape, int which, int topk, int set) const {
    SparseCache cache;
    cache.kv = {.data = kv_[which].as<const std::byte>(),
                .num_pages = kPoolTokens / kPageSize,
                .page_size = kPageSize,
                .page_stride_bytes = page_stride_};
    const auto* first = indices_[which].as<const std::int32_t>() + shape.rows() * topk * set;
    cache.indices = contiguous_indices(shape, first, topk);
    return cache;
  }

  Options options_;
  int d_qk_ = 0;
  std::int64_t page_stride_ = 0;
  DeviceBuffer kv_[2], q_, out_, lse_, indices_[2];
};

}  // namespace wavefill::test
