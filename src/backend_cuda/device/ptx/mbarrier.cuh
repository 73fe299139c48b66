// Barriers in shared memory that count arrivals, and named CTA barriers: one PTX instruction a function, but
// for the waiting loop.
#pragma once

#include <cstdint>

namespace wavefill::cuda {

__device__ __forceinline__ void mbarrier_init(uint32_t barrier, uint32_t arrivals) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

__device__ __forceinline__ void mbarrier_arrive(uint32_t barrier) {
  asm volatile("{.reg .b64 state; mbarrier.arrive.shared.b64 state, [%0];}" ::"r"(barrier) : "memory");
}
// `count` times, not 0. Since compute capability 9.0.
__device__ __forceinline__ void mbarrier_arrive(uint32_t barrier, uint32_t count) {
  asm volatile("{.reg .b64 state; mbarrier.arrive.shared.b64 state, [%0], %1;}" ::"r"(barrier), "r"(count)
               : "memory");
}

// A warp's arrivals at a barrier. One lane arrives for all, but for racecheck, which does not see that the
// others' accesses came before.
#ifdef WAVEFILL_EVERY_LANE_ARRIVES
inline constexpr int kArrivalsOfWarp = 32;
#else
inline constexpr int kArrivalsOfWarp = 1;
#endif
__device__ __forceinline__ void mbarrier_arrive_as_warp(uint32_t barrier, int lane) {
  __syncwarp();
  if (kArrivalsOfWarp == 32 || lane == 0) mbarrier_arrive(barrier);
}

// This thread arrives once all copies that it has asked for until now have landed.
__device__ __forceinline__ void cp_async_arrive(uint32_t barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(barrier) : "memory");
}

// Whether the phase of this parity has ended; what was copied or written before the arrivals is visible then.
// The phase before the first counts as ended, with parity 1.
__device__ __forceinline__ bool mbarrier_has_ended(uint32_t barrier, uint32_t parity) {
  uint32_t done = 0;
  asm volatile("{.reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
               : "=r"(done)
               : "r"(barrier), "r"(parity)
               : "memory");
  return done != 0;
}

// The parity of the phase that has not ended yet. Precondition: it cannot end meanwhile.
__device__ __forceinline__ uint32_t mbarrier_parity(uint32_t barrier) {
  return mbarrier_has_ended(barrier, 0) ? 1 : 0;
}

// Returns when the phase of this parity has ended.
__device__ __forceinline__ void mbarrier_wait(uint32_t barrier, uint32_t parity) {
#if __CUDA_ARCH__ >= 900
  uint32_t done = 0;
  do {  // the hardware waits a while before it answers
    asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                 : "=r"(done)
                 : "r"(barrier), "r"(parity)
                 : "memory");
  } while (done == 0);
#else
  while (!mbarrier_has_ended(barrier, parity)) {
  }
#endif
}

// Makes this thread's writes to shared memory visible to the units that read it asynchronously (wgmma, bulk
// copies). To be followed by a barrier or an arrival.
__device__ __forceinline__ void fence_async_shared() {
#if __CUDA_ARCH__ >= 900
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

// All of the first kThreads threads of the CTA; barrier 0 is __syncthreads(). (With more named barriers than
// this one, racecheck loses track of it: other threads meet at an mbarrier.)
template <int kThreads>
__device__ __forceinline__ void named_barrier() {
  asm volatile("bar.sync 1, %0;" ::"n"(kThreads) : "memory");
}

// The same, and whether the predicate holds in any of them.
template <int kThreads>
__device__ __forceinline__ bool named_barrier_or(bool predicate) {
  uint32_t any = 0;
  asm volatile("{.reg .pred p, q; setp.ne.u32 p, %1, 0; bar.red.or.pred q, 1, %2, p; selp.u32 %0, 1, 0, q;}"
               : "=r"(any)
               : "r"(predicate ? 1U : 0U), "n"(kThreads)
               : "memory");
  return any != 0;
}

}  // namespace wavefill::cuda
