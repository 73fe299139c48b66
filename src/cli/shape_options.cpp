#include "cli/shape_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "cli/models.h"
#include "cli/number_list.h"
#include "core/errors.h"
#include "core/parse.h"
#include "report/report.h"

namespace wavefill::cli {
namespace {

constexpr std::int64_t kMaxTokens = 1 << 24;
constexpr std::int64_t kMaxQueryTokens = 1024;

Result<std::int64_t> integer_or(std::string_view option, const std::string& text, std::int64_t fallback,
                                std::int64_t min, std::int64_t max) {
  if (text.empty()) return fallback;
  return parse_integer(option, text, min, max);
}

// A model says all of these itself.
Status check_exclusive(const ShapeOptions& options) {
  const std::array<std::pair<std::string_view, const std::string*>, 5> numbers = {
      {{"--heads", &options.heads},
       {"--topk", &options.topk},
       {"--extra-topk", &options.extra_topk},
       {"--format", &options.format},
       {"--d-qk", &options.d_qk}}};
  const std::array<std::pair<std::string_view, const std::string*>, 3> of_model = {
      {{"--tp", &options.tp}, {"--layer", &options.layer}, {"--context", &options.context}}};
  if (!options.model.empty()) {
    for (const auto& [option, text] : numbers) {
      if (!text->empty())
        return invalid_argument("{} is given with --model, which says it; allowed: one of them", option);
    }
    return {};
  }
  for (const auto& [option, text] : of_model) {
    if (!text->empty()) return invalid_argument("{} is given without --model; allowed: only with it", option);
  }
  return {};
}

Result<NamedShape> read_model_shape(const ShapeOptions& options) {
  const Result<const ModelSpec*> model = find_model(options.model);
  if (!model.ok()) return model.status();
  const Result<const LayerSpec*> layer = options.layer.empty()
                                             ? Result<const LayerSpec*>(&(*model)->layers.front())
                                             : find_layer(**model, options.layer);
  if (!layer.ok()) return layer.status();
  const Result<std::int64_t> tp = integer_or("--tp", options.tp, 1, 1, kMaxHeads);
  if (!tp.ok()) return tp.status();
  const Result<std::int64_t> context =
      integer_or("--context", options.context, kDefaultContext, 1, kMaxContext);
  if (!context.ok()) return context.status();
  const Result<DecodeShape> shape = shape_of(**model, **layer, *tp, *context);
  if (!shape.ok()) return shape.status();
  std::string title = fmt::format("{}, TP {}", (*model)->name, *tp);
  if (!options.layer.empty()) title += fmt::format(", {} layers", (*layer)->name);
  if (!options.context.empty()) title += fmt::format(", {} tokens of context", *context);
  return NamedShape{.shape = *shape, .title = std::move(title), .tp = *tp};
}

Result<NamedShape> read_number_shape(const ShapeOptions& options) {
  if (options.heads.empty() || options.topk.empty()) {
    return invalid_argument("no shape is given; allowed: --model, or --heads and --topk");
  }
  NamedShape named;
  if (!options.format.empty()) {
    const Result<KvFormat> format = parse_kv_format(options.format);
    if (!format.ok()) return format.status();
    named.shape.kv_format = *format;
  }
  const Result<std::int64_t> heads = parse_integer("--heads", options.heads, 1, kMaxHeads);
  if (!heads.ok()) return heads.status();
  const Result<std::int64_t> topk = parse_integer("--topk", options.topk, 0, kMaxTokens);
  if (!topk.ok()) return topk.status();
  const Result<std::int64_t> extra_topk = integer_or("--extra-topk", options.extra_topk, 0, 0, kMaxTokens);
  if (!extra_topk.ok()) return extra_topk.status();
  const Result<std::int64_t> d_qk =
      integer_or("--d-qk", options.d_qk, default_d_qk(named.shape.kv_format), 1, 1 << 16);
  if (!d_qk.ok()) return d_qk.status();
  named.shape.num_heads = static_cast<std::int32_t>(*heads);
  named.shape.topk = static_cast<std::int32_t>(*topk);
  named.shape.extra_topk = static_cast<std::int32_t>(*extra_topk);
  named.shape.d_qk = static_cast<std::int32_t>(*d_qk);
  named.title = report::shape_text(named.shape);
  return named;
}

}  // namespace

void add_shape_options(OptionSet& set, ShapeOptions& options, Degrees degrees) {
  std::string models_help = "model whose attention to take:";
  for (const ModelSpec& model : models()) models_help += fmt::format(" {}", model.name);
  set.begin_group("Shape");
  set.text("--model", options.model, "NAME", models_help);
  const bool is_list = degrees == Degrees::list;
  set.text("--tp", options.tp, is_list ? "LIST" : "N",
           fmt::format("tensor-parallel ranks that share the model's heads{} (default 1)",
                       is_list ? ": 8, or 1,4,8 for a shape each" : ""));
  set.text("--layer", options.layer, "NAME", "layer type of the model: c4 (default), c128, swa; dsv32: dsa");
  set.text("--context", options.context, "N",
           "tokens of context, where the layer's width depends on it (default 65536)");
  set.text("--heads", options.heads, "N", "query heads of this rank, 1..128");
  set.text("--topk", options.topk, "N", "index columns into the main (window) cache");
  set.text("--extra-topk", options.extra_topk, "N",
           "index columns into the extra (compressed) cache (default 0)");
  set.text("--format", options.format, "NAME", "cache format: dsv4 (default), dsv32, bf16");
  set.text("--d-qk", options.d_qk, "N", "key width: 512 or 576 for bf16; else the format's");
  set.text("--s-q", options.s_q, "N", "query tokens a request (default 1)");
}

bool is_given(const ShapeOptions& options) {
  for (const std::string* text :
       {&options.model, &options.tp, &options.layer, &options.context, &options.heads, &options.topk,
        &options.extra_topk, &options.format, &options.d_qk, &options.s_q}) {
    if (!text->empty()) return true;
  }
  return false;
}

Result<NamedShape> read_shape(const ShapeOptions& options) {
  WAVEFILL_RETURN_IF_ERROR(check_exclusive(options));
  Result<NamedShape> named = options.model.empty() ? read_number_shape(options) : read_model_shape(options);
  if (!named.ok()) return named;
  const Result<std::int64_t> s_q = integer_or("--s-q", options.s_q, 1, 1, kMaxQueryTokens);
  if (!s_q.ok()) return s_q.status();
  named->shape.s_q = static_cast<std::int32_t>(*s_q);
  WAVEFILL_RETURN_IF_ERROR(validate(named->shape));
  return named;
}

Result<std::vector<NamedShape>> read_shapes(const ShapeOptions& options) {
  if (options.model.empty() || options.tp.empty()) {
    Result<NamedShape> only = read_shape(options);
    if (!only.ok()) return only.status();
    return std::vector{*std::move(only)};
  }
  const Result<std::vector<std::int32_t>> degrees = parse_number_list("--tp", options.tp, kMaxHeads);
  if (!degrees.ok()) return degrees.status();
  std::vector<NamedShape> shapes;
  for (const std::int32_t degree : *degrees) {
    ShapeOptions one = options;
    one.tp = std::to_string(degree);
    Result<NamedShape> named = read_shape(one);
    if (!named.ok()) return named.status();
    shapes.push_back(*std::move(named));
  }
  return shapes;
}

}  // namespace wavefill::cli
