// Comparing output with a file of the repository.
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace wavefill::test {

std::string read_whole_file(const std::string& path);
void write_whole_file(const std::string& path, const std::string& content);

// Whether `actual` is what the file `path` holds; says the first line that differs. With
// WAVEFILL_UPDATE_GOLDENS set the file is written instead, to be reviewed like any change.
testing::AssertionResult matches_golden(const std::string& actual, const std::string& path);

}  // namespace wavefill::test
