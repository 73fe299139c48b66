// Throughput over batch, and wave efficiency beneath it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "report/figures.h"
#include "report/legend.h"
#include "report/scale.h"
#include "report/svg.h"

namespace wavefill::report {
namespace {

struct Layout {
  double width;
  double curves_height;
  double waves_height;
  double left;
  double right;
  int max_x_labels;
};

constexpr double kFontSize = 12.0;
constexpr double kPanelGap = 34.0;
constexpr double kAxisHeight = 40.0;
constexpr double kMarkRadius = 3.0;
constexpr double kSmallMarkRadius = 2.0;  // of curves that are there for comparison

Layout layout_of(FigureSize size) {
  if (size == FigureSize::wide) {
    return {
        .width = 960, .curves_height = 280, .waves_height = 84, .left = 58, .right = 20, .max_x_labels = 20};
  }
  return {.width = 360, .curves_height = 220, .waves_height = 70, .left = 44, .right = 10, .max_x_labels = 8};
}

std::vector<std::int32_t> batches_of(const ThroughputFigure& figure) {
  std::vector<std::int32_t> batches;
  for (const Curve& curve : figure.curves) {
    for (const CurvePoint& point : curve.points) batches.push_back(point.batch);
  }
  for (const WavePoint& point : figure.waves) batches.push_back(point.batch);
  std::ranges::sort(batches);
  batches.erase(std::unique(batches.begin(), batches.end()), batches.end());
  return batches;
}

// Dense batches (1, 2, 3, ...) are spaced evenly; sparse ones (1, 8, 64) by their logarithm.
Scale batch_scale(const std::vector<std::int32_t>& batches, double from, double to) {
  const double span = batches.back() - batches.front();
  const bool is_dense = span <= 4.0 * static_cast<double>(batches.size());
  const double pad = is_dense ? 0.6 : 0.0;
  return {batches.front() - pad, batches.back() + pad, from, to,
          is_dense ? Scale::Kind::linear : Scale::Kind::logarithmic};
}

Range value_range(const std::vector<Curve>& curves) {
  double min = INFINITY;
  double max = -INFINITY;
  for (const Curve& curve : curves) {
    for (const CurvePoint& point : curve.points) {
      min = std::min(min, point.low);
      max = std::max(max, point.high);
    }
  }
  return nice_range(min, max);
}

// Draws both panels; the members are what the parts share.
class ThroughputPainter {
 public:
  ThroughputPainter(const ThroughputFigure& figure, FigureSize size)
      : figure_(figure),
        size_(size),
        layout_(layout_of(size)),
        batches_(batches_of(figure)),
        legend_(curve_legend(figure.curves, layout_.width)),
        top_(legend_.height() + 30),
        bottom_(top_ + layout_.curves_height),
        waves_top_(bottom_ + kPanelGap),
        waves_bottom_(waves_top_ + layout_.waves_height),
        x_(batch_scale(batches_, layout_.left, layout_.width - layout_.right)),
        range_(value_range(figure.curves)),
        y_(range_.min, range_.max, bottom_, top_) {}

  std::string paint() {
    Svg svg(layout_.width, waves_bottom_ + kAxisHeight, alt_text());
    legend_.draw(svg);
    draw_grid(svg);
    draw_wave_edges(svg);
    draw_waves(svg);
    draw_batch_axis(svg);
    // The chosen curve comes last, so that it lies on top.
    for (const CurveRole role : {CurveRole::other, CurveRole::deployed, CurveRole::chosen}) {
      for (std::size_t i = 0; i < figure_.curves.size(); ++i) {
        if (figure_.curves[i].role == role) draw_curve(svg, i);
      }
    }
    return svg.str();
  }

 private:
  AltText alt_text() const {
    const Curve& first = figure_.curves.front();
    return {.id = size_ == FigureSize::wide ? "throughput" : "throughput-narrow",
            .title = "Throughput over batch size",
            .description = fmt::format(
                "{} curves from batch {} to {}. {}: {} tokens per second at batch {}, {} at batch {}. Wave "
                "efficiency of the chosen setting beneath.",
                figure_.curves.size(), batches_.front(), batches_.back(), first.label,
                compact(first.points.front().value), first.points.front().batch,
                compact(first.points.back().value), first.points.back().batch)};
  }

  double right() const { return layout_.width - layout_.right; }

  void draw_grid(Svg& svg) const {
    svg.text({layout_.left - 8, top_ - 8}, "tokens/s", "label start unit");
    for (const double tick : nice_ticks(range_.min, range_.max, 5)) {
      svg.line({layout_.left, y_(tick)}, {right(), y_(tick)}, tick == range_.min ? "axis" : "grid");
      svg.text({layout_.left - 8, y_(tick) + 4}, compact(tick), "label end");
    }
  }

  // A wave edge lies between the last batch of so many waves and the first that needs more.
  void draw_wave_edges(Svg& svg) const {
    const auto& waves = figure_.waves;
    double last_label_x = layout_.left;
    for (std::size_t i = 1; i < waves.size(); ++i) {
      if (waves[i].num_waves <= waves[i - 1].num_waves) continue;
      const double x = (x_(waves[i - 1].batch) + x_(waves[i].batch)) / 2;
      svg.line({x, top_}, {x, waves_bottom_}, "wave-edge");
      const std::string label = fmt::format("{} waves", waves[i].num_waves);
      if (x - last_label_x < text_width(label, kFontSize) + 6 || x + text_width(label, kFontSize) > right()) {
        continue;
      }
      svg.text({x + 3, bottom_ + 14}, label, "label start edge-label");
      last_label_x = x;
    }
  }

  void draw_waves(Svg& svg) const {
    if (figure_.waves.empty()) return;
    const Scale y(0.0, 1.0, waves_bottom_, waves_top_);
    for (const double tick : {0.0, 0.5, 1.0}) {
      svg.line({layout_.left, y(tick)}, {right(), y(tick)}, tick == 0.0 ? "axis" : "grid");
      svg.text({layout_.left - 8, y(tick) + 4}, fmt::format("{:.0f}%", tick * 100), "label end");
    }
    svg.text({layout_.left - 8, waves_top_ - 8}, "wave efficiency", "label start unit");
    const double width = bar_width();
    for (const WavePoint& wave : figure_.waves) {
      const double top = y(wave.efficiency);
      svg.rect({.x = x_(wave.batch) - width / 2, .y = top, .width = width, .height = waves_bottom_ - top},
               "wave-bar",
               fmt::format("batch {}: splits {}, waves {}, {:.1f} % full", wave.batch, wave.num_splits,
                           wave.num_waves, wave.efficiency * 100));
    }
  }

  double bar_width() const {
    double gap = 40.0;
    for (std::size_t i = 1; i < batches_.size(); ++i) {
      gap = std::min(gap, x_(batches_[i]) - x_(batches_[i - 1]));
    }
    return std::max(1.0, gap * 0.6);
  }

  void draw_batch_axis(Svg& svg) const {
    double last_x = -INFINITY;
    const double least_gap = (right() - layout_.left) / layout_.max_x_labels;
    for (const std::int32_t batch : batches_) {
      if (x_(batch) - last_x < least_gap * 0.9) continue;
      svg.text({x_(batch), waves_bottom_ + 16}, std::to_string(batch), "label middle");
      last_x = x_(batch);
    }
    svg.text({(layout_.left + right()) / 2, waves_bottom_ + 34}, "batch size", "label middle unit");
  }

  // A line says that what lies between was measured too: it ends where a batch of the figure is missing.
  std::vector<std::span<const CurvePoint>> stretches(const Curve& curve) const {
    const std::span<const CurvePoint> points = curve.points;
    const auto place = [&](const CurvePoint& point) {
      return std::ranges::lower_bound(batches_, point.batch) - batches_.begin();
    };
    std::vector<std::span<const CurvePoint>> parts;
    std::size_t begin = 0;
    for (std::size_t i = 1; i <= points.size(); ++i) {
      if (i < points.size() && place(points[i]) == place(points[i - 1]) + 1) continue;
      parts.push_back(points.subspan(begin, i - begin));
      begin = i;
    }
    return parts;
  }

  void draw_stretch(Svg& svg, const Curve& curve, std::span<const CurvePoint> stretch) const {
    std::vector<Point> line;
    std::vector<Point> band;
    for (const CurvePoint& point : stretch) line.push_back({x_(point.batch), y_(point.value)});
    for (const CurvePoint& point : stretch) band.push_back({x_(point.batch), y_(point.high)});
    for (auto point = stretch.rbegin(); point != stretch.rend(); ++point) {
      band.push_back({x_(point->batch), y_(point->low)});
    }
    if (curve.role != CurveRole::other) svg.polygon(band, "band");
    svg.polyline(line, "curve");
  }

  void draw_curve(Svg& svg, std::size_t curve_idx) const {
    const Curve& curve = figure_.curves[curve_idx];
    const std::string css = curve_class(figure_.curves, curve_idx);
    svg.open_group("series " + css, curve.label);
    for (const std::span<const CurvePoint> stretch : stretches(curve)) draw_stretch(svg, curve, stretch);
    const double radius = curve.role == CurveRole::other ? kSmallMarkRadius : kMarkRadius;
    for (const CurvePoint& point : curve.points) {
      const std::string tooltip =
          fmt::format("{} at batch {}: {} tokens/s (95 % interval {} to {})", curve.label, point.batch,
                      compact(point.value), compact(point.low), compact(point.high));
      svg.open_link(point.href, tooltip);
      svg.circle({x_(point.batch), y_(point.value)}, radius, "mark", tooltip);
      svg.close_link();
    }
    svg.close_group();
  }

  const ThroughputFigure& figure_;
  FigureSize size_;
  Layout layout_;
  std::vector<std::int32_t> batches_;
  Legend legend_;
  double top_;
  double bottom_;
  double waves_top_;
  double waves_bottom_;
  Scale x_;
  Range range_;
  Scale y_;
};

}  // namespace

std::string draw_throughput(const ThroughputFigure& figure, FigureSize size) {
  if (figure.curves.empty()) return {};
  return ThroughputPainter(figure, size).paint();
}

}  // namespace wavefill::report
