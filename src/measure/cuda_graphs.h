// Calls as a server makes them: captured into CUDA graphs once, replayed many times.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "backend_cuda/cuda_status.h"
#include "wavefill/status.h"

namespace wavefill {

// An instantiated graph.
class CudaGraph {
 public:
  CudaGraph() = default;
  CudaGraph(CudaGraph&& other) noexcept : exec_(std::exchange(other.exec_, nullptr)) {}
  CudaGraph& operator=(CudaGraph&& other) noexcept {
    std::swap(exec_, other.exec_);
    return *this;
  }
  ~CudaGraph() {
    if (exec_ != nullptr) (void)cudaGraphExecDestroy(exec_);
  }

  bool is_captured() const { return exec_ != nullptr; }

  // Captures what `queue()`, which returns a Status, queues on `stream`, and brings it to the device.
  template <typename Queue>
  Status capture(cudaStream_t stream, Queue queue) {
    WAVEFILL_CUDA_RETURN_IF_ERROR(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    const Status queued = queue();
    cudaGraph_t graph = nullptr;
    const Status ended = cuda::to_status(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
    Status status = !queued.ok() ? queued : ended;
    if (status.ok()) {
      status = cuda::to_status(cudaGraphInstantiate(&exec_, graph, 0), "cudaGraphInstantiate");
    }
    if (graph != nullptr) (void)cudaGraphDestroy(graph);
    if (!status.ok()) return status;
    WAVEFILL_CUDA_RETURN_IF_ERROR(cudaGraphUpload(exec_, stream));
    return cuda::to_status(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }

  Status launch(cudaStream_t stream) const {
    return cuda::to_status(cudaGraphLaunch(exec_, stream), "cudaGraphLaunch");
  }

 private:
  cudaGraphExec_t exec_ = nullptr;
};

// A stream, and two events around what is queued on it.
class CudaStopwatch {
 public:
  CudaStopwatch() = default;
  CudaStopwatch(const CudaStopwatch&) = delete;
  CudaStopwatch& operator=(const CudaStopwatch&) = delete;
  ~CudaStopwatch() {
    if (begin_ != nullptr) (void)cudaEventDestroy(begin_);
    if (end_ != nullptr) (void)cudaEventDestroy(end_);
    if (stream_ != nullptr) (void)cudaStreamDestroy(stream_);
  }

  Status create() {
    WAVEFILL_CUDA_RETURN_IF_ERROR(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    WAVEFILL_CUDA_RETURN_IF_ERROR(cudaEventCreate(&begin_));
    return cuda::to_status(cudaEventCreate(&end_), "cudaEventCreate");
  }

  cudaStream_t stream() const { return stream_; }

  // Microseconds that what `queue()` queues takes on the device.
  template <typename Queue>
  Result<double> time(Queue queue) {
    WAVEFILL_CUDA_RETURN_IF_ERROR(cudaEventRecord(begin_, stream_));
    WAVEFILL_RETURN_IF_ERROR(queue());
    WAVEFILL_CUDA_RETURN_IF_ERROR(cudaEventRecord(end_, stream_));
    WAVEFILL_CUDA_RETURN_IF_ERROR(cudaEventSynchronize(end_));
    float ms = 0.0F;
    WAVEFILL_CUDA_RETURN_IF_ERROR(cudaEventElapsedTime(&ms, begin_, end_));
    return double{ms} * 1e3;
  }

 private:
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
};

}  // namespace wavefill
