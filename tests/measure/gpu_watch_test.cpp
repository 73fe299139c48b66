#include "measure/gpu_watch.h"

#include <gtest/gtest.h>

namespace wavefill {
namespace {

constexpr GpuReadings kAlone{.processes = 1, .clock_reasons = 0};

TEST(GpuWatch, AQuietRoundIsCleanAlsoWhereTheDriverSaysNothing) {
  EXPECT_FALSE(judge(kAlone, kAlone).contaminated);
  EXPECT_FALSE(judge(GpuReadings{}, GpuReadings{}).contaminated);
}

TEST(GpuWatch, AnotherProcessContaminatesFromEitherEndOfARound) {
  const GpuReadings two{.processes = 2, .clock_reasons = 0};
  for (const WatchReport& report : {judge(two, kAlone), judge(kAlone, two)}) {
    EXPECT_TRUE(report.contaminated);
    EXPECT_EQ(report.reason, "2 processes are on the GPU; allowed: ours alone");
  }
}

TEST(GpuWatch, SlowdownsContaminateAndAPowerCapDoesNot) {
  constexpr std::uint64_t kIdle = 0x1;
  constexpr std::uint64_t kPowerCap = 0x4;
  EXPECT_FALSE(judge(kAlone, {.processes = 1, .clock_reasons = kIdle | kPowerCap}).contaminated);
  for (const std::uint64_t reason : {0x08, 0x20, 0x40, 0x80}) {
    EXPECT_TRUE(judge({.processes = 1, .clock_reasons = reason}, kAlone).contaminated) << reason;
    EXPECT_TRUE(judge(kAlone, {.processes = 1, .clock_reasons = reason}).contaminated) << reason;
  }
}

TEST(GpuWatch, TheLowerClockOfARoundIsKept) {
  const GpuReadings fast{.processes = 1, .clock_reasons = 0, .sm_clock_mhz = 1980.0};
  const GpuReadings slow{.processes = 1, .clock_reasons = 0, .sm_clock_mhz = 1755.0};
  EXPECT_EQ(judge(fast, slow).clock_mhz, 1755.0);
  EXPECT_EQ(judge(slow, fast).clock_mhz, 1755.0);
  EXPECT_EQ(judge(fast, kAlone).clock_mhz, 0.0) << "half a reading is none";
  const GpuReadings hot{.processes = 1, .clock_reasons = 0x20, .sm_clock_mhz = 1200.0};
  EXPECT_EQ(judge(fast, hot).clock_mhz, 1200.0) << "also where the round is thrown away";
}

TEST(GpuWatch, AGpuThatIsNotHereGivesReadingsThatSayNothing) {
  const GpuWatch watch("ffff:ff:1f.0");
  EXPECT_EQ(watch.read().processes, -1);
  Environment environment;
  watch.describe(environment);
  ASSERT_EQ(environment.fields.size(), 1U) << "and it is said that nothing was watched";
  EXPECT_TRUE(environment.value("gpu_watch").starts_with("not available: libnvidia-ml.so.1"))
      << environment.value("gpu_watch");
}

}  // namespace
}  // namespace wavefill
