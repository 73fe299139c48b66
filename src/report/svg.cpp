#include "report/svg.h"

#include <fmt/format.h>

#include <cmath>

#include "report/assets.h"
#include "report/escape.h"
#include "report/text_table.h"

namespace wavefill::report {
namespace {

std::string point_list(std::span<const Point> points) {
  std::string list;
  for (const Point& point : points) {
    if (!list.empty()) list += ' ';
    list += number(point.x) + "," + number(point.y);
  }
  return list;
}

}  // namespace

std::string number(double value) {
  std::string text = fmt::format("{:.2f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text == "-0" ? "0" : text;
}

double text_width(std::string_view text, double size) {
  constexpr double kMeanAdvance = 0.56;  // of a sans-serif face, in units of the font size
  return kMeanAdvance * size * static_cast<double>(display_width(text));
}

Svg::Svg(double width, double height, const AltText& alt)
    : body_(fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"figure\" viewBox=\"0 0 {} {}\" "
                        "role=\"group\" aria-labelledby=\"{}-title {}-desc\">\n"
                        "<title id=\"{}-title\">{}</title>\n<desc id=\"{}-desc\">{}</desc>\n",
                        number(width), number(height), alt.id, alt.id, alt.id, html_escaped(alt.title),
                        alt.id, html_escaped(alt.description))) {}

void Svg::shape(std::string_view name, std::string_view attributes, std::string_view css_class,
                std::string_view tooltip) {
  body_ += fmt::format("<{} {} class=\"{}\"", name, attributes, html_escaped(css_class));
  body_ += tooltip.empty() ? std::string("/>\n")
                           : fmt::format("><title>{}</title></{}>\n", html_escaped(tooltip), name);
}

void Svg::line(Point from, Point to, std::string_view css_class) {
  shape("line",
        fmt::format("x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"", number(from.x), number(from.y), number(to.x),
                    number(to.y)),
        css_class, {});
}

void Svg::polyline(std::span<const Point> points, std::string_view css_class) {
  shape("polyline", fmt::format("points=\"{}\"", point_list(points)), css_class, {});
}

void Svg::polygon(std::span<const Point> points, std::string_view css_class) {
  shape("polygon", fmt::format("points=\"{}\"", point_list(points)), css_class, {});
}

void Svg::rect(Box box, std::string_view css_class, std::string_view tooltip) {
  shape("rect",
        fmt::format("x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", number(box.x), number(box.y),
                    number(box.width), number(box.height)),
        css_class, tooltip);
}

void Svg::circle(Point center, double radius, std::string_view css_class, std::string_view tooltip) {
  shape("circle",
        fmt::format("cx=\"{}\" cy=\"{}\" r=\"{}\"", number(center.x), number(center.y), number(radius)),
        css_class, tooltip);
}

void Svg::dots(std::span<const Point> points, std::string_view css_class) {
  std::string path;
  for (const Point& point : points) path += fmt::format("M{} {}h0", number(point.x), number(point.y));
  shape("path", fmt::format("d=\"{}\"", path), css_class, {});
}

void Svg::text(Point at, std::string_view content, std::string_view css_class) {
  body_ += fmt::format("<text x=\"{}\" y=\"{}\" class=\"{}\">{}</text>\n", number(at.x), number(at.y),
                       html_escaped(css_class), html_escaped(content));
}

void Svg::open_group(std::string_view css_class, std::string_view data) {
  body_ += fmt::format("<g class=\"{}\"", html_escaped(css_class));
  if (!data.empty()) body_ += fmt::format(" data-series=\"{}\"", html_escaped(data));
  body_ += ">\n";
}

void Svg::open_link(std::string_view href, std::string_view label) {
  if (href.empty()) {
    body_ += fmt::format("<a aria-label=\"{}\">\n", html_escaped(label));
    return;
  }
  body_ += fmt::format("<a href=\"{}\" aria-label=\"{}\">\n", html_escaped(href), html_escaped(label));
}

void Svg::close_group() { body_ += "</g>\n"; }
void Svg::close_link() { body_ += "</a>\n"; }

std::string standalone_svg(std::string_view svg) {
  const std::size_t head_end = svg.find('>');
  if (head_end == std::string_view::npos) return std::string(svg);
  return fmt::format("{}\n<style>\n{}</style>\n{}\n", svg.substr(0, head_end + 1), asset("figure.css"),
                     svg.substr(head_end + 2));
}

}  // namespace wavefill::report
