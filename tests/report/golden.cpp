#include "report/golden.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

namespace wavefill::test {

std::string read_whole_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void write_whole_file(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

testing::AssertionResult matches_golden(const std::string& actual, const std::string& path) {
  if (std::getenv("WAVEFILL_UPDATE_GOLDENS") != nullptr) {
    write_whole_file(path, actual);
    return testing::AssertionSuccess();
  }
  const std::string expected = read_whole_file(path);
  if (expected == actual) return testing::AssertionSuccess();
  std::istringstream expected_lines(expected);
  std::istringstream actual_lines(actual);
  for (int number = 1;; ++number) {
    std::string want;
    std::string have;
    const bool has_want = static_cast<bool>(std::getline(expected_lines, want));
    const bool has_have = static_cast<bool>(std::getline(actual_lines, have));
    if (want == have && has_want && has_have) continue;
    return testing::AssertionFailure()
           << path << " line " << number << "\n  expected: " << (has_want ? want : "(end)")
           << "\n  actual:   " << (has_have ? have : "(end)")
           << "\nWAVEFILL_UPDATE_GOLDENS=1 writes the new output";
  }
}

}  // namespace wavefill::test
