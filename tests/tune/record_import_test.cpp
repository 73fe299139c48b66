#include "tune/record_import.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "tune/wave_model.h"

namespace wavefill {
namespace {

// The founding story as someone would write it down.
constexpr const char* kStory = R"(# tokens/s in production, RTX PRO 6000
setting,batch,tokens_per_s
target-ctas=256,64,719
target-ctas=256,96,799.4

target-ctas=512,64,811
target-ctas=512,96,845
# the candidate
target-ctas=768,64,767.5
target-ctas=768,80,828.8
target-ctas=768,96,872.3
)";

struct Production {
  DeviceSpec device = *find_known_device("rtx-pro-6000");
  KernelSpec kernel;
  DecodeShape shape;

  Production() {
    kernel.name = "sm120";
    kernel.heads_per_cta = 16;
    shape.num_heads = 32;
    shape.topk = 128;
    shape.extra_topk = 512;
  }
};

TEST(RecordImport, TheFoundingStoryFromItsFile) {
  auto evidence = parse_records_csv(kStory);
  ASSERT_TRUE(evidence.ok()) << evidence.status().message();
  ASSERT_EQ(evidence->size(), 7U);
  EXPECT_DOUBLE_EQ((*evidence)[2].samples.front().us, 64e6 / 811);

  const Production production;
  annotate_with_plans(production.device, production.kernel, production.shape, *evidence);
  EXPECT_EQ((*evidence)[3].num_splits, 3);  // 512 at 96
  EXPECT_EQ((*evidence)[3].num_waves, 4);
  EXPECT_EQ((*evidence)[6].num_splits, 4);  // 768 at 96

  DecisionInput input;
  input.evidence = *evidence;
  input.deployed = "target-ctas=512";
  for (std::int32_t batch = 48; batch <= 80; ++batch) input.workload.push_back({batch, 1.0});
  const std::int32_t at_96[] = {96};
  input.proposals = *wave_model_proposals(production.device, production.kernel, production.shape, at_96, 8);
  ASSERT_EQ(input.proposals.front().setting, "fixed=8");  // 1536 CTAs in 9 waves: 90.8 %

  const auto decision = decide(input);
  ASSERT_TRUE(decision.ok()) << decision.status().message();
  EXPECT_EQ(decision->decision, "target-ctas=512");
  const auto reason_of = [&](std::string_view setting) {
    const auto found = std::ranges::find(decision->rejected, setting, &Rejected::setting);
    return found == decision->rejected.end() ? "none" : std::string(to_string(found->reason));
  };
  EXPECT_EQ(reason_of("target-ctas=768"), "slower");
  EXPECT_EQ(reason_of("fixed=8"), "not_measured");
  ASSERT_TRUE(decision->next.has_value());
  const auto splits_at = [&](std::int32_t batch) {
    return std::ranges::find(decision->next->table, batch, &TableEntry::batch)->num_splits;
  };
  EXPECT_EQ(splits_at(64), 4);
  EXPECT_EQ(splits_at(96), 4);
}

TEST(RecordImport, RepeatedRowsAreSamplesAndColumnsMayStandInAnyOrder) {
  const auto evidence =
      parse_records_csv("us , batch,setting\r\n10.5,4,\"a,\"\"b\"\"\"\r\n11,4,\"a,\"\"b\"\"\"\r\n12,8,c\r\n");
  ASSERT_TRUE(evidence.ok()) << evidence.status().message();
  ASSERT_EQ(evidence->size(), 2U);
  EXPECT_EQ((*evidence)[0].setting, "a,\"b\"");
  EXPECT_EQ((*evidence)[0].samples, (std::vector<TimedSample>{{-1, 10.5}, {-1, 11.0}}));
  EXPECT_EQ((*evidence)[1].batch, 8);
}

TEST(RecordImport, JsonLinesSayTheSame) {
  const auto evidence = parse_records_jsonl(
      "# comment\n{\"setting\": \"fixed=4\", \"batch\": 64, \"tokens_per_s\": 811}\n\n"
      "{\"batch\": 64, \"setting\": \"fixed=4\", \"tokens_per_s\": 800}\n");
  ASSERT_TRUE(evidence.ok()) << evidence.status().message();
  ASSERT_EQ(evidence->size(), 1U);
  EXPECT_DOUBLE_EQ((*evidence)[0].samples[0].us, 64e6 / 811);
  EXPECT_DOUBLE_EQ((*evidence)[0].samples[1].us, 64e6 / 800);
  EXPECT_DOUBLE_EQ((*parse_records_jsonl("{\"setting\": \"x\", \"batch\": 1, \"us\": 5}"))[0].samples[0].us,
                   5);
}

TEST(RecordImport, BadCsvNamesTheLineAndWhatIsAllowed) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "there is no record"},
      {"setting,batch,us\n", "there is no record"},
      {"setting,batch\nx,1\n", "line 1: columns are setting,batch"},
      {"setting,batch,us,tokens_per_s\n", "line 1: columns are"},
      {"setting,batch,us,us\n", "line 1: column 'us' stands twice"},
      {"setting,batch,ms\n", "line 1: column 'ms'; allowed: setting"},
      {"setting,batch,us\nx,1\n", "line 2: 2 fields; allowed: 3"},
      {"setting,batch,us\n#\n\nx,1,2,3\n", "line 4: 4 fields"},
      {"setting,batch,us\n,1,2\n", "line 2: setting is empty"},
      {"setting,batch,us\nx,0,2\n", "line 2: batch is '0'"},
      {"setting,batch,us\nx,-1,2\n", "line 2: batch is '-1'"},
      {"setting,batch,us\nx,1.5,2\n", "line 2: batch is '1.5'"},
      {"setting,batch,us\nx,99999999999999999999,2\n", "line 2: batch is"},
      {"setting,batch,us\nx,1,\n", "there is no record with a figure"},
      {"setting,batch,us\nx,1,0\n", "line 2: us is 0"},
      {"setting,batch,us\nx,1,-3\n", "line 2: us is -3"},
      {"setting,batch,us\nx,1,nan\n", "line 2: us is nan"},
      {"setting,batch,us\nx,1,inf\n", "line 2: us is inf"},
      {"setting,batch,us\nx,1,1e999\n", "line 2: us is '1e999'"},
      {"setting,batch,us\nx,1,5us\n", "line 2: us is '5us'; allowed: a number > 0"},
      {"setting,batch,tokens_per_s\nx,1,1e-320\n", "line 2: tokens_per_s is"},
      {"setting,batch,us\n\"x,1,2\n", "line 2: a quote is not closed"},
      {"\xff\xfe", "line 1: byte '\\xFF' is not UTF-8"},
      {"setting,batch,us\n# \xE9t\xE9\n", "line 2: byte '\\xE9' is not UTF-8"},
      {"setting,batch,us\ntarget-ctas=51 2,1,2\n", "line 2: T of target-ctas=T is '51 2'"},
      {"setting,batch,us\ntarget-ctas,1,2\n", "line 2: setting is 'target-ctas'"},
      {"setting,batch,us\nfixed=0,1,2\n", "line 2: N of fixed=N is '0'"},
      {"setting,batch,us\nefficiency=3,1,2\n", "line 2: setting is 'efficiency=3'"},
  };
  for (const auto& [text, message] : cases) {
    const auto evidence = parse_records_csv(text);
    EXPECT_EQ(evidence.status().code(), StatusCode::corrupt_data) << text;
    EXPECT_NE(evidence.status().message().find(message), std::string::npos)
        << text << "\n-> " << evidence.status().message();
  }
}

// An empty figure is what somebody proposes and nobody has timed.
TEST(RecordImport, AnEmptyFigureIsEvidenceWithoutSamples) {
  const auto csv = parse_records_csv("setting,batch,us\nfixed=2,4,10\nfixed=8,4,\nfixed=2,8,\nfixed=2,8,5\n");
  const auto json = parse_records_jsonl(
      "{\"setting\": \"fixed=2\", \"batch\": 4, \"us\": 10}\n{\"setting\": \"fixed=8\", \"batch\": 4, "
      "\"us\": null}\n"
      "{\"setting\": \"fixed=2\", \"batch\": 8, \"us\": 5}\n");
  for (const auto& records : {csv, json}) {
    ASSERT_TRUE(records.ok()) << records.status().message();
    ASSERT_EQ(records->size(), 3U);
    EXPECT_EQ((*records)[0].samples.size(), 1U);
    EXPECT_EQ((*records)[1].setting, "fixed=8");
    EXPECT_TRUE((*records)[1].samples.empty());
    EXPECT_EQ((*records)[2].samples.size(), 1U) << "measured after all";
  }
}

TEST(RecordImport, BadJsonNamesTheLineAndWhatIsAllowed) {
  const std::pair<const char*, const char*> cases[] = {
      {"{", "line 1: '{' is not valid JSON at byte 2 of 1"},
      {"[1]", "is not a JSON object"},
      {"{\"setting\": \"x\", \"batch\": 1}", "none of us and tokens_per_s"},
      {"{\"setting\": \"x\", \"batch\": 1, \"us\": 1, \"tokens_per_s\": 2}", "both of us and tokens_per_s"},
      {"{\"setting\": 5, \"batch\": 1, \"us\": 1}", "'setting' is '5'"},
      {"{\"setting\": \"x\", \"batch\": 1.5, \"us\": 1}", "'batch' is '1.5'"},
      {"{\"setting\": \"x\", \"batch\": \"1\", \"us\": 1}", "'batch' is '\"1\"'"},
      {"{\"setting\": \"x\", \"batch\": 1, \"us\": 1, \"unit\": \"s\"}", "'unit' is"},
      {"{\"batch\": 1, \"us\": 1}", "setting is empty"},
      {"{\"setting\": \"x\", \"batch\": -4, \"us\": 1}", "batch is -4"},
      {"{\"setting\": \"x\", \"batch\": 1, \"us\": NaN}", "is not valid JSON"},
      {"{\"setting\": \"x\", \"batch\": 1, \"us\": 1e999}", "is not valid JSON: a number is too large"},
      {"{\"setting\": \"x\", \"batch\": 18446744073709551615, \"us\": 1}", "batch is 9223372036854775807"},
      {"{\"setting\": \"x\", \"batch\": 1, \"us\": 1, \"us\": 2}", "has the key 'us' twice"},
      {"{\"setting\": \"x\", \"setting\": \"y\", \"batch\": 1, \"us\": 1}", "has the key 'setting' twice"},
      {"{\"setting\": \"x\", \"batch\": 1, \"us\": [1]}", "'us' is array"},
      {"{\"setting\": \"\xff\", \"batch\": 1, \"us\": 1}", "line 1: byte '\\xFF' is not UTF-8"},
      {"{\"setting\": \"x\", \"batch\": 1, \"us\": 1}\n{\"setting\": \"y\", \"batch\": 1, \"tokens_per_s\": "
       "1}",
       "line 2: tokens_per_s after us"},
  };
  for (const auto& [text, message] : cases) {
    const auto evidence = parse_records_jsonl(text);
    EXPECT_EQ(evidence.status().code(), StatusCode::corrupt_data) << text;
    EXPECT_NE(evidence.status().message().find(message), std::string::npos)
        << text << "\n-> " << evidence.status().message();
  }
}

TEST(RecordImport, AByteOrderMarkAndForeignNamesAreTaken) {
  const auto evidence = parse_records_csv("\xEF\xBB\xBFsetting,batch,us\nfa3-default,4,10\nmeasured,4,9\n");
  ASSERT_TRUE(evidence.ok()) << evidence.status().message();
  EXPECT_EQ((*evidence)[0].setting, "fa3-default");
  EXPECT_EQ((*evidence)[1].setting, kPerBatchTable);
}

TEST(RecordImport, DeepNestingIsRefusedNotFollowed) {
  const std::string deep = "{\"us\": " + std::string(200000, '[') + std::string(200000, ']') + "}";
  EXPECT_NE(parse_records_jsonl(deep).status().message().find("is nested deeper than 2"), std::string::npos);
}

// A setting is printed: what a terminal would obey must not come that far.
TEST(RecordImport, ControlCharactersInASettingAreRefused) {
  for (const char* bad : {"a\x1b[31mb", "a\ab", "a\x7f", "a\xc2\x9b", "a\tb"}) {
    const Status csv = parse_records_csv(std::string("setting,batch,us\n") + bad + ",4,1\n").status();
    EXPECT_EQ(csv.code(), StatusCode::corrupt_data) << bad;
    EXPECT_NE(csv.message().find("line 2: setting is 'a\\x"), std::string::npos) << csv.message();
  }
  for (const char* bad : {"\\u001b[31m", "\\n", "\\u0000", "\\u009b", "\x7f"}) {
    const Status json =
        parse_records_jsonl(std::string("{\"setting\": \"a") + bad + "\", \"batch\": 1, \"us\": 1}").status();
    EXPECT_NE(json.message().find("line 1: setting is"), std::string::npos) << bad << json.message();
  }
  EXPECT_TRUE(parse_records_csv("setting,batch,us\nna\xc3\xafve,4,1\n").ok());
}

// Every line a setting of its own: time must not grow with their square.
TEST(RecordImport, ManySettingsAreReadInLinearTime) {
  std::string text = "setting,batch,us\n";
  for (int i = 0; i < 200'000; ++i) text += "x" + std::to_string(i) + ",4,1\n";
  EXPECT_EQ(parse_records_csv(text)->size(), 200'000U);
}

TEST(RecordImport, TheFirstLineSaysWhatTheOthersAre) {
  EXPECT_EQ(parse_records(std::string("# x\n") + kStory)->size(), 7U);
  EXPECT_EQ(parse_records("\n# x\n  {\"setting\": \"x\", \"batch\": 1, \"us\": 1}\n")->size(), 1U);
  EXPECT_NE(parse_records("setting,batch,us\nx,1,zero\n").status().message().find("line 2"),
            std::string::npos);
}

// No bytes whatever may crash it.
TEST(RecordImport, SurvivesMutations) {
  std::mt19937_64 generator(81);
  for (int trial = 0; trial < 3000; ++trial) {
    std::string text = trial % 2 == 0 ? kStory : "{\"setting\": \"x\", \"batch\": 1, \"us\": 1}\n";
    for (int change = 0; change < 4; ++change) {
      text[generator() % text.size()] = static_cast<char>(generator());
      if (generator() % 4 == 0) text.resize(1 + generator() % text.size());
    }
    const auto csv = parse_records_csv(text);
    const auto json = parse_records_jsonl(text);
    for (const auto* parsed : {&csv, &json}) {
      if (!parsed->ok()) continue;
      for (const Evidence& evidence : **parsed) {
        EXPECT_GE(evidence.batch, 1);
        EXPECT_FALSE(evidence.samples.empty());
      }
    }
  }
}

TEST(WaveModel, PicksTheFullestWavesAndTiesToFewer) {
  const Production production;
  const std::int32_t batches[] = {64, 94, 188};
  const auto proposals =
      wave_model_proposals(production.device, production.kernel, production.shape, batches, 4);
  ASSERT_TRUE(proposals.ok()) << proposals.status().message();
  EXPECT_EQ((*proposals)[0].setting, "fixed=4");  // 512 of 564 slots
  EXPECT_EQ((*proposals)[1].setting, "fixed=1");  // 188 CTAs fill one wave; more splits only fill more
  EXPECT_EQ((*proposals)[2].batch, 188);
  EXPECT_EQ((*proposals)[2].setting, "fixed=1");
}

TEST(WaveModel, SettingsOfOthersStayUnknown) {
  const Production production;
  std::vector<Evidence> evidence(2);
  evidence[0].setting = "somebody-elses-default";
  evidence[0].batch = 64;
  evidence[1].setting = "fixed=2";
  evidence[1].batch = 64;
  annotate_with_plans(production.device, production.kernel, production.shape, evidence);
  EXPECT_EQ(evidence[0].num_splits, 0);
  EXPECT_EQ(evidence[1].num_splits, 2);
}

}  // namespace
}  // namespace wavefill
