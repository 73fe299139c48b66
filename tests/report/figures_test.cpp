#include "report/figures.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "report/golden.h"
#include "report/report_figures.h"
#include "report/sample_report.h"
#include "report/svg.h"

namespace wavefill::report {
namespace {

const std::string kGoldens = std::string(WAVEFILL_TEST_DIR) + "/golden/";

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++count;
  return count;
}

// What svg opens, it closes; attribute values are quoted.
void expect_balanced(const std::string& svg) {
  for (const std::string tag : {"svg", "g", "a", "text", "title", "desc"}) {
    EXPECT_EQ(count_of(svg, "<" + tag + " ") + count_of(svg, "<" + tag + ">"),
              count_of(svg, "</" + tag + ">"))
        << tag;
  }
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
}

TEST(Figures, TinyReportLooksAsReviewed) {
  const Report report = tiny_report();
  EXPECT_TRUE(test::matches_golden(draw_throughput(throughput_figure(report), FigureSize::wide),
                                   kGoldens + "throughput.svg"));
  EXPECT_TRUE(
      test::matches_golden(draw_effects(effect_points(report), FigureSize::wide), kGoldens + "effects.svg"));
  EXPECT_TRUE(test::matches_golden(draw_effects(effect_points(report), FigureSize::narrow),
                                   kGoldens + "effects_narrow.svg"));
  EXPECT_TRUE(
      test::matches_golden(draw_heat_map(heat_map(report), FigureSize::wide), kGoldens + "heat_map.svg"));
}

TEST(Figures, AreWellFormedAtEverySize) {
  for (const int num_batches : {1, 2, 16, 96, 200}) {
    const Report report = sample_report(num_batches);
    for (const FigureSize size : {FigureSize::wide, FigureSize::narrow}) {
      expect_balanced(draw_throughput(throughput_figure(report), size));
      expect_balanced(draw_effects(effect_points(report), size));
      expect_balanced(draw_heat_map(heat_map(report), size));
    }
  }
}

TEST(Figures, NothingMeasuredDrawsNothing) {
  const Report report = sample_report(0);
  EXPECT_EQ(draw_throughput(throughput_figure(report), FigureSize::wide), "");
  EXPECT_EQ(draw_effects(effect_points(report), FigureSize::wide), "");
  EXPECT_EQ(draw_heat_map(heat_map(report), FigureSize::wide), "");
}

TEST(Throughput, WaveEdgesStandWhereMoreWavesAreNeeded) {
  ThroughputFigure figure;
  figure.curves = {{.label = "x",
                    .role = CurveRole::chosen,
                    .points = {{1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}, {4, 4, 4, 4}}}};
  figure.waves = {{1, 1, 1, 0.5}, {2, 1, 1, 1.0}, {3, 1, 2, 0.75}, {4, 1, 2, 1.0}};
  EXPECT_EQ(count_of(draw_throughput(figure, FigureSize::wide), "class=\"wave-edge\""), 1u);
}

TEST(Throughput, PoliciesWithTheSamePlansShareOneCurve) {
  Report report = sample_report(4);
  for (Batch& batch : report.batches) batch.arms[4].aliases = {"tail-gap", "list-schedule"};
  bool found = false;
  for (const Curve& curve : throughput_figure(report).curves)
    found |= curve.label == "tail-gap, list-schedule";
  EXPECT_TRUE(found);
}

// More policies than can be told apart are still policies: none may vanish.
TEST(Throughput, EveryPolicyHasACurve) {
  Report report = sample_report(4);
  for (Batch& batch : report.batches) {
    for (const char* name : {"list-schedule", "last-wave", "target-ctas=512"}) {
      const double us = batch.deployed().us.value * (1.1 + 0.1 * name[0]);
      batch.arms.push_back(sample_arm(batch.batch, name, 3, us, batch.deployed().us.value));
    }
    for (const std::size_t arm : {2U, 3U, 5U}) batch.arms[arm].aliases = {"policy-" + std::to_string(arm)};
  }
  const ThroughputFigure figure = throughput_figure(report);
  EXPECT_EQ(std::ranges::count(figure.curves, CurveRole::other, &Curve::role), 9);
  const std::string svg = draw_throughput(figure, FigureSize::wide);
  EXPECT_EQ(count_of(svg, "<g class=\"series rest\""), 3U);
  EXPECT_EQ(count_of(svg, "<g class=\"legend-entry series rest\""), 3U);
  EXPECT_NE(to_html(report).find("3 of the curves are drawn faintly"), std::string::npos);
}

// A policy that the budget had no room for at some batches.
TEST(Throughput, ACurveEndsWhereABatchWasNotMeasured) {
  Report report = sample_report(5);
  for (Arm& arm : report.batches[2].arms) arm.aliases.clear();  // "efficiency" and "tail-gap" among them
  const ThroughputFigure figure = throughput_figure(report);
  const auto curve = std::ranges::find(figure.curves, "efficiency", &Curve::label);
  ASSERT_NE(curve, figure.curves.end());
  ASSERT_EQ(curve->points.size(), 4U);
  const ThroughputFigure both{.curves = {*curve, figure.curves.front()}, .waves = {}};
  const std::string svg = draw_throughput(both, FigureSize::wide);
  const std::size_t drawn = svg.find("<g class=\"series other-0\"");
  const std::string lines = svg.substr(drawn, svg.find("</g>", drawn) - drawn);
  EXPECT_EQ(count_of(lines, "<polyline"), 2U) << lines;
}

TEST(HeatMap, EveryMeasuredArmHasACellAndTheChosenAreRinged) {
  const Report report = sample_report(8);
  const HeatMap map = heat_map(report);
  EXPECT_EQ(map.rows, (std::vector<std::string>{"1", "2", "3", "4", "5", "10", "balanced"}));
  EXPECT_EQ(map.cells.size(), 8u * 7u);
  const std::string svg = draw_heat_map(map, FigureSize::wide);
  EXPECT_EQ(count_of(svg, "chosen-ring"), 8u + 1u);  // and one in the key
}

TEST(HeatMap, WrongOutputsAndUnmeasuredArmsHaveNoCell) {
  Report report = sample_report(1);
  report.batches[0].arms[2].verified = false;
  report.batches[0].arms[3].samples_us.clear();
  EXPECT_EQ(heat_map(report).cells.size(), 5u);
}

TEST(Svg, NamesCannotBreakOut) {
  Svg svg(10, 10, {.id = "x", .title = "<b>\"", .description = "&"});
  svg.text({1, 2}, "</text><script>", "label");
  svg.open_group("a\" onload=\"b", "</g>");
  svg.close_group();
  EXPECT_EQ(svg.str().find("<script>"), std::string::npos);
  EXPECT_EQ(svg.str().find("\" onload=\""), std::string::npos);
}

TEST(Svg, NumbersAreShortAndNeverMinusZero) {
  EXPECT_EQ(number(3.0), "3");
  EXPECT_EQ(number(3.14159), "3.14");
  EXPECT_EQ(number(-0.001), "0");
  EXPECT_EQ(number(120.5), "120.5");
}

TEST(StandaloneSvg, CarriesItsStyle) {
  for (const auto& [name, svg] : to_svg_files(sample_report(4))) {
    EXPECT_TRUE(svg.starts_with("<svg xmlns=")) << name;
    EXPECT_EQ(count_of(svg, "<style>"), 1u) << name;
    EXPECT_NE(svg.find("prefers-color-scheme: dark"), std::string::npos) << name;
    expect_balanced(svg.substr(0, svg.find("<style>")) + svg.substr(svg.find("</style>") + 8));
  }
}

}  // namespace
}  // namespace wavefill::report
