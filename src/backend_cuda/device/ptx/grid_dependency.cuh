// Programmatic dependent launch: one PTX instruction a function, and nothing before compute capability 9.0.
#pragma once

namespace wavefill::cuda {

// Returns when the grids this one depends on have ended and their writes are visible.
__device__ __forceinline__ void wait_for_prior_grids() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Lets the next grid of the stream be scheduled as soon as every CTA has said so.
__device__ __forceinline__ void allow_next_grid() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

}  // namespace wavefill::cuda
