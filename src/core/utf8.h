// Whether bytes are text.
#pragma once

#include <cstddef>
#include <string_view>

namespace wavefill {

// Where the first byte stands that belongs to no well-formed UTF-8 sequence (RFC 3629: no overlong forms, no
// surrogates, nothing beyond U+10FFFF); npos if there is none.
std::size_t find_invalid_utf8(std::string_view bytes);

// Where the first control character stands in UTF-8 (U+0000..1F, U+007F..9F); npos if there is none. A
// terminal obeys them: text of unknown origin must not have any when it is printed.
std::size_t find_control_character(std::string_view text);

}  // namespace wavefill
