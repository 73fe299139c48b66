// The models whose shapes have a name.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "wavefill/kv_format.h"
#include "wavefill/shape.h"
#include "wavefill/status.h"

namespace wavefill::cli {

// How many tokens a query of one layer type attends to.
struct LayerSpec {
  std::string_view name;         // "c4"
  std::int32_t topk = 0;         // most tokens of the main cache
  std::int32_t max_extra = 0;    // most tokens of the extra (compressed) cache
  std::int32_t compression = 0;  // tokens of context behind one of the extra cache; 0 = no extra cache
};

struct ModelSpec {
  std::string_view name;  // "dsv4-flash"
  std::string_view summary;
  std::int32_t num_heads = 0;
  KvFormat kv_format = KvFormat::bf16;
  std::span<const LayerSpec> layers;  // the default first
};

std::span<const ModelSpec> models();

inline constexpr std::int64_t kMaxContext = 1 << 20;  // the models' max_position_embeddings
inline constexpr std::int64_t kDefaultContext = 65'536;

// Errors: invalid_argument, naming the option, its value and the values allowed.
Result<const ModelSpec*> find_model(std::string_view name);
Result<const LayerSpec*> find_layer(const ModelSpec& model, std::string_view name);

// The attention of one rank of `tp`: heads divided, widths as far as `context` tokens reach.
// Errors: invalid_argument (tp does not divide the heads: lists those that do).
Result<DecodeShape> shape_of(const ModelSpec& model, const LayerSpec& layer, std::int64_t tp,
                             std::int64_t context);

}  // namespace wavefill::cli
