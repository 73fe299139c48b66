#include "measure/student_t.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace wavefill {
namespace {

TEST(StudentT, IncompleteBetaHasItsClosedForms) {
  for (const double x : {0.0, 0.01, 0.3, 0.5, 0.77, 0.999, 1.0}) {
    EXPECT_NEAR(regularised_incomplete_beta(1.0, 1.0, x), x, 1e-14);
    EXPECT_NEAR(regularised_incomplete_beta(2.0, 1.0, x), x * x, 1e-14);
    EXPECT_NEAR(regularised_incomplete_beta(1.0, 3.0, x), 1.0 - std::pow(1.0 - x, 3), 1e-14);
    EXPECT_NEAR(regularised_incomplete_beta(0.5, 0.5, x), 2.0 / std::numbers::pi * std::asin(std::sqrt(x)),
                1e-13);
  }
}

// One degree is Cauchy's distribution, two have p = 1 - t / sqrt(2 + t^2), very many the normal one.
TEST(StudentT, PHasItsClosedForms) {
  for (const double t : {0.0, 0.1, 1.0, 2.5, 12.0, 1000.0}) {
    EXPECT_NEAR(student_t_p(t, 1.0), 1.0 - 2.0 / std::numbers::pi * std::atan(t), 1e-12) << t;
    EXPECT_NEAR(student_t_p(t, 2.0), 1.0 - t / std::sqrt(2.0 + t * t), 1e-12) << t;
    EXPECT_NEAR(student_t_p(t, 1e7), std::erfc(t / std::numbers::sqrt2), 1e-6) << t;
    EXPECT_EQ(student_t_p(-t, 5.0), student_t_p(t, 5.0));
  }
  EXPECT_GT(student_t_p(40.0, 30.0), 0.0) << "small, and no rounding of 1 - 1";
  EXPECT_EQ(student_t_p(1e200, 4.0), 0.0);
}

TEST(StudentT, QuantilesAreThoseOfTheTables) {
  EXPECT_NEAR(student_t_quantile(0.05, 1), 12.7062, 5e-5);
  EXPECT_NEAR(student_t_quantile(0.05, 2), 4.30265, 5e-6);
  EXPECT_NEAR(student_t_quantile(0.05, 10), 2.22814, 5e-6);
  EXPECT_NEAR(student_t_quantile(0.01, 30), 2.75000, 5e-6);
  EXPECT_NEAR(student_t_quantile(0.001, 5), 6.86883, 5e-6);
  EXPECT_NEAR(student_t_quantile(0.05, 1e6), 1.95997, 5e-6);
}

TEST(StudentT, TheQuantileIsTheInverseOfP) {
  for (const double degrees : {0.5, 1.0, 3.7, 15.0, 4000.0}) {
    for (const double p : {0.9, 0.05, 0.001, 1e-9}) {
      EXPECT_NEAR(student_t_p(student_t_quantile(p, degrees), degrees) / p, 1.0, 1e-8) << degrees << " " << p;
    }
  }
}

}  // namespace
}  // namespace wavefill
