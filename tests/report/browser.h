// A headless Chromium that renders pages. Tests are skipped where there is none.
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace wavefill::test {

class Browser : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  // The document after scripts have run; console messages and errors land in log_.
  std::string render(const std::string& html, const std::string& fragment = "",
                     const std::string& flags = "");

  // The same in a frame of that width: a headless window itself is never narrower than 500 pixels. What the
  // page posts to its parent stands in the attribute data-posted of the document that is returned.
  std::string render_in_frame(const std::string& html, int width, const std::string& flags = "");

  std::string log_;

 private:
  std::string open(const std::string& file, const std::string& flags);

  std::string browser_;
  std::string directory_;
};

}  // namespace wavefill::test
