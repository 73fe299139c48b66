#include "report/html_parts.h"

#include <fmt/format.h>

#include "report/escape.h"

namespace wavefill::report {

HtmlTable::HtmlTable(std::string caption, std::vector<HtmlColumn> columns) : columns_(std::move(columns)) {
  html_ = fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
      "aria-label=\"{0}\">\n<table>\n<caption>{0}</caption>\n<thead><tr>",
      html_escaped(caption));
  for (const HtmlColumn& column : columns_) {
    html_ += fmt::format("<th scope=\"col\" class=\"{}\">{}</th>", html_escaped(column.css_class),
                         html_escaped(column.title));
  }
  html_ += "</tr></thead>\n<tbody>\n";
}

void HtmlTable::add_row(const std::vector<std::string>& cells_html) {
  html_ += "<tr>";
  for (std::size_t i = 0; i < cells_html.size(); ++i) {
    const std::string css_class = html_escaped(columns_[i].css_class);
    html_ += i == 0 ? fmt::format("<th scope=\"row\" class=\"{}\">{}</th>", css_class, cells_html[i])
                    : fmt::format("<td class=\"{}\">{}</td>", css_class, cells_html[i]);
  }
  html_ += "</tr>\n";
}

std::string HtmlTable::html() const { return html_ + "</tbody>\n</table>\n</div>"; }

std::string code_html(std::string_view text) { return "<code>" + html_escaped(text) + "</code>"; }

std::string link_html(std::string_view href, std::string_view html) {
  return fmt::format("<a href=\"{}\">{}</a>", html_escaped(href), html);
}

std::string linked_html(const std::string& id, const std::string& html) {
  return id.empty() ? html : link_html("#" + id, html);
}

std::string_view verdict_class(std::string_view verdict) {
  if (verdict == "FASTER") return "faster";
  if (verdict == "SLOWER") return "slower";
  return "";
}

std::string verdict_html(std::string_view verdict) {
  return fmt::format("<span class=\"tag {}\">{}</span>", verdict_class(verdict), html_escaped(verdict));
}

std::string time_text(double us) { return fmt::format("{:.{}f}", us, us < 1000.0 ? 1 : 0); }

std::string time_html(const Estimate& us) {
  if (us.value <= 0.0) return "not measured";
  return fmt::format("{} <span class=\"interval\">{}\u2013{}</span>", time_text(us.value), time_text(us.low),
                     time_text(us.high));
}

std::string noise_text(double noise) { return fmt::format("\u00b1{:.1f}%", noise * 100); }

// A minus sign instead of a hyphen, as wide as the plus sign: columns stay aligned.
std::string percent_text(double fraction) {
  const std::string text = fmt::format("{:+.1f}%", fraction * 100);
  if (text == "+0.0%" || text == "-0.0%") return "0.0%";
  return text[0] == '-' ? "\u2212" + text.substr(1) : text;
}

std::string percent_html(const Estimate& effect) {
  return fmt::format("{} <span class=\"interval\">{} to {}</span>", percent_text(effect.value),
                     percent_text(effect.low), percent_text(effect.high));
}

}  // namespace wavefill::report
