#include "measure/machine_watch.h"

#include <gtest/gtest.h>

namespace wavefill {
namespace {

// One second on 4 CPUs that we keep busy with 2 threads; ticks of 10 ms.
struct Round {
  CpuReadings begin{.wall_us = 0,
                    .busy_us = 0,
                    .stolen_us = 0,
                    .own_us = 0,
                    .waiting_us = 0,
                    .num_cpus = 4,
                    .tick_us = 10e3};
  CpuReadings end{.wall_us = 1e6,
                  .busy_us = 2e6,
                  .stolen_us = 0,
                  .own_us = 2e6,
                  .waiting_us = 0,
                  .num_cpus = 4,
                  .tick_us = 10e3};
};

TEST(MachineWatch, AQuietRoundIsClean) {
  const Round round;
  EXPECT_FALSE(judge(round.begin, round.end).contaminated);
}

TEST(MachineWatch, OtherProcessesContaminateAndAreQuantified) {
  Round round;
  round.end.busy_us += 0.92e6 + 4 * 10e3;  // 23 % of 4 CPU seconds beyond one tick a CPU
  const WatchReport report = judge(round.begin, round.end);
  EXPECT_TRUE(report.contaminated);
  EXPECT_EQ(report.reason, "other processes used 23.0 % of the CPU time; allowed: 10.0 %");
}

TEST(MachineWatch, OurOwnThreadsAreNotOthers) {
  Round round;
  round.end.busy_us = 4e6;
  round.end.own_us = 4e6;
  EXPECT_FALSE(judge(round.begin, round.end).contaminated);
}

TEST(MachineWatch, CountingInTicksIsNotMistakenForLoad) {
  Round round;
  round.end.wall_us = 20e3;  // a short round: one tick a CPU is half of its CPU time
  round.end.own_us = 40e3;
  round.end.busy_us = 80e3;
  EXPECT_FALSE(judge(round.begin, round.end).contaminated);
}

TEST(MachineWatch, WaitingForACpuContaminatesEvenAShortRound) {
  Round round;
  round.end.wall_us = 20e3;
  round.end.own_us = round.end.busy_us = 40e3;
  round.end.waiting_us = 8e3;  // 10 % of 80 ms
  const WatchReport report = judge(round.begin, round.end);
  EXPECT_TRUE(report.contaminated);
  EXPECT_NE(report.reason.find("waited for a CPU for 10.0 %"), std::string::npos) << report.reason;
}

TEST(MachineWatch, TimeStolenByTheHypervisorContaminates) {
  Round round;
  round.end.stolen_us = 0.3e6;
  EXPECT_TRUE(judge(round.begin, round.end).contaminated);
}

TEST(MachineWatch, WhatTheSystemDoesNotSayIsNotGuessed) {
  Round round;
  round.begin.busy_us = round.end.busy_us = -1;
  round.begin.stolen_us = round.end.stolen_us = -1;
  round.begin.waiting_us = round.end.waiting_us = -1;
  EXPECT_FALSE(judge(round.begin, round.end).contaminated);
}

TEST(MachineWatch, ReadingsGrow) {
  const CpuReadings begin = read_cpu();
  double sum = 0.0;
  for (int i = 0; i < 5'000'000; ++i) sum += i;
  ASSERT_GT(sum, 0.0);
  const CpuReadings end = read_cpu();
  EXPECT_GE(begin.num_cpus, 1);
  EXPECT_GT(end.wall_us, begin.wall_us);
  EXPECT_GT(end.own_us, begin.own_us);
  EXPECT_GE(end.busy_us, begin.busy_us);
  EXPECT_GE(end.waiting_us, begin.waiting_us);
  const double share = others_cpu_share(20e3);
  EXPECT_GE(share, 0.0);
  EXPECT_LE(share, 1.0);
}

}  // namespace
}  // namespace wavefill
