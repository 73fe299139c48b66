// Pieces of HTML. Arguments named `html` are markup already; all others are escaped here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/report.h"

namespace wavefill::report {

struct HtmlColumn {
  std::string title;
  std::string css_class;  // "left" or empty
};

// A table in a box that scrolls sideways on narrow screens; the first cell of a row is its header.
class HtmlTable {
 public:
  HtmlTable(std::string caption, std::vector<HtmlColumn> columns);

  // cells_html[i] belongs to column i.
  void add_row(const std::vector<std::string>& cells_html);

  std::string html() const;

 private:
  std::vector<HtmlColumn> columns_;
  std::string html_;
};

std::string code_html(std::string_view text);
std::string link_html(std::string_view href, std::string_view html);

// A link to the element of that id; without an id `html` as it is.
std::string linked_html(const std::string& id, const std::string& html);

// "FASTER" as a small label, coloured where it matters.
std::string verdict_html(std::string_view verdict);

// "812.3", and the interval smaller behind it.
std::string time_text(double us);
std::string time_html(const Estimate& us);

// "1.2%", with a sign for either way.
std::string noise_text(double noise);

// "+4.1%"; with its interval.
std::string percent_text(double fraction);
std::string percent_html(const Estimate& effect);

// "faster", "slower" or "" for a verdict.
std::string_view verdict_class(std::string_view verdict);

}  // namespace wavefill::report
