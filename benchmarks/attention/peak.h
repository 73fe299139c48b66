// What the cores can do at most, measured: the yardstick for a kernel's flops.
#pragma once

namespace wavefill::bench {

// 1e9 multiplications and additions a second, all threads together: the best of several short loops.
struct Peak {
  double fp32_gflops = 0.0;      // SIMD multiply-adds in the widest vectors of this CPU
  double amx_bf16_gflops = 0.0;  // TDPBF16PS; 0 where there is no AMX
};
Peak measure_peak(int num_threads);

}  // namespace wavefill::bench
