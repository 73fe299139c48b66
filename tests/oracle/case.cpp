#include "oracle/case.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace wavefill::oracle {
namespace {

constexpr KvFormat kDsv4 = KvFormat::fp8_tile64_rope_bf16_footer;
constexpr KvFormat kDsv32 = KvFormat::fp8_tile128_rope_bf16_inline;

DecodeShape shape_of(int batch, int s_q, int num_heads, KvFormat format, int topk, int extra_topk,
                     int d_qk = 0) {
  return {.batch = batch,
          .s_q = s_q,
          .num_heads = num_heads,
          .kv_format = format,
          .d_qk = d_qk == 0 ? default_d_qk(format) : d_qk,
          .topk = topk,
          .extra_topk = extra_topk};
}

// Collects rows; each case gets the seed of its place in the table.
class Table {
 public:
  template <typename Change>
  void add(std::string name, const DecodeShape& shape, Change change) {
    Case c;
    c.name = std::move(name);
    c.shape = shape;
    c.seed = cases_.size() + 1;
    change(c);
    cases_.push_back(std::move(c));
  }
  void add(std::string name, const DecodeShape& shape) {
    add(std::move(name), shape, [](Case&) {});
  }
  std::vector<Case> take() { return std::move(cases_); }

 private:
  std::vector<Case> cases_;
};

void add_models(Table& table) {
  table.add("dsv4_flash_window_only", shape_of(2, 1, 64, kDsv4, 128, 0),
            [](Case& c) { c.sink = Sink::random; });
  table.add("dsv4_flash_c4", shape_of(2, 1, 64, kDsv4, 128, 512), [](Case& c) {
    c.sink = Sink::random;
    c.page_size = 256;
    c.page_padding_bytes = 256;
  });
  table.add("dsv4_flash_c128", shape_of(2, 1, 64, kDsv4, 128, 192), [](Case& c) {
    c.sink = Sink::random;
    c.extra_page_size = 2;
    c.page_padding_bytes = 560;
    c.extra_lengths = Lengths::random;
  });
  table.add("dsv4_pro_c4", shape_of(1, 1, 128, kDsv4, 128, 1024), [](Case& c) { c.sink = Sink::random; });
  table.add("dsv4_flash_tp8_mtp", shape_of(3, 3, 8, kDsv4, 128, 512), [](Case& c) {
    c.sink = Sink::random;
    c.lengths = c.extra_lengths = Lengths::random;
  });
  table.add("dsv32", shape_of(1, 1, 128, kDsv32, 2048, 0), [](Case& c) {
    c.pool_tokens = 4096;
    c.page_padding_bytes = 656;
  });
  table.add("dsv32_mtp", shape_of(2, 2, 16, kDsv32, 512, 0), [](Case& c) { c.lengths = Lengths::random; });
}

void add_widths(Table& table) {
  for (const int num_heads : {1, 2, 7, 8, 16, 32, 64, 100, 128}) {
    table.add(fmt::format("heads_{}", num_heads), shape_of(2, 1, num_heads, kDsv4, 65, 64), [](Case& c) {
      c.sink = Sink::random;
      c.lengths = Lengths::random;
    });
  }
  for (const int topk : {0, 1, 63, 64, 65, 128, 256, 512, 1152, 2048}) {
    table.add(fmt::format("topk_{}", topk), shape_of(2, 1, 16, kDsv4, topk, topk == 0 ? 64 : 0));
  }
  for (const int extra_topk : {1, 63, 64, 65, 512}) {
    table.add(fmt::format("extra_{}", extra_topk), shape_of(2, 1, 16, kDsv4, 100, extra_topk),
              [](Case& c) { c.sink = Sink::zero; });
  }
  table.add("no_columns_at_all", shape_of(3, 2, 8, kDsv4, 0, 0), [](Case& c) { c.sink = Sink::random; });
  table.add("heads_32_topk_256_rows_7", shape_of(7, 1, 32, kDsv4, 256, 0));
  for (const int s_q : {2, 3}) {
    table.add(fmt::format("s_q_{}", s_q), shape_of(2, s_q, 8, kDsv4, 96, 64), [](Case& c) {
      c.lengths = c.extra_lengths = Lengths::random;
      c.lengths_per_request = true;
    });
  }
}

void add_formats(Table& table) {
  const std::pair<KvFormat, int> formats[] = {
      {kDsv4, 512}, {kDsv32, 576}, {KvFormat::bf16, 512}, {KvFormat::bf16, 576}};
  for (const auto& [format, d_qk] : formats) {
    const std::string prefix = fmt::format("{}_{}", short_name(format), d_qk);
    table.add(prefix + "_both_caches", shape_of(2, 1, 64, format, 128, 192, d_qk), [](Case& c) {
      c.sink = Sink::random;
      c.lengths = c.extra_lengths = Lengths::random;
    });
    // Few heads and many are different kernels' on a GPU.
    for (const int num_heads : {16, 64}) {
      const std::string of_heads = num_heads == 64 ? "_h64" : "";
      table.add(prefix + "_poisoned" + of_heads, shape_of(3, 1, num_heads, format, 130, 70, d_qk),
                [](Case& c) {
                  c.poison = true;
                  c.indices = c.extra_indices = Indices::holes;
                  c.lengths = c.extra_lengths = Lengths::random;
                  c.page_padding_bytes = 64;
                });
    }
    for (const int num_heads : {7, 71}) {
      const std::string of_heads = num_heads == 71 ? "_h71" : "";
      table.add(prefix + "_strided" + of_heads, shape_of(2, 2, num_heads, format, 96, 33, d_qk), [](Case& c) {
        c.strided = true;
        c.lengths = Lengths::random;
        c.sink = Sink::random;
      });
    }
    table.add(prefix + "_leading_holes", shape_of(2, 1, 16, format, 80, 0, d_qk),
              [](Case& c) { c.indices = Indices::leading_64_holes; });
  }
  for (const KvFormat format : {kDsv4, kDsv32}) {
    table.add(fmt::format("{}_odd_scales", short_name(format)), shape_of(2, 1, 32, format, 200, 70),
              [](Case& c) { c.odd_scales = true; });
    table.add(fmt::format("{}_odd_scales_h64", short_name(format)), shape_of(3, 1, 64, format, 700, 130),
              [](Case& c) { c.odd_scales = true; });
    table.add(fmt::format("{}_odd_scales_lengths_h64", short_name(format)),
              shape_of(3, 1, 64, format, 200, 70), [](Case& c) {
                c.odd_scales = true;
                c.lengths = c.extra_lengths = Lengths::random;
              });
    for (const int num_heads : {16, 64}) {
      table.add(fmt::format("{}_odd_scales_one_key_h{}", short_name(format), num_heads),
                shape_of(4, 1, num_heads, format, 1, 0), [](Case& c) { c.odd_scales = true; });
    }
  }
}

void add_pages(Table& table) {
  for (const int page_size : {1, 2, 32, 48, 64, 256, 1024}) {
    table.add(fmt::format("page_{}", page_size), shape_of(2, 1, 16, kDsv4, 128, 64), [page_size](Case& c) {
      c.page_size = page_size;
      c.extra_page_size = page_size == 64 ? 2 : 64;
      c.page_padding_bytes = page_size == 1 ? 0 : 64;
      c.pool_tokens = 2048;
    });
    table.add(fmt::format("dsv32_page_{}", page_size), shape_of(1, 1, 8, kDsv32, 70, 0),
              [page_size](Case& c) {
                c.page_size = page_size;
                c.pool_tokens = 2048;
              });
  }
}

void add_lengths_and_holes(Table& table) {
  const std::pair<const char*, Lengths> lengths[] = {
      {"full", Lengths::full},     {"zero", Lengths::zero},     {"one", Lengths::one},
      {"random", Lengths::random}, {"skewed", Lengths::skewed}, {"one_empty_row", Lengths::one_empty_row}};
  for (const auto& [name, kind] : lengths) {
    table.add(fmt::format("lengths_{}", name), shape_of(5, 1, 16, kDsv4, 192, 128), [kind = kind](Case& c) {
      c.lengths = c.extra_lengths = kind;
      c.sink = Sink::random;
      c.poison = true;
    });
  }
  const std::pair<const char*, Indices> holes[] = {{"holes", Indices::holes},
                                                   {"leading_16_holes", Indices::leading_16_holes},
                                                   {"leading_64_holes", Indices::leading_64_holes},
                                                   {"only_last", Indices::only_last},
                                                   {"all_holes", Indices::all_holes},
                                                   {"duplicates", Indices::duplicates}};
  for (const auto& [name, kind] : holes) {
    table.add(fmt::format("indices_{}", name), shape_of(3, 1, 16, kDsv4, 192, 64), [kind = kind](Case& c) {
      c.indices = kind;
      c.sink = Sink::random;
      c.poison = true;
    });
  }
  table.add("leading_16_holes_then_one", shape_of(1, 1, 8, kDsv4, 17, 0),
            [](Case& c) { c.indices = Indices::leading_16_holes; });
  table.add("main_side_empty", shape_of(3, 1, 16, kDsv4, 128, 64),
            [](Case& c) { c.lengths = Lengths::zero; });
  table.add("extra_side_empty", shape_of(3, 1, 16, kDsv4, 128, 64),
            [](Case& c) { c.extra_lengths = Lengths::zero; });
  table.add("first_split_masked", shape_of(2, 1, 16, kDsv4, 128, 64), [](Case& c) {
    c.indices = Indices::all_holes;
    c.sink = Sink::zero;
  });
  table.add("rows_65_tails_garbage", shape_of(65, 1, 4, kDsv4, 48, 0), [](Case& c) {
    c.lengths = Lengths::random;
    c.poison = true;
  });
}

void add_softmax(Table& table) {
  const std::pair<const char*, Sink> sinks[] = {{"none", Sink::none},
                                                {"minus_infinity", Sink::minus_infinity},
                                                {"zero", Sink::zero},
                                                {"plus_30", Sink::plus_30}};
  for (const auto& [name, kind] : sinks) {
    table.add(fmt::format("sink_{}", name), shape_of(2, 1, 64, kDsv4, 128, 64), [kind = kind](Case& c) {
      c.sink = kind;
      c.lengths = Lengths::one_empty_row;
    });
  }
  table.add("peaked_scores", shape_of(2, 1, 16, kDsv4, 256, 64), [](Case& c) {
    c.q_scale = 8.0F;
    // Scores of a few tens: one unit in the last place of their fp32 sums is already 4e-6.
    c.tolerances.lse_absolute = 5e-5;
  });
  // Where few tokens carry a row, what rounding does to their weights does not average out.
  table.add("few_tokens_dominate", shape_of(64, 1, 16, kDsv4, 64, 64), [](Case& c) { c.q_scale = 3.0F; });
  table.add("flat_scores", shape_of(2, 1, 16, kDsv4, 512, 64), [](Case& c) { c.q_scale = 0.0F; });
  table.add("without_lse", shape_of(2, 1, 16, kDsv4, 128, 64), [](Case& c) { c.wants_lse = false; });
}

std::vector<Case> make_table() {
  Table table;
  add_models(table);
  add_widths(table);
  add_formats(table);
  add_pages(table);
  add_lengths_and_holes(table);
  add_softmax(table);
  return table.take();
}

}  // namespace

std::span<const Case> all_cases() {
  static const std::vector<Case> table = make_table();
  return table;
}

}  // namespace wavefill::oracle
