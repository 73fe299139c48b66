// A run held against an earlier one: a regression is named with its batch, noise is not one.
#include "cli/bench_compare.h"

#include <gtest/gtest.h>

#include <random>

#include "cli/program_runner.h"
#include "report/golden.h"

namespace wavefill::cli {
namespace {

using test::TemporaryDirectory;

std::vector<double> samples(double us, double noise, std::uint64_t seed, int count = 30) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal(1.0, noise);
  std::vector<double> values;
  for (int i = 0; i < count; ++i) values.push_back(us * normal(generator));
  return values;
}

BenchBase base_of(const std::vector<double>& us, double noise, std::uint64_t seed) {
  BenchBase base{
      .path = "base.json", .title = "t", .device = "d", .kernel = "k", .timing = "graph", .rows = {}};
  for (std::size_t i = 0; i < us.size(); ++i) {
    base.rows.push_back({.batch = static_cast<std::int32_t>(8 << i),
                         .setting = "fixed=2",
                         .samples_us = samples(us[i], noise, seed + i)});
  }
  return base;
}

BenchResult result_of(const std::vector<double>& us, double noise, std::uint64_t seed) {
  BenchResult result;
  result.device.name = "d";
  result.kernel.name = "k";
  result.timing = "graph";
  for (std::size_t i = 0; i < us.size(); ++i) {
    BenchRow row;
    row.batch = static_cast<std::int32_t>(8 << i);
    row.setting = "fixed=2";
    row.samples_us = samples(us[i], noise, 1000 + seed + i);
    row.us = median(row.samples_us);
    result.rows.push_back(std::move(row));
  }
  return result;
}

// Five against five have a p of 0.008 at best, which nine rows make 0.07: the noise of all rows says more.
TEST(BenchCompare, FiveSamplesOfManyBatchesStillShowARegression) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    BenchBase base = base_of(std::vector<double>(9, 100.0), 0.01, 50 * seed);
    std::vector<double> now(9, 100.0);
    now[4] = 130.0;
    BenchResult result = result_of(now, 0.01, 50 * seed);
    for (BenchBase::Row& row : base.rows) row.samples_us.resize(5);
    for (BenchRow& row : result.rows) row.samples_us.resize(5);
    const auto found = compare_with_base(base, "t", result, 0.02, {});
    ASSERT_TRUE(found.ok()) << found.status().message();
    EXPECT_EQ(found->regressions(), 1) << "seed " << seed;
    EXPECT_EQ(found->rows[4].verdict, Verdict::slower) << "seed " << seed;
  }
}

TEST(BenchCompare, ARegressionIsNamedWithItsBatch) {
  const auto found = compare_with_base(base_of({100, 200, 400}, 0.01, 1), "t",
                                       result_of({100, 212, 400}, 0.01, 1), 0.02, {});
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->regressions(), 1);
  EXPECT_EQ(found->rows[1].verdict, Verdict::slower);
  EXPECT_NEAR(found->rows[1].effect.effect, 200.0 / 212.0 - 1.0, 0.01);
  EXPECT_NE(text_of(*found, {}).find("REGRESSION at batch 16: fixed=2 -"), std::string::npos);
  const std::string junit = junit_of(*found);
  EXPECT_NE(junit.find("tests=\"3\" failures=\"1\""), std::string::npos) << junit;
}

TEST(BenchCompare, NoiseIsNoRegression) {
  int false_alarms = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const auto found = compare_with_base(base_of({100, 200, 400, 800}, 0.03, seed * 10), "t",
                                         result_of({100, 200, 400, 800}, 0.03, seed * 10), 0.0, {});
    false_alarms += found->regressions() > 0 ? 1 : 0;
  }
  EXPECT_LE(false_alarms, 4);
}

TEST(BenchCompare, ALossWithinWhatIsAllowedIsNoRegression) {
  const BenchBase base = base_of({100}, 0.002, 1);
  const BenchResult result = result_of({101.5}, 0.002, 1);
  EXPECT_EQ(compare_with_base(base, "t", result, 0.02, {})->regressions(), 0);
  EXPECT_EQ(compare_with_base(base, "t", result, 0.005, {})->regressions(), 1);
}

TEST(BenchCompare, FiguresThatMayNotBeComparedAreRefusedByName) {
  const BenchResult result = result_of({100}, 0.01, 1);
  const auto refused = [&](auto change) {
    BenchBase base = base_of({100}, 0.01, 1);
    change(base);
    return compare_with_base(base, "t", result, 0.02, {}).status();
  };
  EXPECT_NE(refused([](BenchBase& b) { b.device = "other"; }).message().find("device was other; this is d"),
            std::string::npos);
  EXPECT_EQ(refused([](BenchBase& b) { b.title = "other"; }).code(), StatusCode::mismatch);
  EXPECT_EQ(refused([](BenchBase& b) { b.timing = "eager"; }).code(), StatusCode::mismatch);
  EXPECT_EQ(refused([](BenchBase& b) { b.rows[0].batch = 7; }).code(), StatusCode::invalid_argument);
  EXPECT_TRUE(refused([](BenchBase& b) { b.kernel = "other"; }).ok()) << "another kernel is what is compared";
}

// A gate must not pass because a figure is gone.
TEST(BenchCompare, ABatchThatIsGoneIsNoPass) {
  const BenchBase base = base_of({100, 200, 400}, 0.01, 1);  // batches 8, 16, 32
  BenchResult result = result_of({100, 200, 400}, 0.01, 1);
  result.rows.erase(result.rows.begin() + 1);
  const auto found = compare_with_base(base, "t", result, 0.02, {});
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->regressions(), 0);
  EXPECT_TRUE(found->fails());
  ASSERT_EQ(found->missing.size(), 1U);
  EXPECT_EQ(found->missing[0].batch, 16);
  EXPECT_NE(text_of(*found, {}).find("MISSING at batch 16: fixed=2"), std::string::npos);
  EXPECT_EQ(document(*found)["missing"][0]["batch"], 16);
  EXPECT_NE(junit_of(*found).find("tests=\"3\" failures=\"1\""), std::string::npos) << junit_of(*found);
}

TEST(BenchCompare, ABatchLeftOutOnPurposeIsSaid) {
  const BenchBase base = base_of({100, 200, 400}, 0.01, 1);
  const auto found = compare_with_base(base, "t", result_of({100}, 0.01, 1), 0.02, {.names_batches = true});
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_FALSE(found->fails());
  EXPECT_NE(text_of(*found, {}).find("not compared: batch 16,32 of the base"), std::string::npos)
      << text_of(*found, {});
}

TEST(BenchCompare, ASettingThatIsGoneIsNoPassUnlessOthersWereNamed) {
  BenchBase base = base_of({100}, 0.01, 1);
  base.rows.push_back({.batch = 8, .setting = "balanced", .samples_us = samples(90, 0.01, 5)});
  const BenchResult result = result_of({100}, 0.01, 1);
  EXPECT_TRUE(compare_with_base(base, "t", result, 0.02, {})->fails());
  const auto named = compare_with_base(base, "t", result, 0.02, {.names_settings = true});
  EXPECT_FALSE(named->fails());
  EXPECT_NE(text_of(*named, {}).find("balanced at batch 8"), std::string::npos);
}

// The medians differ beyond chance, yet by no more than samples of one run differ from each other.
TEST(BenchCompare, ABusyMachineIsNoRegression) {
  const auto verdict_at = [](double noise) {
    BenchBase base = base_of({100}, noise, 1);
    base.rows[0].samples_us = samples(100, noise, 1, 200);
    BenchResult result = result_of({104.2}, noise, 1);
    result.rows[0].samples_us = samples(104.2, noise, 2, 200);
    return compare_with_base(base, "t", result, 0.02, {})->rows[0].verdict;
  };
  EXPECT_EQ(verdict_at(0.003), Verdict::slower);
  EXPECT_NE(verdict_at(0.045), Verdict::slower);
}

// A base with one row, its fields as written.
std::string base_text(const std::string& row) {
  return R"({"title": "t", "device": "d", "kernel": "k", "timing": "g", "results": [)" + row + "]}";
}

// Samples that reach from a third to three times their median say nothing against a run four times as slow.
TEST(BenchCompare, ABusyMachineHidesNoLargeRegression) {
  BenchBase base = base_of({100}, 0.0, 1);
  BenchResult result = result_of({400}, 0.0, 1);
  for (std::size_t i = 0; i < 200; ++i) {
    const double stretch = i % 5 == 0 ? 3.0 : i % 5 == 1 ? 0.3 : 1.0;
    base.rows[0].samples_us.resize(200);
    result.rows[0].samples_us.resize(200);
    base.rows[0].samples_us[i] = 100.0 * stretch + static_cast<double>(i % 7);
    result.rows[0].samples_us[i] = 400.0 * stretch + static_cast<double>(i % 11);
  }
  const auto comparison = compare_with_base(base, "t", result, 0.02, {});
  ASSERT_TRUE(comparison.ok()) << comparison.status().message();
  EXPECT_EQ(comparison->regressions(), 1);
}

TEST(BenchCompare, ADamagedBaseIsNamed) {
  const std::string good = R"({"batch": 1, "setting": "x", "samples_us": [1]})";
  const std::pair<std::string, const char*> cases[] = {
      {"", "not valid JSON"},
      {"[1]", "not a JSON object"},
      {"{}", "the document has no title"},
      {R"({"title": 5})", "the document.title is number; allowed: text"},
      {base_text(""), "it has no samples"},
      {base_text(R"({"batch": 1, "setting": "x", "samples_us": []})"), "it has no samples"},
      {base_text("7"), "results[0] is number"},
      {base_text(good + R"(, {"batch": 1, "samples_us": [1]})"), "results[1] has no setting"},
      {base_text(good + ", " + good), "results[1] is 'x' at batch 1 again"},
      {base_text(R"({"batch": 1, "setting": "x", "samples_us": [-1]})"), "a sample of results[0] is -1"},
      {base_text(R"({"batch": 1, "setting": "x", "samples_us": [0]})"), "a sample of results[0] is 0"},
      {base_text(R"({"batch": 1, "setting": "x", "samples_us": [true]})"), "is boolean; allowed: a number"},
      {base_text(R"({"batch": 1, "setting": "x", "samples_us": 1})"), "samples_us is number"},
      {base_text(R"({"batch": 1, "setting": "x", "samples_us": [[[1]]]})"), "nested deeper"},
      {base_text(R"({"batch": 1, "setting": "\u001b[2J", "samples_us": [1]})"), "control character"},
      {base_text(R"({"batch": 1, "batch": 2, "setting": "x", "samples_us": [1]})"), "'batch' twice"},
  };
  for (const auto& [text, message] : cases) {
    const Status status = parse_bench_base("b.json", text).status();
    EXPECT_EQ(status.code(), StatusCode::corrupt_data) << text;
    EXPECT_NE(status.message().find("--compare 'b.json' is not"), std::string::npos) << status.message();
    EXPECT_NE(status.message().find(message), std::string::npos) << text << "\n-> " << status.message();
  }
  EXPECT_TRUE(parse_bench_base("b.json", base_text(good)).ok());
  EXPECT_EQ(read_bench_base("/nonexistent/b.json").status().code(), StatusCode::not_found);
}

// What a conversion to a number would make of them: 1, 2, 1, and whatever the machine does.
TEST(BenchCompare, ABatchOfTheBaseThatIsNoBatchIsNamed) {
  for (const char* batch :
       {"true", "2.7", "1.0", "4294967297", "18446744073709551615", "1e300", "0", "-1", "1048577"}) {
    const std::string row = std::string(R"({"batch": )") + batch + R"(, "setting": "x", "samples_us": [1]})";
    const Status status = parse_bench_base("b.json", base_text(row)).status();
    EXPECT_EQ(status.code(), StatusCode::corrupt_data) << batch;
    EXPECT_NE(status.message().find("results[0].batch is"), std::string::npos) << status.message();
  }
}

TEST(BenchCompare, PercentagesAreReadStrictly) {
  EXPECT_DOUBLE_EQ(*parse_percent("--max-loss", "2%"), 0.02);
  EXPECT_DOUBLE_EQ(*parse_percent("--max-loss", "0%"), 0.0);
  for (const char* bad : {"", "2", "%", "-1%", "51%", "nan%", "2 %", "2%%", "1e0%"})
    EXPECT_FALSE(parse_percent("--max-loss", bad).ok()) << bad;
}

// The whole way: a run, the same again, and a base that was twice as fast.
TEST(BenchCompare, ExitsByWhatItFinds) {
  const TemporaryDirectory directory;
  const std::string bench =
      "bench --device cpu --threads 1 --heads 4 --topk 64 --batch 1 --policy fixed=1 --budget 1s "
      "--count-contaminated ";
  const test::Outcome first = test::run_wavefill(test::words(bench + "--json"));
  ASSERT_EQ(first.exit_code, 0) << first.err;
  Json base = Json::parse(first.out);
  for (Json& row : base["results"]) {
    for (Json& sample : row["samples_us"]) sample = sample.get<double>() / 4.0;
  }
  test::write_whole_file(directory.file("fast.json"), base.dump());
  for (Json& row : base["results"]) {
    for (Json& sample : row["samples_us"]) sample = sample.get<double>() * 16.0;
  }
  test::write_whole_file(directory.file("slow.json"), base.dump());
  const test::Outcome slower = test::run_wavefill(test::words(
      bench + "--compare " + directory.file("fast.json") + " --junit " + directory.file("junit.xml")));
  EXPECT_EQ(slower.exit_code, 1) << slower.out;
  EXPECT_NE(slower.out.find("REGRESSION at batch 1: fixed=1"), std::string::npos) << slower.out;
  EXPECT_NE(test::read_whole_file(directory.file("junit.xml")).find("failures=\"1\""), std::string::npos);
  const test::Outcome faster =
      test::run_wavefill(test::words(bench + "--json --compare " + directory.file("slow.json")));
  EXPECT_EQ(faster.exit_code, 0) << faster.err;
  EXPECT_EQ(Json::parse(faster.out)["comparison"]["regressions"], 0);
  // Without --batch the batches are the base's; with it, what is left out is said.
  for (Json& row : base["results"]) row["batch"] = 2;
  test::write_whole_file(directory.file("two.json"), base.dump());
  std::string unnamed = bench;
  unnamed.erase(unnamed.find("--batch 1 "), 10);
  const test::Outcome same =
      test::run_wavefill(test::words(unnamed + "--json --compare " + directory.file("two.json")));
  EXPECT_EQ(same.exit_code, 0) << same.err;
  EXPECT_EQ(Json::parse(same.out)["comparison"]["rows"][0]["batch"], 2);
  Json both = base;
  both["results"].push_back(base["results"][0]);
  both["results"][0]["batch"] = 1;
  test::write_whole_file(directory.file("both.json"), both.dump());
  const test::Outcome fewer =
      test::run_wavefill(test::words(bench + "--compare " + directory.file("both.json")));
  EXPECT_EQ(fewer.exit_code, 0) << fewer.out;
  EXPECT_NE(fewer.out.find("not compared: batch 2 of the base"), std::string::npos) << fewer.out;
  EXPECT_EQ(test::run_wavefill(test::words(bench + "--compare /nonexistent")).exit_code, 2);
  EXPECT_EQ(test::run_wavefill(test::words(bench + "--junit x")).exit_code, 2);
}

}  // namespace
}  // namespace wavefill::cli
