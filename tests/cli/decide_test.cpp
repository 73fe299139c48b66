// Decisions from measurements taken elsewhere, through the program as a user runs it.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "cli/program_runner.h"
#include "cli/sha256.h"
#include "report/golden.h"

namespace wavefill::test {
namespace {

using nlohmann::json;

const std::string kStory = R"(# tokens/s in production, RTX PRO 6000
setting,batch,tokens_per_s
target-ctas=256,64,719
target-ctas=256,96,799.4
target-ctas=512,64,811
target-ctas=512,96,845
target-ctas=768,64,767.5
target-ctas=768,80,828.8
target-ctas=768,96,872.3
)";
const std::string kOnTheGpu =
    " --device rtx-pro-6000 --heads 32 --heads-per-cta 16 --topk 128 --extra-topk 512";

std::string golden(const std::string& name) { return std::string(WAVEFILL_TEST_DIR) + "/golden/" + name; }

class Decide : public testing::Test {
 protected:
  void write(const std::string& records) { write_whole_file(directory_.file("r"), records); }

  Outcome run(const std::string& options) {
    RunOptions where;
    where.directory = directory_.path();
    return run_wavefill(words("decide --records r " + options), where);
  }

  json decided(const std::string& options) {
    const Outcome outcome = run(options + " --json");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    return json::parse(outcome.out);
  }

  TemporaryDirectory directory_;
};

json rejected_of(const json& decision, const std::string& setting, int batch = 0) {
  for (const json& rejected : decision["rejected"]) {
    if (rejected["setting"] == setting && (batch == 0 || rejected["batch"] == batch)) return rejected;
  }
  ADD_FAILURE() << setting << " was not rejected in " << decision["rejected"].dump(2);
  return {};
}

// Rows of `setting` at `batch`, with normal noise.
class Rows {
 public:
  explicit Rows(std::uint64_t seed, double noise) : generator_(seed), noise_(noise) {}

  Rows& add(const std::string& setting, int batch, double tokens_per_s, int count = 16) {
    std::normal_distribution<double> normal(1.0, noise_);
    for (int i = 0; i < count; ++i) {
      text_ += fmt::format("{},{},{:.4f}\n", setting, batch, tokens_per_s * normal(generator_));
    }
    return *this;
  }
  std::string csv() const { return "setting,batch,tokens_per_s\n" + text_; }

 private:
  std::mt19937_64 generator_;
  double noise_;
  std::string text_;
};

TEST_F(Decide, TheFoundingStoryKeeps512AndNames64) {
  write(kStory);
  const json decision = decided("--deployed target-ctas=512 --workload 48-80");
  EXPECT_EQ(decision["decision"], "target-ctas=512");
  const json rejected = rejected_of(decision, "target-ctas=768");
  EXPECT_EQ(rejected["reason"], "slower");
  EXPECT_EQ(rejected["batch"], 64);
  EXPECT_NEAR(rejected["effect"].get<double>(), -0.054, 0.0005);
  ASSERT_FALSE(decision["next"].is_null());
  EXPECT_EQ(decision["next"]["table"][0],
            (json{{"batch", 64}, {"setting", "target-ctas=512"}, {"num_splits", nullptr}}));
  EXPECT_EQ(decision["next"]["table"][1],
            (json{{"batch", 96}, {"setting", "target-ctas=768"}, {"num_splits", nullptr}}));
  EXPECT_EQ(decision["verdicts"].size(), 7U);
}

TEST_F(Decide, KnowingTheGpuItRefusesWhatOnlyTheWaveModelLikes) {
  write(kStory);
  const json decision = decided("--deployed target-ctas=512 --workload 48-80" + kOnTheGpu);
  EXPECT_EQ(decision["decision"], "target-ctas=512");
  const json rejected = rejected_of(decision, "fixed=8", 96);
  EXPECT_EQ(rejected["reason"], "not_measured");
  EXPECT_NE(rejected["detail"].get<std::string>().find("never measured"), std::string::npos);
  EXPECT_EQ(decision["next"]["table"][0]["num_splits"], 4);
  EXPECT_EQ(decision["next"]["table"][1]["num_splits"], 4);
  EXPECT_EQ(decision["next"]["table"][1]["batch"], 96);
}

TEST_F(Decide, TheFoundingStoryAsText) {
  write(kStory);
  const Outcome outcome = run("--deployed target-ctas=512 --workload 48-80 --no-ledger" + kOnTheGpu);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(matches_golden(outcome.out, golden("decide.txt")));
}

TEST_F(Decide, TheFoundingStoryAsJson) {
  write(kStory);
  const Outcome outcome = run("--deployed target-ctas=512 --workload 48-80 --json --no-ledger" + kOnTheGpu);
  EXPECT_TRUE(matches_golden(outcome.out, golden("decide.json")));
}

TEST_F(Decide, TheDecisionIsKeptWithTheDigestOfItsRecords) {
  write(kStory);
  const std::string ledger = directory_.file("l.sqlite");
  const json decision = decided("--deployed target-ctas=512 --workload 48-80 --ledger " + ledger);
  EXPECT_EQ(decision["run"], 1);
  EXPECT_EQ(decision["ledger"], ledger);
  const auto log = [&](const std::string& more) {
    const Outcome outcome = run_wavefill(words("log --ledger " + ledger + " " + more));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.out;
  };
  const json runs = json::parse(log("--json"));
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0]["decision"], "target-ctas=512");
  EXPECT_EQ(runs[0]["batches"], "64,80,96");
  EXPECT_EQ(runs[0]["finished"], true);
  const json request = json::parse(log("--json --run 1"))["request"];
  EXPECT_EQ(request["records"]["file"], "r");
  EXPECT_EQ(request["records"]["sha256"], cli::sha256(kStory));
  EXPECT_EQ(request["records"]["bytes"], kStory.size());
  EXPECT_EQ(request["records"]["samples"], 7);
  EXPECT_EQ(request["command"],
            "wavefill decide --records r --deployed target-ctas=512 --workload 48-80 --ledger " + ledger +
                " --json");
  EXPECT_EQ(request["workload"], json::parse(R"([{"batch": 64, "weight": 17.0},
      {"batch": 80, "weight": 16.0}, {"batch": 96, "weight": 0.0}])"));
  EXPECT_TRUE(request["budget_s"].is_null());
  const std::string text = log("--run 1");
  for (const std::string& part :
       {cli::sha256(kStory), std::string("64 (17), 80 (16), 96 (0)"), std::string("wavefill decide --rec")}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  EXPECT_EQ(log("").find("0 SMs"), std::string::npos);
}

TEST_F(Decide, WithoutASayTheDecisionGoesToTheStateDirectory) {
  write(kStory);
  RunOptions where;
  where.directory = directory_.path();
  where.environment = {{"XDG_STATE_HOME", directory_.file("state")}};
  const Outcome outcome = run_wavefill(words("decide --records r --deployed target-ctas=512"), where);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::string ledger = directory_.file("state") + "/wavefill/ledger.sqlite";
  EXPECT_NE(outcome.out.find("ledger   " + ledger + ", run 1"), std::string::npos) << outcome.out;
  EXPECT_NE(run_wavefill({"log"}, where).out.find("keep target-ctas=512"), std::string::npos);
}

TEST_F(Decide, WithoutALedgerNothingIsLeftBehind) {
  write(kStory);
  RunOptions where;
  where.directory = directory_.path();
  where.environment = {{"XDG_STATE_HOME", directory_.file("state")}};
  const std::string command = "decide --records r --deployed target-ctas=512 --no-ledger";
  const Outcome outcome = run_wavefill(words(command), where);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(directory_.names(), std::vector<std::string>{"r"});
  const json decision = json::parse(run_wavefill(words(command + " --json"), where).out);
  EXPECT_TRUE(decision["run"].is_null());
  EXPECT_TRUE(decision["ledger"].is_null());
  const Outcome both = run_wavefill(words(command + " --ledger l"), where);
  EXPECT_EQ(both.exit_code, 2);
  EXPECT_NE(both.err.find("--ledger and --no-ledger"), std::string::npos) << both.err;
}

// A decision that is printed and not kept would be missing from the record that was asked for.
TEST_F(Decide, ALedgerThatWasNamedAndCannotBeWrittenIsAnError) {
  write(kStory);
  const Outcome outcome = run("--deployed target-ctas=512 --ledger /nonexistent/l.sqlite");
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find("/nonexistent/l.sqlite"), std::string::npos) << outcome.err;
}

// As in a container without a home.
TEST_F(Decide, ADefaultLedgerThatCannotBeWrittenWithholdsNoDecision) {
  write(kStory);
  write_whole_file(directory_.file("state"), "a file where the directory would be");
  RunOptions where;
  where.directory = directory_.path();
  where.environment = {{"XDG_STATE_HOME", directory_.file("state")}};
  const Outcome outcome = run_wavefill(words("decide --records r --deployed target-ctas=512 --json"), where);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("the decision is not kept"), std::string::npos) << outcome.err;
  EXPECT_TRUE(json::parse(outcome.out)["run"].is_null());
}

TEST_F(Decide, WrongRecordsLeaveNoLedger) {
  write("setting,batch,us\nfixed=1,0,4\n");
  EXPECT_EQ(run("--deployed fixed=1 --ledger " + directory_.file("l.sqlite")).exit_code, 2);
  EXPECT_EQ(directory_.names(), std::vector<std::string>{"r"});
}

TEST_F(Decide, WhatSomebodyProposesIsRefusedUntilMeasured) {
  write(kStory);
  const json decision =
      decided("--deployed target-ctas=512 --propose fixed=8@96 --propose target-ctas=768@96");
  const json rejected = rejected_of(decision, "fixed=8");
  EXPECT_EQ(rejected["reason"], "not_measured");
  EXPECT_EQ(rejected["batch"], 96);
  EXPECT_EQ(rejected["num_splits"], 8) << "known without the GPU: the setting says it";
  EXPECT_EQ(rejected["detail"], "fixed=8 was proposed by --propose for batch 96, but never measured there");
  EXPECT_EQ(rejected_of(decision, "target-ctas=768")["reason"],
            "slower");  // measured: judged, not refused unseen
}

TEST_F(Decide, WhatTheRecordsNameWithoutAFigureIsNeverServed) {
  write(std::string(kStory) + "fixed=8,96,\n");
  const json decision = decided("--deployed target-ctas=512 --workload 48-80");
  EXPECT_EQ(decision["decision"], "target-ctas=512");
  const json rejected = rejected_of(decision, "fixed=8");
  EXPECT_EQ(rejected["reason"], "not_measured");
  EXPECT_EQ(rejected["batch"], 96);
  EXPECT_EQ(rejected["num_splits"], 8);
  EXPECT_EQ(rejected["detail"], "fixed=8 was proposed by the records for batch 96, but never measured there");
}

TEST_F(Decide, KnowingTheGpuAProposalHasItsSplitsAndStandsOnce) {
  write(kStory);
  const json decision =
      decided("--deployed target-ctas=512 --propose target-ctas=900@96 --propose fixed=8@96" + kOnTheGpu);
  EXPECT_EQ(rejected_of(decision, "target-ctas=900")["num_splits"], 5);  // 900 over 192
  const json& rejected = decision["rejected"];
  EXPECT_EQ(std::count_if(rejected.begin(), rejected.end(),
                          [](const json& r) { return r["setting"] == "fixed=8"; }),
            1)
      << "the wave model proposes it too";
}

TEST_F(Decide, PureNoiseKeepsTheDeployedInAtLeast95Of100) {
  int kept = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Rows rows(seed, 0.02);
    for (const int batch : {48, 64, 80}) {
      for (const char* setting :
           {"target-ctas=256", "target-ctas=512", "target-ctas=768", "fixed=2", "fixed=8"}) {
        rows.add(setting, batch, 12.0 * batch, 12);
      }
    }
    write(rows.csv());
    kept += decided("--deployed target-ctas=512 --workload 48-80")["decision"] == "target-ctas=512" ? 1 : 0;
  }
  EXPECT_GE(kept, 95);
}

TEST_F(Decide, TwoSamplesEachAreJudgedByTheNoiseOfAll) {
  int kept = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Rows rows(seed, 0.02);
    for (const int batch : {48, 64, 80}) {
      for (const char* setting : {"target-ctas=256", "target-ctas=512", "target-ctas=768", "fixed=2"}) {
        rows.add(setting, batch, 12.0 * batch, 2);
      }
    }
    write(rows.csv());
    const json decision = decided("--deployed target-ctas=512 --workload 48-80");
    kept += decision["decision"] == "target-ctas=512" ? 1 : 0;
    EXPECT_EQ(decision["at_face_value"], false);
    for (const json& row : decision["verdicts"]) {
      EXPECT_EQ(row["effect_low"].is_null(), row["setting"] == "target-ctas=512") << row;
    }
  }
  EXPECT_GE(kept, 95);
}

TEST_F(Decide, ATrueTwoPercentWinIsTaken) {
  int taken = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    Rows rows(seed, 0.004);
    for (const int batch : {48, 64, 80}) {
      rows.add("target-ctas=512", batch, 12.0 * batch).add("target-ctas=640", batch, 12.0 * batch * 1.02);
    }
    write(rows.csv());
    const json decision = decided("--deployed target-ctas=512 --workload 48-80");
    taken += decision["decision"] == "target-ctas=640" ? 1 : 0;
    EXPECT_NEAR(decision["weighted_gain"].get<double>(), 0.02, 0.006);
  }
  EXPECT_GE(taken, 9);
}

TEST_F(Decide, AWinAtOneBatchPaidForElsewhereIsRefused) {
  write(Rows(3, 0.003)
            .add("target-ctas=512", 64, 811)
            .add("target-ctas=512", 80, 829)
            .add("fixed=6", 64, 900)
            .add("fixed=6", 80, 800)
            .csv());
  const json decision = decided("--deployed target-ctas=512 --workload 48-80");
  EXPECT_EQ(decision["decision"], "target-ctas=512");
  EXPECT_EQ(rejected_of(decision, "fixed=6")["reason"], "slower");
  EXPECT_EQ(rejected_of(decision, "fixed=6")["batch"], 80);
  EXPECT_EQ(decision["next"]["table"][0]["setting"], "fixed=6");
  EXPECT_EQ(decision["next"]["table"][0]["num_splits"], 6);
  // Without any load at 80 there is nothing to pay.
  EXPECT_EQ(decided("--deployed target-ctas=512 --workload 48-64")["rejected"][0]["reason"], "dip");
  EXPECT_EQ(decided("--deployed target-ctas=512 --workload 48-64 --measured-again 64,80")["decision"],
            "fixed=6");
}

TEST_F(Decide, AMissingBatchIsNamed) {
  write(Rows(4, 0.003)
            .add("target-ctas=512", 48, 600)
            .add("target-ctas=512", 64, 811)
            .add("target-ctas=512", 80, 829)
            .add("fixed=6", 48, 700)
            .add("fixed=6", 80, 900)
            .csv());
  const json decision = decided("--deployed target-ctas=512 --workload 48-80");
  EXPECT_EQ(decision["decision"], "target-ctas=512");
  EXPECT_EQ(rejected_of(decision, "fixed=6")["reason"], "not_measured");
  EXPECT_EQ(rejected_of(decision, "fixed=6")["batch"], 64);
}

TEST_F(Decide, ADipIsRefusedAndItsMeasuringAgainProposed) {
  write(Rows(5, 0.003)
            .add("target-ctas=512", 64, 811)
            .add("target-ctas=512", 80, 829)
            .add("target-ctas=512", 96, 845)
            .add("target-ctas=768", 64, 820)
            .add("target-ctas=768", 80, 900)
            .add("target-ctas=768", 96, 850)
            .csv());
  const json decision = decided("--deployed target-ctas=512" + kOnTheGpu);
  EXPECT_EQ(decision["decision"], "target-ctas=512");
  const json rejected = rejected_of(decision, "target-ctas=768");
  EXPECT_EQ(rejected["reason"], "dip");
  EXPECT_EQ(rejected["batch"], 96);
  EXPECT_LT(rejected["effect"].get<double>(), -0.05);
  const json again = decided("--deployed target-ctas=512 --measured-again 80,96" + kOnTheGpu);
  EXPECT_EQ(again["decision"], "target-ctas=768");
  EXPECT_EQ(again["dips"][0]["measured_again"], true);
  EXPECT_EQ(again["dips"][0]["out_of_time"], false);
  const json captured = decided("--deployed target-ctas=512 --capture-ceiling 80");
  EXPECT_EQ(captured["dips"][0]["cause"], "capture ceiling: no graph beyond batch 80");
}

TEST_F(Decide, AMeasuredTableMayWin) {
  write(Rows(6, 0.003)
            .add("target-ctas=512", 64, 811)
            .add("target-ctas=512", 96, 845)
            .add("measured", 64, 811)
            .add("measured", 96, 872)
            .csv());
  const json decision = decided("--deployed target-ctas=512");
  EXPECT_EQ(decision["decision"], "measured");
  EXPECT_EQ(decision["table"].size(), 2U);
  EXPECT_TRUE(decision["next"].is_null());
}

TEST_F(Decide, JsonLinesAndMicrosecondsSayTheSame) {
  write(
      "{\"setting\": \"fixed=1\", \"batch\": 4, \"us\": 100}\n{\"setting\": \"fixed=2\", \"batch\": 4, "
      "\"us\": 80}\n");
  EXPECT_EQ(decided("--deployed fixed=1")["decision"], "fixed=2");
  EXPECT_NEAR(decided("--deployed fixed=1")["weighted_gain"].get<double>(), 0.25, 1e-9);
}

TEST_F(Decide, ForeignNamesAreJudgedAndSaid) {
  write("setting,batch,us\nfa3-default,4,100\nfixed=2,4,80\n");
  const json decision = decided("--deployed fa3-default");
  EXPECT_EQ(decision["decision"], "fixed=2");
  EXPECT_EQ(decision["foreign_settings"], json::array({"fa3-default"}));
}

TEST_F(Decide, WorkloadThatNothingServesIsSaid) {
  write("setting,batch,us\nfixed=1,64,100\nfixed=2,64,80\n");
  const json decision = decided("--deployed fixed=1 --workload 64-66");
  EXPECT_EQ(decision["workload_beyond"], json::array({65, 66}));
  EXPECT_NE(run("--deployed fixed=1 --workload 64-66").out.find("no measurement serves batch 65 and above"),
            std::string::npos);
  const Outcome outcome = run("--deployed fixed=1 --workload 65-66");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("--workload begins at batch 65; allowed: up to 64"), std::string::npos)
      << outcome.err;
}

TEST_F(Decide, AHistogramFileIsTheWorkload) {
  write("setting,batch,us\nfixed=1,64,100\nfixed=2,64,80\nfixed=1,96,100\nfixed=2,96,130\n");
  write_whole_file(directory_.file("hist"), "# size weight\n60 3\n96 0\n");
  const json decision = decided("--deployed fixed=1 --workload hist --measured-again 64,96");
  EXPECT_EQ(decision["decision"], "fixed=2");
  EXPECT_EQ(decision["workload"][0], (json{{"batch", 64}, {"weight", 3.0}}));
}

TEST_F(Decide, BadRecordsAreNamedWithExit2) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "there is no record"},
      {"# only a comment\n", "there is no record"},
      {"setting,batch,tokens_per_s\n", "there is no record"},
      {"setting,tokens_per_s\nfixed=1,5\n", "line 1: columns are setting,tokens_per_s"},
      {"setting,batch,tokens_per_s,us\n", "line 1: columns are"},
      {"setting,batch,us,batch\n", "line 1: column 'batch' stands twice"},
      {"setting,batch,ms\nfixed=1,1,1\n", "column 'ms'"},
      {"setting,batch,us\nfixed=1,1,nan\n", "line 2: us is nan"},
      {"setting,batch,us\nfixed=1,1,-4\n", "line 2: us is -4"},
      {"setting,batch,us\nfixed=1,0,4\n", "line 2: batch is '0'"},
      {"setting,batch,us\nfixed=x,1,4\n", "line 2: N of fixed=N is 'x'"},
      {"setting,batch,us\nfixed=\xff,1,4\n", "line 2: byte '\\xFF' is not UTF-8"},
      {"setting,batch,us\nfixed=2,1,4\n",
       "the deployed setting fixed=1 has no measurement; measured: fixed=2"},
  };
  for (const auto& [records, message] : cases) {
    write(records);
    const Outcome outcome = run("--deployed fixed=1 --json");
    EXPECT_EQ(outcome.exit_code, 2) << records;
    EXPECT_EQ(outcome.out, "") << records;
    EXPECT_NE(outcome.err.find(message), std::string::npos) << records << "\n-> " << outcome.err;
  }
}

TEST_F(Decide, BadOptionsAreNamedWithExit2) {
  write("setting,batch,us\nfixed=1,64,100\n");
  const std::pair<const char*, const char*> cases[] = {
      {"", "--deployed is required"},
      {"--deployed fixed=1 --workload 0-4", "--workload is '0'"},
      {"--deployed fixed=1 --workload nonesuch", "--workload is 'nonesuch', which does not exist"},
      {"--deployed fixed=1 --propose fixed=8", "--propose is 'fixed=8'; allowed: SETTING@BATCH"},
      {"--deployed fixed=1 --propose fixed=8@0", "--propose batch is '0'"},
      {"--deployed fixed=1 --measured-again x", "--measured-again is 'x'"},
      {"--deployed fixed=1 --device h200", "--device is given without a shape"},
      {"--deployed fixed=1 --heads 8 --topk 64", "a shape is given without --device"},
      {"--deployed fixed=1 --device h200 --heads 8 --topk 64 --max-splits 0", "--max-splits is '0'"},
  };
  for (const auto& [options, message] : cases) {
    const Outcome outcome = run(options);
    EXPECT_EQ(outcome.exit_code, 2) << options;
    EXPECT_NE(outcome.err.find(message), std::string::npos) << options << "\n-> " << outcome.err;
  }
  const Outcome absent = run_wavefill(words("decide --records /nonexistent/r --deployed fixed=1"));
  EXPECT_EQ(absent.exit_code, 2);
  EXPECT_NE(absent.err.find("/nonexistent/r"), std::string::npos) << absent.err;
}

}  // namespace
}  // namespace wavefill::test
