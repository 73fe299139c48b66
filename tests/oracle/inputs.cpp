#include "oracle/inputs.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <utility>

#include "core/bf16.h"
#include "core/math.h"
#include "oracle/token_writer.h"

namespace wavefill::oracle {
namespace {

constexpr Bf16Bits kPoisonBf16 = 0xFFFF;  // a NaN
constexpr std::byte kPoisonByte{0xFF};    // NaN as e4m3, UE8M0, bf16 and fp32 alike
constexpr std::int32_t kGarbageIndex = 0x7FFF'0000;
// Tokens of a pool repeat after this many: making more takes longer. A prime, so that no error in a page size
// or stride lands on the same content.
constexpr std::int64_t kMaxDistinctTokens = 251;
constexpr float kPlus30 = 30.0F;

using Rng = std::mt19937_64;

std::int32_t uniform(Rng& rng, std::int64_t begin, std::int64_t end) {
  return static_cast<std::int32_t>(std::uniform_int_distribution<std::int64_t>(begin, end - 1)(rng));
}

std::int32_t draw_length(Lengths kind, std::int64_t at, std::int64_t count, int topk, Rng& rng) {
  switch (kind) {
    case Lengths::absent:
    case Lengths::full: return topk;
    case Lengths::zero: return 0;
    case Lengths::one: return std::min(1, topk);
    case Lengths::random: return uniform(rng, 0, std::int64_t{topk} + 1);
    case Lengths::skewed: return at == count / 2 ? topk : uniform(rng, 0, topk / 8 + 1);
    case Lengths::one_empty_row: return at == count / 2 ? 0 : topk;
  }
  return topk;
}

bool is_hole(Indices kind, int column, int length, Rng& rng) {
  switch (kind) {
    case Indices::random:
    case Indices::duplicates: return false;
    case Indices::holes: return rng() % 4 == 0;
    case Indices::leading_16_holes: return column < 16;
    case Indices::leading_64_holes: return column < 64;
    case Indices::only_last: return column != length - 1;
    case Indices::all_holes: return true;
  }
  return false;
}

float draw_sink(Sink kind, Rng& rng) {
  switch (kind) {
    case Sink::none:
    case Sink::minus_infinity: return -std::numeric_limits<float>::infinity();
    case Sink::zero: return 0.0F;
    case Sink::plus_30: return kPlus30;
    case Sink::random: return std::normal_distribution<float>(0.0F, 2.0F)(rng);
  }
  return 0.0F;
}

// What both kinds of inputs say about one cache.
struct CacheSpec {
  int topk = 0;
  int page_size = 0;
  std::int64_t pool_tokens = 0;
  Lengths lengths = Lengths::absent;
  Indices indices = Indices::random;
  bool is_extra = false;
};

KvCacheView pool_view(const DecodeShape& shape, const CacheSpec& spec, std::int64_t padding_bytes) {
  return {.data = nullptr,
          .num_pages = ceil_div<std::int64_t>(spec.pool_tokens, spec.page_size),
          .page_size = spec.page_size,
          .page_stride_bytes =
              min_page_stride_bytes(shape.kv_format, shape.d_qk, spec.page_size) + padding_bytes};
}

// Row lengths, and the length tensor unless it is absent.
std::vector<std::int32_t> draw_lengths(const Case& c, const CacheSpec& spec, LengthView& view,
                                       std::vector<std::int32_t>& tensor, Rng& rng) {
  if (spec.lengths == Lengths::absent) return {};
  const std::int64_t count = c.lengths_per_request ? c.shape.batch : c.shape.rows();
  for (std::int64_t at = 0; at < count; ++at) {
    tensor.push_back(draw_length(spec.lengths, at, count, spec.topk, rng));
  }
  view = c.lengths_per_request ? LengthView{.data = nullptr, .stride_batch = 1, .stride_s_q = 0}
                               : contiguous_lengths(c.shape, nullptr);
  std::vector<std::int32_t> rows;
  for (std::int64_t row = 0; row < c.shape.rows(); ++row) {
    rows.push_back(tensor[static_cast<std::size_t>(c.lengths_per_request ? row / c.shape.s_q : row)]);
  }
  return rows;
}

// Fills one row of `topk` columns; returns how many name a token.
std::int64_t draw_indices(const Case& c, const CacheSpec& spec, std::int64_t num_tokens, std::int32_t length,
                          std::int32_t* columns, Rng& rng) {
  const std::int64_t first = c.poison ? 1 : 0;
  const std::int64_t end = spec.indices == Indices::duplicates ? std::min(num_tokens, first + 3) : num_tokens;
  std::int64_t valid = 0;
  for (int column = 0; column < spec.topk; ++column) {
    const std::int32_t token = uniform(rng, first, end);
    if (column >= length) {
      columns[column] = c.poison ? kGarbageIndex + column : token;
    } else {
      const bool hole = is_hole(spec.indices, column, length, rng);
      columns[column] = hole ? -1 : token;
      valid += hole ? 0 : 1;
    }
  }
  return valid;
}

// Writes every token, or with poison only those that some row names.
void fill_pool(const Case& c, const KvCacheView& view, const std::vector<std::int32_t>& indices,
               Inputs::PoolBytes& pool, Rng& rng) {
  pool.assign(static_cast<std::size_t>(view.num_pages * view.page_stride_bytes), kPoisonByte);
  const std::int64_t num_tokens = view.num_tokens();
  std::vector<TokenBytes> distinct;
  for (std::int64_t at = 0; at < std::min(num_tokens, kMaxDistinctTokens); ++at) {
    distinct.push_back(random_token(c.shape, c.odd_scales, rng));
  }
  std::vector<bool> wanted(static_cast<std::size_t>(num_tokens), !c.poison);
  if (c.poison) {
    for (const std::int32_t index : indices) {
      if (index >= 0 && index < num_tokens) wanted[static_cast<std::size_t>(index)] = true;
    }
  }
  for (std::int64_t token = 0; token < num_tokens; ++token) {
    if (!wanted[static_cast<std::size_t>(token)]) continue;
    write_token(c.shape, view, pool.data(), token,
                distinct[static_cast<std::size_t>(token) % distinct.size()]);
  }
}

// Elements a tensor of these strides needs: one past its last.
template <typename View>
std::size_t extent(const DecodeShape& shape, const View& view, std::int64_t width) {
  return static_cast<std::size_t>((shape.batch - 1) * view.stride_batch + (shape.s_q - 1) * view.stride_s_q +
                                  (shape.num_heads - 1) * view.stride_head + width);
}

// Gaps of 8 bf16 (16 bytes) between heads and 64 between tokens keep rows as aligned as a GPU wants them.
template <typename View>
void widen(const DecodeShape& shape, View& view, std::int64_t width) {
  view.stride_head = width + 8;
  view.stride_s_q = shape.num_heads * view.stride_head + 64;
  view.stride_batch = shape.s_q * view.stride_s_q + 64;
}

// Calls visit(offset of (batch, s_q, head)) for every head of every row.
template <typename View, typename Visit>
void for_each_head(const DecodeShape& shape, const View& view, Visit visit) {
  for (std::int64_t batch = 0; batch < shape.batch; ++batch) {
    for (std::int64_t s_q = 0; s_q < shape.s_q; ++s_q) {
      for (std::int64_t head = 0; head < shape.num_heads; ++head) {
        visit(static_cast<std::size_t>(batch * view.stride_batch + s_q * view.stride_s_q +
                                       head * view.stride_head));
      }
    }
  }
}

template <typename View, typename T, typename IsPoison>
bool untouched_outside(const DecodeShape& shape, const View& view, std::int64_t width,
                       const std::vector<T>& buffer, IsPoison is_poison) {
  std::vector<bool> inside(buffer.size(), false);
  for_each_head(shape, view, [&](std::size_t at) {
    std::fill_n(inside.begin() + static_cast<std::ptrdiff_t>(at), width, true);
  });
  for (std::size_t at = 0; at < buffer.size(); ++at) {
    if (!inside[at] && !is_poison(buffer[at])) return false;
  }
  return true;
}

CacheSpec main_spec(const Case& c) {
  return {.topk = c.shape.topk,
          .page_size = c.page_size,
          .pool_tokens = c.pool_tokens,
          .lengths = c.lengths,
          .indices = c.indices,
          .is_extra = false};
}

CacheSpec extra_spec(const Case& c) {
  return {.topk = c.shape.extra_topk,
          .page_size = c.extra_page_size,
          .pool_tokens = c.extra_pool_tokens,
          .lengths = c.extra_lengths,
          .indices = c.extra_indices,
          .is_extra = true};
}

// A benchmark's pool is a case whose lengths, if any, are then set by hand.
Case case_of(const PoolSpec& spec) {
  Case c;
  c.shape = spec.shape;
  c.page_size = spec.page_size;
  c.extra_page_size = spec.extra_page_size;
  c.page_padding_bytes = spec.page_padding_bytes;
  c.pool_tokens = spec.pool_tokens;
  c.extra_pool_tokens = spec.extra_pool_tokens;
  c.lengths = spec.lengths.empty() ? Lengths::absent : Lengths::full;
  c.extra_lengths = spec.extra_lengths.empty() ? Lengths::absent : Lengths::full;
  c.sink = spec.sink;
  c.seed = spec.seed;
  return c;
}

}  // namespace

Inputs::Inputs(const Case& test_case) { build(test_case, {}, {}); }

Inputs::Inputs(const PoolSpec& spec) : num_index_sets_(spec.num_index_sets) {
  build(case_of(spec), spec.lengths, spec.extra_lengths);
}

void Inputs::build(const Case& c, std::span<const std::int32_t> lengths,
                   std::span<const std::int32_t> extra_lengths) {
  Rng rng(c.seed);
  template_.shape = c.shape;
  template_.sm_scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(c.shape.d_qk)));
  build_query_and_outputs(c);
  const CacheSpec specs[] = {main_spec(c), extra_spec(c)};
  for (const CacheSpec& spec : specs) {
    if (spec.topk == 0) continue;
    CacheBuffers& cache = spec.is_extra ? extra_ : main_;
    std::vector<std::int32_t>& row_lengths = spec.is_extra ? extra_row_lengths_ : row_lengths_;
    const auto given = spec.is_extra ? extra_lengths : lengths;
    cache.view.kv = pool_view(c.shape, spec, c.page_padding_bytes);
    row_lengths = draw_lengths(c, spec, cache.view.lengths, cache.lengths, rng);
    if (!given.empty()) row_lengths = cache.lengths = {given.begin(), given.end()};

    IndexView& view = cache.view.indices;
    view = contiguous_indices(c.shape, nullptr, spec.topk);
    if (c.strided) {
      view.stride_s_q += 5;
      view.stride_batch = c.shape.s_q * view.stride_s_q + 3;
    }
    cache.index_set_elements = c.shape.batch * view.stride_batch;
    cache.indices.assign(static_cast<std::size_t>(num_index_sets_ * cache.index_set_elements), kGarbageIndex);
    for (std::int64_t row = 0; row < num_index_sets_ * c.shape.rows(); ++row) {
      const std::int64_t in_set = row % c.shape.rows();
      const std::int64_t at = row / c.shape.rows() * cache.index_set_elements +
                              in_set / c.shape.s_q * view.stride_batch +
                              in_set % c.shape.s_q * view.stride_s_q;
      const std::int32_t length =
          row_lengths.empty() ? spec.topk : row_lengths[static_cast<std::size_t>(in_set)];
      const std::int64_t valid =
          draw_indices(c, spec, cache.view.kv.num_tokens(), length, cache.indices.data() + at, rng);
      if (row < c.shape.rows()) kv_bytes_per_set_ += valid * kv_token_bytes(c.shape.kv_format, c.shape.d_qk);
    }
    fill_pool(c, cache.view.kv, cache.indices, cache.pool, rng);
  }
}

void Inputs::build_query_and_outputs(const Case& c) {
  Rng rng(c.seed ^ 0x9E37'79B9'7F4A'7C15ULL);  // another stream than the caches'
  template_.q = contiguous_query(c.shape, nullptr);
  template_.out = contiguous_output(c.shape, nullptr);
  template_.lse = contiguous_lse(c.shape, nullptr);
  if (c.strided) {
    widen(c.shape, template_.q, c.shape.d_qk);
    widen(c.shape, template_.out, kValueDim);
    template_.lse.stride_s_q = 1;
    template_.lse.stride_head = c.shape.s_q;
    template_.lse.stride_batch = std::int64_t{c.shape.num_heads} * c.shape.s_q + 3;
  }
  q_.assign(extent(c.shape, template_.q, c.shape.d_qk), kPoisonBf16);
  std::normal_distribution<float> normal(0.0F, c.q_scale);
  for_each_head(c.shape, template_.q, [&](std::size_t at) {
    for (int dim = 0; dim < c.shape.d_qk; ++dim)
      q_[at + static_cast<std::size_t>(dim)] = bf16_from_float(normal(rng));
  });
  if (c.sink != Sink::none) {
    for (int head = 0; head < c.shape.num_heads; ++head) sink_.push_back(draw_sink(c.sink, rng));
  }
  out_.resize(extent(c.shape, template_.out, kValueDim));
  if (c.wants_lse) lse_.resize(extent(c.shape, template_.lse, 1));
  poison_outputs();
}

SparseCache Inputs::view_of(const CacheBuffers& buffers, std::int32_t index_set) const {
  SparseCache view = buffers.view;
  if (buffers.pool.empty()) return view;
  view.kv.data = buffers.pool.data();
  view.indices.data = buffers.indices.data() + index_set * buffers.index_set_elements;
  view.lengths.data = buffers.lengths.empty() ? nullptr : buffers.lengths.data();
  return view;
}

DecodeArgs Inputs::args(std::int32_t index_set) {
  DecodeArgs args = template_;
  args.q.data = q_.data();
  args.main = view_of(main_, index_set);
  args.extra = view_of(extra_, index_set);
  args.sink = sink_.empty() ? nullptr : sink_.data();
  args.out.data = out_.data();
  args.lse.data = lse_.empty() ? nullptr : lse_.data();
  return args;
}

void Inputs::poison_outputs() {
  std::ranges::fill(out_, kPoisonBf16);
  std::ranges::fill(lse_, std::numeric_limits<float>::quiet_NaN());
}

bool Inputs::gaps_intact() const {
  return untouched_outside(template_.shape, template_.out, kValueDim, out_,
                           [](Bf16Bits bits) { return bits == kPoisonBf16; }) &&
         (lse_.empty() || untouched_outside(template_.shape, template_.lse, 1, lse_,
                                            [](float value) { return std::isnan(value); }));
}

}  // namespace wavefill::oracle
