// The machine's own memory bandwidth, measured: what a kernel's bytes per second are compared with.
#pragma once

#include <cstdint>

#include "wavefill/status.h"

namespace wavefill {

struct BandwidthOptions {
  std::int32_t num_threads = 0;  // 0 = all hardware threads
  std::int64_t buffer_bytes =
      0;  // of each of the two buffers; 0 = kColdFactor * last-level cache, within memory
  std::int32_t repetitions = 7;
};

struct Bandwidth {
  double copy_gbps = 0.0;  // 1e9 bytes read plus bytes written, per second: median of the repetitions
  double best_copy_gbps = 0.0;
  double read_gbps = 0.0;  // reading alone; 0 = not measured, on a GPU
  double best_read_gbps = 0.0;
  std::int32_t num_threads = 0;
  std::int64_t buffer_bytes = 0;
  bool beyond_cache = false;  // the buffers exceed kColdFactor * the last-level cache
};

// Errors: invalid_argument, resource_exhausted (memory).
Result<Bandwidth> measure_bandwidth(const BandwidthOptions& options = {});

}  // namespace wavefill
