// wavefill plan: the figures it prints, and how.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/program_runner.h"
#include "report/golden.h"

namespace wavefill::test {
namespace {

using Json = nlohmann::json;

const std::string kGoldens = std::string(WAVEFILL_TEST_DIR) + "/golden/";
const std::string kRtx =
    "plan --device rtx-pro-6000 --heads 32 --heads-per-cta 16 --topk 128 --extra-topk 512 ";

Json plan(const std::string& arguments) {
  const Outcome outcome = run_wavefill(words(arguments + " --json"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  return Json::parse(outcome.out, nullptr, false);
}

struct Row {
  int batch, target, splits, ctas, waves;
  double efficiency;
};

// Production figures on 188 SMs, 32 heads a rank in tiles of 16.
const std::vector<Row> kRows = {
    {64, 256, 2, 256, 2, 0.681}, {80, 256, 2, 320, 2, 0.851}, {96, 256, 2, 384, 3, 0.681},
    {64, 512, 4, 512, 3, 0.908}, {80, 512, 4, 640, 4, 0.851}, {96, 512, 3, 576, 4, 0.766},
    {64, 768, 6, 768, 5, 0.817}, {80, 768, 5, 800, 5, 0.851}, {96, 768, 4, 768, 5, 0.817},
};

TEST(Plan, TargetCtasGivesTheKnownWaves) {
  for (const int target : {256, 512, 768}) {
    const Json json = plan(kRtx + "--batch 64,80,96 --policy target-ctas=" + std::to_string(target));
    ASSERT_EQ(json.size(), 3u);
    for (const Row& row : kRows) {
      if (row.target != target) continue;
      const Json& planned = json[static_cast<std::size_t>((row.batch - 64) / 16)];
      EXPECT_EQ(planned["batch"], row.batch);
      EXPECT_EQ(planned["num_splits"], row.splits);
      EXPECT_EQ(planned["num_ctas"], row.ctas);
      EXPECT_EQ(planned["num_waves"], row.waves);
      EXPECT_EQ(planned["wave_efficiency"], row.efficiency);
    }
  }
}

TEST(Plan, TableReadsAsReviewed) {
  const Outcome outcome = run_wavefill(words(kRtx + "--batch 64,80,96 --policy target-ctas=512"));
  EXPECT_TRUE(matches_golden(outcome.out, kGoldens + "plan.txt"));
}

TEST(Plan, ComparisonReadsAsReviewed) {
  const Outcome outcome = run_wavefill(words(kRtx + "--batch 80,96 --policy all --policy fixed=4"));
  EXPECT_TRUE(matches_golden(outcome.out, kGoldens + "plan_all.txt"));
}

TEST(Plan, AllComparesEveryPolicyAndMeasuredOnlyWithAProfile) {
  std::vector<std::string> policies;
  for (const Json& row : plan("plan --device h200 --model dsv4-flash --batch 8 --policy all")) {
    policies.push_back(row["policy"]);
  }
  EXPECT_EQ(policies, (std::vector<std::string>{"fixed=1", "target-ctas=132", "efficiency", "tail-gap",
                                                "last-wave", "list-schedule", "balanced"}));
}

TEST(Plan, ModelsNameTheirShapes) {
  // heads / 64-head tiles x rows give the CTAs of an unsplit launch; tiles a slot give the width.
  const auto unsplit = [](const std::string& shape) {
    const Json row = plan("plan --device h200 --heads-per-cta 8 --policy fixed=1 " + shape)[0];
    return std::pair<int, int>(row["num_ctas"], row["max_tiles_per_slot"]);
  };
  EXPECT_EQ(unsplit("--model dsv4-flash"), std::pair(8, 10));             // 64 heads, 128 + 512
  EXPECT_EQ(unsplit("--model dsv4-flash --tp 8"), std::pair(1, 10));      // 8 heads
  EXPECT_EQ(unsplit("--model dsv4-flash --layer swa"), std::pair(8, 2));  // 128
  EXPECT_EQ(unsplit("--model dsv4-flash --layer c128 --context 1048576"), std::pair(8, 130));
  EXPECT_EQ(unsplit("--model dsv4-flash --context 1024"), std::pair(8, 6));  // 128 + 256
  EXPECT_EQ(unsplit("--model dsv4-pro --tp 2"), std::pair(8, 18));           // 64 heads, 128 + 1024
  EXPECT_EQ(unsplit("--model dsv32"), std::pair(16, 32));                    // 128 heads, 2048
}

TEST(Plan, BatchListsMayMixAndComeOutAscending) {
  std::vector<int> batches;
  for (const Json& row : plan("plan --device h200 --model dsv32 --batch 96,1-3,8-24:8"))
    batches.push_back(row["batch"]);
  EXPECT_EQ(batches, (std::vector<int>{1, 2, 3, 8, 16, 24, 96}));
}

TEST(Plan, ShorterRowsHaveFewerTiles) {
  const Json full = plan("plan --device h200 --model dsv4-flash --policy fixed=1")[0];
  const Json shorter =
      plan("plan --device h200 --model dsv4-flash --policy fixed=1 --length 64 --extra-length 1")[0];
  EXPECT_EQ(full["max_tiles_per_slot"], 10);
  EXPECT_EQ(shorter["max_tiles_per_slot"], 2);
}

TEST(Plan, LengthsComeFromAFileRowByRow) {
  const TemporaryDirectory directory;
  write_whole_file(directory.file("rows.txt"),
                   "# length, extra length\n128,512\n\n0,0\n64  # all of the extra cache\n");
  const Json rows = plan("plan --device h200 --model dsv4-flash --batch 1-3 --policy fixed=100 --lengths " +
                         directory.file("rows.txt"));
  EXPECT_EQ(rows[0]["num_splits_total"], 10);
  EXPECT_EQ(rows[1]["num_splits_total"], 11);  // an empty row is one whole item
  EXPECT_EQ(rows[2]["num_splits_total"], 20);
}

TEST(Plan, AWrongLengthIsNamedWithItsLine) {
  const TemporaryDirectory directory;
  for (const auto& [content, said] : std::vector<std::pair<std::string, std::string>>{
           {"128\n129\n", "line 2: length is '129'; allowed: an integer 0..128"},
           {"1,513\n", "line 1: extra length is '513'"},
           {"\n\n-1\n", "line 3: length is '-1'"},
           {"12 13\n", "line 1: length is '12 13'"},
           {"", "has 0 rows; allowed: at least 1"},
           {std::string("1\0\n", 3), "line 1"}}) {
    write_whole_file(directory.file("rows.txt"), content);
    const Outcome outcome =
        run_wavefill(words("plan --device h200 --model dsv4-flash --lengths " + directory.file("rows.txt")));
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_NE(outcome.err.find(said), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.out, "");
  }
}

TEST(Plan, BatchInvariantSplitsDoNotDependOnTheBatch) {
  const Json rows =
      plan("plan --device h200 --model dsv4-flash --batch 1,7,64 --policy efficiency --batch-invariant");
  EXPECT_EQ(rows[0]["num_splits"], rows[1]["num_splits"]);
  EXPECT_EQ(rows[0]["num_splits"], rows[2]["num_splits"]);
}

TEST(Plan, ResidentCtasMakeMoreSlots) {
  const std::string shape = "plan --device h200 --model dsv4-flash --batch 264 --policy fixed=1 ";
  EXPECT_EQ(plan(shape)[0]["num_waves"], 2);
  EXPECT_EQ(plan(shape + "--ctas-per-sm 2")[0]["num_waves"], 1);
}

}  // namespace
}  // namespace wavefill::test
