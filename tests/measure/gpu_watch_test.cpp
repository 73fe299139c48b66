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

TEST(GpuWatch, AGpuThatIsNotHereGivesReadingsThatSayNothing) {
  const GpuWatch watch("ffff:ff:1f.0");
  EXPECT_EQ(watch.read().processes, -1);
  Environment environment;
  watch.describe(environment);
  EXPECT_TRUE(environment.fields.empty());
}

}  // namespace
}  // namespace wavefill
