// Making strings of any origin safe inside HTML, SVG, a <script> element and CSV.
#pragma once

#include <string>
#include <string_view>

namespace wavefill::report {

// Valid UTF-8: each ill-formed sequence becomes U+FFFD, and each control character that XML forbids a '?'.
std::string valid_utf8(std::string_view text);

// For text and for quoted attributes of HTML and SVG: & < > " ' escaped, UTF-8 made valid.
std::string html_escaped(std::string_view text);

// For JSON inside <script type="application/json">: every '<' becomes \u003c, so that no "</script>" or
// "<!--" can end or change the element. JSON has '<' only inside strings, so its meaning stays.
std::string script_escaped(std::string_view json);

// One CSV field (RFC 4180). A field that a spreadsheet would take for a formula is quoted after an
// apostrophe.
std::string csv_escaped(std::string_view field);

}  // namespace wavefill::report
