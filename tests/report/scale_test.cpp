#include "report/scale.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace wavefill::report {
namespace {

TEST(Scale, MapsEndsToEnds) {
  const Scale scale(10, 20, 100, 0);
  EXPECT_DOUBLE_EQ(scale(10), 100);
  EXPECT_DOUBLE_EQ(scale(20), 0);
  EXPECT_DOUBLE_EQ(scale(15), 50);
}

TEST(Scale, LogarithmicSpacesFactorsEvenly) {
  const Scale scale(1, 64, 0, 6, Scale::Kind::logarithmic);
  EXPECT_DOUBLE_EQ(scale(1), 0);
  EXPECT_DOUBLE_EQ(scale(8), 3);
  EXPECT_DOUBLE_EQ(scale(64), 6);
}

TEST(Scale, OneValueLiesInTheMiddleInsteadOfNowhere) { EXPECT_DOUBLE_EQ(Scale(5, 5, 0, 10)(5), 5); }

TEST(NiceRange, HoldsItsInputAndStaysFinite) {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> exponent(-6, 9);
  for (int i = 0; i < 2000; ++i) {
    const double a = std::pow(10.0, exponent(random));
    const double b = a * (1.0 + std::pow(10.0, exponent(random) - 6));
    const Range range = nice_range(a, b);
    ASSERT_LE(range.min, a) << "range of " << a << ", " << b;
    ASSERT_GE(range.max, b) << "range of " << a << ", " << b;
    ASSERT_LT(range.min, range.max);
    ASSERT_TRUE(std::isfinite(range.max));
  }
}

TEST(NiceRange, StartsAtZeroWhereThatCostsLittle) {
  EXPECT_EQ(nice_range(10, 100).min, 0.0);
  EXPECT_GT(nice_range(900, 1000).min, 0.0);
}

TEST(NiceRange, EmptyRangeIsWidened) {
  EXPECT_LT(nice_range(5, 5).min, nice_range(5, 5).max);
  EXPECT_LT(nice_range(0, 0).min, nice_range(0, 0).max);
}

TEST(NiceTicks, AreRoundAndInside) {
  EXPECT_EQ(nice_ticks(0, 100, 5), (std::vector<double>{0, 20, 40, 60, 80, 100}));
  EXPECT_EQ(nice_ticks(0.1, 0.3, 2), (std::vector<double>{0.1, 0.2, 3 * 0.1}));
  for (const double tick : nice_ticks(-0.5, 0.5, 4)) EXPECT_FALSE(std::signbit(tick) && tick == 0.0);
}

TEST(Compact, ThreeSignificantDigits) {
  EXPECT_EQ(compact(0), "0");
  EXPECT_EQ(compact(3), "3");
  EXPECT_EQ(compact(12.345), "12.3");
  EXPECT_EQ(compact(842.4), "842");
  EXPECT_EQ(compact(999.6), "1k");
  EXPECT_EQ(compact(12345), "12.3k");
  EXPECT_EQ(compact(4.56e6), "4.56M");
}

}  // namespace
}  // namespace wavefill::report
