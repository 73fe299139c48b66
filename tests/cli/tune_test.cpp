// wavefill tune, end to end on a shape so small that two seconds are enough.
#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>

#include "cli/program_runner.h"
#include "report/golden.h"
#include "wavefill/profile.h"

namespace wavefill::test {
namespace {

using Json = nlohmann::json;

// The machine of a test run is never quiet, and its caches may be large beside its memory.
std::vector<std::string> tune_arguments(const TemporaryDirectory& directory, const std::string& more) {
  return words(
      "tune --device cpu --heads 4 --topk 128 --batch 1,2 --allow-warm --count-contaminated --ledger " +
      directory.file("ledger.sqlite") + " " + more);
}

Json log_of(const TemporaryDirectory& directory, const std::string& more = "") {
  const Outcome outcome =
      run_wavefill(words("log --json --ledger " + directory.file("ledger.sqlite") + " " + more));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  return Json::parse(outcome.out, nullptr, false);
}

TEST(Tune, WritesItsFilesAndTheyAgree) {
  const TemporaryDirectory directory;
  const Outcome outcome = run_wavefill(tune_arguments(
      directory, "--budget 2s --deployed fixed=1 --json --out " + directory.file("profile.json") +
                     " --report " + directory.file("report.html") + " --csv " + directory.file("all.csv") +
                     " --figures " + directory.path()));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json["deployed"], "fixed=1");
  ASSERT_EQ(json["batches"].size(), 2u);

  const Result<Profile> profile = Profile::read(directory.file("profile.json"));
  ASSERT_TRUE(profile.ok()) << profile.status().message();
  ASSERT_EQ(profile->entries().size(), 2u);
  for (std::size_t b = 0; b < 2; ++b) {
    EXPECT_EQ(to_string(profile->entries()[b].setting), json["batches"][b]["chosen"]);
  }
  EXPECT_NE(read_whole_file(directory.file("report.html")).find("wavefill tuning report"), std::string::npos);
  EXPECT_TRUE(read_whole_file(directory.file("all.csv")).starts_with("batch,setting,"));
  EXPECT_TRUE(read_whole_file(directory.file("throughput.svg")).starts_with("<svg"));

  // What was tuned is what the runtime then serves.
  const Outcome served =
      run_wavefill(words("plan --device cpu --heads 4 --topk 128 --batch 1,2 --json --policy measured=" +
                         directory.file("profile.json")));
  EXPECT_EQ(served.exit_code, 0) << served.err;

  const Json runs = log_of(directory);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_TRUE(runs[0]["finished"]);
  EXPECT_EQ(runs[0]["decision"], json["decision"]);
  const Json run = log_of(directory, "--run " + std::to_string(runs[0]["run"].get<int>()));
  EXPECT_GT(run["arms"].size(), 2u);
  EXPECT_EQ(run["record"]["decision"], json["decision"]);
}

TEST(Tune, TextEndsWithTheDecisionAndThePaths) {
  const TemporaryDirectory directory;
  const Outcome outcome =
      run_wavefill(tune_arguments(directory, "--budget 1s --out " + directory.file("p.json")));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const std::string& part : {std::string("verdict"), directory.file("p.json"),
                                  directory.file("ledger.sqlite"), std::string("WAVEFILL_PROFILE")}) {
    EXPECT_NE(outcome.out.find(part), std::string::npos) << outcome.out;
  }
}

TEST(Tune, CtrlCLeavesALedgerThatIsResumed) {
  const TemporaryDirectory directory;
  RunOptions interrupt;
  interrupt.signal_after_s = 2.0;
  interrupt.signal = SIGINT;
  const std::vector<std::string> arguments =
      tune_arguments(directory, "--budget 20s --seed 5 --out " + directory.file("profile.json"));
  const Outcome stopped = run_wavefill(arguments, interrupt);
  EXPECT_EQ(stopped.exit_code, 3) << stopped.err;
  EXPECT_EQ(stopped.out, "");
  EXPECT_NE(stopped.err.find("wavefill tune --device cpu"), std::string::npos) << stopped.err;
  const Json before = log_of(directory);
  ASSERT_EQ(before.size(), 1u);
  EXPECT_FALSE(before[0]["finished"]);
  EXPECT_EQ(directory.names(), std::vector<std::string>{"ledger.sqlite"});  // no half-written output

  const Outcome resumed =
      run_wavefill(tune_arguments(directory, "--budget 2s --seed 5 --out " + directory.file("profile.json")));
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_NE(resumed.out.find("resumed"), std::string::npos) << resumed.out;
  const Json after = log_of(directory);
  ASSERT_EQ(after.size(), 1u);
  EXPECT_TRUE(after[0]["finished"]);
  EXPECT_GE(after[0]["measurements"], before[0]["measurements"]);
}

TEST(Log, AnEmptyHomeHasNoRuns) {
  EXPECT_EQ(run_wavefill({"log"}).out, "no runs\n");
  EXPECT_EQ(run_wavefill({"log", "--json"}).out, "[]\n");
}

TEST(Log, AForeignFileIsNotTakenForALedger) {
  const TemporaryDirectory directory;
  write_whole_file(directory.file("notes.txt"), "these are my notes");
  const Outcome outcome = run_wavefill({"log", "--ledger", directory.file("notes.txt")});
  EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
  EXPECT_EQ(read_whole_file(directory.file("notes.txt")), "these are my notes");
}

}  // namespace
}  // namespace wavefill::test
