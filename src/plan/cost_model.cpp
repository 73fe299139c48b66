// Default constants of the list-schedule cost model. Where each comes from: docs/cost_model.md.
#include "core/errors.h"
#include "wavefill/plan.h"

namespace wavefill {
namespace {

constexpr double kBytesPerUsPerGbps = 1e3;  // 1e9 bytes a second

struct MachineCosts {
  double item_us;          // of a work item, beside its tiles
  double combine_us;       // of having a combine
  double gather_share;     // of the copy bandwidth, for random rows of ~600 bytes
  double partial_speedup;  // partials live in the last-level cache: this much faster than memory
  double assumed_gbps;     // where the bandwidth is unknown
};

// Fitted to FlashMLA's Hopper kernel, which needs 3.8 us for a tile of 64 tokens and 64 heads, and 5 us for
// an item beside its tiles: load Q, the first dependent loads, write the result.
constexpr MachineCosts kGpuCosts{.item_us = 5.0,
                                 .combine_us = 3.5,  // a second kernel in the graph
                                 .gather_share = 0.7,
                                 .partial_speedup = 2.0,
                                 .assumed_gbps = 1000.0};
constexpr double kGpuClockMhz = 1800.0;       // SM clock under load
constexpr double kGpuTokenCycles = 60.0;      // gather and dequantise a token, whatever the heads
constexpr double kGpuTokenHeadCycles = 0.75;  // scores and values of one token for one head

// One slot is one thread.
constexpr MachineCosts kCpuCosts{.item_us = 5.0,     // a task, and Q to fp32
                                 .combine_us = 3.0,  // the join between split and combine
                                 .gather_share = 0.7,
                                 .partial_speedup = 2.0,
                                 .assumed_gbps = 20.0};  // a channel of DDR4
constexpr double kCpuFlopsPerUs = 40e3;  // 40 GFLOP/s: under half of two 8-wide FMAs a cycle at 3 GHz

double gpu_tile_us(const KernelSpec& kernel, const DecodeShape& shape) {
  // Score and value work per head grows with d_qk + 512; the figure above is for 512 + 512.
  const double width = static_cast<double>(shape.d_qk + kValueDim) / (2.0 * kValueDim);
  const double token_cycles = kGpuTokenCycles + kGpuTokenHeadCycles * kernel.heads_per_cta * width;
  return kernel.kv_tile * token_cycles / kGpuClockMhz;
}

double cpu_tile_us(const KernelSpec& kernel, const DecodeShape& shape) {
  const double flops_per_token = 2.0 * kernel.heads_per_cta * (shape.d_qk + kValueDim);
  return kernel.kv_tile * flops_per_token / kCpuFlopsPerUs;
}

}  // namespace

CostModel default_cost_model(const DeviceSpec& device, const KernelSpec& kernel, const DecodeShape& shape) {
  const bool is_cpu = device.compute_capability == 0;
  const MachineCosts& costs = is_cpu ? kCpuCosts : kGpuCosts;
  const bool known = device.memory_bandwidth_gbps > 0.0;
  const double bytes_per_us =
      (known ? device.memory_bandwidth_gbps : costs.assumed_gbps) * kBytesPerUsPerGbps;
  const auto tile_bytes =
      static_cast<double>(kernel.kv_tile) * static_cast<double>(kv_token_bytes(shape.kv_format, shape.d_qk));
  // Written once by the split, read once by the combine.
  const double partial_bytes = 2.0 * kernel.heads_per_cta * (kValueDim + 1) * sizeof(float);
  const auto slots = static_cast<double>(num_slots(device, kernel));
  return {.tile_us = is_cpu ? cpu_tile_us(kernel, shape) : gpu_tile_us(kernel, shape),
          .tile_stream_us = tile_bytes / (costs.gather_share * bytes_per_us),
          .cta_us = costs.item_us,
          .combine_us = costs.combine_us,
          .partial_us = partial_bytes * slots / (costs.partial_speedup * bytes_per_us),
          .launch_us = 0.0,
          .source = known ? fmt::format("bandwidth of {}", device.name)
                          : fmt::format("assumed bandwidth of {} GB/s", costs.assumed_gbps)};
}

}  // namespace wavefill
