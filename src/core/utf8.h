// Whether bytes are text.
#pragma once

#include <cstddef>
#include <string_view>

namespace wavefill {

// Where the first byte stands that belongs to no well-formed UTF-8 sequence (RFC 3629: no overlong forms, no
// surrogates, nothing beyond U+10FFFF); npos if there is none.
std::size_t find_invalid_utf8(std::string_view bytes);

}  // namespace wavefill
