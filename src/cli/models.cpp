// Figures from the models' published configurations (num_attention_heads, sliding_window, index_topk,
// compress_ratios) and, for the cache layouts, from FlashMLA 9241ae3.
#include "cli/models.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "core/errors.h"
#include "core/parse.h"

namespace wavefill::cli {
namespace {

constexpr std::int32_t kWindow = 128;  // DeepSeek-V4's sliding_window
constexpr std::int32_t kUnlimited = INT32_MAX;

constexpr std::array<LayerSpec, 3> kFlashLayers = {{
    {.name = "c4", .topk = kWindow, .max_extra = 512, .compression = 4},
    {.name = "c128", .topk = kWindow, .max_extra = kUnlimited, .compression = 128},
    {.name = "swa", .topk = kWindow, .max_extra = 0, .compression = 0},
}};
constexpr std::array<LayerSpec, 3> kProLayers = {{
    {.name = "c4", .topk = kWindow, .max_extra = 1024, .compression = 4},
    {.name = "c128", .topk = kWindow, .max_extra = kUnlimited, .compression = 128},
    {.name = "swa", .topk = kWindow, .max_extra = 0, .compression = 0},
}};
constexpr std::array<LayerSpec, 1> kV32Layers = {{
    {.name = "dsa", .topk = 2048, .max_extra = 0, .compression = 0},
}};

constexpr std::array<ModelSpec, 3> kModels = {{
    {.name = "dsv4-flash",
     .summary = "DeepSeek-V4-Flash: 64 heads, 128 + 512 tokens",
     .num_heads = 64,
     .kv_format = KvFormat::fp8_tile64_rope_bf16_footer,
     .layers = kFlashLayers},
    {.name = "dsv4-pro",
     .summary = "DeepSeek-V4-Pro: 128 heads, 128 + 1024 tokens",
     .num_heads = 128,
     .kv_format = KvFormat::fp8_tile64_rope_bf16_footer,
     .layers = kProLayers},
    {.name = "dsv32",
     .summary = "DeepSeek-V3.2: 128 heads, 2048 tokens",
     .num_heads = 128,
     .kv_format = KvFormat::fp8_tile128_rope_bf16_inline,
     .layers = kV32Layers},
}};

template <typename Spec>
std::string names_of(std::span<const Spec> specs) {
  std::string names;
  for (const Spec& spec : specs) names += (names.empty() ? "" : ", ") + std::string(spec.name);
  return names;
}

std::string divisors_of(std::int32_t value) {
  std::string list;
  for (std::int32_t divisor = 1; divisor <= value; ++divisor) {
    if (value % divisor == 0) list += (list.empty() ? "" : ", ") + std::to_string(divisor);
  }
  return list;
}

std::int32_t extra_tokens(const LayerSpec& layer, std::int64_t context) {
  if (layer.compression == 0) return 0;
  return static_cast<std::int32_t>(std::min<std::int64_t>(layer.max_extra, context / layer.compression));
}

}  // namespace

std::span<const ModelSpec> models() { return kModels; }

Result<const ModelSpec*> find_model(std::string_view name) {
  const auto found = std::ranges::find(kModels, name, &ModelSpec::name);
  if (found != kModels.end()) return &*found;
  return invalid_argument("--model is {}; allowed: {}", quote_text(name), names_of(models()));
}

Result<const LayerSpec*> find_layer(const ModelSpec& model, std::string_view name) {
  const auto found = std::ranges::find(model.layers, name, &LayerSpec::name);
  if (found != model.layers.end()) return &*found;
  return invalid_argument("--layer is {}; allowed for {}: {}", quote_text(name), model.name,
                          names_of(model.layers));
}

Result<DecodeShape> shape_of(const ModelSpec& model, const LayerSpec& layer, std::int64_t tp,
                             std::int64_t context) {
  if (tp < 1 || model.num_heads % tp != 0) {
    return invalid_argument("--tp is {}; allowed for the {} heads of {}: {}", tp, model.num_heads, model.name,
                            divisors_of(model.num_heads));
  }
  return DecodeShape{.batch = 1,
                     .s_q = 1,
                     .num_heads = static_cast<std::int32_t>(model.num_heads / tp),
                     .kv_format = model.kv_format,
                     .d_qk = default_d_qk(model.kv_format),
                     .topk = static_cast<std::int32_t>(std::min<std::int64_t>(layer.topk, context)),
                     .extra_topk = extra_tokens(layer, context)};
}

}  // namespace wavefill::cli
