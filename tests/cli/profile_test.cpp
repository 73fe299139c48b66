// Profiles that are damaged or made for something else are refused whole, and nothing is written.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/program_runner.h"
#include "report/golden.h"
#include "wavefill/profile.h"

namespace wavefill::test {
namespace {

const std::string kPlan = "plan --device h200 --model dsv4-flash --batch 8 --json --policy measured=";

Profile good_profile() {
  const DecodeShape shape = {.batch = 1, .num_heads = 64, .topk = 128, .extra_topk = 512};
  KernelSpec kernel;
  kernel.name = "assumed";
  return Profile(key_of(find_known_device("h200").value(), kernel, shape),
                 {{.batch = 4,
                   .setting = {.kind = PolicyKind::fixed, .value = 3},
                   .us = 10.0,
                   .us_low = 9.0,
                   .us_high = 11.0,
                   .samples = 20},
                  {.batch = 8,
                   .setting = {.kind = PolicyKind::fixed, .value = 5},
                   .us = 12.0,
                   .us_low = 11.0,
                   .us_high = 13.0,
                   .samples = 20}});
}

Outcome plan_with(const TemporaryDirectory& directory, const std::string& content,
                  const std::string& plan = kPlan) {
  write_whole_file(directory.file("profile.json"), content);
  return run_wavefill(words(plan + directory.file("profile.json")));
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what << " is not in " << text;
  return at == std::string::npos ? text : text.replace(at, what.size(), with);
}

TEST(Profiles, AGoodOneIsServed) {
  const TemporaryDirectory directory;
  const Outcome outcome = plan_with(directory, good_profile().to_json());
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(nlohmann::json::parse(outcome.out)[0]["num_splits"], 5);
}

TEST(Profiles, EveryTruncationIsRefused) {
  const TemporaryDirectory directory;
  const std::string whole = good_profile().to_json();
  const std::string trimmed = whole.substr(0, whole.find_last_of('}'));
  for (std::size_t length = 0; length < trimmed.size(); length += 1 + trimmed.size() / 24) {
    const Outcome outcome = plan_with(directory, trimmed.substr(0, length));
    EXPECT_EQ(outcome.exit_code, 2) << "the first " << length << " bytes";
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find("profile.json"), std::string::npos) << outcome.err;
  }
}

TEST(Profiles, DamageIsRefusedByName) {
  const TemporaryDirectory directory;
  const std::string whole = good_profile().to_json();
  const std::vector<std::pair<std::string, std::string>> damaged = {
      {"not JSON", "wavefill"},
      {"an array", "[]"},
      {"a number that is not one", replaced(whole, "10.0", "NaN")},
      {"an infinite number", replaced(whole, "10.0", "1e999")},
      {"a negative time", replaced(whole, "10.0", "-10.0")},
      {"bytes that are not UTF-8", replaced(whole, "assumed", "assu\xFFmed")},
      {"text behind the document", whole + "{}"},
      {"a setting out of range", replaced(whole, "fixed=3", "fixed=0")},
      {"a setting that is a profile", replaced(whole, "fixed=3", "measured=profile.json")},
      {"a batch twice", replaced(whole, "\"batch\": 4", "\"batch\": 8")},
      {"a foreign schema", replaced(whole, "wavefill", "othertool")},
      {"a duplicated key", replaced(whole, "\"batch\": 4", "\"batch\": 4, \"batch\": 4")},
      {"an unknown field", replaced(whole, "\"batch\": 4", "\"batch\": 4, \"colour\": 4")},
  };
  for (const auto& [what, content] : damaged) {
    const Outcome outcome = plan_with(directory, content);
    EXPECT_EQ(outcome.exit_code, 2) << what << ": " << outcome.err;
    EXPECT_EQ(outcome.out, "") << what;
    EXPECT_TRUE(outcome.err.starts_with("wavefill: error: ")) << what << ": " << outcome.err;
    EXPECT_EQ(directory.names(), std::vector<std::string>{"profile.json"}) << what;
  }
}

TEST(Profiles, OneForSomethingElseIsRefusedNamingTheField) {
  const TemporaryDirectory directory;
  const std::string whole = good_profile().to_json();
  struct Other {
    std::string arguments;
    std::vector<std::string> said;
  };
  const std::vector<Other> others = {
      {"plan --device h100 --model dsv4-flash --policy measured=", {"device", "h200", "h100"}},
      {"plan --device h200 --model dsv4-flash --tp 2 --policy measured=", {"num_heads", "64", "32"}},
      {"plan --device h200 --model dsv4-flash --layer swa --policy measured=", {"extra_topk", "512", "0"}},
      {"plan --device h200 --model dsv4-flash --heads-per-cta 16 --policy measured=",
       {"heads_per_cta", "64", "16"}},
      {"plan --device h200 --model dsv4-flash --batch 9 --policy measured=", {"9", "8"}},
  };
  for (const Other& other : others) {
    const Outcome outcome = plan_with(directory, whole, other.arguments);
    EXPECT_EQ(outcome.exit_code, 2) << other.arguments;
    EXPECT_EQ(outcome.out, "");
    for (const std::string& part : other.said)
      EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
  }
}

TEST(Profiles, TheVariableReadsThemTheSameWay) {
  const TemporaryDirectory directory;
  write_whole_file(directory.file("good.json"), good_profile().to_json());
  write_whole_file(directory.file("bad.json"), "{");
  RunOptions options;
  options.environment = {{"WAVEFILL_PROFILE", directory.file("good.json")}};
  EXPECT_EQ(run_wavefill(words("plan --device h200 --model dsv4-flash --batch 8"), options).exit_code, 0);
  options.environment = {{"WAVEFILL_PROFILE", directory.file("bad.json")}};
  const Outcome outcome = run_wavefill(words("plan --device h200 --model dsv4-flash --batch 8"), options);
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("WAVEFILL_PROFILE"), std::string::npos) << outcome.err;
}

TEST(ProfileCommand, ShowsTheKeyAndTheSettings) {
  const TemporaryDirectory directory;
  write_whole_file(directory.file("p.json"), good_profile().to_json());
  const Outcome shown = run_wavefill({"profile", "show", directory.file("p.json")});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  for (const char* part : {"h200", "assumed", "graph", "fixed=3", "fixed=5", "12.0"})
    EXPECT_NE(shown.out.find(part), std::string::npos) << part << "\n" << shown.out;
  const Outcome json = run_wavefill({"profile", "show", directory.file("p.json"), "--json"});
  EXPECT_EQ(nlohmann::json::parse(json.out)["key"]["timing"], "graph");
}

TEST(ProfileCommand, CheckNamesEveryFieldThatMakesItAMiss) {
  const TemporaryDirectory directory;
  write_whole_file(directory.file("p.json"), good_profile().to_json());
  const Outcome other = run_wavefill(
      {"profile", "check", directory.file("p.json"), "--device", "cpu", "--threads", "1", "--json"});
  EXPECT_EQ(other.exit_code, 1) << other.err;
  const nlohmann::json document = nlohmann::json::parse(other.out);
  EXPECT_EQ(document["served"], false);
  EXPECT_EQ(document["differences"][0]["field"], "device");
  EXPECT_NE(document["problem"].get<std::string>().find("h200"), std::string::npos);

  write_whole_file(directory.file("half.json"), good_profile().to_json().substr(0, 99));
  const Outcome damaged = run_wavefill({"profile", "check", directory.file("half.json"), "--device", "cpu"});
  EXPECT_EQ(damaged.exit_code, 1);
  EXPECT_NE(damaged.out.find("would not be served here"), std::string::npos) << damaged.out;
  EXPECT_EQ(run_wavefill({"profile", "check", directory.file("none.json"), "--device", "cpu"}).exit_code, 2);
}

TEST(ProfileCommand, DiffNamesBatchesThatAreServedDifferently) {
  const TemporaryDirectory directory;
  const Profile a = good_profile();
  std::vector<ProfileEntry> entries = a.entries();
  entries[1].setting.value = 7;
  entries.push_back(entries[1]);
  entries.back().batch = 16;
  write_whole_file(directory.file("a.json"), a.to_json());
  write_whole_file(directory.file("b.json"), Profile(a.key(), entries).to_json());
  const Outcome same = run_wavefill({"profile", "diff", directory.file("a.json"), directory.file("a.json")});
  EXPECT_EQ(same.exit_code, 0);
  EXPECT_EQ(same.out, "the same is served at every batch size\n");
  const Outcome differ =
      run_wavefill({"profile", "diff", directory.file("a.json"), directory.file("b.json"), "--json"});
  EXPECT_EQ(differ.exit_code, 1) << differ.err;
  const nlohmann::json document = nlohmann::json::parse(differ.out);
  ASSERT_EQ(document["batches"].size(), 2U);
  EXPECT_EQ(document["batches"][0]["batch"], 8);
  EXPECT_EQ(document["batches"][0]["a"]["setting"], "fixed=5");
  EXPECT_EQ(document["batches"][0]["b"]["setting"], "fixed=7");
  EXPECT_TRUE(document["batches"][1]["a"].is_null()) << "beyond the largest of a: nothing is served";
  EXPECT_EQ(run_wavefill({"profile", "diff", directory.file("a.json")}).exit_code, 2);
  EXPECT_EQ(run_wavefill({"profile", "burn", directory.file("a.json")}).exit_code, 2);
}

}  // namespace
}  // namespace wavefill::test
