// devices, kernels, verify and bench, on the CPU.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/program_runner.h"
#include "report/golden.h"
#include "wavefill/device.h"

namespace wavefill::test {
namespace {

using Json = nlohmann::json;

Json json_of(const std::string& arguments) {
  const Outcome outcome = run_wavefill(words(arguments + " --json"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  return Json::parse(outcome.out, nullptr, false);
}

TEST(Devices, TheCpuIsHereWithItsKernels) {
  const Json json = json_of("devices");
  ASSERT_FALSE(json["here"].empty());
  const Json& cpu = json["here"].back();
  EXPECT_EQ(cpu["id"], "cpu");
  EXPECT_TRUE(cpu["usable"]);
  EXPECT_GE(cpu["num_sms"], 1);
  EXPECT_FALSE(cpu["kernels"].empty());
}

TEST(Devices, EveryKnownDeviceHasItsSource) {
  const Json json = json_of("devices");
  ASSERT_EQ(json["known"].size(), known_devices().size());
  const std::string text = run_wavefill({"devices"}).out;
  for (const Json& device : json["known"]) {
    EXPECT_NE(device["source"], "") << device["name"];
    EXPECT_NE(text.find(device["name"].get<std::string>()), std::string::npos);
  }
}

TEST(Kernels, SayWhichTakeAShape) {
  const Json json = json_of("kernels --device cpu --model dsv4-flash --tp 8");
  ASSERT_FALSE(json.empty());
  EXPECT_TRUE(json[0]["supported"]);
  EXPECT_TRUE(json[0]["reason"].is_null());
}

TEST(Kernels, ACpuThreadCountIsTakenAsSlots) {
  EXPECT_EQ(
      json_of("plan --device cpu --threads 1 --model dsv4-flash --batch 3 --policy fixed=1")[0]["num_waves"],
      3);
}

TEST(Verify, FilteredCasesPassUnderEveryPolicy) {
  const Json json = json_of("verify --device cpu --filter dsv4");
  EXPECT_GT(json["run"], 0);
  EXPECT_EQ(json["run"], json["passed"]);
  EXPECT_TRUE(json["failed"].empty());
  EXPECT_LT(json["max_o_error"], 0.01);
  EXPECT_EQ(json["settings"].size(), 7u);
}

TEST(Verify, ARandomSeedIsPrintedAndCanBeGivenAgain) {
  const Json random = json_of("verify --device cpu --filter bf16 --policy fixed=3 --seed random");
  const Json again = json_of("verify --device cpu --filter bf16 --policy fixed=3 --seed " +
                             std::to_string(random["seed"].get<std::uint64_t>()));
  EXPECT_EQ(random["max_o_error"], again["max_o_error"]);
}

TEST(Bench, FiguresAgreeWithEachOther) {
  const TemporaryDirectory directory;
  const Json json = json_of(
      "bench --device cpu --heads 4 --topk 64 --batch 1,4 --policy fixed=1 --budget 1s --count-contaminated "
      "--csv " +
      directory.file("bench.csv"));
  ASSERT_EQ(json["results"].size(), 2u);
  EXPECT_GT(json["copy_gbps"], 0.0);
  for (const Json& row : json["results"]) {
    const double us = row["us"];
    EXPECT_TRUE(row["verified"]);
    EXPECT_LE(row["us_low"].get<double>(), us);
    EXPECT_GE(row["us_high"].get<double>(), us);
    EXPECT_NEAR(row["tokens_per_s"].get<double>(), row["batch"].get<double>() * 1e6 / us,
                1e-6 * row["tokens_per_s"].get<double>());
    EXPECT_NEAR(row["share_of_copy"].get<double>(),
                row["gbps"].get<double>() / json["copy_gbps"].get<double>(), 1e-9);
    EXPECT_FALSE(row["samples_us"].empty());
  }
  // 64 tokens of 584 bytes, and 4 heads of 512 bf16 in and out, over the time.
  const Json& first = json["results"][0];
  EXPECT_NEAR(first["gbps"].get<double>() * first["us"].get<double>() * 1e3, 64 * 584 + 4 * 2 * 512 * 2, 1.0);
  const std::string csv = read_whole_file(directory.file("bench.csv"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 3);
}

}  // namespace
}  // namespace wavefill::test
