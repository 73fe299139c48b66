#include "backend_cuda/params_of_args.h"

#include <cstdint>
#include <numbers>

#include "core/errors.h"
#include "kv/byte_map.h"

namespace wavefill::cuda {
namespace {

constexpr std::int64_t kAccessBytes = 16;
constexpr std::int64_t kFooterAccessBytes = 8;  // a footer page of odd size is 584 * odd bytes long
constexpr std::int64_t kAccessElements = kAccessBytes / static_cast<std::int64_t>(sizeof(Bf16Bits));

std::int64_t address_of(const void* pointer) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(pointer));
}

Status check_multiple(std::string_view name, std::int64_t value, std::int64_t of) {
  if (value % of == 0) return {};
  return invalid_argument("{} is {}; allowed on a GPU: a multiple of {}", name, value, of);
}

template <typename View>
Status check_rows(std::string_view name, const View& view) {
  WAVEFILL_RETURN_IF_ERROR(check_multiple(fmt::format("{}.data", name), address_of(view.data), kAccessBytes));
  WAVEFILL_RETURN_IF_ERROR(
      check_multiple(fmt::format("{}.stride_batch", name), view.stride_batch, kAccessElements));
  WAVEFILL_RETURN_IF_ERROR(
      check_multiple(fmt::format("{}.stride_s_q", name), view.stride_s_q, kAccessElements));
  return check_multiple(fmt::format("{}.stride_head", name), view.stride_head, kAccessElements);
}

Result<CacheParams> cache_params(std::string_view name, const DecodeShape& shape, const SparseCache& cache,
                                 std::int32_t topk) {
  const bool has_footer = shape.kv_format == KvFormat::fp8_tile64_rope_bf16_footer;
  const std::int64_t access = has_footer ? kFooterAccessBytes : kAccessBytes;
  WAVEFILL_RETURN_IF_ERROR(
      check_multiple(fmt::format("{}.kv.data", name), address_of(cache.kv.data), access));
  WAVEFILL_RETURN_IF_ERROR(
      check_multiple(fmt::format("{}.kv.page_stride_bytes", name), cache.kv.page_stride_bytes, access));
  CacheParams params;
  params.data = cache.kv.data;
  params.indices = cache.indices.data;
  params.lengths = cache.lengths.data;
  params.page_stride_bytes = cache.kv.page_stride_bytes;
  params.footer_offset_bytes =
      has_footer ? std::int64_t{cache.kv.page_size} * kFp8Tile64FooterMap.data_bytes : 0;
  params.indices_stride_batch = cache.indices.stride_batch;
  params.indices_stride_s_q = cache.indices.stride_s_q;
  params.lengths_stride_batch = cache.lengths.stride_batch;
  params.lengths_stride_s_q = cache.lengths.stride_s_q;
  params.num_tokens = cache.kv.num_tokens();
  params.page_size = make_fast_divisor(static_cast<std::uint32_t>(cache.kv.page_size));
  params.topk = topk;
  return params;
}

OutputParams output_params(const SplitPlan& plan, const DecodeArgs& args) {
  OutputParams params;
  params.out = args.out.data;
  params.out_stride_batch = args.out.stride_batch;
  params.out_stride_s_q = args.out.stride_s_q;
  params.out_stride_head = args.out.stride_head;
  params.lse = args.lse.data;
  params.lse_stride_batch = args.lse.stride_batch;
  params.lse_stride_s_q = args.lse.stride_s_q;
  params.lse_stride_head = args.lse.stride_head;
  params.sink = args.sink;
  params.s_q = make_fast_divisor(static_cast<std::uint32_t>(args.shape.s_q));
  params.num_heads = args.shape.num_heads;
  if (plan.num_partials() > 0) {
    const std::int64_t heads = plan.num_partials() * args.shape.num_heads;
    params.o_partial = static_cast<std::uint16_t*>(args.workspace);
    params.partial_heads = reinterpret_cast<PartialHead*>(params.o_partial + heads * kValueDim);
  }
  return params;
}

}  // namespace

Result<SplitParams> split_params(const SplitPlan& plan, const DecodeArgs& args) {
  WAVEFILL_RETURN_IF_ERROR(check_rows("q", args.q));
  WAVEFILL_RETURN_IF_ERROR(check_rows("out", args.out));
  SplitParams params;
  if (args.shape.topk > 0) {
    const auto cache = cache_params("main", args.shape, args.main, args.shape.topk);
    if (!cache.ok()) return cache.status();
    params.caches[0] = *cache;
  }
  if (args.shape.extra_topk > 0) {
    const auto cache = cache_params("extra", args.shape, args.extra, args.shape.extra_topk);
    if (!cache.ok()) return cache.status();
    params.caches[1] = *cache;
  }
  for (const CacheParams& cache : params.caches) {
    if ((address_of(cache.data) | cache.page_stride_bytes) % kAccessBytes != 0) params.aligned_16 = 0;
  }
  params.q = args.q.data;
  params.q_stride_batch = args.q.stride_batch;
  params.q_stride_s_q = args.q.stride_s_q;
  params.q_stride_head = args.q.stride_head;
  params.scale_log2 = args.sm_scale * std::numbers::log2e_v<float>;
  params.output = output_params(plan, args);
  return params;
}

}  // namespace wavefill::cuda
