// Replan: the `balanced` plan of src/plan/balanced.cpp, made on the device from lengths that lie there.
//
// Budget: one CTA of 512 threads, a few registers. All threads sum the rows' tiles; then one warp walks rows
// and workers, since where a worker begins depends on where the one before it ended. A step of the walk is
// some 40 instructions and no load that it waits for, and there are fewer than rows + workers steps.
#include <cuda_runtime_api.h>

#include "backend_cuda/device/block/work_items.cuh"
#include "backend_cuda/device/ptx/grid_dependency.cuh"
#include "backend_cuda/kernels/kernels.h"

namespace wavefill::cuda {
namespace {

constexpr int kReplanThreads = 512;
constexpr int kReplanWarps = kReplanThreads / 32;
constexpr unsigned kWarp = ~0U;

__device__ __forceinline__ std::int32_t tiles_of(const ReplanParams& params, std::int32_t row) {
  const Quotient request = divide(row, params.s_q);
  std::int32_t tiles = 0;
  for (const CacheParams& cache : params.caches) {
    tiles += (index_row(cache, request).length + params.kv_tile - 1) / params.kv_tile;
  }
  return tiles;
}

// An empty row takes a place in the schedule, because someone has to write its output.
__device__ __forceinline__ std::int32_t scheduled(std::int32_t tiles) { return max(tiles, 1); }

__device__ __forceinline__ long long block_sum(long long value) {
  __shared__ long long warps[kReplanWarps];
  for (int bit = 16; bit > 0; bit /= 2) value += __shfl_xor_sync(kWarp, value, bit);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
  __syncthreads();
  long long sum = 0;
  for (const long long part : warps) sum += part;
  return sum;
}

// The walk's place, the same in all lanes: the next tile of the next row that no worker has yet.
class Walk {
 public:
  __device__ __forceinline__ Walk(const ReplanParams& params, int lane) : params_(params), lane_(lane) {
    load_rows();
    if (lane_ == 0) params_.row_partial_begin[0] = 0;
  }

  __device__ __forceinline__ bool done() const { return row_ == params_.num_rows; }

  // Gives `payload` tiles of work to one worker of each head tile.
  __device__ __forceinline__ void fill_worker(long long payload, std::int32_t part) {
    const std::int32_t first_share = num_shares_;
    shares_here_ = 0;
    long long left = payload;
    while (!done()) {
      const std::int32_t remainder = scheduled(row_tiles_) - next_tile_;
      if (left < remainder + params_.row_overhead_tiles) break;
      left -= remainder + params_.row_overhead_tiles;
      take(row_tiles_ - next_tile_);
    }
    if (!done() && left > params_.row_overhead_tiles) {
      take(static_cast<std::int32_t>(left - params_.row_overhead_tiles));
    }
    finish_worker(first_share, part);
  }

  // Workers that are left have nothing.
  __device__ __forceinline__ void finish(std::int32_t parts_used) {
    for (std::int32_t i = parts_used * params_.num_head_tiles + lane_;
         i <= params_.num_parts * params_.num_head_tiles; i += 32) {
      params_.worker_begin[i] = num_shares_ * params_.num_head_tiles;
    }
  }

 private:
  // Lane i has the tiles of row (row_ rounded down to 32) + i.
  __device__ __forceinline__ void load_rows() {
    const std::int32_t row = row_ + lane_;
    tiles_ahead_ = row < params_.num_rows ? tiles_of(params_, row) : 0;
    row_tiles_ = __shfl_sync(kWarp, tiles_ahead_, 0);
  }

  __device__ __forceinline__ void take(std::int32_t tiles) {
    const std::int32_t end = next_tile_ + tiles;
    const bool ends_row = end == row_tiles_;
    const bool whole = next_tile_ == 0 && ends_row;
    if (lane_ == 0) {
      // The worker of head tile 0 has its items first, wherever those of the other head tiles begin.
      const std::int32_t first = (num_shares_ - shares_here_) * params_.num_head_tiles;
      params_.items[first + shares_here_] = {row_, 0, next_tile_, end, whole ? -1 : num_partials_};
    }
    num_partials_ += whole ? 0 : 1;
    ++shares_here_;
    ++num_shares_;
    next_tile_ = end;
    if (!ends_row) return;
    next_tile_ = 0;
    ++row_;
    if (lane_ == 0) params_.row_partial_begin[row_] = num_partials_;
    if (row_ % 32 == 0) {
      load_rows();
    } else {
      row_tiles_ = __shfl_sync(kWarp, tiles_ahead_, row_ % 32);
    }
  }

  // Copies the worker's items for the other head tiles, which read the same tokens side by side.
  __device__ __forceinline__ void finish_worker(std::int32_t first_share, std::int32_t part) {
    __syncwarp();
    const std::int32_t first = first_share * params_.num_head_tiles;
    for (std::int32_t i = lane_; i < shares_here_; i += 32) {
      PlanItem item = params_.items[first + i];
      for (std::int32_t head_tile = 1; head_tile < params_.num_head_tiles; ++head_tile) {
        item.head_tile = head_tile;
        params_.items[first + head_tile * shares_here_ + i] = item;
      }
    }
    for (std::int32_t head_tile = lane_; head_tile < params_.num_head_tiles; head_tile += 32) {
      params_.worker_begin[part * params_.num_head_tiles + head_tile] = first + head_tile * shares_here_;
    }
    __syncwarp();
  }

  const ReplanParams& params_;
  const int lane_;
  std::int32_t row_ = 0;
  std::int32_t next_tile_ = 0;
  std::int32_t row_tiles_ = 0;
  std::int32_t tiles_ahead_ = 0;
  std::int32_t num_shares_ = 0;
  std::int32_t num_partials_ = 0;
  std::int32_t shares_here_ = 0;
};

__global__ void __launch_bounds__(kReplanThreads) replan_kernel(const __grid_constant__ ReplanParams params) {
  allow_next_grid();
  wait_for_prior_grids();  // they may read the plan that is overwritten, or write the lengths
  const int thread = static_cast<int>(threadIdx.x);
  long long tiles = 0;
  for (std::int32_t row = thread; row < params.num_rows; row += kReplanThreads) {
    tiles += scheduled(tiles_of(params, row)) + params.row_overhead_tiles;
  }
  const long long total = block_sum(tiles);
  if (thread >= 32) return;
  const long long payload = (total + params.num_parts - 1) / params.num_parts + params.row_overhead_tiles;
  Walk walk(params, thread);
  std::int32_t part = 0;
  for (; !walk.done() && part < params.num_parts; ++part) walk.fill_worker(payload, part);
  walk.finish(part);
}

}  // namespace

KernelFunction replan_function() {
  return {.name = "replan",
          .function = reinterpret_cast<const void*>(&replan_kernel),
          .threads = kReplanThreads,
          .smem_bytes = 0};
}

}  // namespace wavefill::cuda
