// The page in a real browser: it renders without a complaint, on a desk and on a phone. Skipped where there
// is no Chromium.
#include "report/browser.h"

#include <regex>
#include <set>
#include <string>

#include "report/report.h"
#include "report/sample_report.h"

namespace wavefill::report {
namespace {

using test::Browser;

TEST_F(Browser, RendersWithoutAComplaint) {
  const std::string dom = render(to_html(sample_report(16)));
  EXPECT_NE(dom.find("data-ready=\"true\""), std::string::npos) << "the script did not run to its end";
  EXPECT_EQ(log_.find("CONSOLE"), std::string::npos) << log_;
  EXPECT_EQ(log_.find("Content Security Policy"), std::string::npos) << log_;
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

// A script that opens everything and says what the browser made of it: window, scroll width, the size of the
// smallest text in pixels and what it is, background.
std::string with_probe(std::string html) {
  const std::string probe = R"(<script>addEventListener('load', () => {
    const root = document.documentElement;
    document.querySelectorAll('details').forEach((details) => { details.open = true; });
    let least = Infinity, smallest = '';
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const element = walker.currentNode.parentElement;
      const box = element.getBoundingClientRect();
      if (!walker.currentNode.data.trim() || box.width <= 1 || box.height <= 1) continue;
      const scale = element.ownerSVGElement ? element.getScreenCTM().a : 1;
      const size = parseFloat(getComputedStyle(element).fontSize) * scale;
      if (size < least) { least = size; smallest = walker.currentNode.data.trim().slice(0, 20); }
    }
    parent.postMessage([innerWidth, root.scrollWidth, least.toFixed(2), getComputedStyle(document.body)
        .backgroundColor.replaceAll(' ', ''), smallest].join(' '), '*');
  });</script></body>)";
  return html.replace(html.rfind("</body>"), 7, probe);
}

// On a phone nothing is wider than the screen (what is scrolls in its own box), and all text can be read.
TEST_F(Browser, FitsAPhoneInLightAndDark) {
  constexpr int kPhone = 360;
  constexpr double kLeastPx = 10.0;
  std::set<std::string> backgrounds;
  for (const char* scheme :
       {"--blink-settings=preferredColorScheme=0", "--blink-settings=preferredColorScheme=1"}) {
    const std::string dom = render_in_frame(with_probe(to_html(sample_report(12))), kPhone, scheme);
    std::smatch found;
    ASSERT_TRUE(std::regex_search(dom, found,
                                  std::regex("data-posted=\"([0-9]+) ([0-9]+) ([0-9.]+) ([^ ]*) ([^\"]*)\"")))
        << dom.substr(0, 300);
    EXPECT_EQ(std::stoi(found[1]), kPhone) << "not the width of a phone";
    EXPECT_LE(std::stoi(found[2]), kPhone) << "scrolls sideways, " << scheme;
    EXPECT_GE(std::stod(found[3]), kLeastPx) << found[5] << " is too small to read";
    backgrounds.insert(found[4].str());
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
