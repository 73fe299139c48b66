// kill -9 at random moments of a tune: what was acknowledged is in the ledger, and nothing is done twice.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <random>
#include <set>

#include "ledger/ledger_file.h"
#include "tune/fake_workbench.h"
#include "tune/tuner.h"

namespace wavefill {
namespace {

using testing::FakeWorkbench;
using testing::TestProgress;

class KillTest : public testing::LedgerFile {};

std::uint64_t identity_of(const Measurement& m) {
  const std::string text = std::to_string(m.run) + "|" + std::string(to_string(m.phase)) + "|" +
                           std::to_string(m.batch) + "|" + m.setting + "|" + std::to_string(m.replica) + "|" +
                           std::to_string(m.round);
  return std::hash<std::string>{}(text);
}

// Passes records on, and tells a pipe what was acknowledged.
class Announcing final : public RecordSink {
 public:
  Announcing(Ledger& ledger, int pipe) : ledger_(ledger), pipe_(pipe) {}

  Result<RunState> begin(const RunKey& key, const Environment& environment, bool resume) override {
    return ledger_.begin(key, environment, resume);
  }
  Status record(std::span<const Measurement> round) override {
    const Status status = ledger_.record(round);
    for (const Measurement& measurement : round) {
      const std::uint64_t identity = identity_of(measurement);
      if (status.ok() && ::write(pipe_, &identity, sizeof(identity)) != sizeof(identity)) _exit(3);
    }
    return status;
  }
  Status record(const Verification& verification) override { return ledger_.record(verification); }
  Status record(const ArmEnd& end) override { return ledger_.record(end); }
  Status finish(const DecisionRecord& decision) override { return ledger_.finish(decision); }
  void suspend(RunId run) override { ledger_.suspend(run); }

 private:
  Ledger& ledger_;
  int pipe_;
};

// Simulated times, but each call takes real time too, so that a kill hits somewhere.
class SlowWorkbench final : public FakeWorkbench {
 public:
  Result<double> time_calls(const SplitPlan& plan, std::int32_t calls_in_burst) override {
    usleep(100);
    return FakeWorkbench::time_calls(plan, calls_in_burst);
  }
};

TuneRequest request() {
  TuneRequest request = testing::request_for({1, 2, 3, 4, 5, 6, 7, 8});
  request.stop.max_samples = 40;
  request.verdict.resamples = 200;
  return request;
}

[[noreturn]] void tune_until_killed(const std::string& path, int pipe) {
  auto ledger = Ledger::open(path);
  if (!ledger.ok()) _exit(4);
  Announcing sink(*ledger, pipe);
  SlowWorkbench workbench;
  TestProgress progress;
  const auto result = tune(request(), workbench, sink, progress);
  _exit(result.ok() ? 0 : 5);
}

TEST_F(KillTest, NothingAcknowledgedIsLostAndNothingIsMeasuredTwice) {
  constexpr int kKills = 10;
  std::mt19937_64 generator(std::random_device{}());
  std::set<std::uint64_t> acknowledged;
  int killed = 0;
  for (int kill_idx = 0; kill_idx < kKills; ++kill_idx) {
    int ends[2] = {};
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      close(ends[0]);
      tune_until_killed(path(), ends[1]);
    }
    close(ends[1]);
    // At some measurement, and then at any moment of what comes after it.
    const std::uint64_t wait_for = 1 + generator() % 60;
    std::uint64_t identity = 0;
    std::vector<std::uint64_t> told;
    while (told.size() < wait_for && read(ends[0], &identity, sizeof(identity)) == sizeof(identity)) {
      told.push_back(identity);
    }
    const auto wait_us = static_cast<useconds_t>(generator() % 5000);
    usleep(wait_us);
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status))
      ++killed;
    else
      EXPECT_EQ(WEXITSTATUS(status), 0);
    while (read(ends[0], &identity, sizeof(identity)) == sizeof(identity)) told.push_back(identity);
    for (const std::uint64_t one : told) {
      EXPECT_TRUE(acknowledged.insert(one).second)
          << "measured again after kill " << kill_idx << ", " << wait_us << " us after " << wait_for;
    }
    close(ends[0]);

    const Ledger ledger = opened();  // sound, whatever the moment
    std::set<std::uint64_t> kept;
    const std::vector<RunSummary> runs = *ledger.runs();
    for (const RunSummary& run : runs) {
      const std::vector<Measurement> measurements = *ledger.measurements(run.id);
      for (const Measurement& measurement : measurements) {
        EXPECT_TRUE(kept.insert(identity_of(measurement)).second);
      }
    }
    for (const std::uint64_t known : acknowledged) {
      EXPECT_TRUE(kept.contains(known))
          << "lost by kill " << kill_idx << ", " << wait_us << " us after " << wait_for;
    }
  }
  EXPECT_GT(killed, 0) << "every child finished before it was killed: nothing was tested";
  EXPECT_FALSE(acknowledged.empty());

  Ledger ledger = opened();
  FakeWorkbench workbench;
  TestProgress progress;
  const auto finished = tune(request(), workbench, ledger, progress);
  ASSERT_TRUE(finished.ok()) << finished.status().message();
  EXPECT_EQ(ledger.decisions()->size(), ledger.runs()->size());
  for (const BatchResult& batch : finished->batches) {
    EXPECT_GE(std::ssize(batch.arms.front().samples), request().verdict.min_samples);
  }
}

}  // namespace
}  // namespace wavefill
