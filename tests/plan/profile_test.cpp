// Profiles: exact round trips, and every way a file can be wrong.
#include "wavefill/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "plan/profile_file.h"
#include "plan/requests.h"

namespace wavefill {
namespace {

using testing::AllOf;
using testing::HasSubstr;

ProfileKey make_key() {
  const PlanRequest request = make_request(132, 64, dsv4_shape(1, 64), {});
  return key_of(request.device, request.kernel, request.shape);
}

ProfileEntry make_entry(std::int32_t batch, const Setting& setting, double us = 10.0) {
  return {
      .batch = batch, .setting = setting, .us = us, .us_low = 0.9 * us, .us_high = 1.1 * us, .samples = 25};
}

Profile make_profile() {
  return Profile(make_key(), {make_entry(1, {.kind = PolicyKind::fixed, .value = 10}),
                              make_entry(4, {.kind = PolicyKind::target_ctas, .value = 512}),
                              make_entry(16, {.kind = PolicyKind::balanced})});
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

void expect_corrupt(const std::string& text, const std::string& named) {
  const Result<Profile> profile = Profile::parse(text);
  ASSERT_FALSE(profile.ok()) << named << ": accepted " << text.substr(0, 200);
  EXPECT_EQ(profile.status().code(), StatusCode::corrupt_data) << named;
  EXPECT_THAT(profile.status().message(), HasSubstr(named));
}

TEST(Profile, RoundTripsExactly) {
  const Profile profile = make_profile();
  const Result<Profile> read = Profile::parse(profile.to_json());
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, profile);
  EXPECT_EQ(read->to_json(), profile.to_json());
}

// Any finite positive double must come back to the bit, or two reads would disagree about a tie.
TEST(Profile, TimesRoundTripToTheBit) {
  std::mt19937_64 rng(1);
  for (int i = 0; i < 2000; ++i) {
    const double us = std::ldexp(std::uniform_real_distribution<>(0.5, 1.0)(rng),
                                 std::uniform_int_distribution<>(-1000, 1000)(rng));
    ProfileEntry entry = make_entry(1, {.kind = PolicyKind::balanced});
    entry.us = entry.us_low = entry.us_high = us;
    const Profile profile(make_key(), {entry});
    const Result<Profile> read = Profile::parse(profile.to_json());
    ASSERT_TRUE(read.ok()) << us;
    ASSERT_EQ(read->entries()[0].us, us);
  }
}

// The class "a '/' or odd character in a device name".
TEST(Profile, OddDeviceNamesRoundTrip) {
  for (const char* name : {"NVIDIA H100/80GB \"PCIe\"", "", "a\\b", "\xc3\xa9 \xe2\x82\xac"}) {
    ProfileKey key = make_key();
    key.device = name;
    const Profile profile(key, {make_entry(1, {.kind = PolicyKind::balanced})});
    const Result<Profile> read = Profile::parse(profile.to_json());
    ASSERT_TRUE(read.ok()) << name << ": " << read.status().message();
    EXPECT_EQ(read->key().device, name);
  }
}

// A terminal would obey them when the profile is shown.
TEST(Profile, ControlCharactersInANameAreRefused) {
  for (const char* name : {"\x1b[31mH200", "a\n", "\xc2\x9b", "\x7f"}) {
    ProfileKey key = make_key();
    key.device = name;
    const Profile profile(key, {make_entry(1, {.kind = PolicyKind::balanced})});
    const Status status = Profile::parse(profile.to_json()).status();
    EXPECT_EQ(status.code(), StatusCode::corrupt_data) << name;
    EXPECT_EQ(status.message().find("key.device is '"), 0U) << status.message();
  }
}

TEST(Profile, NameThatIsNotUtf8IsAMissAndNotACrash) {
  ProfileKey key = make_key();
  key.device = "bad\xff";
  const Profile profile(key, {make_entry(1, {.kind = PolicyKind::balanced})});
  const Result<Profile> read = Profile::parse(profile.to_json());
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->lookup(key, 1).status().code(), StatusCode::mismatch);
}

// The class "half-written file": every proper prefix is refused, none crashes.
TEST(ProfileParse, EveryTruncationIsRefused) {
  const std::string json = make_profile().to_json();
  const std::size_t end = json.find_last_of('}');
  for (std::size_t size = 0; size <= end; ++size) {
    const Result<Profile> profile = Profile::parse(json.substr(0, size));
    ASSERT_FALSE(profile.ok()) << size << " of " << json.size() << " bytes";
    ASSERT_EQ(profile.status().code(), StatusCode::corrupt_data);
  }
}

TEST(ProfileParse, DuplicatedKeysAreRefusedAtEveryLevel) {
  const std::string json = make_profile().to_json();
  expect_corrupt(replaced(json, "\"schema\"", "\"schema\": \"wavefill-profile-2\", \"schema\""), "twice");
  expect_corrupt(replaced(json, "\"num_sms\": 132", "\"num_sms\": 132, \"num_sms\": 132"), "'num_sms' twice");
  expect_corrupt(replaced(json, "\"us\": 10.0", "\"us\": 10.0, \"us\": 11.0"), "'us' twice");
}

TEST(ProfileParse, UnknownAndMissingFieldsAreRefused) {
  const std::string json = make_profile().to_json();
  expect_corrupt(replaced(json, "\"schema\"", "\"comment\": 1, \"schema\""), "the document has 4 fields");
  expect_corrupt(replaced(json, "\"num_sms\"", "\"sms\": 1, \"num_sms\""), "key has");
  expect_corrupt(replaced(json, "\"samples\": 25", "\"samples\": 25, \"note\": \"\""), "entries[0] has");
  expect_corrupt(replaced(json, "\"num_sms\"", "\"num_SMs\""), "key has no field num_sms");
  expect_corrupt(replaced(json, "\"us_low\"", "\"us_lo\""), "entries[0] has no field us_low");
  expect_corrupt(replaced(json, "\"entries\"", "\"entry\""), "no field entries");
}

TEST(ProfileParse, ForeignSchemasAreNamed) {
  const std::string json = make_profile().to_json();
  expect_corrupt(replaced(json, "wavefill-profile-2", "wavefill-profile-1"), "wavefill-profile-1");
  expect_corrupt("{}", "schema");
  expect_corrupt("[]", "an object");
  expect_corrupt("null", "an object");
  expect_corrupt("{\"schema\": \"someone-elses\", \"data\": []}", "someone-elses");
}

TEST(ProfileParse, NumbersOutsideTheirRangeAreRefused) {
  const std::string json = make_profile().to_json();
  for (const char* us :
       {"NaN", "Infinity", "-Infinity", "1e999", "-1.0", "0", "0.0", "\"10\"", "null", "1e-999"}) {
    const Result<Profile> profile =
        Profile::parse(replaced(json, "\"us\": 10.0", std::string("\"us\": ") + us));
    EXPECT_FALSE(profile.ok()) << us;
    EXPECT_EQ(profile.status().code(), StatusCode::corrupt_data) << us;
  }
  for (const char* batch :
       {"0", "-1", "1.0", "1e0", "true", "4294967297", "99999999999999999999", "2147483648"}) {
    const Result<Profile> profile =
        Profile::parse(replaced(json, "\"batch\": 1,", std::string("\"batch\": ") + batch + ","));
    EXPECT_FALSE(profile.ok()) << batch;
    EXPECT_EQ(profile.status().code(), StatusCode::corrupt_data) << batch;
  }
  expect_corrupt(replaced(json, "\"samples\": 25", "\"samples\": 0"), "samples is 0");
  expect_corrupt(replaced(json, "\"num_sms\": 132", "\"num_sms\": 0"), "num_sms is 0");
  expect_corrupt(replaced(json, "\"l2_bytes\": ", "\"l2_bytes\": -1"), "l2_bytes is -1");
  expect_corrupt(replaced(json, "\"l2_bytes\": ", "\"l2_bytes\": 9999999999999999999"), "l2_bytes is");
  expect_corrupt(replaced(json, "\"us_high\": 11.0", "\"us_high\": 9.5"), "us_low..us_high");
}

TEST(ProfileParse, EntriesMustBeSortedDistinctAndPresent) {
  const std::string json = make_profile().to_json();
  expect_corrupt(replaced(json, "\"batch\": 4", "\"batch\": 1"), "entries[1].batch is 1");
  expect_corrupt(replaced(json, "\"batch\": 16", "\"batch\": 3"), "entries[2].batch is 3");
  expect_corrupt(Profile(make_key(), {}).to_json(), "entries is empty");
}

TEST(ProfileParse, SettingsAreStrictAndNeverNested) {
  const std::string json = make_profile().to_json();
  for (const char* setting :
       {"fixed=0", "fixed= 4", "Balanced", "", "measured=x.json", "measured=/dev/zero"}) {
    expect_corrupt(replaced(json, "fixed=10", setting), "entries[0]");
  }
}

TEST(ProfileParse, BytesThatAreNotJsonOfUtf8AreRefused) {
  const std::string json = make_profile().to_json();
  expect_corrupt(replaced(json, "test device",
                          "test\xff"
                          "device"),
                 "not valid JSON");
  expect_corrupt(replaced(json, "test device", "test\xc0\xaf"), "not valid JSON");
  expect_corrupt(replaced(json, "test device", "\xed\xa0\x80"), "not valid JSON");
  expect_corrupt(json + "x", "not valid JSON");
  expect_corrupt(json + json, "not valid JSON");
  expect_corrupt("// comment\n" + json, "not valid JSON");
  expect_corrupt(std::string(1, '\0') + json, "not valid JSON");
  expect_corrupt(replaced(json, "\"samples\": 25", "\"samples\": 25,"), "not valid JSON");
}

TEST(ProfileParse, DepthAndSizeAreBounded) {
  expect_corrupt(std::string(1'000'000, '['), "deeper");
  // Keys below the bound, after the parser went on: once an access beyond the table of keys by depth.
  expect_corrupt("{\"a\": [{\"b\": [{\"c\": {\"d\": {\"e\": 1}}}]}]}", "deeper");
  expect_corrupt(replaced(make_profile().to_json(), "\"us\": 10.0", "\"us\": [[[]]]"), "deeper");
  expect_corrupt(std::string(kMaxProfileBytes + 1, ' '), "bytes");
}

TEST(ProfileLookup, TakesTheNextLargerMeasuredBatch) {
  const Profile profile = make_profile();
  const auto text_at = [&](std::int32_t batch) { return to_string(*profile.lookup(make_key(), batch)); };
  EXPECT_EQ(text_at(1), "fixed=10");
  EXPECT_EQ(text_at(2), "target-ctas=512");
  EXPECT_EQ(text_at(4), "target-ctas=512");
  EXPECT_EQ(text_at(5), "balanced");
  EXPECT_EQ(text_at(16), "balanced");
  EXPECT_EQ(profile.lookup(make_key(), 17).status().code(), StatusCode::not_found);
  EXPECT_THAT(profile.lookup(make_key(), 17).status().message(), AllOf(HasSubstr("17"), HasSubstr("16")));
  EXPECT_EQ(profile.lookup(make_key(), 0).status().code(), StatusCode::invalid_argument);
}

// The class "the tuning key forgets a parameter": every field of the key decides.
TEST(ProfileLookup, EveryFieldOfTheKeyMustMatch) {
  const Profile profile = make_profile();
  int fields = 0;
  for_each_key_field([&](const char* name, auto field, std::int32_t) {
    ProfileKey other = make_key();
    if constexpr (std::is_same_v<decltype(field), std::string ProfileKey::*>) {
      other.*field = "other";
    } else {
      other.*field += 1;
    }
    const Status status = profile.lookup(other, 1).status();
    EXPECT_EQ(status.code(), StatusCode::mismatch) << name;
    EXPECT_THAT(status.message(), HasSubstr(name));
    ++fields;
  });
  EXPECT_EQ(fields, 20);
}

TEST(Profile, DifferencesNameEveryFieldWithBothValues) {
  ProfileKey other = make_key();
  EXPECT_TRUE(differences(make_key(), other).empty());
  other.l2_bytes += 5'000'000'000;  // beyond 32 bits
  other.timing = "eager";
  const auto differing = differences(make_key(), other);
  ASSERT_EQ(differing.size(), 2U);
  EXPECT_EQ(differing[0].field, "l2_bytes");
  EXPECT_EQ(differing[1].field, "timing");
  EXPECT_EQ(differing[1].a, "graph");
  EXPECT_EQ(differing[1].b, "eager");
}

// The class "eager-tuned but graph-served": 8 us against 330 us was seen.
TEST(ProfileLookup, TimesOfAnotherModeAreAMiss) {
  ProfileKey eager = make_key();
  eager.timing = "eager";
  const Profile profile(eager, {make_entry(1, {.kind = PolicyKind::fixed, .value = 2})});
  const Status status = profile.lookup(make_key(), 1).status();
  EXPECT_EQ(status.code(), StatusCode::mismatch);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("timing"), HasSubstr("eager"), HasSubstr("graph")));
}

// What the key is made of, so that a new field of the plan cannot be forgotten in it.
TEST(ProfileLookup, KeyFollowsDeviceKernelAndShapeButNotBatch) {
  PlanRequest request = make_request(132, 64, dsv4_shape(1, 64), {});
  const auto key = [&] { return key_of(request.device, request.kernel, request.shape); };
  const ProfileKey before = key();
  request.shape.batch = 77;
  EXPECT_EQ(key(), before);
  const auto changes = [&](auto& field, auto value) {
    const auto old = field;
    field = value;
    EXPECT_FALSE(key() == before);
    field = old;
  };
  changes(request.device.name, "x");
  changes(request.device.num_sms, 1);
  changes(request.kernel.name, "x");
  changes(request.kernel.heads_per_cta, 1);
  changes(request.kernel.kv_tile, 1);
  changes(request.kernel.ctas_per_sm, 3);
  changes(request.kernel.threads, 7);
  changes(request.kernel.smem_bytes, 7);
  changes(request.device.smem_per_block_optin_bytes, 7);
  changes(request.device.l2_bytes, 7);
  changes(request.device.driver_version, "580.95.05");
  changes(request.device.cuda_version, "13.0");
  changes(request.device.compute_capability, 0);  // served by direct calls, not by graphs
  changes(request.shape.kv_format, KvFormat::bf16);
  changes(request.shape.d_qk, 576);
  changes(request.shape.num_heads, 1);
  changes(request.shape.s_q, 2);
  changes(request.shape.topk, 1);
  changes(request.shape.extra_topk, 1);
}

class ProfileFile : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::path(testing::TempDir()) /
                 ("wavefill-profile-" + std::to_string(::getpid()) + "-" +
                  testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = (directory_ / name).string();
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

  std::filesystem::path directory_;
};

TEST_F(ProfileFile, ReadsWhatWasWrittenThroughTheSettingToo) {
  const std::string path = write("profile.json", make_profile().to_json());
  const Result<Profile> profile = Profile::read(path);
  ASSERT_TRUE(profile.ok()) << profile.status().message();
  EXPECT_EQ(*profile, make_profile());
  const Result<Setting> setting = parse_setting("measured=" + path);
  ASSERT_TRUE(setting.ok()) << setting.status().message();
  EXPECT_EQ(*setting->profile, make_profile());
  EXPECT_EQ(to_string(*setting), "measured=" + path);
}

TEST_F(ProfileFile, MissingDirectoryAndEmptyPathsAreNamed) {
  const std::string missing = (directory_ / "none.json").string();
  EXPECT_EQ(Profile::read(missing).status().code(), StatusCode::not_found);
  EXPECT_THAT(Profile::read(missing).status().message(), HasSubstr(missing));
  EXPECT_EQ(Profile::read(directory_.string()).status().code(), StatusCode::unavailable);
  EXPECT_THAT(Profile::read(directory_.string()).status().message(), HasSubstr("a directory"));
  EXPECT_EQ(Profile::read("/dev/zero").status().code(), StatusCode::unavailable);
  EXPECT_EQ(Profile::read("").status().code(), StatusCode::invalid_argument);
  EXPECT_EQ(Profile::read(std::string("a\0b", 3)).status().code(), StatusCode::invalid_argument);
  EXPECT_FALSE(Profile::read(missing + "/below").ok());
}

TEST_F(ProfileFile, FileWithoutReadPermissionIsUnavailable) {
  if (::geteuid() == 0) GTEST_SKIP() << "root reads every file";
  const std::string path = write("secret.json", make_profile().to_json());
  std::filesystem::permissions(path, std::filesystem::perms::none);
  EXPECT_EQ(Profile::read(path).status().code(), StatusCode::unavailable);
}

TEST_F(ProfileFile, OversizedAndTruncatedFilesAreRefusedByName) {
  const std::string large = write("large.json", std::string(kMaxProfileBytes + 10, ' '));
  EXPECT_EQ(Profile::read(large).status().code(), StatusCode::corrupt_data);
  const std::string json = make_profile().to_json();
  const std::string half = write("half.json", json.substr(0, json.size() / 2));
  EXPECT_EQ(Profile::read(half).status().code(), StatusCode::corrupt_data);
  EXPECT_THAT(Profile::read(half).status().message(), HasSubstr(half));
}

}  // namespace
}  // namespace wavefill
