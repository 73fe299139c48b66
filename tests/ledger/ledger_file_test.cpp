// What the file on the disk may be, and what may be done to it.
#include <gtest/gtest.h>

#include <fstream>

#include "ledger/ledger_file.h"
#include "ledger/sqlite.h"

namespace wavefill {
namespace {

namespace fs = std::filesystem;
using testing::key_for;
using testing::round_of;

class LedgerFileTest : public testing::LedgerFile {
 protected:
  // A ledger with some thousand measurements, all in the main file.
  void fill() const {
    Ledger ledger = opened();
    const RunId run = ledger.begin(key_for("gpu"), {}, true)->id;
    std::vector<Measurement> many;
    for (std::int32_t round = 0; round < 1000; ++round) {
      for (const Measurement& measurement : round_of(run, round)) many.push_back(measurement);
    }
    ASSERT_TRUE(ledger.record(many).ok());
  }

  void write(const std::string& bytes) const { std::ofstream(path(), std::ios::binary) << bytes; }
  Status open_status() const { return Ledger::open(path()).status(); }
};

TEST_F(LedgerFileTest, NotADatabaseIsCorrupt) {
  for (const std::string& bytes :
       {std::string("not a database, but long enough to be looked at twice"), std::string(5000, '\0'),
        std::string("SQLite format 3"), std::string("{}")}) {
    write(bytes);
    const Status status = open_status();
    EXPECT_EQ(status.code(), StatusCode::corrupt_data) << bytes.substr(0, 20) << ": " << status.message();
    EXPECT_NE(status.message().find(path()), std::string::npos) << status.message();
    EXPECT_EQ(fs::file_size(path()), bytes.size()) << "left as it was";
  }
}

TEST_F(LedgerFileTest, ATruncatedOrDamagedLedgerIsCorrupt) {
  fill();
  const auto size = fs::file_size(path());
  ASSERT_GT(size, 50000U);
  fs::resize_file(path(), size / 2);
  EXPECT_EQ(open_status().code(), StatusCode::corrupt_data) << open_status().message();
  fs::remove(path());
  fill();
  std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
  for (std::streamoff at = 8192; at < static_cast<std::streamoff>(size); at += 512) {
    file.seekp(at);
    file << "XXXXXXXXXXXXXXXX";
  }
  file.close();
  EXPECT_EQ(open_status().code(), StatusCode::corrupt_data) << open_status().message();
}

TEST_F(LedgerFileTest, AnEmptyFileBecomesALedger) {
  write("");
  EXPECT_TRUE(open_status().ok()) << open_status().message();
  EXPECT_TRUE(open_status().ok());
}

TEST_F(LedgerFileTest, AnotherProgramsDatabaseIsRefusedAndLeftAlone) {
  {
    const auto database = sqlite::Database::open(path(), true);
    ASSERT_TRUE(database->execute("CREATE TABLE bookmarks (url TEXT)").ok());
  }
  const Status status = open_status();
  EXPECT_EQ(status.code(), StatusCode::corrupt_data);
  EXPECT_NE(status.message().find("another program"), std::string::npos) << status.message();
  const auto database = sqlite::Database::open(path(), false);
  EXPECT_EQ(*database->text("PRAGMA journal_mode"), "delete");
}

TEST_F(LedgerFileTest, ANewerSchemaIsRefusedWithBothVersions) {
  fill();
  {
    const auto database = sqlite::Database::open(path(), false);
    ASSERT_TRUE(database->execute("PRAGMA user_version = 2").ok());
  }
  const Status status = open_status();
  EXPECT_EQ(status.code(), StatusCode::mismatch);
  EXPECT_NE(status.message().find("schema 2; this build knows 1"), std::string::npos) << status.message();
}

TEST_F(LedgerFileTest, PathsThatCannotBeAreNamed) {
  EXPECT_EQ(Ledger::open(directory_).status().code(), StatusCode::unavailable);
  const std::string nowhere = directory_ / "no" / "such" / "ledger.db";
  EXPECT_EQ(Ledger::open(nowhere).status().code(), StatusCode::unavailable);
  EXPECT_NE(Ledger::open(nowhere).status().message().find(nowhere), std::string::npos);
  EXPECT_EQ(Ledger::open_existing(nowhere).status().code(), StatusCode::not_found);
  EXPECT_EQ(Ledger::open("").status().code(), StatusCode::invalid_argument);
}

TEST_F(LedgerFileTest, RowsCannotBeChangedOrRemoved) {
  {
    Ledger ledger = opened();
    Environment environment;
    environment.set("a", "b");
    const RunId run = ledger.begin(key_for("gpu"), environment, true)->id;
    ASSERT_TRUE(ledger.record(round_of(run, 0)).ok());
    Verification verification;
    verification.run = run;
    ASSERT_TRUE(ledger.record(verification).ok());
    ArmEnd end;
    end.run = run;
    ASSERT_TRUE(ledger.record(end).ok());
    DecisionRecord decision;
    decision.run = run;
    ASSERT_TRUE(ledger.finish(decision).ok());
  }
  const auto database = sqlite::Database::open(path(), false);
  ASSERT_TRUE(database.ok());
  const std::pair<const char*, const char*> tables[] = {
      {"runs", "device = 'x'"},      {"sessions", "pid = 1"},         {"environments", "value = 'x'"},
      {"measurements", "us = 1.0"},  {"verifications", "passed = 1"}, {"arm_ends", "samples = 1"},
      {"decisions", "summary = 'x'"}};
  for (const auto& [table, change] : tables) {
    const std::string name = table;
    EXPECT_EQ(*database->integer("SELECT count(*) > 0 FROM " + name), 1) << name;
    for (const std::string& sql : {"UPDATE " + name + " SET " + change, "DELETE FROM " + name}) {
      const Status status = database->execute(sql.c_str());
      EXPECT_NE(status.message().find("append-only"), std::string::npos) << sql << ": " << status.message();
    }
  }
}

TEST_F(LedgerFileTest, AnOddFileNameIsJustAName) {
  const std::string odd = directory_ / "le'dger \"1\"?mode=memory#.db";
  {
    auto ledger = Ledger::open(odd);
    ASSERT_TRUE(ledger.ok()) << ledger.status().message();
    ASSERT_TRUE(ledger->begin(key_for("gpu"), {}, true).ok());
  }
  EXPECT_TRUE(fs::exists(odd));
  EXPECT_EQ(Ledger::open_existing(odd)->runs()->size(), 1U);
}

}  // namespace
}  // namespace wavefill
