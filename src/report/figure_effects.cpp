// What the chosen setting gains at each batch, against the band of noise. On a desk batches run to the
// right, as in the other figures; on a phone they run down, where there is room for a verdict in words.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "report/figures.h"
#include "report/scale.h"
#include "report/svg.h"

namespace wavefill::report {
namespace {

constexpr double kMark = 4.5;   // half the size of a mark
constexpr double kRound = 3.5;  // radius of round marks
constexpr double kCap = 3.5;    // half the length of a whisker's end

// Shows zero and every noise band whole.
Range effect_range(std::span<const EffectPoint> points) {
  Range range{.min = 0.0, .max = 0.0};
  for (const EffectPoint& point : points) {
    range.min = std::min({range.min, point.low, point.effect, -point.noise});
    range.max = std::max({range.max, point.high, point.effect, point.noise});
  }
  const double air = std::max((range.max - range.min) * 0.05, 0.001);
  return {.min = range.min - air, .max = range.max + air};
}

std::string percent(double fraction, int decimals) {
  const std::string text = fmt::format("{:+.{}f}%", fraction * 100, decimals);
  return text.find_first_of("123456789") == std::string::npos ? text.substr(1) : text;
}

std::string tick_label(const std::vector<double>& ticks, double tick) {
  if (std::abs(tick) < 1e-12) return "0";
  return percent(tick, ticks.size() > 1 && ticks[1] - ticks[0] < 0.0099 ? 1 : 0);
}

std::string tooltip(const EffectPoint& point) {
  if (point.verdict.empty()) return fmt::format("batch {}: the deployed setting", point.batch);
  return fmt::format("batch {}: {} (95 % interval {} to {}), {}", point.batch, percent(point.effect, 1),
                     percent(point.low, 1), percent(point.high, 1), point.verdict);
}

std::string noise_tooltip(const EffectPoint& point) {
  return fmt::format("noise at batch {}: {:.1f}% either way", point.batch, point.noise * 100);
}

std::string verdict_class(std::string_view verdict) {
  if (verdict == "FASTER") return "faster";
  if (verdict == "SLOWER") return "slower";
  if (verdict == "UNDECIDED") return "undecided";
  return verdict.empty() ? "stays" : "same";
}

// The shape says the verdict too: up FASTER, down SLOWER, a ring UNDECIDED, a dot otherwise.
void draw_mark(Svg& svg, Point at, std::string_view verdict) {
  if (verdict != "FASTER" && verdict != "SLOWER") return svg.circle(at, kRound, "effect");
  const double tip = verdict == "FASTER" ? -kMark : kMark;
  svg.polygon(std::array<Point, 3>{Point{at.x, at.y + tip}, Point{at.x - kMark, at.y - tip * 0.8},
                                   Point{at.x + kMark, at.y - tip * 0.8}},
              "effect");
}

// Invisible, and larger than a mark: easy to point at.
void draw_target(Svg& svg, Point at, const EffectPoint& point) {
  svg.open_link(point.href, tooltip(point));
  svg.circle(at, 2 * kMark, "target", tooltip(point));
  svg.close_link();
}

AltText alt_text(std::span<const EffectPoint> points, std::string_view id) {
  std::size_t faster = 0;
  std::size_t slower = 0;
  for (const EffectPoint& point : points) {
    faster += point.verdict == "FASTER" ? 1 : 0;
    slower += point.verdict == "SLOWER" ? 1 : 0;
  }
  return {.id = std::string(id),
          .title = "Gain over the deployed setting at each batch size",
          .description = fmt::format("{} batch sizes with 95 % intervals: {} FASTER, {} SLOWER.",
                                     points.size(), faster, slower)};
}

// ---- batches to the right

constexpr double kWidth = 960.0;
constexpr double kLeft = 58.0;
constexpr double kRight = 20.0;
constexpr double kTop = 34.0;
constexpr double kHeight = 190.0;
constexpr double kKeyStep = 116.0;

void draw_key(Svg& svg) {
  double x = kLeft + 120.0;
  for (const char* verdict : {"FASTER", "SAME", "UNDECIDED", "SLOWER"}) {
    svg.open_group(verdict_class(verdict));
    draw_mark(svg, {x, 10.0}, verdict);
    svg.text({x + 12, 14.0}, verdict, "label start verdict");
    svg.close_group();
    x += kKeyStep;
  }
}

void draw_column(Svg& svg, const EffectPoint& point, double x, const Scale& y) {
  svg.open_group(verdict_class(point.verdict));
  svg.line({x, y(point.low)}, {x, y(point.high)}, "whisker");
  svg.line({x - kCap, y(point.low)}, {x + kCap, y(point.low)}, "whisker");
  svg.line({x - kCap, y(point.high)}, {x + kCap, y(point.high)}, "whisker");
  draw_mark(svg, {x, y(point.effect)}, point.verdict);
  draw_target(svg, {x, y(point.effect)}, point);
  svg.close_group();
}

std::string draw_columns(std::span<const EffectPoint> points) {
  const Range range = effect_range(points);
  const Scale y(range.min, range.max, kTop + kHeight, kTop);
  const double step = (kWidth - kLeft - kRight) / static_cast<double>(points.size());
  Svg svg(kWidth, kTop + kHeight + 40.0, alt_text(points, "effects"));
  svg.text({kLeft - 8, 14.0}, "tokens/s", "label start unit");
  draw_key(svg);
  const auto x_of = [&](std::size_t i) { return kLeft + step * (static_cast<double>(i) + 0.5); };
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double noise = points[i].noise;
    svg.rect({.x = x_of(i) - step / 2, .y = y(noise), .width = step, .height = y(-noise) - y(noise)},
             "noise-band", noise_tooltip(points[i]));
  }
  const std::vector<double> ticks = nice_ticks(range.min, range.max, 5);
  for (const double tick : ticks) {
    svg.line({kLeft, y(tick)}, {kWidth - kRight, y(tick)}, std::abs(tick) < 1e-12 ? "axis" : "grid");
    svg.text({kLeft - 8, y(tick) + 4}, tick_label(ticks, tick), "label end");
  }
  double last_label_x = -INFINITY;
  for (std::size_t i = 0; i < points.size(); ++i) {
    draw_column(svg, points[i], x_of(i), y);
    const std::string label = std::to_string(points[i].batch);
    if (x_of(i) - last_label_x < text_width(label, 12.0) + 12.0) continue;
    svg.text({x_of(i), kTop + kHeight + 16}, label, "label middle");
    last_label_x = x_of(i);
  }
  svg.text({(kLeft + kWidth - kRight) / 2, kTop + kHeight + 34}, "batch size", "label middle unit");
  return svg.str();
}

// ---- batches down

constexpr double kNarrowWidth = 360.0;
constexpr double kAxisLeft = 44.0;
constexpr double kAxisRight = 252.0;
constexpr double kRowTop = 28.0;
constexpr double kRowHeight = 22.0;

void draw_row(Svg& svg, const EffectPoint& point, double y, const Scale& x) {
  svg.open_group(verdict_class(point.verdict));
  svg.text({kAxisLeft - 10, y + 4}, std::to_string(point.batch), "label end");
  svg.line({x(point.low), y}, {x(point.high), y}, "whisker");
  svg.line({x(point.low), y - kCap}, {x(point.low), y + kCap}, "whisker");
  svg.line({x(point.high), y - kCap}, {x(point.high), y + kCap}, "whisker");
  draw_mark(svg, {x(point.effect), y}, point.verdict);
  draw_target(svg, {x(point.effect), y}, point);
  svg.text({kNarrowWidth - 2, y + 4},
           point.verdict.empty() ? "deployed" : percent(point.effect, 1) + " " + point.verdict,
           "label end verdict");
  svg.close_group();
}

std::string draw_rows(std::span<const EffectPoint> points) {
  const Range range = effect_range(points);
  const Scale x(range.min, range.max, kAxisLeft, kAxisRight);
  const double bottom = kRowTop + kRowHeight * static_cast<double>(points.size());
  Svg svg(kNarrowWidth, bottom + 40.0, alt_text(points, "effects-narrow"));
  svg.text({kAxisLeft - 10, kRowTop - 12}, "batch", "label end unit");
  const auto top_of = [](std::size_t i) { return kRowTop + kRowHeight * static_cast<double>(i); };
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double noise = points[i].noise;
    svg.rect({.x = x(-noise), .y = top_of(i), .width = x(noise) - x(-noise), .height = kRowHeight},
             "noise-band", noise_tooltip(points[i]));
  }
  const std::vector<double> ticks = nice_ticks(range.min, range.max, 4);
  for (const double tick : ticks) {
    svg.line({x(tick), kRowTop}, {x(tick), bottom}, std::abs(tick) < 1e-12 ? "axis" : "grid");
    svg.text({x(tick), bottom + 16}, tick_label(ticks, tick), "label middle");
  }
  for (std::size_t i = 0; i < points.size(); ++i) draw_row(svg, points[i], top_of(i) + kRowHeight / 2, x);
  svg.text({(kAxisLeft + kAxisRight) / 2, bottom + 34}, "tokens/s against deployed", "label middle unit");
  return svg.str();
}

}  // namespace

std::string draw_effects(std::span<const EffectPoint> points, FigureSize size) {
  if (points.empty()) return {};
  return size == FigureSize::wide ? draw_columns(points) : draw_rows(points);
}

}  // namespace wavefill::report
