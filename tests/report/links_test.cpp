// Every number of the page leads to the samples it was made from: not to some samples of the same setting.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "measure/statistics.h"
#include "report/html_parts.h"
#include "report/page.h"
#include "report/report.h"
#include "report/sample_report.h"
#include "report/text_table.h"

namespace wavefill::report {
namespace {

using test::number_in;
using test::Page;
using test::PageCell;

constexpr std::size_t kTime = 5;
constexpr std::size_t kDeployed = 6;
constexpr std::size_t kGain = 7;
constexpr std::size_t kNoise = 9;
constexpr double kShownUs = 0.11;  // samples and medians are shown with one decimal

double median_at(const Page& page, const PageCell& cell) {
  const std::vector<double> samples = page.samples(cell.link_id);
  EXPECT_FALSE(samples.empty()) << "'" << cell.text << "' leads to '" << cell.link_id << "'";
  return samples.empty() ? 0.0 : median(samples);
}

// How far a percentage may be off that is computed from two shown times.
double shown_percent(double us) { return 0.06 + 2 * kShownUs / us * 100; }

TEST(Links, NoIdStandsTwiceAndNoLinkLeadsNowhere) {
  const Page page(to_html(sample_report(12)));
  std::set<std::string> ids;
  for (std::size_t at = 0; (at = page.html().find(" id=\"", at)) != std::string::npos;) {
    at += 5;
    const std::string id = page.html().substr(at, page.html().find('"', at) - at);
    EXPECT_TRUE(ids.insert(id).second) << "id " << id << " twice";
  }
  for (const std::string& id : page.linked_ids()) EXPECT_TRUE(ids.contains(id)) << "link to " << id;
  // What was measured beside the search is led to from somewhere.
  const std::vector<std::string> linked = page.linked_ids();
  for (const std::string& id : ids) {
    if (!id.starts_with("cd-") && !id.starts_with("aa-")) continue;
    EXPECT_TRUE(std::ranges::binary_search(linked, id)) << id << " is led to from nowhere";
  }
}

TEST(Links, TheTableLeadsToTheSamplesOfItsTimes) {
  const Page page(to_html(sample_report(12)));
  const auto rows = page.table("Batch by batch");
  ASSERT_EQ(rows.size(), 12U);
  for (const auto& row : rows) {
    const double us = median_at(page, row[kTime]);
    const double deployed_us = median_at(page, row[kDeployed]);
    EXPECT_NEAR(us, number_in(row[kTime].text), kShownUs) << row[0].text << " " << row[kTime].link_id;
    EXPECT_NEAR(deployed_us, number_in(row[kDeployed].text), kShownUs) << row[0].text;
    EXPECT_FALSE(row[kNoise].link_id.empty());
    EXPECT_NE(page.details(row[kNoise].link_id).find("<dd>" + row[kNoise].text + "</dd>"), std::string::npos);
    if (row[kGain].text == "deployed") continue;
    EXPECT_NEAR((deployed_us / us - 1.0) * 100, number_in(row[kGain].text), shown_percent(us)) << row[0].text;
    EXPECT_EQ(row[kGain].link_id, row[kTime].link_id);
  }
}

// The search's samples of a setting and those of its confirmation differ: the table shows the latter.
TEST(Links, AConfirmedTimeLeadsToItsConfirmation) {
  const Report report = sample_report(6);
  const Page page(to_html(report));
  const auto rows = page.table("Batch by batch");
  const std::string searched = "m-1-" + std::to_string(report.batches[0].chosen_idx);
  EXPECT_EQ(rows[0][kTime].link_id, searched);  // not confirmed
  EXPECT_EQ(rows[0][kDeployed].link_id, "m-1-0");
  EXPECT_EQ(rows[1][kTime].link_id, "c-2");
  EXPECT_EQ(rows[1][kDeployed].link_id, "cd-2");
}

// The winner of batch 6 did not hold: its time must not stand as that of the setting that stays.
TEST(Links, AnEntryThatWasTakenBackShowsTheTimeOfWhatStays) {
  const Report report = sample_report(6);
  const Page page(to_html(report));
  const auto rows = page.table("Batch by batch");
  EXPECT_EQ(rows[5][1].text, report.deployed);
  EXPECT_EQ(rows[5][kTime].link_id, "cd-6");
  EXPECT_NEAR(number_in(rows[5][kTime].text), report.batches[5].confirmation.deployed_us.value, kShownUs);
  EXPECT_NE(page.details("c-6").find("did not hold"), std::string::npos);
  EXPECT_NE(to_text(report, {}).find(time_text(report.batches[5].confirmation.deployed_us.value)),
            std::string::npos);
}

TEST(Links, TheKeyFiguresLeadToWhatTheyAreOf) {
  const Page page(to_html(sample_report(12)));
  const auto rows = page.table("Batch by batch");
  EXPECT_EQ(page.fact("Gain").link_id, "table-heading");
  const PageCell worst = page.fact("Worst batch");
  const auto worst_batch = static_cast<std::size_t>(number_in(page.fact_note("Worst batch")));
  EXPECT_EQ(worst.link_id, rows[worst_batch - 1][kTime].link_id);
  const PageCell noise = page.fact("Noise floor");
  EXPECT_NE(page.details(noise.link_id).find("<dd>" + noise.text + "</dd>"), std::string::npos);
  EXPECT_NE(page.details(page.fact("Outputs checked").link_id).find("relative error"), std::string::npos);
}

TEST(Links, AnAaArmHasTheSamplesOfItsEffect) {
  const Page page(to_html(sample_report(4)));
  for (const auto& row : page.table("Batch by batch")) {
    const double deployed_us = median(page.samples("m-" + row[0].text + "-0"));
    const double again_us = median_at(page, row[kNoise]);
    const std::string summary = page.details(row[kNoise].link_id);
    const std::string effect = summary.substr(summary.find("(A/A), ") + 7);
    EXPECT_NEAR((deployed_us / again_us - 1.0) * 100, number_in(effect), shown_percent(again_us));
  }
}

TEST(Links, TheModelsTimesLeadToTheirSamples) {
  const Page page(to_html(sample_report(12)));
  for (const char* caption : {"The model against the measurements, in sample",
                              "The model against the measurements, out of sample"}) {
    const auto rows = page.table(caption);
    ASSERT_EQ(rows.size(), 12U);
    for (const auto& row : rows) {
      for (const std::size_t column : {3U, 5U})
        EXPECT_NEAR(median_at(page, row[column]), number_in(row[column].text), kShownUs) << row[0].text;
    }
  }
}

TEST(Links, TheWorstOfEachPolicyLeadsToItsSamples) {
  const Page page(to_html(sample_report(12)));
  const auto rows = page.table("What each policy would cost");
  ASSERT_GE(rows.size(), 5U);
  for (const auto& row : rows) {
    const std::string batch = row[4].text;
    double best_us = median(page.samples("m-" + batch + "-0"));
    for (int arm = 1; arm < 7; ++arm) {
      best_us = std::min(best_us, median(page.samples("m-" + batch + "-" + std::to_string(arm))));
    }
    const double worst = (median_at(page, row[3]) / best_us - 1.0) * 100;
    EXPECT_NEAR(worst, number_in(row[3].text), shown_percent(best_us)) << row[0].text << " at " << batch;
  }
}

// Of a setting of the search, and of the table, which is judged by its confirmation.
TEST(Links, AFallOfThroughputLeadsToBothSides) {
  Report report = sample_report(0);
  for (const auto& [batch, us] : {std::pair{1, 80.0}, {2, 200.0}}) {
    Batch falling;
    falling.batch = batch;
    falling.arms = {sample_arm(batch, "fixed=1", 1, 250.0, 250.0),
                    sample_arm(batch, "fixed=2", 2, us, 250.0)};
    falling.chosen_idx = 1;
    falling.is_confirmed = true;
    const Arm again = sample_arm(batch, "fixed=2", 2, us * (batch == 1 ? 0.9 : 1.1), 250.0, 2);
    falling.confirmation.setting = "fixed=2";
    falling.confirmation.us = again.us;
    falling.confirmation.samples_us = again.samples_us;
    report.batches.push_back(std::move(falling));
  }
  const auto dip = [](const std::string& setting, double before_us, double after_us) {
    return Dip{.setting = setting,
               .batch_before = 1,
               .batch = 2,
               .effect = 2.0 / after_us * before_us - 1.0,
               .introduced = true,
               .measured_again = false,
               .out_of_time = false,
               .cause = "unknown"};
  };
  report.dips = {dip("fixed=2", 80.0, 200.0), dip("measured", 72.0, 220.0)};
  const Page page(to_html(report));
  const auto rows = page.table("Where throughput falls");
  ASSERT_EQ(rows.size(), 2U);
  for (const auto& row : rows) {
    const double fall = 2.0 / median_at(page, row[2]) * median_at(page, row[1]) - 1.0;
    EXPECT_NEAR(fall * 100, number_in(row[3].text), 0.3) << row[0].text;
  }
}

// Each point says "X at batch N: 12.3k tokens/s", with three digits.
TEST(Links, CurvesAndCellsLeadToTheSamplesOfTheirFigures) {
  const Page page(to_html(sample_report(12)));
  std::size_t points = 0;
  for (const auto& mark : page.marks("figure-throughput", "mark")) {
    const std::string from_batch = mark.tooltip.substr(mark.tooltip.rfind(" at batch ") + 10);
    const double batch = number_in(from_batch);
    const double per_s = number_in(from_batch.substr(from_batch.find(':')));
    EXPECT_NEAR(batch * 1e6 / median_at(page, {mark.tooltip, mark.link_id}), per_s, per_s * 0.012)
        << mark.tooltip;
    ++points;
  }
  EXPECT_GE(points, 12U * 3U);
  std::map<int, double> best;
  for (const auto& mark : page.marks("figure-heat-map", "cell")) {
    const int batch = static_cast<int>(number_in(mark.tooltip));
    const double us = median_at(page, {mark.tooltip, mark.link_id});
    if (mark.tooltip.find(": the best") != std::string::npos) best[batch] = us;
  }
  EXPECT_EQ(best.size(), 12U);
  for (const auto& mark : page.marks("figure-heat-map", "cell")) {
    if (mark.tooltip.find(": the best") != std::string::npos) continue;
    const int batch = static_cast<int>(number_in(mark.tooltip));
    const double us = median_at(page, {mark.tooltip, mark.link_id});
    const double excess = number_in(mark.tooltip.substr(mark.tooltip.find(": ")));
    EXPECT_NEAR((us / best[batch] - 1.0) * 100, excess, 0.5 + shown_percent(best[batch])) << mark.tooltip;
  }
}

TEST(Links, GainsOfTheFigureLeadToTheirSamples) {
  const Page page(to_html(sample_report(12)));
  const auto rows = page.table("Batch by batch");
  const auto marks = page.marks("figure-effects", "target");
  ASSERT_EQ(marks.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(marks[i].link_id, rows[i][kTime].link_id);
}

}  // namespace
}  // namespace wavefill::report
