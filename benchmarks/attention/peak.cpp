#include "peak.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <thread>
#include <vector>

#include "backend_cpu/cpu_backend.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace wavefill::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRepetitions = 50;
constexpr int kPeakSteps = 20000;
constexpr int kProbeSteps = 2000;  // some 50 us

// Runs loop(steps) on all threads at once; their rates together.
double gflops(int num_threads, double flops_per_step, int steps, void (*loop)(int steps)) {
  std::vector<double> seconds(static_cast<std::size_t>(num_threads));
  std::vector<std::thread> threads;
  for (double& time : seconds) {
    threads.emplace_back([&time, loop, steps] {
      const auto begin = Clock::now();
      loop(steps);
      time = std::chrono::duration<double>(Clock::now() - begin).count();
    });
  }
  for (std::thread& thread : threads) thread.join();
  double rate = 0.0;
  for (const double time : seconds) rate += flops_per_step * steps / time * 1e-9;
  return rate;
}

double best_gflops(int num_threads, double flops_per_step, void (*loop)(int steps)) {
  double best = 0.0;
  for (int repetition = 0; repetition < kRepetitions; ++repetition) {
    best = std::max(best, gflops(num_threads, flops_per_step, kPeakSteps, loop));
  }
  return best;
}

#if defined(__x86_64__)

// Ten independent sums: two units times a latency of 4, with room to spare.
constexpr double kFmaFlops512 = 10.0 * 16 * 2;
constexpr double kFmaFlops256 = 10.0 * 8 * 2;

template <typename Vector>
inline __attribute__((always_inline)) void fma_loop(int steps, Vector zero) {
  Vector a = zero, b = zero, c = zero, d = zero, e = zero, f = zero, g = zero, h = zero, i = zero, j = zero;
  for (int step = 0; step < steps; ++step) {
    asm volatile(
        "vfmadd231ps %0, %0, %0\n vfmadd231ps %1, %1, %1\n vfmadd231ps %2, %2, %2\n"
        "vfmadd231ps %3, %3, %3\n vfmadd231ps %4, %4, %4\n vfmadd231ps %5, %5, %5\n"
        "vfmadd231ps %6, %6, %6\n vfmadd231ps %7, %7, %7\n vfmadd231ps %8, %8, %8\n"
        "vfmadd231ps %9, %9, %9\n"
        : "+v"(a), "+v"(b), "+v"(c), "+v"(d), "+v"(e), "+v"(f), "+v"(g), "+v"(h), "+v"(i), "+v"(j));
  }
}

__attribute__((target("avx512f"))) void fma_loop_512(int steps) { fma_loop(steps, _mm512_setzero_ps()); }
__attribute__((target("avx2,fma"))) void fma_loop_256(int steps) { fma_loop(steps, _mm256_setzero_ps()); }

// Four independent sums of 16 x 16 x 32 multiply-adds a step.
constexpr double kAmxFlops = 4.0 * 16 * 16 * 32 * 2;

struct alignas(64) TileConfig {
  std::uint8_t palette = 1;
  std::uint8_t reserved[15] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
constexpr TileConfig kTileConfig;

void clear_tiles() {
  asm volatile("ldtilecfg %0" : : "m"(kTileConfig));
  asm volatile(
      "tilezero %tmm0\n tilezero %tmm1\n tilezero %tmm2\n tilezero %tmm3\n"
      "tilezero %tmm4\n tilezero %tmm5\n tilezero %tmm6\n tilezero %tmm7\n");
}

void amx_loop(int steps) {
  clear_tiles();
  for (int step = 0; step < steps; ++step) {
    asm volatile(
        "tdpbf16ps %tmm6, %tmm4, %tmm0\n tdpbf16ps %tmm6, %tmm5, %tmm1\n"
        "tdpbf16ps %tmm7, %tmm4, %tmm2\n tdpbf16ps %tmm7, %tmm5, %tmm3\n");
  }
  asm volatile("tilerelease");
}

void amx_loop_with_loads(int steps) {
  alignas(64) static const std::uint8_t operands[4][1024] = {};
  clear_tiles();
  for (int step = 0; step < steps; ++step) {
    asm volatile(
        "tileloadd (%0,%4,1), %%tmm4\n tileloadd (%2,%4,1), %%tmm6\n tdpbf16ps %%tmm6, %%tmm4, %%tmm0\n"
        "tileloadd (%1,%4,1), %%tmm5\n tdpbf16ps %%tmm6, %%tmm5, %%tmm1\n"
        "tileloadd (%3,%4,1), %%tmm7\n tdpbf16ps %%tmm7, %%tmm4, %%tmm2\n tdpbf16ps %%tmm7, %%tmm5, %%tmm3\n"
        :
        : "r"(operands[0]), "r"(operands[1]), "r"(operands[2]), "r"(operands[3]), "r"(64L)
        : "memory");
  }
  asm volatile("tilerelease");
}

// The kernel table also says which instructions may be used; making the backend asks Linux for the tiles.
bool has_kernel(std::string_view name) {
  const auto backend = make_cpu_backend(1);
  if (!backend.ok()) return false;
  return std::ranges::any_of((*backend)->kernels(),
                             [name](const KernelSpec& kernel) { return kernel.name == name; });
}

#endif

}  // namespace

Peak measure_peak(int num_threads) {
  Peak peak;
#if defined(__x86_64__)
  if (has_kernel("cpu_mla_avx512")) {
    peak.fp32_gflops = best_gflops(num_threads, kFmaFlops512, fma_loop_512);
  } else if (has_kernel("cpu_mla_avx2")) {
    peak.fp32_gflops = best_gflops(num_threads, kFmaFlops256, fma_loop_256);
  }
  if (has_kernel("cpu_mla_amx")) peak.amx_bf16_gflops = best_gflops(num_threads, kAmxFlops, amx_loop);
#endif
  return peak;
}

double amx_gflops_now([[maybe_unused]] int num_threads) {
#if defined(__x86_64__)
  static const bool has_amx = has_kernel("cpu_mla_amx");
  if (has_amx) return gflops(num_threads, kAmxFlops, kProbeSteps, amx_loop_with_loads);
#endif
  return 0.0;
}

}  // namespace wavefill::bench
