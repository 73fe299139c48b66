#include "capi/convert.h"

#include "capi/versioned.h"

namespace wavefill::capi {
namespace {

Result<bool> to_bool(const char* name, std::int32_t value) {
  if (value != 0 && value != 1) return invalid_argument("{} is {}; allowed: 0, 1", name, value);
  return value == 1;
}

// NULL: none.
Status read_setting(const char* name, const char* text, std::optional<Setting>& setting) {
  if (text == nullptr) return {};
  Result<Setting> parsed = parse_setting(text);
  if (!parsed.ok()) return make_status(parsed.status().code(), "{}: {}", name, parsed.status().message());
  setting = *std::move(parsed);
  return {};
}

SparseCache to_cache(const wf_sparse_cache& cache) {
  return {.kv = {.data = static_cast<const std::byte*>(cache.data),
                 .num_pages = cache.num_pages,
                 .page_size = cache.page_size,
                 .page_stride_bytes = cache.page_stride_bytes},
          .indices = {.data = cache.indices,
                      .stride_batch = cache.indices_stride_batch,
                      .stride_s_q = cache.indices_stride_s_q},
          .lengths = {.data = cache.lengths,
                      .stride_batch = cache.lengths_stride_batch,
                      .stride_s_q = cache.lengths_stride_s_q}};
}

template <typename CppView, typename CView>
CppView to_view(const CView& view) {
  return {.data = view.data,
          .stride_batch = view.stride_batch,
          .stride_s_q = view.stride_s_q,
          .stride_head = view.stride_head};
}

template <typename CppView, typename CView>
void set_strides(const CppView& contiguous, CView& view) {
  view.stride_batch = contiguous.stride_batch;
  view.stride_s_q = contiguous.stride_s_q;
  view.stride_head = contiguous.stride_head;
}

void set_strides(const DecodeShape& shape, std::int32_t topk, wf_sparse_cache& cache) {
  const IndexView indices = contiguous_indices(shape, cache.indices, topk);
  cache.indices_stride_batch = indices.stride_batch;
  cache.indices_stride_s_q = indices.stride_s_q;
  const LengthView lengths = contiguous_lengths(shape, cache.lengths);
  cache.lengths_stride_batch = lengths.stride_batch;
  cache.lengths_stride_s_q = lengths.stride_s_q;
}

// Sizes of the first release. No struct may end in padding: an older
// caller's stray bytes would be read as the field that is put there later.
static_assert(sizeof(wf_shape) == offsetof(wf_shape, reserved) + sizeof(std::int32_t));
static_assert(sizeof(wf_decoder_options) == offsetof(wf_decoder_options, fallback) + sizeof(const char*));
static_assert(sizeof(wf_decode_args) == offsetof(wf_decode_args, plan_memory) + sizeof(const void*));
constexpr std::size_t kFirstShapeBytes = sizeof(wf_shape);
constexpr std::size_t kFirstOptionsBytes = offsetof(wf_decoder_options, fallback);
constexpr std::size_t kFirstArgsBytes = offsetof(wf_decode_args, plan_memory);

}  // namespace

Result<KvFormat> to_kv_format(const char* name, std::int32_t kv_format) {
  for (const KvFormat format : kAllKvFormats) {
    if (static_cast<std::int32_t>(format) == kv_format) return format;
  }
  return invalid_argument("{} is {}; allowed: 0 (dsv4), 1 (dsv32), 2 (bf16)", name, kv_format);
}

Result<DecodeShape> to_shape(const wf_shape* shape) {
  wf_shape known{};
  WAVEFILL_RETURN_IF_ERROR(read_versioned("shape", shape, kFirstShapeBytes, known));
  if (known.reserved != 0) return invalid_argument("shape.reserved is {}; allowed: 0", known.reserved);
  const Result<KvFormat> format = to_kv_format("shape.kv_format", known.kv_format);
  if (!format.ok()) return format.status();
  return DecodeShape{.batch = known.batch,
                     .s_q = known.s_q,
                     .num_heads = known.num_heads,
                     .kv_format = *format,
                     .d_qk = known.d_qk,
                     .topk = known.topk,
                     .extra_topk = known.extra_topk};
}

Result<DecoderOptions> to_options(const wf_decoder_options* options) {
  DecoderOptions result;
  if (options == nullptr) return result;
  wf_decoder_options known{};
  WAVEFILL_RETURN_IF_ERROR(read_versioned("options", options, kFirstOptionsBytes, known));
  const Result<bool> batch_invariant = to_bool("options.batch_invariant", known.batch_invariant);
  if (!batch_invariant.ok()) return batch_invariant.status();
  result.batch_invariant = *batch_invariant;
  result.num_threads = known.num_threads;
  if (known.device != nullptr) result.device = known.device;
  if (known.kernel != nullptr) {
    // An empty name means "any" inside; here NULL says that, and "" is a slip.
    if (*known.kernel == '\0') return invalid_argument("options.kernel is ''; allowed: a kernel, NULL");
    result.kernel = known.kernel;
  }
  WAVEFILL_RETURN_IF_ERROR(read_setting("options.setting", known.setting, result.setting));
  WAVEFILL_RETURN_IF_ERROR(read_setting("options.fallback", known.fallback, result.fallback));
  return result;
}

Result<DecodeArgs> to_args(const DecodeShape& shape, const wf_decode_args* args) {
  wf_decode_args known{};
  WAVEFILL_RETURN_IF_ERROR(read_versioned("args", args, kFirstArgsBytes, known));
  const Result<bool> check_indices = to_bool("args.check_indices", known.check_indices);
  if (!check_indices.ok()) return check_indices.status();
  return DecodeArgs{.shape = shape,
                    .q = to_view<QueryView>(known.q),
                    .main = to_cache(known.main),
                    .extra = to_cache(known.extra),
                    .sink = known.sink,
                    .sm_scale = known.sm_scale,
                    .out = to_view<OutputView>(known.out),
                    .lse = to_view<LseView>(known.lse),
                    .workspace = known.workspace,
                    .workspace_size_bytes = known.workspace_size_bytes,
                    .check_indices = *check_indices,
                    .plan_memory = known.plan_memory};
}

Status set_contiguous_strides(const DecodeShape& shape, wf_decode_args* args) {
  wf_decode_args known{};
  WAVEFILL_RETURN_IF_ERROR(read_versioned("args", args, kFirstArgsBytes, known));
  WAVEFILL_RETURN_IF_ERROR(validate(shape));
  set_strides(contiguous_query(shape, known.q.data), known.q);
  set_strides(contiguous_output(shape, known.out.data), known.out);
  set_strides(contiguous_lse(shape, known.lse.data), known.lse);
  set_strides(shape, shape.topk, known.main);
  set_strides(shape, shape.extra_topk, known.extra);
  write_versioned(known, args);
  return {};
}

}  // namespace wavefill::capi
