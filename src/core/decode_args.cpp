#include "wavefill/decode_args.h"

#include <cmath>

#include "core/errors.h"

namespace wavefill {
namespace {

// A field is named in two parts, so that names are put together for messages only: validate() runs before
// every call, where nothing may be allocated.
Status validate_non_negative(std::string_view tensor, std::string_view field, std::int64_t stride) {
  if (stride < 0) return invalid_argument("{}.{} is {}; allowed: >= 0", tensor, field, stride);
  return {};
}

Status validate_present(std::string_view tensor, std::string_view field, const void* pointer) {
  if (pointer == nullptr) return invalid_argument("{}.{} is null; allowed: a valid pointer", tensor, field);
  return {};
}

Status validate_cache(std::string_view name, const DecodeShape& shape, const SparseCache& cache) {
  const KvCacheView& kv = cache.kv;
  if (kv.num_pages < 0) return invalid_argument("{}.kv.num_pages is {}; allowed: >= 0", name, kv.num_pages);
  if (kv.page_size < 1) return invalid_argument("{}.kv.page_size is {}; allowed: >= 1", name, kv.page_size);
  const std::int64_t least = min_page_stride_bytes(shape.kv_format, shape.d_qk, kv.page_size);
  if (kv.page_stride_bytes < least) {
    return invalid_argument("{}.kv.page_stride_bytes is {}; allowed: >= {} ({} tokens of {} bytes)", name,
                            kv.page_stride_bytes, least, kv.page_size,
                            kv_token_bytes(shape.kv_format, shape.d_qk));
  }
  if (kv.num_pages > 0) WAVEFILL_RETURN_IF_ERROR(validate_present(name, "kv.data", kv.data));
  WAVEFILL_RETURN_IF_ERROR(validate_present(name, "indices.data", cache.indices.data));
  for (const auto& [field, stride] : {std::pair{"indices.stride_batch", cache.indices.stride_batch},
                                      std::pair{"indices.stride_s_q", cache.indices.stride_s_q},
                                      std::pair{"lengths.stride_batch", cache.lengths.stride_batch},
                                      std::pair{"lengths.stride_s_q", cache.lengths.stride_s_q}}) {
    WAVEFILL_RETURN_IF_ERROR(validate_non_negative(name, field, stride));
  }
  return {};
}

template <typename View>
Status validate_strides(std::string_view name, const View& view) {
  WAVEFILL_RETURN_IF_ERROR(validate_non_negative(name, "stride_batch", view.stride_batch));
  WAVEFILL_RETURN_IF_ERROR(validate_non_negative(name, "stride_s_q", view.stride_s_q));
  return validate_non_negative(name, "stride_head", view.stride_head);
}

// Head-major 3-d strides of a contiguous [batch, s_q, num_heads, width] tensor.
template <typename View, typename T>
View contiguous(const DecodeShape& shape, T* data, std::int64_t width) {
  return {.data = data,
          .stride_batch = width * shape.num_heads * shape.s_q,  // width first: 64-bit products
          .stride_s_q = width * shape.num_heads,
          .stride_head = width};
}

}  // namespace

QueryView contiguous_query(const DecodeShape& shape, const Bf16Bits* data) {
  return contiguous<QueryView>(shape, data, shape.d_qk);
}

OutputView contiguous_output(const DecodeShape& shape, Bf16Bits* data) {
  return contiguous<OutputView>(shape, data, kValueDim);
}

LseView contiguous_lse(const DecodeShape& shape, float* data) { return contiguous<LseView>(shape, data, 1); }

IndexView contiguous_indices(const DecodeShape& shape, const std::int32_t* data, int topk) {
  return {.data = data, .stride_batch = std::int64_t{shape.s_q} * topk, .stride_s_q = topk};
}

LengthView contiguous_lengths(const DecodeShape& shape, const std::int32_t* data) {
  return {.data = data, .stride_batch = shape.s_q, .stride_s_q = 1};
}

Status validate(const DecodeArgs& args) {
  WAVEFILL_RETURN_IF_ERROR(validate(args.shape));
  WAVEFILL_RETURN_IF_ERROR(validate_present("q", "data", args.q.data));
  WAVEFILL_RETURN_IF_ERROR(validate_strides("q", args.q));
  WAVEFILL_RETURN_IF_ERROR(validate_present("out", "data", args.out.data));
  WAVEFILL_RETURN_IF_ERROR(validate_strides("out", args.out));
  if (args.lse.data != nullptr) WAVEFILL_RETURN_IF_ERROR(validate_strides("lse", args.lse));
  if (args.shape.topk > 0) WAVEFILL_RETURN_IF_ERROR(validate_cache("main", args.shape, args.main));
  if (args.shape.extra_topk > 0) WAVEFILL_RETURN_IF_ERROR(validate_cache("extra", args.shape, args.extra));
  if (!std::isfinite(args.sm_scale) || args.sm_scale <= 0.0F) {
    return invalid_argument("sm_scale is {}; allowed: finite and > 0", args.sm_scale);
  }
  return {};
}

}  // namespace wavefill
