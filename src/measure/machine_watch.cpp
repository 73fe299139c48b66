#include "measure/machine_watch.h"

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <sstream>
#include <thread>

#include "measure/system.h"
#include "measure/timers.h"

namespace wavefill {
namespace {

// The columns of the "cpu" line of /proc/stat, in clock ticks. Guest time is part of user time already.
struct StatTicks {
  std::int64_t user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0;
};

bool read_stat(StatTicks& ticks) {
  const auto text = read_text_file("/proc/stat");
  if (!text) return false;
  std::istringstream line(*text);
  std::string label;
  line >> label >> ticks.user >> ticks.nice >> ticks.system >> ticks.idle >> ticks.iowait >> ticks.irq >>
      ticks.softirq >> ticks.steal;
  return label == "cpu" && !line.fail();
}

double process_cpu_us() {
  timespec time{};
  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) != 0) return 0.0;
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

// Sum over our threads of the time they were ready to run and had no CPU: the second figure, in
// nanoseconds, of each thread's schedstat.
double waiting_us() {
  double sum_us = 0.0;
  bool any = false;
  std::error_code error;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", error)) {
    const auto text = read_text_file(task.path() / "schedstat");
    if (!text) continue;  // the thread has ended
    std::istringstream line(*text);
    double on_cpu_ns = 0.0;
    double wait_ns = 0.0;
    if (line >> on_cpu_ns >> wait_ns) {
      sum_us += wait_ns / 1e3;
      any = true;
    }
  }
  return any ? sum_us : -1.0;
}

// What grew beyond what the counting in ticks can make up, as a share of the CPU time there was.
double share_beyond(double grown_us, double allowance_us, double capacity_us) {
  return capacity_us > 0.0 ? std::max(0.0, grown_us - allowance_us) / capacity_us : 0.0;
}

}  // namespace

CpuReadings read_cpu() {
  CpuReadings readings;
  readings.num_cpus = static_cast<std::int32_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  readings.tick_us = 1e6 / static_cast<double>(std::max(1L, sysconf(_SC_CLK_TCK)));
  StatTicks ticks;
  if (read_stat(ticks)) {
    const std::int64_t busy = ticks.user + ticks.nice + ticks.system + ticks.irq + ticks.softirq;
    readings.busy_us = static_cast<double>(busy) * readings.tick_us;
    readings.stolen_us = static_cast<double>(ticks.steal) * readings.tick_us;
  }
  readings.waiting_us = waiting_us();
  readings.own_us = process_cpu_us();
  readings.wall_us = monotonic_us();
  return readings;
}

WatchReport judge(const CpuReadings& begin, const CpuReadings& end, const CpuWatchLimits& limits) {
  const double capacity_us = (end.wall_us - begin.wall_us) * end.num_cpus;
  const double allowance_us = end.tick_us * end.num_cpus;
  const auto over = [](double share, double limit, std::string_view what) {
    return share <= limit ? WatchReport{}
                          : WatchReport{true, fmt::format("{} {:.1f} % of the CPU time; allowed: {:.1f} %",
                                                          what, share * 100, limit * 100)};
  };
  if (begin.waiting_us >= 0.0 && end.waiting_us >= 0.0) {
    const double share = share_beyond(end.waiting_us - begin.waiting_us, 0.0, capacity_us);
    if (auto report = over(share, limits.waiting_share, "our threads waited for a CPU for");
        report.contaminated)
      return report;
  }
  if (begin.busy_us < 0.0 || end.busy_us < 0.0) return {};
  const double others_us = (end.busy_us - begin.busy_us) - (end.own_us - begin.own_us);
  if (auto report = over(share_beyond(others_us, allowance_us, capacity_us), limits.others_share,
                         "other processes used");
      report.contaminated)
    return report;
  return over(share_beyond(end.stolen_us - begin.stolen_us, allowance_us, capacity_us), limits.stolen_share,
              "other guests of the host took");
}

double others_cpu_share(double window_us) {
  const CpuReadings begin = read_cpu();
  std::this_thread::sleep_for(std::chrono::duration<double, std::micro>(window_us));
  const CpuReadings end = read_cpu();
  if (begin.busy_us < 0.0 || end.busy_us < 0.0) return 0.0;
  const double others_us = (end.busy_us - begin.busy_us) - (end.own_us - begin.own_us);
  const double capacity_us = (end.wall_us - begin.wall_us) * end.num_cpus;
  return std::min(1.0, share_beyond(others_us, end.tick_us * end.num_cpus, capacity_us));
}

}  // namespace wavefill
