// Profiles looked at from outside: the halves of `wavefill profile`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/device_options.h"
#include "cli/json_output.h"
#include "report/text_table.h"
#include "wavefill/profile.h"
#include "wavefill/status.h"

namespace wavefill::cli {

Json show_document(const Profile& profile);
std::string show_text(const Profile& profile, const report::TerminalStyle& style);

// Whether a device would serve a profile, and if not, why.
struct ProfileCheck {
  std::string path;
  std::string problem;                   // empty: it would
  std::vector<KeyDifference> differing;  // a: the profile, b: here
  std::size_t batches = 0;               // planned as the runtime would
};

// A file that is damaged, or for something else, is an outcome. Errors: not_found and unavailable (the file,
// the device), invalid_argument (an option).
Result<ProfileCheck> check_profile(const std::string& path, const DeviceOptions& device);
Json document(const ProfileCheck& check);
std::string text_of(const ProfileCheck& check);

// What is served differently. A batch without an entry of its own is served by the next larger one.
struct ProfileDiff {
  struct Row {
    std::int32_t batch = 0;
    std::optional<ProfileEntry> a;  // absent: nothing is served
    std::optional<ProfileEntry> b;
  };
  std::vector<KeyDifference> key;
  std::vector<Row> rows;  // of batches with an entry in either and another setting
};
ProfileDiff diff_profiles(const Profile& a, const Profile& b);
Json document(const ProfileDiff& diff);
std::string text_of(const ProfileDiff& diff, const report::TerminalStyle& style);

}  // namespace wavefill::cli
