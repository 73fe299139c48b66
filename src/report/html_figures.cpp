// The figures, each in two sizes of which the style sheet shows one.
#include <fmt/format.h>

#include <algorithm>

#include "report/escape.h"
#include "report/html_sections.h"
#include "report/legend.h"
#include "report/report_figures.h"

namespace wavefill::report {
namespace {

std::string figure_html(std::string_view id, std::string_view heading, std::string_view explanation,
                        const std::string& wide_svg, const std::string& narrow_svg) {
  if (wide_svg.empty()) return {};
  return fmt::format(
      "<figure id=\"figure-{}\">\n<div class=\"figure-head\"><h2>{}</h2></div>\n<p>{}</p>\n"
      "<div class=\"wide\">\n{}\n</div>\n<div class=\"narrow\">\n{}\n</div>\n</figure>\n",
      id, html_escaped(heading), html_escaped(explanation), wide_svg, narrow_svg);
}

std::string throughput_explanation(const ThroughputFigure& figure) {
  const auto others =
      static_cast<std::size_t>(std::ranges::count(figure.curves, CurveRole::other, &Curve::role));
  std::string text =
      "Query tokens per second of one attention call. Shaded: 95 % intervals. Dotted lines are wave edges of "
      "the chosen setting, whose waves are as full as the bars beneath show. What was confirmed is shown as "
      "it was confirmed, as in the table; the rest as the search saw it. A curve has a gap where its setting "
      "was not measured.";
  if (others > kOtherStyles) {
    text +=
        fmt::format(" {} of the curves are drawn faintly: point at one for its name.", others - kOtherStyles);
  }
  return text;
}

}  // namespace

std::string figures_section(const Report& report) {
  const ThroughputFigure throughput = throughput_figure(report);
  const std::vector<EffectPoint> effects = effect_points(report);
  const HeatMap map = heat_map(report);
  std::string html = "<section class=\"figures\" aria-label=\"Figures\">\n";
  html += figure_html("throughput", "Throughput", throughput_explanation(throughput),
                      draw_throughput(throughput, FigureSize::wide),
                      draw_throughput(throughput, FigureSize::narrow));
  if (!report.keeps_deployed) {
    html += figure_html("effects", "Gain over the deployed setting",
                        "Each with its 95 % interval, over the noise floor of its batch (grey).",
                        draw_effects(effects, FigureSize::wide), draw_effects(effects, FigureSize::narrow));
  }
  html += figure_html(
      "heat-map", "Every setting measured",
      "Percent slower than the fastest at the same batch size. A cell leads to its samples; empty "
      "cells were not worth measuring.",
      draw_heat_map(map, FigureSize::wide), draw_heat_map(map, FigureSize::narrow));
  return html + "</section>";
}

}  // namespace wavefill::report
