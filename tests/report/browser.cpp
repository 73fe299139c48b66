#include "report/browser.h"

#include <stdlib.h>

#include <array>
#include <cstdio>
#include <filesystem>

#include "report/golden.h"

namespace wavefill::test {
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

}  // namespace

void Browser::SetUp() {
  browser_ = find_browser();
  if (browser_.empty()) GTEST_SKIP() << "no Chromium is installed";
  std::string pattern = (fs::temp_directory_path() / "wavefill-browser-XXXXXX").string();
  directory_ = mkdtemp(pattern.data());
}

void Browser::TearDown() {
  std::error_code error;
  if (!directory_.empty()) fs::remove_all(directory_, error);
}

std::string Browser::render(const std::string& html, const std::string& fragment, const std::string& flags) {
  write_whole_file(directory_ + "/report.html", html);
  return open("report.html" + fragment, flags);
}

std::string Browser::render_in_frame(const std::string& html, int width, const std::string& flags) {
  write_whole_file(directory_ + "/report.html", html);
  write_whole_file(directory_ + "/frame.html",
                   "<!doctype html><body><iframe src=\"report.html\" style=\"border:0;height:800px;width:" +
                       std::to_string(width) +
                       "px\"></iframe><script>addEventListener('message', (event) => {"
                       "document.documentElement.dataset.posted = event.data; });</script></body>");
  // As on a phone, bars lie over the page instead of beside it.
  return open("frame.html", "--hide-scrollbars " + flags);
}

std::string Browser::open(const std::string& file, const std::string& flags) {
  const std::string log = directory_ + "/log";
  const std::string command =
      browser_ +
      " --headless --no-sandbox --disable-gpu --enable-logging=stderr --user-data-dir=" + directory_ +
      "/profile --virtual-time-budget=5000 " + flags + " --dump-dom 'file://" + directory_ + "/" + file +
      "' 2>" + log;
  std::string dom;
  FILE* pipe = popen(command.c_str(), "r");
  std::array<char, 65536> buffer{};
  for (std::size_t got; (got = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    dom.append(buffer.data(), got);
  EXPECT_EQ(pclose(pipe), 0);
  log_ = read_whole_file(log);
  return dom;
}

}  // namespace wavefill::test
