#include "report/page.h"

#include <algorithm>
#include <regex>
#include <sstream>

namespace wavefill::test {
namespace {

// From `begin` on, up to the `close` that belongs to the first `open` there.
std::string balanced(const std::string& html, std::size_t begin, const std::string& open,
                     const std::string& close) {
  int depth = 0;
  for (std::size_t at = begin; at < html.size();) {
    const std::size_t next_open = html.find(open, at);
    const std::size_t next_close = html.find(close, at);
    if (next_close == std::string::npos) return html.substr(begin);
    if (next_open < next_close) {
      ++depth;
      at = next_open + open.size();
      continue;
    }
    at = next_close + close.size();
    if (--depth == 0) return html.substr(begin, at - begin);
  }
  return html.substr(begin);
}

std::string link_in(const std::string& html) {
  std::smatch found;
  return std::regex_search(html, found, std::regex("href=\"#([^\"]*)\"")) ? found[1].str() : "";
}

// As far as names of settings need it.
std::string unescaped(std::string text) {
  for (const auto& [entity, character] : {std::pair{"&gt;", ">"}, {"&lt;", "<"}, {"&amp;", "&"}}) {
    for (std::size_t at; (at = text.find(entity)) != std::string::npos;)
      text.replace(at, std::string(entity).size(), character);
  }
  return text;
}

}  // namespace

std::string without_markup(const std::string& html) {
  return unescaped(std::regex_replace(html, std::regex("<[^>]*>"), ""));
}

double number_in(std::string text) {
  for (std::size_t at; (at = text.find("\u2212")) != std::string::npos;) text.replace(at, 3, "-");
  std::smatch found;
  if (!std::regex_search(text, found, std::regex("(-?[0-9]+(?:\\.[0-9]+)?)([kM]?)")))
    throw std::invalid_argument("no number in '" + text + "'");
  const double scale = found[2] == "k" ? 1e3 : found[2] == "M" ? 1e6 : 1.0;
  return std::stod(found[1]) * scale;
}

nlohmann::json Page::data() const {
  const std::string open = "id=\"report-data\">";
  const std::size_t begin = html_.find(open) + open.size();
  return nlohmann::json::parse(html_.substr(begin, html_.find("</script>", begin) - begin));
}

std::vector<std::vector<PageCell>> Page::table(const std::string& caption) const {
  std::vector<std::vector<PageCell>> rows;
  const std::size_t at = html_.find("<caption>" + caption + "</caption>");
  if (at == std::string::npos) return rows;
  const std::size_t begin = html_.find("<tbody>", at);
  const std::string body = html_.substr(begin, html_.find("</tbody>", begin) - begin);
  const std::regex row_pattern("<tr>(.*?)</tr>");
  const std::regex cell_pattern("<t[hd][^>]*>(.*?)</t[hd]>");
  for (std::sregex_iterator row(body.begin(), body.end(), row_pattern), end; row != end; ++row) {
    const std::string cells = (*row)[1];
    rows.emplace_back();
    for (std::sregex_iterator cell(cells.begin(), cells.end(), cell_pattern); cell != end; ++cell) {
      const std::string inside = (*cell)[1];
      rows.back().push_back({without_markup(inside), link_in(inside)});
    }
  }
  return rows;
}

PageCell Page::fact(const std::string& name) const {
  const std::size_t begin = html_.find("<dt>" + name + "</dt>");
  if (begin == std::string::npos) return {};
  const std::string value = html_.substr(begin, html_.find("<span class=\"note\">", begin) - begin);
  const std::size_t span = value.find("<span class=\"value");
  return {without_markup(value.substr(span)), link_in(value)};
}

std::string Page::fact_note(const std::string& name) const {
  const std::size_t begin = html_.find("<span class=\"note\">", html_.find("<dt>" + name + "</dt>"));
  return without_markup(html_.substr(begin, html_.find("</dd>", begin) - begin));
}

std::string Page::details(const std::string& id) const {
  const std::size_t name = html_.find(" id=\"" + id + "\"");
  const std::size_t begin = html_.rfind('<', name);
  if (name == std::string::npos || html_.compare(begin, 9, "<details ") != 0) return "";
  return balanced(html_, begin, "<details", "</details>");
}

std::vector<double> Page::samples(const std::string& id) const {
  const std::string inside = details(id);
  const std::size_t nested = inside.find("<details", 1);
  const std::size_t begin = inside.find("<p class=\"raw\">");
  std::vector<double> values;
  if (begin == std::string::npos || begin > nested) return values;
  std::istringstream list(without_markup(inside.substr(begin, inside.find("</p>", begin) - begin)));
  for (double value; list >> value;) values.push_back(value);
  return values;
}

std::vector<PageMark> Page::marks(const std::string& figure_id, const std::string& css_class) const {
  std::vector<PageMark> marks;
  const std::size_t figure = html_.find("<figure id=\"" + figure_id + "\"");
  if (figure == std::string::npos) return marks;
  const std::size_t begin = html_.find("<div class=\"wide\">", figure);
  const std::string svg = html_.substr(begin, html_.find("</svg>", begin) - begin);
  const std::regex link("<a ([^>]*)>([^]*?)</a>");
  const std::regex title("class=\"" + css_class + "[^\"]*\"[^>]*><title>([^<]*)</title>");
  for (std::sregex_iterator at(svg.begin(), svg.end(), link), end; at != end; ++at) {
    const std::string inside = (*at)[2];
    std::smatch found;
    if (!std::regex_search(inside, found, title)) continue;
    marks.push_back({unescaped(found[1]), link_in((*at)[1].str())});
  }
  return marks;
}

std::vector<std::string> Page::linked_ids() const {
  std::vector<std::string> ids;
  const std::regex link("href=\"#([^\"]*)\"");
  for (std::sregex_iterator at(html_.begin(), html_.end(), link), end; at != end; ++at)
    ids.push_back((*at)[1]);
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

}  // namespace wavefill::test
