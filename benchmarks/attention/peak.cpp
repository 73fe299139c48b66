#include "peak.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "backend_cpu/cpu_backend.h"

#if defined(__x86_64__)
#endif

namespace wavefill::bench {
namespace {

constexpr int kRepetitions = 50;
constexpr int kSteps = 20000;

using Clock = std::chrono::steady_clock;

// Runs `loop` on all threads at once, several times; the best rate of flops_per_thread.
double best_gflops(int num_threads, double flops_per_thread, void (*loop)()) {
  double best = 0.0;
  for (int repetition = 0; repetition < kRepetitions; ++repetition) {
    std::vector<double> seconds(static_cast<std::size_t>(num_threads));
    std::vector<std::thread> threads;
    for (double& time : seconds) {
      threads.emplace_back([&time, loop] {
        const auto begin = Clock::now();
        loop();
        time = std::chrono::duration<double>(Clock::now() - begin).count();
      });
    }
    for (std::thread& thread : threads) thread.join();
    double rate = 0.0;
    for (const double time : seconds) rate += flops_per_thread / time;
    best = std::max(best, rate * 1e-9);
  }
  return best;
}

#if defined(__x86_64__)

// Twelve independent sums: latency 4 times two units, with room to spare. 2 flops a lane.
constexpr double kFmaFlops512 = 12.0 * 16 * 2 * kSteps;
constexpr double kFmaFlops256 = 12.0 * 8 * 2 * kSteps;

#define WAVEFILL_FMA12(reg)                                                                     \
  "vfmadd231ps %%" reg "0, %%" reg "0, %%" reg "0\n vfmadd231ps %%" reg "1, %%" reg "1, %%" reg \
  "1\n"                                                                                         \
  "vfmadd231ps %%" reg "2, %%" reg "2, %%" reg "2\n vfmadd231ps %%" reg "3, %%" reg "3, %%" reg \
  "3\n"                                                                                         \
  "vfmadd231ps %%" reg "4, %%" reg "4, %%" reg "4\n vfmadd231ps %%" reg "5, %%" reg "5, %%" reg \
  "5\n"                                                                                         \
  "vfmadd231ps %%" reg "6, %%" reg "6, %%" reg "6\n vfmadd231ps %%" reg "7, %%" reg "7, %%" reg \
  "7\n"                                                                                         \
  "vfmadd231ps %%" reg "8, %%" reg "8, %%" reg "8\n vfmadd231ps %%" reg "9, %%" reg "9, %%" reg \
  "9\n"                                                                                         \
  "vfmadd231ps %%" reg "10, %%" reg "10, %%" reg "10\n vfmadd231ps %%" reg "11, %%" reg "11, %%" reg "11\n"
#define WAVEFILL_ZERO12(reg)                                                                     \
  "vpxor %%xmm0, %%xmm0, %%xmm0\n vpxor %%xmm1, %%xmm1, %%xmm1\n vpxor %%xmm2, %%xmm2, %%xmm2\n" \
  "vpxor %%xmm3, %%xmm3, %%xmm3\n vpxor %%xmm4, %%xmm4, %%xmm4\n vpxor %%xmm5, %%xmm5, %%xmm5\n" \
  "vpxor %%xmm6, %%xmm6, %%xmm6\n vpxor %%xmm7, %%xmm7, %%xmm7\n vpxor %%xmm8, %%xmm8, %%xmm8\n" \
  "vpxor %%xmm9, %%xmm9, %%xmm9\n vpxor %%xmm10, %%xmm10, %%xmm10\n vpxor %%xmm11, %%xmm11, %%xmm11\n"
#define WAVEFILL_CLOBBER12 \
  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11"

void fma_loop_512() {
  asm volatile(WAVEFILL_ZERO12("zmm") : : : WAVEFILL_CLOBBER12);
  for (int step = 0; step < kSteps; ++step) asm volatile(WAVEFILL_FMA12("zmm") : : : WAVEFILL_CLOBBER12);
}

void fma_loop_256() {
  asm volatile(WAVEFILL_ZERO12("ymm") : : : WAVEFILL_CLOBBER12);
  for (int step = 0; step < kSteps; ++step) asm volatile(WAVEFILL_FMA12("ymm") : : : WAVEFILL_CLOBBER12);
}

// Four independent sums of 16 x 16 x 32 multiply-adds a step.
constexpr double kAmxFlops = 4.0 * 16 * 16 * 32 * 2 * kSteps;

struct alignas(64) TileConfig {
  unsigned char palette = 1;
  unsigned char reserved[15] = {};
  unsigned short row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  unsigned char rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
constexpr TileConfig kTileConfig;

void amx_loop() {
  asm volatile("ldtilecfg %0" : : "m"(kTileConfig));
  asm volatile(
      "tilezero %tmm0\n tilezero %tmm1\n tilezero %tmm2\n tilezero %tmm3\n"
      "tilezero %tmm4\n tilezero %tmm5\n tilezero %tmm6\n tilezero %tmm7\n");
  for (int step = 0; step < kSteps; ++step) {
    asm volatile(
        "tdpbf16ps %tmm6, %tmm4, %tmm0\n tdpbf16ps %tmm6, %tmm5, %tmm1\n"
        "tdpbf16ps %tmm7, %tmm4, %tmm2\n tdpbf16ps %tmm7, %tmm5, %tmm3\n");
  }
  asm volatile("tilerelease");
}

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

}  // namespace wavefill::bench
