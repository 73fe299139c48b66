// Writing SVG: elements with a class each, so that one style sheet serves the page and exported files.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace wavefill::report {

struct Point {
  double x = 0.0;
  double y = 0.0;
};

struct Box {
  double x = 0.0;
  double y = 0.0;
  double width = 0.0;
  double height = 0.0;
};

// What a screen reader says for the picture. `id` is unique on the page.
struct AltText {
  std::string id;
  std::string title;
  std::string description;
};

// Coordinates are user units, y down. Every string is escaped here. A non-empty `tooltip` becomes the
// element's <title>.
class Svg {
 public:
  Svg(double width, double height, const AltText& alt);

  void line(Point from, Point to, std::string_view css_class);
  void polyline(std::span<const Point> points, std::string_view css_class);
  void polygon(std::span<const Point> points, std::string_view css_class);
  void rect(Box box, std::string_view css_class, std::string_view tooltip = {});
  void circle(Point center, double radius, std::string_view css_class, std::string_view tooltip = {});
  // One path of round dots, drawn by a stroke with round caps: many points in few bytes.
  void dots(std::span<const Point> points, std::string_view css_class);
  void text(Point at, std::string_view content, std::string_view css_class);

  // Groups nest; `data` becomes the attribute data-series. A link group jumps to `href`; without one it is a
  // plain group.
  void open_group(std::string_view css_class, std::string_view data = {});
  void open_link(std::string_view href, std::string_view label);
  void close_group();
  void close_link();

  std::string str() const { return body_ + "</svg>"; }

 private:
  void shape(std::string_view name, std::string_view attributes, std::string_view css_class,
             std::string_view tooltip);

  std::string body_;
};

// `value` with at most two decimals and no trailing zeros: "12.5", "3", "-0.25".
std::string number(double value);

// Roughly how wide `text` is at a font size of `size`: enough to keep labels apart.
double text_width(std::string_view text, double size);

// An SVG file of its own: `svg` with the figures' style sheet inside.
std::string standalone_svg(std::string_view svg);

}  // namespace wavefill::report
