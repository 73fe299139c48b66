// The parts that commands are made of, without a process around them.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "cli/console.h"
#include "cli/exit_code.h"
#include "cli/files.h"
#include "cli/models.h"
#include "cli/number_list.h"
#include "cli/program_runner.h"
#include "cli/sha256.h"
#include "cli/tune_output.h"
#include "cli/tune_run.h"
#include "cli/units.h"
#include "cli/verify_run.h"
#include "cli/workload.h"
#include "report/golden.h"

namespace wavefill::cli {
namespace {

using test::TemporaryDirectory;
using Batches = std::vector<std::int32_t>;

TEST(BatchList, TakesNumbersRangesAndSteps) {
  EXPECT_EQ(parse_batch_list("--batch", "64,80,96").value(), (Batches{64, 80, 96}));
  EXPECT_EQ(parse_batch_list("--batch", "1-4").value(), (Batches{1, 2, 3, 4}));
  EXPECT_EQ(parse_batch_list("--batch", "1,8-64:8").value(), (Batches{1, 8, 16, 24, 32, 40, 48, 56, 64}));
  EXPECT_EQ(parse_batch_list("--batch", "8-20:8").value(), (Batches{8, 16}));
  EXPECT_EQ(parse_batch_list("--batch", "7-7").value(), (Batches{7}));
  EXPECT_EQ(parse_batch_list("--batch", "9,3").value(), (Batches{3, 9}));
}

TEST(BatchList, RefusesWhatIsNotOne) {
  for (const char* text :
       {"",   ",",  "1,",   ",1", "-",  "1-",  "-1", "1--2",  "1-2-3",     "1:2",     "1-8:", "1-8:-1",
        " 1", "1 ", "1, 2", "0",  "01", "1.5", "a",  "1-4,4", "1-1048577", "1048577", "4-3",  "1-5000"}) {
    const auto list = parse_batch_list("--batch", text);
    EXPECT_FALSE(list.ok()) << text;
    EXPECT_NE(list.status().message().find("--batch"), std::string::npos) << text;
  }
}

TEST(Duration, HasAUnit) {
  EXPECT_EQ(parse_duration_s("--budget", "60s").value(), 60);
  EXPECT_EQ(parse_duration_s("--budget", "2m").value(), 120);
  EXPECT_EQ(parse_duration_s("--budget", "1440m").value(), 86400);
  for (const char* text :
       {"", "s", "m", "60", "0s", "-1s", "1.5s", "1441m", "86401s", "60 s", "60S", "1h", "1s1s"}) {
    EXPECT_FALSE(parse_duration_s("--budget", text).ok()) << text;
  }
}

TEST(Models, EveryOneSplitsOverItsDivisorsOnly) {
  for (const ModelSpec& model : models()) {
    for (std::int64_t tp = 1; tp <= model.num_heads; ++tp) {
      const auto shape = shape_of(model, model.layers.front(), tp, kDefaultContext);
      EXPECT_EQ(shape.ok(), model.num_heads % tp == 0) << model.name << " tp " << tp;
      if (shape.ok()) {
        EXPECT_EQ(shape->num_heads * tp, model.num_heads);
        EXPECT_TRUE(validate(*shape).ok());
      }
    }
  }
}

TEST(Models, ShortContextsNarrowTheWidths) {
  const ModelSpec& flash = **find_model("dsv4-flash");
  const LayerSpec& c4 = **find_layer(flash, "c4");
  EXPECT_EQ(shape_of(flash, c4, 1, 100)->topk, 100);
  EXPECT_EQ(shape_of(flash, c4, 1, 100)->extra_topk, 25);
  EXPECT_EQ(shape_of(flash, c4, 1, 1 << 20)->extra_topk, 512);
  EXPECT_EQ(shape_of(flash, **find_layer(flash, "c128"), 1, 1 << 20)->extra_topk, 8192);
  EXPECT_EQ(shape_of(flash, **find_layer(flash, "swa"), 1, 1 << 20)->extra_topk, 0);
}

TEST(Workload, SizesCountForTheNextLargerOneMeasured) {
  const auto workload = read_workload("5-9", {4, 8, 16}).value();
  ASSERT_EQ(workload.size(), 2u);
  EXPECT_EQ(workload[0].batch, 8);
  EXPECT_EQ(workload[0].weight, 4.0);  // 5, 6, 7, 8
  EXPECT_EQ(workload[1].batch, 16);
  EXPECT_EQ(workload[1].weight, 1.0);  // 9
}

TEST(Workload, ComesFromAHistogramToo) {
  const TemporaryDirectory directory;
  test::write_whole_file(directory.file("w"), "# size weight\n4 0.25\n8,0.5\n\n7\t0.25 # more\n");
  const auto workload = read_workload(directory.file("w"), {4, 8}).value();
  ASSERT_EQ(workload.size(), 2u);
  EXPECT_EQ(workload[0].weight, 0.25);
  EXPECT_EQ(workload[1].weight, 0.75);
}

TEST(Workload, WrongLinesAreNamed) {
  const TemporaryDirectory directory;
  for (const auto& [content, said] : std::vector<std::pair<std::string, std::string>>{
           {"4 1\n5\n", "line 2: weight is ''"},
           {"4 -1\n", "line 1: weight is '-1'"},
           {"4 nan\n", "line 1: weight is 'nan'"},
           {"4 1e400\n", "line 1: weight"},
           {"x 1\n", "line 1: batch is 'x'"},
           {"99 1\n", "--workload has batch 99; allowed: up to 8"},
           {"4 0\n", "no weight"},
           {"", "no weight"}}) {
    test::write_whole_file(directory.file("w"), content);
    const auto workload = read_workload(directory.file("w"), {4, 8});
    ASSERT_FALSE(workload.ok()) << content;
    EXPECT_NE(workload.status().message().find(said), std::string::npos) << workload.status().message();
  }
}

TEST(Files, AreWrittenWholeAndOverOldOnes) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("a");
  test::write_whole_file(path, "old content, longer than the new");
  ASSERT_TRUE(write_file(path, "new").ok());
  EXPECT_EQ(test::read_whole_file(path), "new");
  EXPECT_EQ(directory.names(), std::vector<std::string>{"a"});
}

TEST(Files, CheckingLeavesNothingBehind) {
  const TemporaryDirectory directory;
  EXPECT_TRUE(check_writable("--out", directory.file("new")).ok());
  EXPECT_TRUE(directory.names().empty());
  EXPECT_EQ(check_writable("--out", directory.file("no/such")).code(), StatusCode::not_found);
  EXPECT_EQ(check_writable("--out", directory.path()).code(), StatusCode::invalid_argument);
}

TEST(Files, ADirectoryThatCannotBeWrittenIsFoundOutBefore) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  const TemporaryDirectory directory;
  ASSERT_EQ(chmod(directory.path().c_str(), 0500), 0);
  EXPECT_EQ(check_writable("--out", directory.file("a")).code(), StatusCode::unavailable);
  chmod(directory.path().c_str(), 0700);
}

TEST(Files, ReadingSaysWhatIsWrong) {
  const TemporaryDirectory directory;
  EXPECT_EQ(read_file("--x", directory.file("none")).status().code(), StatusCode::not_found);
  EXPECT_EQ(read_file("--x", directory.path()).status().code(), StatusCode::invalid_argument);
}

TEST(TuneOutputs, OfADegreeHaveItBeforeTheExtension) {
  OutputPaths paths;
  const auto profile_of = [&](const std::string& path) {
    paths.profile = path;
    return paths_of_degree(paths, 4).profile;
  };
  EXPECT_EQ(profile_of("profile.json"), "profile.tp4.json");
  EXPECT_EQ(profile_of("./out.d/profile"), "./out.d/profile.tp4");
  EXPECT_EQ(profile_of("/a/b.c.json"), "/a/b.c.tp4.json");
  EXPECT_EQ(profile_of(""), "");
  paths.figures = "figures";
  paths.ledger = "l.sqlite";
  EXPECT_EQ(paths_of_degree(paths, 8).figures, "figures/tp8");
  EXPECT_EQ(paths_of_degree(paths, 8).ledger, "l.sqlite");
}

// A device whose outputs are all zero, and which takes no more than 64 heads.
class ZeroBackend final : public Backend {
 public:
  ZeroBackend() {
    device_.name = "zero";
    device_.num_sms = 2;
    kernels_.resize(1);
    kernels_[0].name = "zero_kernel";
  }
  const DeviceSpec& device() const override { return device_; }
  std::span<const KernelSpec> kernels() const override { return kernels_; }
  Status supports(const KernelSpec&, const DecodeShape& shape) const override {
    return shape.num_heads <= 64 ? Status() : Status(StatusCode::unsupported, "num_heads is too large");
  }
  Status run(const SplitPlan&, const DecodeArgs& args, void*) const override {
    for (std::int64_t batch = 0; batch < args.shape.batch; ++batch) {
      for (std::int64_t head = 0; head < args.shape.num_heads; ++head) {
        Bf16Bits* out = args.out.data + batch * args.out.stride_batch + head * args.out.stride_head;
        std::fill(out, out + kValueDim, Bf16Bits{0});
      }
    }
    return {};
  }

 private:
  DeviceSpec device_;
  std::vector<KernelSpec> kernels_;
};

TEST(Verify, AWrongOutputIsAFailureOfItsCaseAndSetting) {
  oracle::Case test_case;
  test_case.name = "plain";
  test_case.shape = {.batch = 2, .num_heads = 4, .topk = 64};
  VerifySummary summary;
  const std::vector<Setting> settings = {{.kind = PolicyKind::fixed, .value = 1},
                                         {.kind = PolicyKind::balanced}};
  ASSERT_TRUE(verify_case(ZeroBackend(), {}, test_case, settings, summary).ok());
  EXPECT_EQ(summary.num_run, 2);
  EXPECT_EQ(summary.num_passed, 0);
  ASSERT_EQ(summary.failures.size(), 2u);
  EXPECT_EQ(summary.failures[0].name, "plain, fixed=1");
  EXPECT_NE(summary.failures[0].message, "");
  EXPECT_GT(summary.worst_o_error, 0.5);
}

TEST(Verify, WhatNoKernelTakesIsNeitherPassedNorFailed) {
  oracle::Case test_case;
  test_case.name = "wide";
  test_case.shape = {.num_heads = 128, .topk = 64};
  VerifySummary summary;
  ASSERT_TRUE(verify_case(ZeroBackend(), {}, test_case, {Setting{}}, summary).ok());
  EXPECT_EQ(summary.num_run, 0);
  EXPECT_TRUE(summary.failures.empty());
  ASSERT_EQ(summary.unsupported.size(), 1u);
  EXPECT_NE(summary.unsupported[0].message.find("num_heads"), std::string::npos);
}

TEST(TuneRun, ASecondShapeThatNoKernelTakesIsFoundBeforeTheFirstIsMeasured) {
  const auto workbench = make_cpu_workbench(1, {});
  ASSERT_TRUE(workbench.ok()) << workbench.status().message();
  std::vector<ShapeRun> runs(2);
  for (ShapeRun& run : runs) {
    run.request.shape = {.num_heads = 64, .topk = 64};
    run.request.batches = {1};
  }
  EXPECT_TRUE(check_kernels(**workbench, runs).ok());
  runs[1].request.shape.num_heads = kMaxHeads + 1;
  EXPECT_FALSE(check_kernels(**workbench, runs).ok());
}

// The examples of FIPS 180-4, and lengths around the padding's own block, against another implementation.
TEST(Sha256, IsThatOfTheStandard) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_EQ(sha256(std::string(55, '\xff')),
            "aadaed00a3c5fbb8072ae7f1984ba8199fbe5272de427d11eaf31583af37db51");
  EXPECT_EQ(sha256(std::string(63, '\xff')),
            "d12449c8124182545ae91924286cc6af13528bcf62a5ddbd5e00b891fffc1b48");
  EXPECT_EQ(sha256(std::string(64, '\xff')),
            "8667e718294e9e0df1d30600ba3eeb201f764aad2dad72748643e4a285e1d1f7");
}

TEST(Units, ReadAsPeopleWriteThem) {
  EXPECT_EQ(bytes_text(0), "0");
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(1536), "1.5 KiB");
  EXPECT_EQ(bytes_text(std::uint64_t{5} << 40), "5.0 TiB");
  EXPECT_EQ(duration_text(7.2), "8 s");
  EXPECT_EQ(duration_text(200), "3 min 20 s");
  EXPECT_EQ(duration_text(3900), "1 h 05 min");
}

TEST(ExitCodes, TellUsageFromEnvironment) {
  EXPECT_EQ(exit_code_of({StatusCode::invalid_argument, ""}), ExitCode::usage);
  EXPECT_EQ(exit_code_of({StatusCode::corrupt_data, ""}), ExitCode::usage);
  EXPECT_EQ(exit_code_of({StatusCode::mismatch, ""}), ExitCode::usage);
  EXPECT_EQ(exit_code_of({StatusCode::unavailable, ""}), ExitCode::environment);
  EXPECT_EQ(exit_code_of({StatusCode::resource_exhausted, ""}), ExitCode::environment);
}

}  // namespace
}  // namespace wavefill::cli
