// Several processes and one ledger.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>

#include "ledger/ledger_file.h"

namespace wavefill {
namespace {

using testing::key_for;
using testing::round_of;

class ProcessTest : public testing::LedgerFile {};

// Runs `body` in a child, which tells the parent through the pipe when it is ready, and then waits.
class Child {
 public:
  explicit Child(const std::function<bool()>& body, bool stay = true) {
    int ends[2] = {};
    EXPECT_EQ(pipe(ends), 0);
    pid_ = fork();
    if (pid_ == 0) {
      close(ends[0]);
      const char answer = body() ? 'y' : 'n';
      if (write(ends[1], &answer, 1) != 1) _exit(2);
      while (stay) pause();
      _exit(0);
    }
    close(ends[1]);
    char answer = 0;
    is_ready_ = read(ends[0], &answer, 1) == 1 && answer == 'y';
    close(ends[0]);
  }
  ~Child() { end(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void end() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

  pid_t pid() const { return pid_; }
  bool is_ready() const { return is_ready_; }

 private:
  pid_t pid_ = 0;
  bool is_ready_ = false;
};

TEST_F(ProcessTest, TheSecondOfTwoTunersIsRefusedAndToldWhoIsFirst) {
  std::unique_ptr<Ledger> of_child;
  Child child([&] {
    of_child = std::make_unique<Ledger>(opened());
    const auto run = of_child->begin(key_for("gpu/0"), {}, true);
    return run.ok() && of_child->record(round_of(run->id, 0)).ok();
  });
  ASSERT_TRUE(child.is_ready());
  Ledger ledger = opened();
  const auto refused = ledger.begin(key_for("gpu/0"), {}, true);
  EXPECT_EQ(refused.status().code(), StatusCode::unavailable);
  EXPECT_NE(refused.status().message().find("process " + std::to_string(child.pid())), std::string::npos)
      << refused.status().message();
  EXPECT_TRUE(ledger.begin(key_for("gpu/1"), {}, true).ok()) << "another key is free";
  EXPECT_EQ(ledger.runs()->size(), 2U) << "a refused begin leaves no run behind";

  child.end();  // killed: its lock is gone with it
  const auto taken_over = ledger.begin(key_for("gpu/0"), {}, true);
  ASSERT_TRUE(taken_over.ok()) << taken_over.status().message();
  EXPECT_TRUE(taken_over->resumed);
  EXPECT_EQ(taken_over->measurements.size(), 2U);
}

TEST_F(ProcessTest, TheLockFileGoesWithTheRun) {
  Ledger ledger = opened();
  const auto files = [&] { return std::distance(std::filesystem::directory_iterator(directory_), {}); };
  const auto before = files();
  const auto run = ledger.begin(key_for("gpu"), {}, true);
  EXPECT_EQ(files(), before + 1);
  ledger.suspend(run->id);
  EXPECT_EQ(files(), before);
}

TEST_F(ProcessTest, TwoProcessesWriteToOneLedger) {
  constexpr std::int32_t kRounds = 100;
  const auto write_rounds = [&](const char* device) {
    Ledger ledger = opened();
    const auto run = ledger.begin(key_for(device), {}, true);
    if (!run.ok()) return false;
    for (std::int32_t round = 0; round < kRounds; ++round) {
      if (!ledger.record(round_of(run->id, round)).ok()) return false;
    }
    return true;
  };
  std::vector<pid_t> children;
  for (const char* device : {"a", "b", "c"}) {  // all at once, on a file that is not there yet
    const pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) _exit(write_rounds(device) ? 0 : 1);
    children.push_back(pid);
  }
  for (const pid_t pid : children) {
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  const Ledger ledger = opened();
  const std::vector<RunSummary> runs = *ledger.runs();
  ASSERT_EQ(runs.size(), 3U);
  for (const RunSummary& run : runs) EXPECT_EQ(run.num_measurements, 2 * kRounds);
}

}  // namespace
}  // namespace wavefill
