// The kernels by name, for the table and the launcher: each source file under kernels/ gives its own.
#pragma once

#include <cstdint>
#include <span>

#include "backend_cuda/split_params.h"
#include "wavefill/kv_format.h"

namespace wavefill::cuda {

// Something that can be launched. `function` is a __global__ function's address on the host.
struct KernelFunction {
  const char* name = nullptr;
  const void* function = nullptr;
  std::int32_t threads = 0;
  std::int64_t smem_bytes = 0;  // dynamic
};

struct SplitKernel {
  KernelFunction kernel;
  KvFormat kv_format;
  std::int32_t d_qk;
  std::int32_t heads_per_cta;
  std::int32_t kv_tile;
  std::int32_t only_capability = 0;  // compute capability whose own instructions it needs; 0: none
  // The same for plans that cut all rows alike, a row a cluster that merges its splits. No function: none.
  KernelFunction of_clusters = {};
  // The same for plans in which the pieces of a row lie with neighbouring workers, who merge them.
  KernelFunction of_neighbours = {};
};

std::span<const SplitKernel> split_wgmma_dsv4_kernels();
std::span<const SplitKernel> split_wgmma_dsv32_kernels();
std::span<const SplitKernel> split_wgmma_bf16_kernels();
std::span<const SplitKernel> split_mma_dsv4_kernels();
std::span<const SplitKernel> split_mma_dsv32_kernels();
std::span<const SplitKernel> split_mma_bf16_kernels();

// The fastest combine of `num_partials` partials in all, of CombineParams; every one makes the same bits.
struct CombineLaunch {
  KernelFunction function;
  std::int64_t num_ctas;
};
CombineLaunch combine_launch(std::int64_t rows, std::int32_t num_heads, std::int64_t num_partials,
                             std::int32_t num_sms);

KernelFunction upload_function();         // of UploadParams; grid: 1
KernelFunction replan_function();         // of ReplanParams; grid: 1
KernelFunction check_indices_function();  // of CheckIndicesParams; grid: rows

// The address of the check's finding on the current device: an int32, not 0 once a bad index was seen.
// nullptr if the module cannot be loaded.
std::int32_t* bad_index_flag();

// A piece of a plan as kernel parameters: they are copied when the launch is made or captured, so that a
// graph needs nothing of the host when it replays.
inline constexpr int kUploadWords = 7'000;  // 28,000 bytes of the 32,764 that a kernel may take
struct UploadParams {
  std::int32_t* destination;
  std::int32_t count;
  std::int32_t words[kUploadWords];
};

struct ReplanParams {
  CacheParams caches[2];  // topk and lengths alone
  FastDivisor s_q;
  std::int32_t num_rows;
  std::int32_t num_head_tiles;
  std::int32_t num_parts;  // workers a head tile
  std::int32_t kv_tile;
  std::int32_t row_overhead_tiles;
  PlanItem* items;                  // [most shares * num_head_tiles]
  std::int32_t* worker_begin;       // [num_parts * num_head_tiles + 1]
  std::int32_t* row_partial_begin;  // [num_rows + 1]
};

struct CheckIndicesParams {
  CacheParams caches[2];
  FastDivisor s_q;
  std::int32_t* found;  // set to 1 when an index is at or beyond its pool
};

}  // namespace wavefill::cuda
