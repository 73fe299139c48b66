#include "tune/profile_writer.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "tune/fake_workbench.h"

namespace wavefill {
namespace {

namespace fs = std::filesystem;

class ProfileWriter : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = fs::temp_directory_path() / ("wavefill_writer_" + std::to_string(getpid()));
    fs::create_directories(directory_);
    device_.name = "odd/device \"name\" \\ \xC3\xA9";
    device_.num_sms = 4;
    kernel_.name = "k/1";
    shape_.topk = 128;
    shape_.extra_topk = 512;
  }
  void TearDown() override {
    fs::permissions(directory_, fs::perms::owner_all);
    fs::remove_all(directory_);
  }

  Profile profile(std::int64_t splits) const {
    std::vector<ProfileEntry> entries;
    for (const std::int32_t batch : {1, 2, 5}) {
      entries.push_back({.batch = batch,
                         .setting = *parse_setting("fixed=" + std::to_string(splits)),
                         .us = 100.25 * batch,
                         .us_low = 99.0 * batch,
                         .us_high = 101.1 * batch,
                         .samples = 20});
    }
    return {key_of(device_, kernel_, shape_), entries};
  }

  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(directory_), {}));
  }

  fs::path directory_;
  DeviceSpec device_;
  KernelSpec kernel_;
  DecodeShape shape_;
};

TEST_F(ProfileWriter, WhatIsWrittenIsWhatTheRuntimeReads) {
  const std::string path = directory_ / "profile.json";
  ASSERT_TRUE(write_profile(path, profile(3), device_, kernel_, shape_).ok());
  EXPECT_EQ(*Profile::read(path), profile(3));
  EXPECT_EQ(files(), 1U);
  PlanRequest request;
  request.device = device_;
  request.kernel = kernel_;
  request.shape = shape_;
  request.shape.batch = 4;  // padded to 5
  request.setting = *parse_setting("measured=" + path);
  EXPECT_EQ(testing::splits_of(*make_plan(request)), 3);
}

TEST_F(ProfileWriter, ReplacesAndKeepsTheMode) {
  const std::string path = directory_ / "profile.json";
  ASSERT_TRUE(write_profile(path, profile(3), device_, kernel_, shape_).ok());
  struct stat file {};
  ASSERT_EQ(stat(path.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, mode_t{0644});
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  ASSERT_TRUE(write_profile(path, profile(4), device_, kernel_, shape_).ok());
  EXPECT_EQ(*Profile::read(path), profile(4));
  ASSERT_EQ(stat(path.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, mode_t{0600});
}

// The tuner measured one thing and the runtime would look up another: the old file stays.
TEST_F(ProfileWriter, AProfileTheRuntimeWouldNotFindIsNotWritten) {
  const std::string path = directory_ / "profile.json";
  ASSERT_TRUE(write_profile(path, profile(3), device_, kernel_, shape_).ok());
  KernelSpec other = kernel_;
  other.ctas_per_sm = 2;
  const Status status = write_profile(path, profile(4), device_, other, shape_);
  EXPECT_EQ(status.code(), StatusCode::mismatch);
  EXPECT_NE(status.message().find("ctas_per_sm"), std::string::npos) << status.message();
  EXPECT_EQ(*Profile::read(path), profile(3));
  EXPECT_EQ(files(), 1U);
}

TEST_F(ProfileWriter, FailuresNameTheCallAndLeaveNothing) {
  const Status absent = write_profile(directory_ / "no" / "p.json", profile(3), device_, kernel_, shape_);
  EXPECT_EQ(absent.code(), StatusCode::unavailable);
  EXPECT_NE(absent.message().find("No such file"), std::string::npos) << absent.message();
  fs::create_directory(directory_ / "taken");
  std::ofstream(directory_ / "taken" / "file") << "x";
  const Status taken = write_profile(directory_ / "taken", profile(3), device_, kernel_, shape_);
  EXPECT_EQ(taken.code(), StatusCode::unavailable);
  EXPECT_NE(taken.message().find("rename"), std::string::npos) << taken.message();
  EXPECT_EQ(files(), 1U);
}

// A writer killed at any moment leaves one of the profiles it wrote, whole.
TEST_F(ProfileWriter, AKillLeavesAWholeFile) {
  const std::string path = directory_ / "profile.json";
  ASSERT_TRUE(write_profile(path, profile(1), device_, kernel_, shape_).ok());
  constexpr int kKills = 10;
  for (int kill_idx = 0; kill_idx < kKills; ++kill_idx) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (int splits = 1;; splits = splits % 9 + 1) {
        static_cast<void>(write_profile(path, profile(splits), device_, kernel_, shape_));
      }
    }
    usleep(static_cast<useconds_t>(3000 + 1700 * kill_idx));
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    const auto read = Profile::read(path);
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(*read, profile(read->entries().front().setting.value));
  }
}

}  // namespace
}  // namespace wavefill
