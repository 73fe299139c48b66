// A place for one ledger file, removed afterwards, and records to put into it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "ledger/ledger.h"

namespace wavefill::testing {

class LedgerFile : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    directory_ = std::filesystem::temp_directory_path() /
                 ("wavefill_ledger_" + std::to_string(getpid()) + "_" + test->name());
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string path() const { return directory_ / "ledger.db"; }

  Ledger opened() const {
    auto ledger = Ledger::open(path());
    EXPECT_TRUE(ledger.ok()) << ledger.status().message();
    return std::move(*ledger);
  }

  std::filesystem::path directory_;
};

inline RunKey key_for(const std::string& device) {
  RunKey key;
  key.profile.device = device;
  key.profile.num_sms = 188;
  key.profile.kernel = "k";
  key.profile.library_version = "0.1.0";
  key.deployed = "efficiency";
  key.batches = "1-4";
  key.timing = "test";
  key.seed = 0xFFFF'FFFF'FFFF'FFFFULL;
  return key;
}

inline std::vector<Measurement> round_of(RunId run, std::int32_t round, std::int32_t batch = 4) {
  std::vector<Measurement> measurements;
  for (const char* setting : {"fixed=1", "fixed=2"}) {
    Measurement measurement;
    measurement.run = run;
    measurement.batch = batch;
    measurement.setting = setting;
    measurement.round = round;
    measurement.position = static_cast<std::int32_t>(measurements.size());
    measurement.calls = 3;
    measurement.us = 100.0 / 3.0 + round;
    measurement.contaminated = round % 2 == 1;
    measurement.reason = measurement.contaminated ? "a neighbour's \"noise\"" : "";
    measurement.at_unix_us = 1'700'000'000'000'000 + round;
    measurements.push_back(measurement);
  }
  return measurements;
}

}  // namespace wavefill::testing
