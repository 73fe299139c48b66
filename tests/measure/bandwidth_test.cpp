#include "measure/bandwidth.h"

#include <gtest/gtest.h>

namespace wavefill {
namespace {

TEST(Bandwidth, SmallBuffersAreNotCalledBeyondTheCache) {
  const auto bandwidth =
      measure_bandwidth({.num_threads = 2, .buffer_bytes = std::int64_t{1} << 20, .repetitions = 5});
  ASSERT_TRUE(bandwidth.ok()) << bandwidth.status().message();
  EXPECT_EQ(bandwidth->num_threads, 2);
  EXPECT_GT(bandwidth->copy_gbps, 0.01);
  EXPECT_LT(bandwidth->copy_gbps, 1e5);
  EXPECT_GE(bandwidth->best_copy_gbps, bandwidth->copy_gbps);
  EXPECT_GE(bandwidth->best_read_gbps, bandwidth->read_gbps);
  EXPECT_GT(bandwidth->read_gbps, 0.01);
}

TEST(Bandwidth, MoreThreadsThanPagesLeaveSomeIdle) {
  const auto bandwidth = measure_bandwidth({.num_threads = 5, .buffer_bytes = 6000, .repetitions = 2});
  ASSERT_TRUE(bandwidth.ok());
  EXPECT_GT(bandwidth->copy_gbps, 0.0);
}

TEST(Bandwidth, RefusesNonsense) {
  EXPECT_EQ(measure_bandwidth({.num_threads = -1}).status().code(), StatusCode::invalid_argument);
  EXPECT_EQ(measure_bandwidth({.buffer_bytes = 10, .repetitions = 0}).status().code(),
            StatusCode::invalid_argument);
}

}  // namespace
}  // namespace wavefill
