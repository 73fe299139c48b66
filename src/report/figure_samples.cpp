// All samples of one measurement on one axis.
#include <fmt/format.h>

#include <algorithm>

#include "report/figures.h"
#include "report/scale.h"
#include "report/svg.h"

namespace wavefill::report {
namespace {

constexpr double kWidth = 360.0;
constexpr double kHeight = 46.0;
constexpr double kMiddle = 14.0;
constexpr double kMargin = 10.0;
constexpr double kRowOffset = 3.0;  // samples alternate between three rows, so that few cover each other

}  // namespace

std::string draw_samples(const SampleStrip& strip) {
  if (strip.samples_us.empty()) return {};
  const auto [least, most] = std::ranges::minmax(strip.samples_us);
  const double low = std::min(least, strip.low_us);
  const double high = std::max(most, strip.high_us);
  const Scale x(low, high, kMargin, kWidth - kMargin);

  Svg svg(kWidth, kHeight,
          {.id = strip.id,
           .title = strip.title,
           .description = fmt::format("{} samples from {:.1f} to {:.1f} microseconds, median {:.1f}",
                                      strip.samples_us.size(), low, high, strip.median_us)});
  svg.line({kMargin, kMiddle + 10}, {kWidth - kMargin, kMiddle + 10}, "axis");
  svg.rect({.x = x(strip.low_us),
            .y = kMiddle - 10,
            .width = std::max(1.0, x(strip.high_us) - x(strip.low_us)),
            .height = 20},
           "interval");
  std::vector<Point> dots;
  for (std::size_t i = 0; i < strip.samples_us.size(); ++i) {
    dots.push_back({x(strip.samples_us[i]), kMiddle + kRowOffset * (static_cast<double>(i % 3) - 1.0)});
  }
  svg.dots(dots, "sample");
  svg.line({x(strip.median_us), kMiddle - 12}, {x(strip.median_us), kMiddle + 12}, "median");
  svg.text({kMargin, kHeight - 4}, fmt::format("{:.1f}", low), "label start");
  svg.text({kWidth - kMargin, kHeight - 4}, fmt::format("{:.1f} \u00b5s", high), "label end");
  return svg.str();
}

}  // namespace wavefill::report
