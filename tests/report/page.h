// A report's page as a reader has it: tables, links, figures and samples, taken from its markup.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace wavefill::test {

struct PageCell {
  std::string text;     // without markup
  std::string link_id;  // of the element its link leads to; empty: no link
};

// A linked or plain mark of a figure: its tooltip is what it says.
struct PageMark {
  std::string tooltip;
  std::string link_id;
};

class Page {
 public:
  explicit Page(std::string html) : html_(std::move(html)) {}

  const std::string& html() const { return html_; }
  nlohmann::json data() const;

  // Row by row; empty if there is no such table.
  std::vector<std::vector<PageCell>> table(const std::string& caption) const;

  // The value of a key figure at the top, and its note.
  PageCell fact(const std::string& name) const;
  std::string fact_note(const std::string& name) const;

  // The whole <details> of that id; empty if there is none.
  std::string details(const std::string& id) const;

  // The samples that the <details> of that id lists itself; empty if there are none.
  std::vector<double> samples(const std::string& id) const;

  // Of the figure of that id, as drawn for a desk.
  std::vector<PageMark> marks(const std::string& figure_id, const std::string& css_class) const;

  // All ids that something leads to, each once.
  std::vector<std::string> linked_ids() const;

 private:
  std::string html_;
};

std::string without_markup(const std::string& html);

// The first number in a text: a minus sign counts, whichever is used, and "12.3k" is 12300.
double number_in(std::string text);

}  // namespace wavefill::test
