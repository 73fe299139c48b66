// Words for commands that the user is told to run.
#pragma once

#include <string>
#include <string_view>

namespace wavefill::cli {

// `argument` as one word of a shell command: in single quotes if a shell would not leave it alone.
std::string shell_quoted(std::string_view argument);

}  // namespace wavefill::cli
