#include "backend_cuda/device_inputs.h"

namespace wavefill::test {
namespace {

void move_cache(SparseCache& cache, const DeviceBuffer& kv, const DeviceBuffer& indices,
                const DeviceBuffer& lengths) {
  cache.kv.data = kv.as<const std::byte>();
  cache.indices.data = indices.as<const std::int32_t>();
  cache.lengths.data = lengths.as<const std::int32_t>();
}

}  // namespace

DeviceInputs::DeviceInputs(oracle::Inputs& host)
    : host_(host),
      args_(host.args()),
      q_(DeviceBuffer::copy_of(host.q_buffer())),
      kv_(DeviceBuffer::copy_of(host.kv_buffer())),
      extra_kv_(DeviceBuffer::copy_of(host.extra_kv_buffer())),
      indices_(DeviceBuffer::copy_of(host.index_buffer())),
      extra_indices_(DeviceBuffer::copy_of(host.extra_index_buffer())),
      lengths_(DeviceBuffer::copy_of(host.length_buffer())),
      extra_lengths_(DeviceBuffer::copy_of(host.extra_length_buffer())),
      sink_(DeviceBuffer::copy_of(host.sink_buffer())),
      out_(DeviceBuffer::copy_of(host.out_buffer())),
      lse_(DeviceBuffer::copy_of(host.lse_buffer())) {
  args_.q.data = q_.as<const Bf16Bits>();
  move_cache(args_.main, kv_, indices_, lengths_);
  move_cache(args_.extra, extra_kv_, extra_indices_, extra_lengths_);
  args_.sink = sink_.as<const float>();
  args_.out.data = out_.as<Bf16Bits>();
  args_.lse.data = lse_.as<float>();
}

void DeviceInputs::poison_outputs() {
  check_cuda(cudaMemset(out_.as(), 0xFF, out_.bytes()));
  if (lse_.bytes() > 0) check_cuda(cudaMemset(lse_.as(), 0xFF, lse_.bytes()));
}

DecodeArgs DeviceInputs::fetch_outputs() {
  check_cuda(cudaDeviceSynchronize());
  out_.copy_to(host_.out_buffer());
  lse_.copy_to(host_.lse_buffer());
  return host_.args();
}

}  // namespace wavefill::test
