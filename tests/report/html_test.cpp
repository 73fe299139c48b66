#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "report/report.h"
#include "report/sample_report.h"

namespace wavefill::report {
namespace {

using Json = nlohmann::json;

const std::string kDataOpen = R"(<script type="application/json" id="report-data">)";

std::string embedded_json(const std::string& html) {
  const std::size_t begin = html.find(kDataOpen) + kDataOpen.size();
  return html.substr(begin, html.find("</script>", begin) - begin);
}

TEST(Html, EmbeddedJsonIsTheReport) {
  const Report report = sample_report(6);
  EXPECT_EQ(Json::parse(embedded_json(to_html(report))), Json::parse(to_json(report)));
}

TEST(Html, EmbeddedJsonHoldsTheNumbersOfTheReport) {
  const Report report = sample_report(3);
  const Json json = Json::parse(embedded_json(to_html(report)));
  ASSERT_EQ(json["batches"].size(), 3u);
  for (std::size_t b = 0; b < 3; ++b) {
    const Batch& batch = report.batches[b];
    EXPECT_EQ(json["batches"][b]["chosen"], batch.chosen().setting);
    ASSERT_EQ(json["batches"][b]["arms"].size(), batch.arms.size());
    for (std::size_t a = 0; a < batch.arms.size(); ++a) {
      EXPECT_EQ(json["batches"][b]["arms"][a]["samples_us"].get<std::vector<double>>(),
                batch.arms[a].samples_us);
      EXPECT_EQ(json["batches"][b]["arms"][a]["us"]["value"].get<double>(), batch.arms[a].us.value);
    }
  }
}

TEST(Html, HostileNamesStayText) {
  Report report = tiny_report();
  const std::string evil = "</script><script>alert(1)</script> \"quoted\" 'single' & {{data}} \xFF";
  report.device = evil;
  report.title = evil;
  report.summary = evil;
  report.command = evil;
  report.environment = {{evil, evil}};
  report.batches[0].arms[1].setting = evil;
  report.batches[0].arms[1].failure = evil;
  report.rejected = {{.setting = evil, .reason = "slower", .batch = 1, .effect = 0.0, .detail = evil}};
  const std::string html = to_html(report);
  EXPECT_EQ(html.find("<script>alert"), std::string::npos);
  EXPECT_EQ(html.find('\xFF'), std::string::npos);
  const Json json = Json::parse(embedded_json(html));  // U+FFFD for the byte that is not UTF-8
  EXPECT_EQ(json["device"], "</script><script>alert(1)</script> \"quoted\" 'single' & {{data}} \uFFFD");
}

TEST(Html, NoPlaceIsLeftEmptyAndNoneIsUnknown) {
  const std::string html = to_html(sample_report(2));
  EXPECT_EQ(html.find("{{"), std::string::npos);
  for (const char* heading : {"Batch by batch", "What each policy would cost", "Settings not chosen",
                              "Samples", "Environment", "How to read this page"}) {
    EXPECT_NE(html.find(heading), std::string::npos) << heading;
  }
}

TEST(Html, AsksForNothingFromTheNetwork) {
  const std::string html = to_html(sample_report(2));
  for (const char* reference : {"src=", "@import", "url(", "fetch(", "XMLHttpRequest", "<link"}) {
    EXPECT_EQ(html.find(reference), std::string::npos) << reference;
  }
  std::string without_namespace = html;
  for (std::size_t at; (at = without_namespace.find("http://www.w3.org/2000/svg")) != std::string::npos;) {
    without_namespace.erase(at, 26);
  }
  EXPECT_EQ(without_namespace.find("http"), without_namespace.find("http-equiv"));
  EXPECT_NE(html.find("default-src 'none'"), std::string::npos);
}

TEST(Html, IsReadableByMachinesThatReadAloud) {
  const std::string html = to_html(sample_report(3));
  EXPECT_NE(html.find("<html lang=\"en\">"), std::string::npos);
  EXPECT_NE(html.find("name=\"viewport\""), std::string::npos);
  for (std::size_t at = 0; (at = html.find("<svg ", at)) != std::string::npos; ++at) {
    const std::string tag = html.substr(at, html.find('>', at) - at);
    EXPECT_NE(tag.find("aria-labelledby="), std::string::npos) << tag;
    EXPECT_NE(tag.find("role="), std::string::npos) << tag;
  }
  for (std::size_t at = 0; (at = html.find("<th", at)) != std::string::npos; ++at) {
    if (html.compare(at, 6, "<thead") == 0) continue;
    EXPECT_NE(html.substr(at, html.find('>', at) - at).find("scope="), std::string::npos);
  }
}

TEST(Html, NothingMeasuredIsSaidNotHidden) {
  Report report = tiny_report();
  for (Batch& batch : report.batches) {
    for (Arm& arm : batch.arms) {
      arm.samples_us.clear();
      arm.us = {};
      arm.tokens_per_s = {};
    }
  }
  report.regrets.clear();
  const std::string html = to_html(report);
  EXPECT_NE(html.find("not measured"), std::string::npos);
  EXPECT_EQ(html.find("nan"), std::string::npos);
}

TEST(Csv, HasOneRowAnArm) {
  const Report report = sample_report(3);
  const std::string csv = to_csv(report);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 3 * 7);
  EXPECT_TRUE(csv.starts_with("batch,setting,chosen,deployed,"));
  EXPECT_NE(csv.find("\n3,fixed=4,0,1,4,24,1,"), std::string::npos);
}

}  // namespace
}  // namespace wavefill::report
