// Every wrong value is refused with exit 2, naming the parameter, the value and what is allowed.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/program_runner.h"

namespace wavefill::test {
namespace {

struct BadInput {
  std::string arguments;
  std::vector<std::string> said;  // parts of the message
  int exit_code = 2;
};

const std::string kPlan = "plan --device h200 --model dsv4-flash ";
const std::string kDegrees = "tune --device cpu --model dsv4-flash --batch 1 --tp ";
const std::string kNumbers = "plan --device h200 ";

const std::vector<BadInput> kBadInputs = {
    // the program
    {"", {"no command", "devices", "tune"}},
    {"frobnicate", {"command is 'frobnicate'", "plan", "verify"}},
    {"--frobnicate", {"--frobnicate"}},
    {"plan --frobnicate", {"--frobnicate", "wavefill plan --help"}},
    {"plan extra-word", {"extra-word"}},
    {"plan --heads", {"--heads"}},
    // devices
    {"plan --device tpu --model dsv4-flash", {"device is 'tpu'", "cpu", "rtx-pro-6000"}},
    {"bench --device tpu --model dsv4-flash", {"device is 'tpu'", "cpu"}},
    {"bench --device rtx-pro-6000 --model dsv4-flash", {"device is 'rtx-pro-6000'", "cpu"}},
    {"verify --device cuda:x", {"cuda:x", "cpu"}},
    {"verify --device cpu --threads 0", {"--threads is '0'", "1..4096"}},
    {"verify --device cpu --kernel nonesuch", {"nonesuch", "cpu_mla"}},
    // shapes
    {"plan --device h200", {"no shape", "--model", "--heads and --topk"}},
    {"plan --device h200 --model gpt", {"--model is 'gpt'", "dsv4-flash, dsv4-pro, dsv32"}},
    {kPlan + "--tp 3", {"--tp is 3", "64", "1, 2, 4, 8, 16, 32, 64"}},
    {kPlan + "--tp 0", {"--tp is '0'"}},
    {kPlan + "--tp 1,4", {"--tp is '1,4'", "an integer 1..128"}},
    {kPlan + "--tp 4x", {"--tp is '4x'"}},
    {kPlan + "--layer c5", {"--layer is 'c5'", "c4, c128, swa"}},
    {"plan --device h200 --model dsv32 --layer c4", {"--layer is 'c4'", "dsa"}},
    {kPlan + "--context 0", {"--context is '0'", "1..1048576"}},
    {kPlan + "--context 2000000", {"--context is '2000000'", "1..1048576"}},
    {kPlan + "--heads 8", {"--heads", "--model"}},
    {kNumbers + "--heads 8 --topk 128 --tp 2", {"--tp", "without --model"}},
    {kNumbers + "--heads 0 --topk 128", {"--heads is '0'", "1..128"}},
    {kNumbers + "--heads 129 --topk 128", {"--heads is '129'", "1..128"}},
    {kNumbers + "--heads -1 --topk 128", {"--heads is '-1'", "1..128"}},
    {kNumbers + "--heads +8 --topk 128", {"--heads is '+8'"}},
    {kNumbers + "--heads 08 --topk 128", {"--heads is '08'"}},
    {kNumbers + "--heads 8.0 --topk 128", {"--heads is '8.0'"}},
    {kNumbers + "--heads 0x8 --topk 128", {"--heads is '0x8'"}},
    {kNumbers + "--heads 99999999999999999999 --topk 128", {"--heads is '99999999999999999999'", "1..128"}},
    {kNumbers + "--heads 8 --topk -5", {"--topk is '-5'"}},
    {kNumbers + "--heads 8 --topk 128 --extra-topk 1e3", {"--extra-topk is '1e3'"}},
    {kNumbers + "--heads 8 --topk 128 --format fp4", {"fp4", "dsv4", "dsv32", "bf16"}},
    {kNumbers + "--heads 8 --topk 128 --format bf16 --d-qk 500", {"d_qk is 500", "512, 576"}},
    {kNumbers + "--heads 8 --topk 128 --d-qk 576", {"d_qk is 576", "512"}},
    {kNumbers + "--heads 8 --topk 128 --s-q 0", {"--s-q is '0'", "1..1024"}},
    // kernels assumed
    {kPlan + "--heads-per-cta 0", {"--heads-per-cta is '0'", "1..128"}},
    {kPlan + "--kv-tile 0", {"--kv-tile is '0'"}},
    {kPlan + "--ctas-per-sm 33", {"--ctas-per-sm is '33'", "1..32"}},
    // batches
    {kPlan + "--batch 0", {"--batch is '0'", "1..1048576"}},
    {kPlan + "--batch -4", {"--batch is '-4'"}},
    {kPlan + "--batch 1,,2", {"--batch is ''"}},
    {kPlan + "--batch 4-2", {"--batch", "'4-2'", "first <= last"}},
    {kPlan + "--batch 1-8:0", {"step", "'0'"}},
    {kPlan + "--batch 8,8", {"8 twice"}},
    {kPlan + "--batch 1-1000000", {"4096"}},
    {kPlan + "--batch 2,x", {"--batch is 'x'"}},
    // settings
    {kPlan + "--policy fastest", {"--policy", "fastest", "fixed=N", "balanced"}},
    {kPlan + "--policy fixed=0", {"--policy", "'0'", "1..4096"}},
    {kPlan + "--policy fixed=4097", {"'4097'", "1..4096"}},
    {kPlan + "--policy target-ctas=", {"--policy", "target-ctas"}},
    {kPlan + "--policy target-ctas=-512", {"'-512'"}},
    {kPlan + "--policy target-ctas=512k", {"'512k'"}},
    {kPlan + "--policy balanced=0", {"balanced", "1..64"}},
    {kPlan + "--policy efficiency=3", {"efficiency"}},
    {kPlan + "--policy measured=/nonexistent.json", {"--policy", "/nonexistent.json"}},
    {kPlan + "--profile /nonexistent.json", {"--profile", "/nonexistent.json"}},
    // lengths
    {kPlan + "--length 129", {"--length is '129'", "0..128"}},
    {kPlan + "--extra-length 513", {"--extra-length is '513'", "0..512"}},
    {kPlan + "--lengths /nonexistent.txt", {"--lengths", "/nonexistent.txt", "does not exist"}},
    {kPlan + "--lengths / --length 3", {"--lengths", "--length"}},
    {kPlan + "--lengths /", {"--lengths", "directory"}},
    // verify
    {"verify --device cpu --filter (", {"--filter is '('", "regular expression"}},
    {"verify --device cpu --filter zzzz", {"--filter is 'zzzz'", "none"}},
    {"verify --device cpu --seed soon", {"--seed is 'soon'", "random"}},
    // bench
    {"bench --device cpu --model dsv4-flash --budget 5", {"--budget is '5'", "90s"}},
    {"bench --device cpu --model dsv4-flash --csv /nonexistent/a.csv", {"--csv", "/nonexistent"}},
    // tune
    {"tune --device cpu --model dsv4-flash", {"--batch"}},
    {kDegrees + "1,,4", {"--tp is ''", "1..128"}},
    {kDegrees + "4,4", {"--tp names 4 twice", "each once"}},
    {kDegrees + "0", {"--tp is '0'", "1..128"}},
    {kDegrees + "1,x", {"--tp is 'x'", "1..128"}},
    {kDegrees + "1,129", {"--tp is '129'", "1..128"}},
    {kDegrees + "1,3", {"--tp is 3", "1, 2, 4, 8, 16, 32, 64"}},
    {kDegrees + "1,4 --heads 8", {"--heads", "--model"}},
    {kDegrees + "1,4 --seed 0", {"--seed is '0'"}},
    {kDegrees + "1,4 --report /", {"--report", "directory"}},
    {kDegrees + "1,4 --figures /nonexistent", {"--figures", "/nonexistent"}},
    {"tune --device cpu --heads 8 --topk 128 --batch 1 --tp 1,4", {"--tp", "without --model"}},
    {"tune --device cpu --model dsv4-flash --batch 1 --budget 1h", {"--budget is '1h'", "90s"}},
    {"tune --device cpu --model dsv4-flash --batch 1 --budget 0s", {"--budget is '0s'"}},
    {"tune --device cpu --model dsv4-flash --batch 1 --budget -3s", {"--budget is '-3s'"}},
    {"tune --device cpu --model dsv4-flash --batch 1 --deployed measured=x.json", {"--deployed", "x.json"}},
    {"tune --device cpu --model dsv4-flash --batch 1 --also nothing", {"--also", "nothing"}},
    {"tune --device cpu --model dsv4-flash --batch 1 --seed 0", {"--seed is '0'"}},
    {"tune --device cpu --model dsv4-flash --batch 1-8 --workload 48-80", {"--workload", "48", "up to 8"}},
    {"tune --device cpu --model dsv4-flash --batch 1-8 --workload nofile", {"--workload", "nofile"}},
    {"tune --device cpu --model dsv4-flash --batch 1 --out /nonexistent/p.json", {"--out", "/nonexistent"}},
    {"tune --device cpu --model dsv4-flash --batch 1 --report /", {"--report", "directory"}},
    {"tune --device cpu --model dsv4-flash --batch 1 --figures /nonexistent", {"--figures", "/nonexistent"}},
    {"tune --device cpu --model dsv4-flash --batch 1 --ledger /nonexistent/l.sqlite",
     {"--ledger", "/nonexistent"}},
    // log
    {"log --ledger /nonexistent.sqlite", {"--ledger", "/nonexistent.sqlite"}},
    {"log --run x", {"--run"}},
    // the environment is not as asked
    {"bench --device cuda:0 --model dsv4-flash", {"cuda:0"}, 3},
    {"plan --device cuda:0 --model dsv4-flash", {"cuda:0"}, 3},
};

void PrintTo(const BadInput& input, std::ostream* out) { *out << "wavefill " << input.arguments; }

class BadInputs : public testing::TestWithParam<BadInput> {};

TEST_P(BadInputs, AreRefusedByName) {
  const BadInput& input = GetParam();
  const TemporaryDirectory directory;
  RunOptions options;
  options.directory = directory.path();
  options.environment["CUDA_VISIBLE_DEVICES"] = "";  // a machine with a GPU is to refuse the same
  const Outcome outcome = run_wavefill(words(input.arguments), options);
  EXPECT_EQ(outcome.exit_code, input.exit_code) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(outcome.err.starts_with("wavefill: error: ")) << outcome.err;
  for (const std::string& part : input.said)
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
  EXPECT_TRUE(directory.names().empty()) << "something was written: " << directory.names().front();
}

INSTANTIATE_TEST_SUITE_P(Table, BadInputs, testing::ValuesIn(kBadInputs),
                         [](const auto& param) { return "Row" + std::to_string(param.index); });

struct BadVariable {
  std::string name;
  std::string value;
};

void PrintTo(const BadVariable& variable, std::ostream* out) {
  *out << variable.name << "='" << variable.value << "'";
}

class BadVariables : public testing::TestWithParam<BadVariable> {};

TEST_P(BadVariables, AreNamedWithTheirValue) {
  RunOptions options;
  options.environment = {{GetParam().name, GetParam().value}};
  const Outcome outcome =
      run_wavefill(words("plan --device h200 --model dsv4-flash --batch 8 --json"), options);
  EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find(GetParam().name), std::string::npos) << outcome.err;
}

std::vector<BadVariable> bad_variables() {
  std::vector<BadVariable> list;
  for (const char* name : {"WAVEFILL_TARGET_CTAS", "SGLANG_SM120_MMA_TARGET_CTAS", "WAVEFILL_NUM_SPLITS"}) {
    for (const char* value :
         {"", " ", " 8", "8 ", "+8", "-8", "0", "8k", "8.0", "0x8", "1e3", "99999999999999999999", "eight"}) {
      list.push_back({name, value});
    }
  }
  list.push_back({"WAVEFILL_PROFILE", ""});
  list.push_back({"WAVEFILL_PROFILE", "/nonexistent.json"});
  return list;
}

INSTANTIATE_TEST_SUITE_P(Table, BadVariables, testing::ValuesIn(bad_variables()),
                         [](const auto& param) { return "Row" + std::to_string(param.index); });

TEST(Variables, OverrideTheDefault) {
  RunOptions options;
  options.environment = {{"WAVEFILL_NUM_SPLITS", "3"}};
  const Outcome outcome =
      run_wavefill(words("plan --device h200 --model dsv4-flash --batch 8 --json"), options);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("\"policy\": \"fixed=3\""), std::string::npos) << outcome.out;
}

TEST(Variables, AnOptionOverridesTheVariable) {
  RunOptions options;
  options.environment = {{"WAVEFILL_NUM_SPLITS", "3"}};
  const Outcome outcome =
      run_wavefill(words("plan --device h200 --model dsv4-flash --batch 8 --policy fixed=2 --json"), options);
  EXPECT_NE(outcome.out.find("\"policy\": \"fixed=2\""), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace wavefill::test
