#include "ledger/ledger.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ledger/ledger_file.h"

namespace wavefill {
namespace {

using testing::key_for;
using testing::round_of;

class LedgerTest : public testing::LedgerFile {};

// Made elsewhere: nobody measures, so nobody is in the way of it, and it is in the way of nobody.
TEST_F(LedgerTest, ADecisionMadeElsewhereIsAFinishedRun) {
  Ledger ledger = opened();
  Environment environment;
  environment.set("records_file", "sweep.csv");
  const DecisionRecord decision = {.run = 99,
                                   .deployed = "efficiency",
                                   .decision = "fixed=2",
                                   .summary = "s",
                                   .json = "{}",
                                   .at_unix_us = 7};
  const auto measuring = ledger.begin(key_for("gpu"), environment, true);
  ASSERT_TRUE(measuring.ok());
  const auto run = ledger.record_decision(key_for("gpu"), environment, decision);
  ASSERT_TRUE(run.ok()) << run.status().message();
  EXPECT_NE(*run, measuring->id);
  EXPECT_EQ(ledger.decision(*run)->decision, "fixed=2");
  EXPECT_EQ(ledger.decision(*run)->run, *run);
  EXPECT_EQ(ledger.environment(*run)->value("records_file"), "sweep.csv");
  EXPECT_TRUE(ledger.runs()->front().finished);
  EXPECT_FALSE(ledger.runs()->back().finished);
  EXPECT_TRUE(ledger.record(round_of(measuring->id, 0)).ok());
}

TEST_F(LedgerTest, WhatIsRecordedIsReadBackExactly) {
  Environment environment;
  environment.set("cpu_model", "a; DROP TABLE runs; --");
  environment.set("empty", "");
  RunId id = 0;
  Verification verification;
  ArmEnd end;
  DecisionRecord decision;
  {
    Ledger ledger = opened();
    const auto run = ledger.begin(key_for("gpu"), environment, true);
    ASSERT_TRUE(run.ok()) << run.status().message();
    id = run->id;
    ASSERT_TRUE(ledger.record(round_of(id, 0)).ok());
    ASSERT_TRUE(ledger.record(round_of(id, 1)).ok());
    verification = {.run = id,
                    .batch = 4,
                    .setting = "fixed=2",
                    .passed = false,
                    .max_o_error = 1.0 / 3.0,
                    .max_lse_error = 1e-300,
                    .message = "row 0: 'quoted'",
                    .at_unix_us = 5};
    ASSERT_TRUE(ledger.record(verification).ok());
    end = {.run = id,
           .phase = Phase::confirm,
           .batch = 4,
           .setting = "fixed=2",
           .replica = 1,
           .reason = StopReason::eliminated,
           .samples = 7,
           .at_unix_us = 6};
    ASSERT_TRUE(ledger.record(end).ok());
    decision = {.run = id,
                .deployed = "efficiency",
                .decision = "measured",
                .summary = "one line",
                .json = "{\"a\": [1]}",
                .at_unix_us = 7};
    ASSERT_TRUE(ledger.finish(decision).ok());
  }
  const auto ledger = Ledger::open_existing(path());
  ASSERT_TRUE(ledger.ok()) << ledger.status().message();
  std::vector<Measurement> expected = round_of(id, 0);
  const auto second = round_of(id, 1);
  expected.insert(expected.end(), second.begin(), second.end());
  EXPECT_EQ(*ledger->measurements(id), expected);
  EXPECT_EQ(*ledger->verifications(id), std::vector{verification});
  EXPECT_EQ(*ledger->ends(id), std::vector{end});
  EXPECT_EQ(*ledger->decision(id), decision);
  EXPECT_EQ(*ledger->environment(id), environment);
}

TEST_F(LedgerTest, RunsAreListedNewestFirstWithTheirCounts) {
  Ledger ledger = opened();
  const auto first = ledger.begin(key_for("a"), {}, true);
  ASSERT_TRUE(ledger.record(round_of(first->id, 0)).ok());
  ASSERT_TRUE(ledger.record(round_of(first->id, 1)).ok());  // contaminated
  ledger.suspend(first->id);
  ASSERT_TRUE(ledger.begin(key_for("a"), {}, true)->resumed);
  DecisionRecord decision;
  decision.run = first->id;
  decision.decision = "fixed=2";
  decision.summary = "because";
  ASSERT_TRUE(ledger.finish(decision).ok());
  const auto second = ledger.begin(key_for("b"), {}, true);

  const auto runs = ledger.runs();
  ASSERT_TRUE(runs.ok()) << runs.status().message();
  ASSERT_EQ(runs->size(), 2U);
  EXPECT_EQ((*runs)[0].id, second->id);
  EXPECT_FALSE((*runs)[0].finished);
  const RunSummary& finished = (*runs)[1];
  EXPECT_EQ(finished.key, key_for("a"));
  EXPECT_EQ(finished.num_measurements, 4);
  EXPECT_EQ(finished.num_contaminated, 2);
  EXPECT_EQ(finished.num_sessions, 2);
  EXPECT_TRUE(finished.finished);
  EXPECT_EQ(finished.decision, "fixed=2");
  EXPECT_EQ(finished.summary, "because");
  EXPECT_EQ(ledger.runs(1)->size(), 1U);
  EXPECT_EQ(ledger.decisions()->size(), 1U);
}

TEST_F(LedgerTest, DeviceNamesMayHoldAnything) {
  Ledger ledger = opened();
  const std::string names[] = {"a/b",
                               "..",
                               "a\nb",
                               "\"quoted\" 'name'",
                               std::string("nul\0inside", 10),
                               "\xF0\x9F\x94\xA5",
                               "\xFF\xFE not UTF-8",
                               "",
                               std::string(3000, 'x')};
  for (const std::string& name : names) {
    const auto run = ledger.begin(key_for(name), {}, true);
    ASSERT_TRUE(run.ok()) << run.status().message();
    EXPECT_FALSE(run->resumed);
    ASSERT_TRUE(ledger.record(round_of(run->id, 0)).ok());
    ledger.suspend(run->id);
    const auto again = ledger.begin(key_for(name), {}, true);
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(again->id, run->id);
    ledger.suspend(run->id);
    EXPECT_EQ(ledger.runs(1)->front().key.profile.device, name);
  }
}

TEST_F(LedgerTest, AMeasurementIsRecordedOnceAndARoundWhole) {
  Ledger ledger = opened();
  const RunId run = ledger.begin(key_for("gpu"), {}, true)->id;
  ASSERT_TRUE(ledger.record(round_of(run, 0)).ok());
  std::vector<Measurement> half_new = round_of(run, 0);
  half_new[0].round = 1;
  const Status status = ledger.record(half_new);
  EXPECT_EQ(status.code(), StatusCode::invalid_argument);
  EXPECT_NE(status.message().find("measured before"), std::string::npos) << status.message();
  EXPECT_EQ(ledger.measurements(run)->size(), 2U);
}

TEST_F(LedgerTest, NonsenseIsRefused) {
  Ledger ledger = opened();
  const RunId run = ledger.begin(key_for("gpu"), {}, true)->id;
  std::vector<Measurement> nan = round_of(run, 0);
  nan[0].us = std::nan("");
  EXPECT_EQ(ledger.record(nan).code(), StatusCode::invalid_argument);
  EXPECT_EQ(ledger.record(round_of(run + 7, 0)).code(), StatusCode::invalid_argument);  // no such run
  EXPECT_TRUE(ledger.measurements(run)->empty());
  DecisionRecord decision;
  decision.run = run;
  EXPECT_TRUE(ledger.finish(decision).ok());
  EXPECT_FALSE(ledger.finish(decision).ok());  // one decision a run
  EXPECT_EQ(ledger.decision(99).status().code(), StatusCode::not_found);
  EXPECT_EQ(ledger.environment(99).status().code(), StatusCode::not_found);
}

TEST_F(LedgerTest, ResumesOnlyTheLastUnfinishedRunOfTheSameKey) {
  Ledger ledger = opened();
  const auto first = ledger.begin(key_for("gpu"), {}, true);
  ASSERT_TRUE(ledger.record(round_of(first->id, 0)).ok());
  ledger.suspend(first->id);
  const auto fresh = ledger.begin(key_for("gpu"), {}, /*resume=*/false);
  EXPECT_NE(fresh->id, first->id);
  EXPECT_TRUE(fresh->measurements.empty());
  ledger.suspend(fresh->id);
  EXPECT_EQ(ledger.begin(key_for("gpu"), {}, true)->id, fresh->id);
  DecisionRecord decision;
  decision.run = fresh->id;
  ASSERT_TRUE(ledger.finish(decision).ok());
  EXPECT_FALSE(ledger.begin(key_for("gpu"), {}, true)->resumed) << "the older unfinished run is not taken up";
}

}  // namespace
}  // namespace wavefill
