// wavefill tune under kill -9: what was acknowledged is kept, and the next run goes on with it.
#include <gtest/gtest.h>
#include <signal.h>

#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "cli/program_runner.h"

namespace wavefill::test {
namespace {

using Json = nlohmann::json;

// So many batches that no attempt below comes to an end by itself.
std::vector<std::string> tune_arguments(const TemporaryDirectory& directory, const std::string& more) {
  return words(
      "tune --device cpu --heads 8 --topk 256 --batch 1-24 --allow-warm --count-contaminated --ledger " +
      directory.file("ledger.sqlite") + " " + more);
}

Json log_of(const TemporaryDirectory& directory, const std::string& more = "") {
  const Outcome outcome =
      run_wavefill(words("log --json --ledger " + directory.file("ledger.sqlite") + " " + more));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  return Json::parse(outcome.out, nullptr, false);
}

// Samples of each (phase, batch, setting, replica) of the only run.
std::map<std::string, std::int64_t> samples_of(const TemporaryDirectory& directory) {
  std::map<std::string, std::int64_t> samples;
  const Json log = log_of(directory, "--run 1");
  for (const Json& arm : log.at("arms")) {
    const std::string name =
        arm["phase"].dump() + arm["batch"].dump() + arm["setting"].dump() + arm["replica"].dump();
    samples[name] = arm["samples"].get<std::int64_t>() + arm["contaminated"].get<std::int64_t>();
  }
  return samples;
}

TEST(Kill, AtAnyMomentLosesNothingFinished) {
  const TemporaryDirectory directory;
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::map<std::string, std::int64_t> known;
  const auto expect_nothing_lost = [&] {
    const std::map<std::string, std::int64_t> now = samples_of(directory);
    for (const auto& [arm, samples] : known) {
      ASSERT_TRUE(now.contains(arm)) << arm;
      EXPECT_GE(now.at(arm), samples) << arm;
    }
    known = now;
  };
  constexpr int kKills = 10;
  double most_s = 2.5;  // raised while the machine is too slow to record anything in that time
  for (int kills = 0, attempt = 0; kills < kKills && attempt < 4 * kKills; ++attempt) {
    RunOptions kill;
    kill.signal_after_s = std::uniform_real_distribution<double>(0.2, most_s)(random);
    kill.signal = SIGKILL;
    const Outcome killed = run_wavefill(tune_arguments(directory, "--budget 60s"), kill);
    ASSERT_EQ(killed.signal, SIGKILL) << killed.err;
    const Json runs = log_of(directory);
    if (runs.empty() || runs[0]["measurements"] == 0) {
      most_s *= 1.3;
      continue;
    }
    ++kills;
    ASSERT_EQ(runs.size(), 1u) << "a new run instead of a resumed one";
    expect_nothing_lost();
  }
  EXPECT_FALSE(known.empty());
  const Outcome finished = run_wavefill(tune_arguments(directory, "--budget 3s --json"));
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const Json runs = log_of(directory);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_TRUE(runs[0]["finished"]);
  EXPECT_GT(runs[0]["sessions"].get<int>(), 1);
  expect_nothing_lost();
}

}  // namespace
}  // namespace wavefill::test
