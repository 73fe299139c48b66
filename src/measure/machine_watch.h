// Watching the machine while a round is timed: did something else use it?
#pragma once

#include <cstdint>
#include <string>

namespace wavefill {

// What was seen during one round.
struct WatchReport {
  bool contaminated = false;
  std::string reason;      // "other processes used 23.0 % of the CPUs"
  double clock_mhz = 0.0;  // of the device's SMs, the lower of begin and end; 0 = not said
};

// Limits above which a round is contaminated, as shares of the CPU time that the round had.
struct CpuWatchLimits {
  double others_share = 0.10;   // CPU time of other processes
  double waiting_share = 0.05;  // time our threads were ready but had no CPU
  double stolen_share = 0.02;   // time the hypervisor gave to other guests
};

// Readings that only grow, in microseconds; -1 = the system does not say.
struct CpuReadings {
  double wall_us = 0.0;
  double busy_us = -1.0;     // all CPUs, all processes (/proc/stat)
  double stolen_us = -1.0;   // all CPUs
  double own_us = 0.0;       // this process, all threads
  double waiting_us = -1.0;  // this process' threads, ready to run (/proc/self/task/*/schedstat)
  std::int32_t num_cpus = 1;
  double tick_us = 0.0;  // what busy_us and stolen_us are counted in
};
CpuReadings read_cpu();

// Pure. Counts in ticks can be off by one per CPU, so a share is counted only beyond that.
WatchReport judge(const CpuReadings& begin, const CpuReadings& end, const CpuWatchLimits& limits = {});

// The share of the machine's CPU time, 0..1, that other processes use now; looks for `window_us`.
double others_cpu_share(double window_us);

}  // namespace wavefill
