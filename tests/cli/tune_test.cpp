// wavefill tune, end to end on a shape so small that two seconds are enough.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
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
  const Json& request = run["request"];
  EXPECT_EQ(request["command"], json["command"]);
  EXPECT_TRUE(request["command"].get<std::string>().starts_with("wavefill tune --device cpu --heads 4"));
  EXPECT_EQ(request["budget_s"], 2.0);
  EXPECT_EQ(request["seed"], 1);
  EXPECT_EQ(request["workload"].size(), 2U);
  EXPECT_GT(run["record"]["phases"]["search"]["rounds"], 0);
  EXPECT_EQ(run["record"]["phases"]["search"]["rounds"], json["phases"]["search"]["rounds"]);
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

std::vector<std::string> degrees_arguments(const TemporaryDirectory& directory, const std::string& more) {
  return words("tune --device cpu --model dsv4-flash --layer swa --batch 1,2 --allow-warm " +
               ("--count-contaminated --ledger " + directory.file("ledger.sqlite")) + " " + more);
}

TEST(TuneDegrees, EachIsAShapeWithItsOwnRunAndFiles) {
  const TemporaryDirectory directory;
  const Outcome outcome = run_wavefill(
      degrees_arguments(directory, "--tp 32,16 --budget 1s --json --out " + directory.file("profile.json") +
                                       " --report " + directory.file("report.html") + " --csv " +
                                       directory.file("all") + " --figures " + directory.path()));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json shapes = Json::parse(outcome.out).at("shapes");
  ASSERT_EQ(shapes.size(), 2u);
  for (const int tp : {16, 32}) {
    const Json& shape = shapes[tp == 16 ? 0 : 1];
    const std::string suffix = ".tp" + std::to_string(tp);
    const std::string path = directory.file("profile" + suffix + ".json");
    EXPECT_EQ(shape["paths"]["profile"], path);
    EXPECT_EQ(shape["shape"]["num_heads"], 64 / tp);
    const Result<Profile> profile = Profile::read(path);
    ASSERT_TRUE(profile.ok()) << profile.status().message();
    EXPECT_EQ(profile->key().num_heads, 64 / tp);
    EXPECT_EQ(run_wavefill({"profile", "show", path}).exit_code, 0);
    EXPECT_TRUE(read_whole_file(directory.file("all" + suffix)).starts_with("batch,setting,"));
    EXPECT_TRUE(
        read_whole_file(directory.file("tp" + std::to_string(tp) + "/throughput.svg")).starts_with("<svg"));
  }
  EXPECT_EQ(directory.names(),
            (std::vector<std::string>{"all.tp16", "all.tp32", "ledger.sqlite", "profile.tp16.json",
                                      "profile.tp32.json", "report.tp16.html", "report.tp32.html", "tp16",
                                      "tp32"}));
  const Json runs = log_of(directory);
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_TRUE(runs[0]["finished"]);
  EXPECT_TRUE(runs[1]["finished"]);
}

TEST(TuneDegrees, TextEndsWithASummaryOfTheShapes) {
  const TemporaryDirectory directory;
  const Outcome outcome =
      run_wavefill(degrees_arguments(directory, "--tp 16,32 --budget 1s --out " + directory.file("p.json")));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::size_t summary = outcome.out.find("TP  heads  kernel");
  ASSERT_NE(summary, std::string::npos) << outcome.out;
  for (const char* title : {"dsv4-flash, TP 16", "dsv4-flash, TP 32"}) {
    EXPECT_LT(outcome.out.find(title), summary) << outcome.out;
  }
  EXPECT_NE(outcome.out.find(directory.file("p.tp16.json"), summary), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find(directory.file("p.tp32.json"), summary), std::string::npos) << outcome.out;
}

TEST(TuneDegrees, OneAloneHasPlainNamesAndOneDocument) {
  const TemporaryDirectory directory;
  const Outcome outcome = run_wavefill(
      degrees_arguments(directory, "--tp 32 --budget 1s --json --out " + directory.file("p.json")));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(Json::parse(outcome.out)["paths"]["profile"], directory.file("p.json"));
  EXPECT_EQ(directory.names(), (std::vector<std::string>{"ledger.sqlite", "p.json"}));
}

TEST(TuneDegrees, ASecondPathThatCannotBeWrittenIsFoundBeforeTheFirstShapeIsMeasured) {
  const TemporaryDirectory directory;
  std::filesystem::create_directory(directory.file("p.tp32.json"));
  const Outcome outcome =
      run_wavefill(degrees_arguments(directory, "--tp 16,32 --out " + directory.file("p.json")));
  EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
  EXPECT_NE(outcome.err.find("--out is '" + directory.file("p.tp32.json")), std::string::npos) << outcome.err;
  EXPECT_EQ(directory.names(), std::vector<std::string>{"p.tp32.json"});
}

TEST(TuneDegrees, CtrlCInTheSecondKeepsTheFirstAndSaysHowToGoOnWithoutIt) {
  const TemporaryDirectory directory;
  RunOptions interrupt;
  interrupt.signal_at = "shape 2 of 2";
  interrupt.signal = SIGINT;
  const Outcome stopped = run_wavefill(
      degrees_arguments(directory, "--tp 16,32 --budget 1s --json --out " + directory.file("p.json")),
      interrupt);
  EXPECT_EQ(stopped.exit_code, 3) << stopped.err;
  EXPECT_EQ(Json::parse(stopped.out).at("shapes").size(), 1u);
  EXPECT_EQ(directory.names(), (std::vector<std::string>{"ledger.sqlite", "p.tp16.json"}));
  const std::string rest = "--tp 32 --out " + directory.file("p.tp32.json");
  EXPECT_NE(stopped.err.find(rest), std::string::npos) << stopped.err;

  const Outcome resumed = run_wavefill(degrees_arguments(directory, "--budget 1s " + rest));
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_NE(resumed.out.find("resumed"), std::string::npos) << resumed.out;
  EXPECT_EQ(directory.names(), (std::vector<std::string>{"ledger.sqlite", "p.tp16.json", "p.tp32.json"}));
  EXPECT_EQ(log_of(directory).size(), 2u);
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
