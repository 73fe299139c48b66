#include "measure/bandwidth.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include "core/errors.h"
#include "core/math.h"
#include "measure/rotation.h"
#include "measure/statistics.h"
#include "measure/system.h"
#include "measure/timers.h"

namespace wavefill {
namespace {

constexpr std::int64_t kMinBufferBytes = std::int64_t{64} << 20;  // a cache of unknown size is likely smaller
constexpr std::int64_t kMaxMemoryShare = 4;                       // both buffers take at most 1/4 of memory
constexpr std::int64_t kSliceAlignment = 4096;

using Buffer = std::unique_ptr<std::byte[]>;

Buffer allocate(std::int64_t bytes) {
  return Buffer(new (std::nothrow) std::byte[static_cast<std::size_t>(bytes)]);
}

std::int64_t default_buffer_bytes() {
  const std::int64_t wanted = std::max(kMinBufferBytes, kColdFactor * last_level_cache_bytes());
  const std::int64_t memory = available_memory_bytes();
  return memory > 0 ? std::min(wanted, memory / kMaxMemoryShare / 2) : wanted;
}

// Folds a slice into one word with eight independent chains, so that loads and not additions limit it.
std::uint64_t fold(const std::byte* data, std::int64_t bytes) {
  constexpr std::int64_t kLanes = 8;
  std::uint64_t lanes[kLanes] = {};
  for (std::int64_t at = 0; at + kLanes * 8 <= bytes; at += kLanes * 8) {
    std::uint64_t words[kLanes];
    std::memcpy(words, data + at, sizeof(words));
    for (std::int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] ^= words[lane];
  }
  std::uint64_t folded = 0;
  for (const std::uint64_t lane : lanes) folded ^= lane;
  return folded;
}

struct Slice {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t bytes() const { return end - begin; }
};

Slice slice_of(std::int64_t bytes, std::int32_t thread, std::int32_t num_threads) {
  const std::int64_t share = round_up(ceil_div(bytes, std::int64_t{num_threads}), kSliceAlignment);
  return {std::min(bytes, share * thread), std::min(bytes, share * (thread + 1))};
}

// Seconds that `work(slice)` takes on all threads at once, for each repetition. Each thread first writes
// its own slices (touch), so that its pages lie where it runs.
template <typename Touch, typename Work>
std::vector<double> time_on_threads(std::int32_t num_threads, std::int64_t bytes, std::int32_t repetitions,
                                    Touch touch, Work work) {
  std::barrier gate(num_threads);
  std::vector<double> seconds(static_cast<std::size_t>(repetitions));
  const auto body = [&](std::int32_t thread) {
    const Slice slice = slice_of(bytes, thread, num_threads);
    touch(slice);
    for (double& time : seconds) {
      gate.arrive_and_wait();
      const double begin = monotonic_us();
      work(slice);
      gate.arrive_and_wait();
      if (thread == 0) time = (monotonic_us() - begin) * 1e-6;
    }
  };
  std::vector<std::jthread> threads;
  for (std::int32_t thread = 1; thread < num_threads; ++thread) threads.emplace_back(body, thread);
  body(0);
  return seconds;
}

double gbps(double bytes, double seconds) { return bytes / seconds * 1e-9; }

}  // namespace

Result<Bandwidth> measure_bandwidth(const BandwidthOptions& options) {
  if (options.num_threads < 0 || options.buffer_bytes < 0 || options.repetitions < 1) {
    return invalid_argument(
        "bandwidth options are {} threads, {} bytes, {} repetitions; allowed: >= 0, >= 0, >= 1",
        options.num_threads, options.buffer_bytes, options.repetitions);
  }
  Bandwidth result;
  result.num_threads = options.num_threads > 0 ? options.num_threads : num_hardware_threads();
  result.buffer_bytes = options.buffer_bytes > 0 ? options.buffer_bytes : default_buffer_bytes();
  result.beyond_cache = result.buffer_bytes >= kColdFactor * last_level_cache_bytes();
  const Buffer source = allocate(result.buffer_bytes);
  const Buffer target = allocate(result.buffer_bytes);
  if (!source || !target) {
    return make_status(StatusCode::resource_exhausted, "two buffers of {} bytes cannot be had",
                       result.buffer_bytes);
  }
  const auto bytes = static_cast<double>(result.buffer_bytes);
  const auto touch = [&](Slice slice) {
    std::memset(source.get() + slice.begin, 1, static_cast<std::size_t>(slice.bytes()));
    std::memset(target.get() + slice.begin, 2, static_cast<std::size_t>(slice.bytes()));
  };
  const auto copies =
      time_on_threads(result.num_threads, result.buffer_bytes, options.repetitions, touch, [&](Slice slice) {
        std::memcpy(target.get() + slice.begin, source.get() + slice.begin,
                    static_cast<std::size_t>(slice.bytes()));
      });
  std::atomic<std::uint64_t> folded{0};  // makes the reads observable
  const auto reads = time_on_threads(
      result.num_threads, result.buffer_bytes, options.repetitions, [](Slice) {},
      [&](Slice slice) { folded ^= fold(source.get() + slice.begin, slice.bytes()); });
  result.copy_gbps = gbps(2 * bytes, median(copies));
  result.best_copy_gbps = gbps(2 * bytes, std::ranges::min(copies));
  result.read_gbps = gbps(bytes, median(reads));
  result.best_read_gbps = gbps(bytes, std::ranges::min(reads));
  return result;
}

}  // namespace wavefill
