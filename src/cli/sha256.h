// SHA-256 (FIPS 180-4): what names a file's content for good, and what sha256sum prints.
#pragma once

#include <string>
#include <string_view>

namespace wavefill::cli {

// 64 hex digits, in lower case.
std::string sha256(std::string_view bytes);

}  // namespace wavefill::cli
