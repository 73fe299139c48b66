// Stopping a tune at any moment and going on later: nothing measured is lost, nothing is measured twice.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "tune/fake_workbench.h"
#include "tune/tuner.h"

namespace wavefill {
namespace {

using testing::FakeWorkbench;
using testing::request_for;
using testing::TestProgress;

using Identity = std::tuple<RunId, Phase, std::int32_t, std::string, std::int32_t, std::int32_t>;
Identity identity_of(const Measurement& m) {
  return {m.run, m.phase, m.batch, m.setting, m.replica, m.round};
}

TEST(Resume, AnInterruptedTuneGoesOnWhereItStopped) {
  for (const std::int64_t stop_after : {1, 7, 40, 90, 200}) {
    MemorySink sink;
    const TuneRequest request = request_for({1, 2, 3});
    FakeWorkbench first;
    TestProgress interrupted;
    interrupted.cancel = [&] { return first.calls >= stop_after; };
    const auto stopped = tune(request, first, sink, interrupted);
    ASSERT_TRUE(stopped.ok()) << stopped.status().message();
    ASSERT_TRUE(stopped->cancelled) << "after " << stop_after;
    EXPECT_FALSE(stopped->profile.has_value());
    EXPECT_TRUE(sink.decisions().empty());
    const std::vector<Measurement> before = sink.measurements();
    const std::size_t verified_before = sink.verifications().size();

    FakeWorkbench second;
    TestProgress undisturbed;
    const auto finished = tune(request, second, sink, undisturbed);
    ASSERT_TRUE(finished.ok()) << finished.status().message();
    EXPECT_TRUE(finished->resumed);
    EXPECT_FALSE(finished->cancelled);
    EXPECT_EQ(finished->run, before.empty() ? finished->run : before.front().run);
    EXPECT_EQ(finished->reused_measurements, std::ssize(before));

    ASSERT_GE(sink.measurements().size(), before.size());
    EXPECT_TRUE(std::equal(before.begin(), before.end(), sink.measurements().begin()));
    std::set<Identity> seen;
    for (const Measurement& measurement : sink.measurements()) {
      EXPECT_TRUE(seen.insert(identity_of(measurement)).second) << measurement.setting << " twice";
    }
    EXPECT_EQ(verified_before + static_cast<std::size_t>(second.verified), sink.verifications().size());
    std::set<std::pair<std::int32_t, std::string>> verified;
    for (const Verification& verification : sink.verifications()) {
      EXPECT_TRUE(verified.insert({verification.batch, verification.setting}).second)
          << verification.setting << " verified twice at " << verification.batch;
    }
  }
}

TEST(Resume, AFinishedRunIsNotContinued) {
  MemorySink sink;
  TestProgress progress;
  FakeWorkbench workbench;
  const auto first = tune(request_for({1}), workbench, sink, progress);
  const auto second = tune(request_for({1}), workbench, sink, progress);
  ASSERT_TRUE(first.ok());
  ASSERT_TRUE(second.ok());
  EXPECT_FALSE(second->resumed);
  EXPECT_NE(second->run, first->run);
}

TEST(Resume, AnotherRequestIsAnotherRun) {
  MemorySink sink;
  FakeWorkbench workbench;
  TestProgress interrupted;
  interrupted.cancel = [&] { return workbench.calls >= 30; };
  ASSERT_TRUE(tune(request_for({1}), workbench, sink, interrupted)->cancelled);
  TestProgress progress;
  TuneRequest other = request_for({1});
  other.deployed = *parse_setting("fixed=2");
  EXPECT_FALSE(tune(other, workbench, sink, progress)->resumed);
  other = request_for({1});
  other.resume = false;
  EXPECT_FALSE(tune(other, workbench, sink, progress)->resumed);
}

// Rounds that a neighbour spoilt must not use up what a later, quiet process may measure.
TEST(Resume, ANoisyStartDoesNotSpoilTheRest) {
  MemorySink sink;
  TuneRequest request = request_for({1});
  request.stop.max_samples = 20;
  FakeWorkbench noisy;
  noisy.is_contaminated = [](std::int32_t) { return true; };
  TestProgress progress;
  EXPECT_EQ(tune(request, noisy, sink, progress).status().code(), StatusCode::unavailable);
  FakeWorkbench quiet;
  const auto result = tune(request, quiet, sink, progress);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_TRUE(result->resumed);
  EXPECT_GE(result->batches.front().rounds, request.stop.min_samples);
  EXPECT_GE(result->batches.front().contaminated_rounds, 20);
}

TEST(Resume, SoDoesAResumeThatIsInterruptedAgain) {
  MemorySink sink;
  const TuneRequest request = request_for({1, 2, 3, 4});
  std::int32_t sessions = 0;
  for (;; ++sessions) {
    ASSERT_LT(sessions, 200);
    FakeWorkbench workbench;
    TestProgress progress;
    progress.cancel = [&] { return workbench.calls >= 33; };
    const auto result = tune(request, workbench, sink, progress);
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_EQ(result->run, 1);
    if (!result->cancelled) break;
  }
  EXPECT_GT(sessions, 5);
  EXPECT_EQ(sink.decisions().size(), 1U);
}

}  // namespace
}  // namespace wavefill
