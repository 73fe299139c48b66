// What a reader sees in a browser equals the data that the page carries, number by number.
#include <algorithm>
#include <string>

#include "report/browser.h"
#include "report/html_parts.h"
#include "report/page.h"
#include "report/report.h"
#include "report/sample_report.h"

namespace wavefill::report {
namespace {

using nlohmann::json;
using test::Browser;
using test::number_in;
using test::Page;

constexpr double kTimeUs = 0.051;  // shown with one decimal
constexpr double kPercent = 0.051;

json chosen_arm(const json& batch) {
  for (const json& arm : batch["arms"]) {
    if (arm["setting"] == batch["chosen"]) return arm;
  }
  return {};
}

const json& batch_of(const json& data, int batch) {
  for (const json& each : data["batches"]) {
    if (each["batch"] == batch) return each;
  }
  throw std::out_of_range("no batch " + std::to_string(batch));
}

// The interval of the time whose samples have this id: "m-8-0", "c-8" or "cd-8".
json time_of(const json& data, const std::string& id) {
  const std::size_t dash = id.find('-');
  const json& batch = batch_of(data, std::stoi(id.substr(dash + 1)));
  if (id[0] == 'm') return batch["arms"][std::stoul(id.substr(id.rfind('-') + 1))]["us"];
  return batch["confirmation"][id.starts_with("cd-") ? "deployed_us" : "us"];
}

// Of a batch: what the choice takes, what the deployed setting takes, and what that gains.
struct ShownTimes {
  json us;
  json deployed_us;
  json effect;
  json verdict;
};

ShownTimes shown_times(const json& data, const json& batch) {
  const json& confirmation = batch["confirmation"];
  const json& deployed = batch["arms"][0]["us"];
  const json deployed_us = confirmation.is_null() ? deployed : confirmation["deployed_us"];
  if (batch["chosen"] == data["deployed"]) return {deployed_us, deployed_us, {}, {}};
  const json arm = chosen_arm(batch);
  const json& from = confirmation.is_null() ? arm : confirmation;
  return {from["us"], deployed_us, from["effect"], from["verdict"]};
}

// Value and interval of a cell such as "80.0 79.5-80.6" or "+25.0% +24.4% to +25.8%".
void expect_estimate(const std::string& text, const json& estimate, double scale, double tolerance) {
  EXPECT_NEAR(number_in(text), estimate["value"].get<double>() * scale, tolerance) << text;
  const std::size_t low = text.find(' ');
  ASSERT_NE(low, std::string::npos) << text;
  EXPECT_NEAR(number_in(text.substr(low)), estimate["low"].get<double>() * scale, tolerance) << text;
  const bool has_words = text.find(" to ") != std::string::npos;
  const std::size_t high = has_words ? text.find(" to ") : text.find("\u2013") + 3;
  EXPECT_NEAR(number_in(text.substr(high)), estimate["high"].get<double>() * scale, tolerance) << text;
}

TEST_F(Browser, TheTableShowsTheNumbersOfTheData) {
  const Page page(render(to_html(sample_report(12))));
  const json data = page.data();
  const auto rows = page.table("Batch by batch");
  ASSERT_EQ(rows.size(), data["batches"].size());
  for (std::size_t b = 0; b < rows.size(); ++b) {
    const json& batch = data["batches"][b];
    const json arm = chosen_arm(batch);
    const ShownTimes shown = shown_times(data, batch);
    ASSERT_EQ(rows[b].size(), 10U);
    EXPECT_EQ(rows[b][0].text, std::to_string(batch["batch"].get<int>()));
    EXPECT_EQ(rows[b][1].text, batch["chosen"]);
    EXPECT_EQ(rows[b][2].text, std::to_string(arm["num_splits"].get<int>()));
    EXPECT_EQ(rows[b][3].text, std::to_string(arm["num_waves"].get<int>()));
    EXPECT_NEAR(number_in(rows[b][4].text), arm["wave_efficiency"].get<double>() * 100, 0.51);
    expect_estimate(rows[b][5].text, shown.us, 1.0, kTimeUs);
    EXPECT_NEAR(number_in(rows[b][6].text), shown.deployed_us["value"].get<double>(), kTimeUs);
    EXPECT_NEAR(number_in(rows[b][9].text), batch["noise"].get<double>() * 100, kPercent);
    if (shown.effect.is_null()) {
      EXPECT_EQ(rows[b][7].text, "deployed");
      EXPECT_EQ(rows[b][8].text, "");
      continue;
    }
    expect_estimate(rows[b][7].text, shown.effect, 100.0, kPercent);
    EXPECT_EQ(rows[b][8].text, shown.verdict);
  }
}

TEST_F(Browser, TheKeyFiguresAreThoseOfTheData) {
  const Page page(render(to_html(sample_report(12))));
  const json data = page.data();
  EXPECT_NEAR(number_in(page.fact("Gain").text), data["weighted_gain"].get<double>() * 100, kPercent);
  double noise = 0.0;
  double worst = 1e9;
  double error = 0.0;
  std::size_t arms = 0;
  for (const json& batch : data["batches"]) {
    noise = std::max(noise, batch["noise"].get<double>());
    const json effect = shown_times(data, batch).effect;
    worst = std::min(worst, effect.is_null() ? 0.0 : effect["value"].get<double>());
    arms += batch["arms"].size();
    for (const json& arm : batch["arms"]) error = std::max(error, arm["max_o_error"].get<double>());
  }
  EXPECT_NEAR(number_in(page.fact("Noise floor").text), noise * 100, kPercent);
  EXPECT_NEAR(number_in(page.fact("Worst batch").text), worst * 100, kPercent);
  EXPECT_EQ(page.fact("Outputs checked").text, std::to_string(arms));
  EXPECT_NEAR(number_in(page.fact_note("Outputs checked")), error * 100, 0.0051);
}

TEST_F(Browser, RegretsModelAndFallsAreThoseOfTheData) {
  const Page page(render(to_html(sample_report(12))));
  const json data = page.data();
  const auto regrets = page.table("What each policy would cost");
  ASSERT_EQ(regrets.size(), data["regrets"].size());
  for (std::size_t i = 0; i < regrets.size(); ++i) {
    const json& regret = data["regrets"][i];
    EXPECT_EQ(regrets[i][0].text.find(regret["setting"].get<std::string>()), 0U);
    EXPECT_NEAR(number_in(regrets[i][1].text), regret["geometric_mean"].get<double>() * 100, kPercent);
    EXPECT_NEAR(number_in(regrets[i][3].text), regret["worst"].get<double>() * 100, kPercent);
    EXPECT_EQ(regrets[i][4].text, std::to_string(regret["worst_batch"].get<int>()));
    EXPECT_EQ(regrets[i][5].text, std::to_string(regret["num_batches"].get<int>()) + " of " +
                                      std::to_string(regret["num_compared"].get<int>()));
  }
  for (const auto& [scoring, caption] :
       {std::pair{"in_sample", "The model against the measurements, in sample"},
        std::pair{"out_of_sample", "The model against the measurements, out of sample"}}) {
    const auto picks = page.table(caption);
    const json& model = data["fit"][scoring]["model_alone"];
    ASSERT_EQ(picks.size(), model.size());
    for (std::size_t i = 0; i < picks.size(); ++i) {
      EXPECT_EQ(picks[i][0].text, std::to_string(model[i]["batch"].get<int>()));
      EXPECT_EQ(picks[i][1].text, model[i]["setting"]);
      EXPECT_NEAR(number_in(picks[i][2].text), model[i]["predicted_us"].get<double>(), kTimeUs);
      EXPECT_NEAR(number_in(picks[i][3].text), model[i]["us"].get<double>(), kTimeUs);
      EXPECT_EQ(picks[i][4].text, model[i]["best_setting"]);
      EXPECT_NEAR(number_in(picks[i][5].text), model[i]["best_us"].get<double>(), kTimeUs);
      EXPECT_NEAR(number_in(picks[i][6].text), model[i]["cost"].get<double>() * 100, kPercent);
    }
  }
  const auto dips = page.table("Where throughput falls");
  ASSERT_EQ(dips.size(), data["dips"].size());
  for (std::size_t i = 0; i < dips.size(); ++i) {
    EXPECT_EQ(dips[i][1].text, std::to_string(data["dips"][i]["batch_before"].get<int>()));
    EXPECT_EQ(dips[i][2].text, std::to_string(data["dips"][i]["batch"].get<int>()));
    EXPECT_NEAR(number_in(dips[i][3].text), data["dips"][i]["effect"].get<double>() * 100, kPercent);
    EXPECT_EQ(dips[i][6].text.starts_with("yes"), data["dips"][i]["measured_again"].get<bool>());
  }
}

// Three digits: "X at batch 8: 12.3k tokens/s (95 % interval 12.1k to 12.4k)".
TEST_F(Browser, TheCurvesAreThoseOfTheTableAndTheData) {
  const Report report = sample_report(12);
  const Page page(render(to_html(report)));
  const json data = page.data();
  const auto rows = page.table("Batch by batch");
  std::size_t of_choice = 0;
  std::size_t of_deployed = 0;
  for (const auto& mark : page.marks("figure-throughput", "mark")) {
    const std::size_t at = mark.tooltip.rfind(" at batch ");
    const std::string figures = mark.tooltip.substr(at + 10);
    const int batch = static_cast<int>(number_in(figures));
    const double per_s = number_in(figures.substr(figures.find(':')));
    const json us = time_of(data, mark.link_id);
    const auto expect_near = [&](double shown, const char* end) {
      const double expected = batch * 1e6 / us[end].get<double>();
      EXPECT_NEAR(shown, expected, expected * 0.0051) << mark.tooltip;
    };
    expect_near(per_s, "value");
    expect_near(number_in(figures.substr(figures.find("interval ") + 9)), "high");
    expect_near(number_in(figures.substr(figures.find(" to ") + 4)), "low");
    const std::string label = mark.tooltip.substr(0, at);
    const bool is_choice = label == "per-batch table";
    if (!is_choice && label != report.deployed) continue;
    ++(is_choice ? of_choice : of_deployed);
    const double table_us = number_in(rows[static_cast<std::size_t>(batch - 1)][is_choice ? 5 : 6].text);
    EXPECT_NEAR(per_s, batch * 1e6 / table_us, per_s * 0.01)
        << mark.tooltip << ", the table says " << table_us;
  }
  EXPECT_EQ(of_choice, 12U);
  EXPECT_EQ(of_deployed, 12U);
}

TEST_F(Browser, TheCellsAndGainsAreThoseOfTheData) {
  const Page page(render(to_html(sample_report(12))));
  const json data = page.data();
  std::size_t cells = 0;
  for (const auto& mark : page.marks("figure-heat-map", "cell")) {
    const json& batch = batch_of(data, static_cast<int>(number_in(mark.tooltip)));
    double best_us = 1e300;
    for (const json& arm : batch["arms"]) best_us = std::min(best_us, arm["us"]["value"].get<double>());
    const double excess = (time_of(data, mark.link_id)["value"].get<double>() / best_us - 1.0) * 100;
    const bool is_best = mark.tooltip.find(": the best") != std::string::npos;
    const double shown = is_best ? 0.0 : number_in(mark.tooltip.substr(mark.tooltip.find(": ")));
    EXPECT_NEAR(shown, excess, excess < 9.95 ? 0.051 : 0.51) << mark.tooltip;
    ++cells;
  }
  EXPECT_EQ(cells, 12U * 7U);
  std::size_t gains = 0;
  for (const auto& mark : page.marks("figure-effects", "target")) {
    const json& batch = batch_of(data, static_cast<int>(number_in(mark.tooltip)));
    const json effect = shown_times(data, batch).effect;
    EXPECT_EQ(effect.is_null(), mark.tooltip.find("the deployed setting") != std::string::npos)
        << mark.tooltip;
    ++gains;
    if (effect.is_null()) continue;
    const std::string figures = mark.tooltip.substr(mark.tooltip.find(": "));
    EXPECT_NEAR(number_in(figures), effect["value"].get<double>() * 100, kPercent) << mark.tooltip;
    EXPECT_NEAR(number_in(figures.substr(figures.find("interval ") + 9)), effect["low"].get<double>() * 100,
                kPercent);
  }
  EXPECT_EQ(gains, 12U);
}

}  // namespace
}  // namespace wavefill::report
