#include "wavefill/version.h"

#include <gtest/gtest.h>

#include <string>

namespace wavefill {
namespace {

TEST(LibraryBuild, IsTheVersionAndAHashOfTheSources) {
  const std::string build(library_build());
  const std::string version(library_version());
  ASSERT_EQ(build.size(), version.size() + 9);
  EXPECT_EQ(build.substr(0, version.size() + 1), version + "+");
  EXPECT_EQ(build.find_first_not_of("0123456789abcdef", version.size() + 1), std::string::npos);
}

}  // namespace
}  // namespace wavefill
