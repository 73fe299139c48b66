#include "measure/cuda_tensors.h"

#include "core/errors.h"

namespace wavefill {
namespace {

template <typename T>
Status copy(DeviceBuffer& to, std::span<T> from) {
  return to.copy_from(from.data(), from.size_bytes());
}

}  // namespace

Status CudaTensors::copy_cache(Cache& cache, SparseCache& view, std::span<const std::byte> kv,
                               std::span<const std::int32_t> indices, std::span<const std::int32_t> lengths) {
  WAVEFILL_RETURN_IF_ERROR(copy(cache.kv, kv));
  WAVEFILL_RETURN_IF_ERROR(copy(cache.indices, indices));
  WAVEFILL_RETURN_IF_ERROR(copy(cache.lengths, lengths));
  view.kv.data = kv.empty() ? nullptr : cache.kv.as<const std::byte>();
  view.indices.data = indices.empty() ? nullptr : cache.indices.as<const std::int32_t>();
  view.lengths.data = lengths.empty() ? nullptr : cache.lengths.as<const std::int32_t>();
  return {};
}

Status CudaTensors::copy_from(oracle::Inputs& host) {
  host_ = &host;
  args_ = host.args();
  WAVEFILL_RETURN_IF_ERROR(
      copy_cache(main_, args_.main, host.kv_buffer(), host.index_buffer(), host.length_buffer()));
  WAVEFILL_RETURN_IF_ERROR(copy_cache(extra_, args_.extra, host.extra_kv_buffer(), host.extra_index_buffer(),
                                      host.extra_length_buffer()));
  WAVEFILL_RETURN_IF_ERROR(copy(q_, host.q_buffer()));
  WAVEFILL_RETURN_IF_ERROR(copy(sink_, host.sink_buffer()));
  WAVEFILL_RETURN_IF_ERROR(poison_outputs());
  args_.q.data = q_.as<const Bf16Bits>();
  args_.sink = host.sink_buffer().empty() ? nullptr : sink_.as<const float>();
  args_.out.data = out_.as<Bf16Bits>();
  args_.lse.data = host.lse_buffer().empty() ? nullptr : lse_.as<float>();
  return {};
}

Status CudaTensors::poison_outputs() {
  host_->poison_outputs();
  WAVEFILL_RETURN_IF_ERROR(copy(out_, host_->out_buffer()));
  return copy(lse_, host_->lse_buffer());
}

Status CudaTensors::fetch_outputs() {
  WAVEFILL_RETURN_IF_ERROR(out_.copy_to(host_->out_buffer().data(), host_->out_buffer().size_bytes()));
  return lse_.copy_to(host_->lse_buffer().data(), host_->lse_buffer().size_bytes());
}

}  // namespace wavefill
