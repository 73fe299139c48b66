// The page in a real browser: it renders without a complaint, and shows the numbers of its data. Skipped
// where there is no Chromium.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>

#include "report/golden.h"
#include "report/html_parts.h"
#include "report/report.h"
#include "report/report_figures.h"
#include "report/sample_report.h"

namespace wavefill::report {
namespace {

namespace fs = std::filesystem;

std::string find_browser() {
  for (const char* name : {"chromium", "chromium-browser", "google-chrome"}) {
    for (const char* directory : {"/usr/bin/", "/usr/local/bin/", "/snap/bin/"}) {
      if (fs::exists(std::string(directory) + name)) return std::string(directory) + name;
    }
  }
  return "";
}

class Browser : public testing::Test {
 protected:
  void SetUp() override {
    browser_ = find_browser();
    if (browser_.empty()) GTEST_SKIP() << "no Chromium is installed";
    std::string pattern = (fs::temp_directory_path() / "wavefill-browser-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
  }
  void TearDown() override {
    std::error_code error;
    if (!directory_.empty()) fs::remove_all(directory_, error);
  }

  // The document after scripts have run; console messages and errors land in log_.
  std::string render(const std::string& html, const std::string& fragment = "",
                     const std::string& flags = "") {
    const std::string page = directory_ + "/report.html";
    const std::string log = directory_ + "/log";
    test::write_whole_file(page, html);
    const std::string command =
        browser_ +
        " --headless --no-sandbox --disable-gpu --enable-logging=stderr --user-data-dir=" + directory_ +
        "/profile --virtual-time-budget=5000 " + flags + " --dump-dom 'file://" + page + fragment + "' 2>" +
        log;
    std::string dom;
    FILE* pipe = popen(command.c_str(), "r");
    std::array<char, 65536> buffer{};
    for (std::size_t got; (got = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
      dom.append(buffer.data(), got);
    EXPECT_EQ(pclose(pipe), 0);
    log_ = test::read_whole_file(log);
    return dom;
  }

  std::string browser_;
  std::string directory_;
  std::string log_;
};

// The page with a script that writes what the browser laid out: scroll width, window width, background.
std::string with_probe(std::string html) {
  const std::string probe =
      "<script>addEventListener('load', () => { const root = document.documentElement; root.dataset.probe = "
      "root.scrollWidth + ' ' + root.clientWidth + ' ' + getComputedStyle(document.body).backgroundColor; });"
      "</script></body>";
  return html.replace(html.rfind("</body>"), 7, probe);
}

// The text of each cell of the table with this caption, row by row.
std::vector<std::vector<std::string>> table_cells(const std::string& dom, const std::string& caption) {
  std::vector<std::vector<std::string>> rows;
  const std::size_t begin = dom.find("<tbody>", dom.find("<caption>" + caption + "</caption>"));
  const std::string body = dom.substr(begin, dom.find("</tbody>", begin) - begin);
  const std::regex row_pattern("<tr>(.*?)</tr>");
  const std::regex cell_pattern("<t[hd][^>]*>(.*?)</t[hd]>");
  const std::regex tag_pattern("<[^>]*>");
  for (std::sregex_iterator row(body.begin(), body.end(), row_pattern), end; row != end; ++row) {
    const std::string cells = (*row)[1];
    rows.emplace_back();
    for (std::sregex_iterator cell(cells.begin(), cells.end(), cell_pattern); cell != end; ++cell) {
      rows.back().push_back(std::regex_replace((*cell)[1].str(), tag_pattern, ""));
    }
  }
  return rows;
}

TEST_F(Browser, RendersWithoutAComplaint) {
  const std::string dom = render(to_html(sample_report(16)));
  EXPECT_NE(dom.find("data-ready=\"true\""), std::string::npos) << "the script did not run to its end";
  EXPECT_EQ(log_.find("CONSOLE"), std::string::npos) << log_;
  EXPECT_EQ(log_.find("Content Security Policy"), std::string::npos) << log_;
}

TEST_F(Browser, TableShowsTheNumbersOfTheData) {
  const std::string dom = render(to_html(sample_report(12)));
  const std::string open = "id=\"report-data\">";
  const std::size_t begin = dom.find(open) + open.size();
  const nlohmann::json data = nlohmann::json::parse(dom.substr(begin, dom.find("</script>", begin) - begin));
  const auto rows = table_cells(dom, "Batch by batch");
  ASSERT_EQ(rows.size(), data["batches"].size());
  for (std::size_t b = 0; b < rows.size(); ++b) {
    const nlohmann::json& batch = data["batches"][b];
    nlohmann::json chosen;
    for (const nlohmann::json& arm : batch["arms"]) {
      if (arm["setting"] == batch["chosen"]) chosen = arm;
    }
    const nlohmann::json& timed = batch["confirmation"].is_null() ? chosen : batch["confirmation"];
    ASSERT_EQ(rows[b].size(), 10u);
    EXPECT_EQ(rows[b][0], std::to_string(batch["batch"].get<int>()));
    EXPECT_EQ(rows[b][1], chosen["setting"]);
    EXPECT_EQ(rows[b][2], std::to_string(chosen["num_splits"].get<int>()));
    EXPECT_EQ(rows[b][3], std::to_string(chosen["num_waves"].get<int>()));
    EXPECT_NEAR(std::stod(rows[b][5]), timed["us"]["value"].get<double>(), 0.051);
    if (batch["chosen"] != data["deployed"]) {
      EXPECT_NEAR(std::stod(rows[b][7]), timed["effect"]["value"].get<double>() * 100, 0.051);
      EXPECT_EQ(rows[b][8], timed["verdict"]);
    }
  }
}

// What the model alone would have cost, and that each figure leads to its samples.
TEST_F(Browser, TheModelIsPricedAndLinked) {
  const Report report = sample_report(12);
  const std::string dom = render(to_html(report));
  const auto rows = table_cells(dom, "The model against the measurements");
  ASSERT_EQ(rows.size(), report.fit.picks.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const ModelPick& pick = report.fit.picks[i];
    EXPECT_EQ(rows[i][0], std::to_string(pick.batch));
    EXPECT_EQ(rows[i][1], pick.setting);
    EXPECT_NEAR(std::stod(rows[i][3]), pick.us, 0.051);
    EXPECT_NEAR(std::stod(rows[i][6]), pick.cost * 100, 0.051);
  }
}

// Everything a link names is on the page.
TEST_F(Browser, NoLinkLeadsNowhere) {
  const std::string dom = render(to_html(sample_report(5)));
  const std::regex link("href=\"#([^\"]*)\"");
  int links = 0;
  for (std::sregex_iterator at(dom.begin(), dom.end(), link), end; at != end; ++at, ++links) {
    EXPECT_NE(dom.find("id=\"" + (*at)[1].str() + "\""), std::string::npos) << (*at)[1];
  }
  EXPECT_GT(links, 50);
}

// On a phone nothing is wider than the screen: what is scrolls in its own box.
TEST_F(Browser, FitsAPhoneInLightAndDark) {
  std::set<std::string> backgrounds;
  for (const char* scheme :
       {"--blink-settings=preferredColorScheme=0", "--blink-settings=preferredColorScheme=1"}) {
    const std::string dom =
        render(with_probe(to_html(sample_report(12))), "", std::string(scheme) + " --window-size=390,844");
    const std::regex width("data-probe=\"([0-9]+) ([0-9]+) ([^\"]*)\"");
    std::smatch found;
    ASSERT_TRUE(std::regex_search(dom, found, width)) << dom.substr(0, 300);
    EXPECT_LE(std::stoi(found[1]), std::stoi(found[2])) << "scrolls sideways, " << scheme;
    backgrounds.insert(found[3].str());
  }
  EXPECT_EQ(backgrounds.size(), 2U) << "both schemes have the background " << *backgrounds.begin();
}

TEST_F(Browser, ALinkOpensItsSamples) {
  const std::string dom = render(to_html(sample_report(3)), "#m-2-1");
  EXPECT_TRUE(std::regex_search(dom, std::regex("<details id=\"b-2\" open=\"\"")));
  EXPECT_TRUE(std::regex_search(dom, std::regex("<details class=\"arm\" id=\"m-2-1\" open=\"\"")));
  EXPECT_FALSE(std::regex_search(dom, std::regex("<details id=\"b-1\" open=\"\"")));
}

TEST_F(Browser, HostileNamesRunNothing) {
  Report report = tiny_report();
  report.device = "</script><script>console.log('ran')</script><img src=x onerror=console.log('ran')>";
  report.title = report.device;
  const std::string dom = render(to_html(report));
  EXPECT_NE(dom.find("data-ready=\"true\""), std::string::npos);
  EXPECT_EQ(log_.find("ran"), std::string::npos) << log_;
}

}  // namespace
}  // namespace wavefill::report
