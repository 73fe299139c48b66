// A captured graph, for tests of what is queued once and replayed.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "backend_cuda/device_inputs.h"

namespace wavefill::test {

// A graph of what `queue(stream)` queues.
class Graph {
 public:
  template <typename Queue>
  explicit Graph(Queue queue) {
    check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    check_cuda(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    queue(stream_);
    cudaGraph_t graph = nullptr;
    check_cuda(cudaStreamEndCapture(stream_, &graph));
    check_cuda(cudaGraphGetNodes(graph, nullptr, &num_kernels_));
    check_cuda(cudaGraphInstantiate(&exec_, graph, 0));
    check_cuda(cudaGraphDestroy(graph));
  }
  ~Graph() {
    (void)cudaGraphExecDestroy(exec_);
    (void)cudaStreamDestroy(stream_);
  }
  Graph(const Graph&) = delete;

  std::size_t num_kernels() const { return num_kernels_; }

  void replay() {
    check_cuda(cudaDeviceSynchronize());  // what was written from the host
    check_cuda(cudaGraphLaunch(exec_, stream_));
    check_cuda(cudaDeviceSynchronize());
  }

 private:
  cudaStream_t stream_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
  std::size_t num_kernels_ = 0;
};

}  // namespace wavefill::test
