#include "report/escape.h"

#include <gtest/gtest.h>

namespace wavefill::report {
namespace {

TEST(HtmlEscaped, MarkupBecomesText) {
  EXPECT_EQ(html_escaped("<script>alert('x')</script> & \"q\""),
            "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &amp; &quot;q&quot;");
}

TEST(ValidUtf8, WellFormedTextIsUntouched) {
  const std::string text = "a\u00b5\u20ac\U0001F600\t\n";
  EXPECT_EQ(valid_utf8(text), text);
}

TEST(ValidUtf8, IllFormedSequencesAreReplaced) {
  const std::string replacement = "\uFFFD";
  EXPECT_EQ(valid_utf8("\xFF"), replacement);
  EXPECT_EQ(valid_utf8("\xC0\xAF"), replacement + replacement);                    // overlong '/'
  EXPECT_EQ(valid_utf8("\xED\xA0\x80"), replacement + replacement + replacement);  // a surrogate
  EXPECT_EQ(valid_utf8("\xF4\x90\x80\x80").find('\xF4'), std::string::npos);       // beyond U+10FFFF
  EXPECT_EQ(valid_utf8("a\xE2\x82"), "a" + replacement + replacement);             // cut off
}

TEST(ValidUtf8, ControlCharactersThatXmlForbidsAreReplaced) {
  EXPECT_EQ(valid_utf8(std::string("a\0b\x1b", 4)), "a?b?");
}

TEST(ScriptEscaped, NoElementCanEndInsideData) {
  const std::string escaped = script_escaped(R"({"a":"</script><!--<script>"})");
  EXPECT_EQ(escaped.find('<'), std::string::npos);
  EXPECT_EQ(escaped, R"({"a":"\u003c/script>\u003c!--\u003cscript>"})");
}

TEST(CsvEscaped, QuotesWhatNeedsQuoting) {
  EXPECT_EQ(csv_escaped("fixed=4"), "fixed=4");
  EXPECT_EQ(csv_escaped("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_escaped("say \"hi\"\n"), "\"say \"\"hi\"\"\n\"");
  EXPECT_EQ(csv_escaped(""), "");
}

TEST(CsvEscaped, FormulasAreDisarmed) { EXPECT_EQ(csv_escaped("=1+1"), "\"'=1+1\""); }

}  // namespace
}  // namespace wavefill::report
