// Legends of figures: entries that wrap to the width at hand, and the classes curves are told apart by.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/figures.h"
#include "report/svg.h"

namespace wavefill::report {

class Legend {
 public:
  struct Entry {
    std::string series;  // the curve's label
    std::string label;
    std::string css_class;
    Point at;  // of its sample
  };

  Legend(std::vector<Entry> entries, double width);

  double height() const { return height_; }
  void draw(Svg& svg) const;

 private:
  std::vector<Entry> entries_;
  double height_ = 0.0;
};

// More curves for comparison than this cannot be told apart: those beyond are drawn faintly.
inline constexpr std::size_t kOtherStyles = 6;

// "chosen", "deployed", "other-0", "other-1", ..., "rest": colour and dash pattern of the curve's role, as in
// figure.css.
std::string curve_class(std::span<const Curve> curves, std::size_t curve_idx);

// Chosen first, then deployed, then the others in their order.
Legend curve_legend(std::span<const Curve> curves, double width);

}  // namespace wavefill::report
