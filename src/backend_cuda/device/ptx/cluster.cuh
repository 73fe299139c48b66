// Thread-block clusters and their distributed shared memory: one PTX instruction a function. To be called
// where kHasClusters only.
#pragma once

#include <cstdint>

namespace wavefill::cuda {

#if __CUDA_ARCH__ >= 900
inline constexpr bool kHasClusters = true;
#else
inline constexpr bool kHasClusters = false;
#endif

// Which cluster of the grid this CTA is in, and which CTA of the cluster it is. Volatile: read again rather
// than kept in a register.
__device__ __forceinline__ std::int32_t cluster_idx() {
  std::int32_t idx;
  asm volatile("mov.u32 %0, %%clusterid.x;" : "=r"(idx));
  return idx;
}
__device__ __forceinline__ std::int32_t cluster_rank() {
  std::int32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// All threads of all CTAs of the cluster that have not ended. What was written before an arrival, to shared
// memory too, is visible to all who have waited.
__device__ __forceinline__ void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
__device__ __forceinline__ void cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// The same arrival of threads that wrote nothing for the others: no fence.
__device__ __forceinline__ void cluster_arrive_relaxed() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}

// Where CTA `rank` of the cluster has what this one has at `address` of its own shared memory.
__device__ __forceinline__ std::uint32_t address_in_cluster(std::uint32_t address, int rank) {
  std::uint32_t mapped;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(address), "r"(rank));
  return mapped;
}

__device__ __forceinline__ float load_cluster(std::uint32_t address) {
  float v;
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v) : "r"(address) : "memory");
  return v;
}
__device__ __forceinline__ uint4 load_cluster_16(std::uint32_t address) {
  uint4 v;
  asm volatile("ld.shared::cluster.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "r"(address)
               : "memory");
  return v;
}

}  // namespace wavefill::cuda
