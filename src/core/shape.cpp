#include "wavefill/shape.h"

#include "core/errors.h"

namespace wavefill {

Status validate(const DecodeShape& shape) {
  if (shape.batch < 1) return invalid_argument("batch is {}; allowed: >= 1", shape.batch);
  if (shape.s_q < 1) return invalid_argument("s_q is {}; allowed: >= 1", shape.s_q);
  if (shape.rows() > INT32_MAX) {
    return invalid_argument("batch * s_q is {}; allowed: <= {}", shape.rows(), INT32_MAX);
  }
  if (shape.num_heads < 1 || shape.num_heads > kMaxHeads) {
    return invalid_argument("num_heads is {}; allowed: 1..{}", shape.num_heads, kMaxHeads);
  }
  if (!is_valid_d_qk(shape.kv_format, shape.d_qk)) {
    return invalid_argument(
        "d_qk is {}; allowed for {}: {}", shape.d_qk, to_string(shape.kv_format),
        shape.kv_format == KvFormat::bf16 ? "512, 576" : std::to_string(default_d_qk(shape.kv_format)));
  }
  if (shape.topk < 0) return invalid_argument("topk is {}; allowed: >= 0", shape.topk);
  if (shape.extra_topk < 0) return invalid_argument("extra_topk is {}; allowed: >= 0", shape.extra_topk);
  return {};
}

}  // namespace wavefill
