// The oracle's tensors on the current CUDA device: the same call over copies of its host buffers.
#pragma once

#include "measure/device_buffer.h"
#include "oracle/inputs.h"
#include "wavefill/decode_args.h"

namespace wavefill {

class CudaTensors {
 public:
  // `host` must outlive this. Errors: resource_exhausted.
  Status copy_from(oracle::Inputs& host);

  // Over device memory, without a workspace.
  const DecodeArgs& args() const { return args_; }

  // Poisons the outputs here and in the host's buffers; brings them back there.
  Status poison_outputs();
  Status fetch_outputs();

 private:
  struct Cache {
    DeviceBuffer kv, indices, lengths;
  };
  static Status copy_cache(Cache& cache, SparseCache& view, std::span<const std::byte> kv,
                           std::span<const std::int32_t> indices, std::span<const std::int32_t> lengths);

  oracle::Inputs* host_ = nullptr;
  DecodeArgs args_;
  Cache main_, extra_;
  DeviceBuffer q_, sink_, out_, lse_;
};

}  // namespace wavefill
