// What the cores can do, measured: the yardstick for a kernel's flops, and for how much of it is ours just
// now.
#pragma once

namespace wavefill::bench {

// 1e9 multiplications and additions a second, all threads together: the best of several short loops.
struct Peak {
  double fp32_gflops = 0.0;      // SIMD multiply-adds in the widest vectors of this CPU; 0 = not known here
  double amx_bf16_gflops = 0.0;  // TDPBF16PS; 0 where there is no AMX
};
Peak measure_peak(int num_threads);

// The rate of AMX with its operands loaded from the first-level cache, in one short loop, now. On a shared
// host it falls to less than half when another guest uses the same core's matrix unit. 0 where there is no
// AMX.
double amx_gflops_now(int num_threads);

}  // namespace wavefill::bench
