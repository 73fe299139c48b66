// Decisions as pages in somebody's repository: ours are committed, and nothing else is touched.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/process.h"
#include "cli/program_runner.h"
#include "cli/sha256.h"
#include "ledger/ledger.h"
#include "report/golden.h"
#include "tune/decision.h"
#include "tune/decision_json.h"

namespace wavefill::test {
namespace {

constexpr std::int64_t kDecidedAt = 1'764'633'600'000'000;  // 2025-12-02

std::string decision_json() {
  DecisionInput input;
  input.deployed = "target-ctas=512";
  for (const auto& [setting, batch, us] : {std::tuple{"target-ctas=512", 64, 78.9},
                                           {"target-ctas=512", 96, 113.6},
                                           {"fixed=6", 64, 83.4},
                                           {"fixed=6", 96, 110.1}}) {
    Evidence evidence;
    evidence.setting = setting;
    evidence.batch = batch;
    evidence.samples = {{-1, us}};
    input.evidence.push_back(evidence);
  }
  return to_json(decide(input).value());
}

class LogCommit : public testing::Test {
 protected:
  void SetUp() override {
    const auto version = cli::run_process({"git", "--version"});
    if (!version.ok()) GTEST_SKIP() << "no git is installed";
    git({"init", "--quiet"});
    add_decision("gpu|0`\n# x");
  }

  void add_decision(const std::string& device, const std::string& record = decision_json()) {
    auto ledger = Ledger::open(outside_.file("ledger")).value();
    RunKey key;
    key.profile.device = device;
    key.deployed = "target-ctas=512";
    key.batches = "64,96";
    Environment environment;
    environment.set("driver", "580.95.05");
    const RunState run = ledger.begin(key, environment, false).value();
    EXPECT_TRUE(ledger
                    .finish({.run = run.id,
                             .deployed = key.deployed,
                             .decision = "target-ctas=512",
                             .summary = "keep",
                             .json = record,
                             .at_unix_us = kDecidedAt})
                    .ok());
  }

  std::string git(const std::vector<std::string>& arguments) const {
    std::vector<std::string> command = {"git",         "-C", repository_.path(), "-c",
                                        "user.name=t", "-c", "user.email=t@e"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const auto outcome = cli::run_process(command);
    EXPECT_TRUE(outcome.ok() && outcome->exit_code == 0) << arguments[0] << ": " << outcome->err;
    return outcome->out;
  }

  Outcome log(const std::vector<std::string>& more, bool with_identity = true) const {
    std::vector<std::string> arguments = {"log", "--ledger", outside_.file("ledger")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    RunOptions options;
    if (with_identity) {
      options.environment = {{"GIT_AUTHOR_NAME", "a"},
                             {"GIT_AUTHOR_EMAIL", "a@e"},
                             {"GIT_COMMITTER_NAME", "a"},
                             {"GIT_COMMITTER_EMAIL", "a@e"}};
    } else {
      options.environment = {{"GIT_CONFIG_COUNT", "1"},
                             {"GIT_CONFIG_KEY_0", "user.useConfigOnly"},
                             {"GIT_CONFIG_VALUE_0", "true"}};
    }
    return run_wavefill(arguments, options);
  }
  Outcome commit(bool with_identity = true) const {
    return log({"--commit", repository_.path()}, with_identity);
  }

  const std::string page_ = "2025-12-02-run-1.md";
  TemporaryDirectory repository_;
  TemporaryDirectory outside_;
};

TEST_F(LogCommit, APageHoldsTheDecisionAndWhatItRestsOn) {
  const Outcome outcome = commit();
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("committed as " + git({"rev-parse", "HEAD"}).substr(0, 40)), std::string::npos);
  EXPECT_EQ(git({"show", "--name-only", "--format=", "HEAD"}), page_ + "\n");
  const std::string page = read_whole_file(repository_.file(page_));
  EXPECT_EQ(git({"show", "HEAD:" + page_}), page);
  for (const char* part :
       {"# Keep `target-ctas=512`", "## Context", "## Decision", "## Numbers", "## Alternatives",
        "## What would change it", "580.95.05", "| `fixed=6` | 64 | 83.4 | -5.4 % | SLOWER |",
        "| `fixed=6` | slower | 64 |", "Measuring `measured`", "batch 96: `fixed=6`"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part << "\n" << page;
  }
  EXPECT_NE(page.find("gpu\\|0\\` \\# x"), std::string::npos) << "a device's name is text\n" << page;
  EXPECT_EQ(log({"--run", "1", "--markdown"}).out, page);
}

// Rows of older builds know nothing of the request: the page has no such lines, and no error.
TEST_F(LogCommit, ARowWithoutARequestIsStillReadable) {
  const std::string page = log({"--run", "1", "--markdown"}).out;
  EXPECT_EQ(page.find("workload"), std::string::npos) << page;
  EXPECT_EQ(page.find("Asked for by"), std::string::npos) << page;
  EXPECT_EQ(log({"--run", "1"}).exit_code, 0);
  const auto document = nlohmann::json::parse(log({"--run", "1", "--json"}).out);
  EXPECT_TRUE(document["request"].is_null());
  EXPECT_EQ(document["record"]["decision"], "target-ctas=512");
}

TEST_F(LogCommit, ThePageOfATunedDecisionSaysWhatWasAskedFor) {
  TuneRequest request;
  request.batches = {64, 80, 96, 112};
  request.workload = {{64, 17.0}, {80, 16.0}};
  request.budget_us = 90e6;
  request.command = "wavefill tune --out 'a `b` | c'";
  TuneResult result;
  result.search_watch = {.rounds = 120,
                         .contaminated_rounds = 3,
                         .contamination = "a neighbour",
                         .clock_low_mhz = 1755.0,
                         .clock_high_mhz = 1980.0};
  result.confirm_watch = {.rounds = 40};
  result.confirmed.emplace_back();
  result.decision.decision = "fixed=1";
  add_decision("gpu", to_json(request, result));
  const std::string page = log({"--run", "2", "--markdown"}).out;
  for (const char* part :
       {"| workload, batch (weight) | 64 (17), 80 (16), 96,112 (0 each) |", "| budget | 90 s |",
        "| search | 120 rounds used, 3 others disturbed; clock 1755 to 1980 MHz |",
        "| confirmation | 40 rounds used, 0 others disturbed; clock not said |",
        "Asked for by\n\n```sh\nwavefill tune --out 'a `b` | c'\n```\n"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part << "\n" << page;
  }
}

TEST_F(LogCommit, ADecisionFromRecordsTakenElsewhereHasItsPage) {
  write_whole_file(outside_.file("r.csv"), "setting,batch,us\ntarget-ctas=512,64,78.9\nfixed=6,64,83.4\n");
  const Outcome decided = run_wavefill({"decide", "--records", outside_.file("r.csv"), "--deployed",
                                        "target-ctas=512", "--ledger", outside_.file("ledger")});
  ASSERT_EQ(decided.exit_code, 0) << decided.err;
  const Outcome outcome = commit();
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("-run-2.md"), std::string::npos) << outcome.out;
  const std::string page = log({"--run", "2", "--markdown"}).out;
  for (const std::string& part :
       {std::string("# Keep `target-ctas=512`: records taken elsewhere"),
        std::string("| their SHA-256 | ") + cli::sha256(read_whole_file(outside_.file("r.csv"))),
        std::string("bytes, 2 samples |"), std::string("```sh\nwavefill decide --records "),
        std::string("| `fixed=6` | slower | 64 |")}) {
    EXPECT_NE(page.find(part), std::string::npos) << part << "\n" << page;
  }
  EXPECT_EQ(page.find("SMs"), std::string::npos) << "nobody knows the device\n" << page;
}

TEST_F(LogCommit, WhatElseIsChangedOrStagedStays) {
  write_whole_file(repository_.file("mine"), "1");
  git({"add", "mine"});
  git({"commit", "--quiet", "-m", "mine"});
  write_whole_file(repository_.file("mine"), "2");
  write_whole_file(repository_.file("staged"), "s");
  git({"add", "staged"});
  write_whole_file(repository_.file("untracked"), "u");
  ASSERT_EQ(commit().exit_code, 0);
  EXPECT_EQ(git({"show", "--name-only", "--format=", "HEAD"}), page_ + "\n");
  EXPECT_EQ(git({"status", "--porcelain"}), " M mine\nA  staged\n?? untracked\n");
}

TEST_F(LogCommit, AsOftenAsOneLikes) {
  ASSERT_EQ(commit().exit_code, 0);
  const std::string head = git({"rev-parse", "HEAD"});
  const Outcome again = commit();
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_NE(again.out.find("1 decisions, all committed before"), std::string::npos) << again.out;
  EXPECT_EQ(git({"rev-parse", "HEAD"}), head);
  add_decision("second");
  ASSERT_EQ(commit().exit_code, 0);
  EXPECT_EQ(git({"show", "--name-only", "--format=", "HEAD"}), "2025-12-02-run-2.md\n");
}

TEST_F(LogCommit, AStagedPageOfThatNameIsRefused) {
  write_whole_file(repository_.file(page_), "somebody's draft");
  git({"add", page_});
  const Outcome outcome = commit();
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("is staged in git"), std::string::npos) << outcome.err;
  EXPECT_EQ(read_whole_file(repository_.file(page_)), "somebody's draft");
}

TEST_F(LogCommit, AnEditedPageIsNotOverwritten) {
  ASSERT_EQ(commit().exit_code, 0);
  write_whole_file(repository_.file(page_), "edited");
  const Outcome outcome = commit();
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("has changes that are not committed"), std::string::npos) << outcome.err;
  EXPECT_EQ(read_whole_file(repository_.file(page_)), "edited");
}

TEST_F(LogCommit, GitsRefusalLeavesTheIndexAsItWas) {
  const Outcome outcome = commit(/*with_identity=*/false);
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_TRUE(outcome.err.starts_with("wavefill: error: git commit")) << outcome.err;
  EXPECT_EQ(git({"status", "--porcelain"}), "?? " + page_ + "\n");
  EXPECT_EQ(commit().exit_code, 0) << "and it can be made up for";
}

TEST_F(LogCommit, NoRepositoryNoDirectoryNoRun) {
  const TemporaryDirectory plain;
  EXPECT_EQ(log({"--commit", plain.path()}).exit_code, 3);
  EXPECT_TRUE(plain.names().empty());
  EXPECT_EQ(log({"--commit", plain.file("none")}).exit_code, 2);
  EXPECT_EQ(log({"--commit", repository_.path(), "--run", "9"}).exit_code, 2);
  EXPECT_EQ(log({"--markdown"}).exit_code, 2);
}

}  // namespace
}  // namespace wavefill::test
