#include "core/utf8.h"

#include <cstdint>

namespace wavefill {
namespace {

// What may follow a lead byte: how many bytes, and the range of the first of them, which is where overlong
// forms, surrogates and too large code points are excluded.
struct Sequence {
  std::size_t length = 0;  // of the whole; 0 = not a lead byte
  std::uint8_t second_low = 0x80;
  std::uint8_t second_high = 0xBF;
};

Sequence sequence_of(std::uint8_t lead) {
  if (lead < 0x80) return {.length = 1};
  if (lead >= 0xC2 && lead <= 0xDF) return {.length = 2};
  if (lead == 0xE0) return {.length = 3, .second_low = 0xA0};
  if (lead == 0xED) return {.length = 3, .second_high = 0x9F};
  if (lead >= 0xE1 && lead <= 0xEF) return {.length = 3};
  if (lead == 0xF0) return {.length = 4, .second_low = 0x90};
  if (lead == 0xF4) return {.length = 4, .second_high = 0x8F};
  if (lead >= 0xF1 && lead <= 0xF3) return {.length = 4};
  return {};
}

}  // namespace

std::size_t find_invalid_utf8(std::string_view bytes) {
  const auto byte = [&](std::size_t at) { return static_cast<std::uint8_t>(bytes[at]); };
  for (std::size_t at = 0; at < bytes.size();) {
    const Sequence sequence = sequence_of(byte(at));
    if (sequence.length == 0 || at + sequence.length > bytes.size()) return at;
    for (std::size_t i = 1; i < sequence.length; ++i) {
      const std::uint8_t low = i == 1 ? sequence.second_low : 0x80;
      const std::uint8_t high = i == 1 ? sequence.second_high : 0xBF;
      if (byte(at + i) < low || byte(at + i) > high) return at;
    }
    at += sequence.length;
  }
  return std::string_view::npos;
}

std::size_t find_control_character(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<std::uint8_t>(text[at]);
    if (byte < 0x20 || byte == 0x7F) return at;
    // U+0080..9F are C2 80..9F. C2 is a lead byte only, so it cannot be the end of another character.
    const auto next = static_cast<std::uint8_t>(at + 1 < text.size() ? text[at + 1] : '\0');
    if (byte == 0xC2 && next >= 0x80 && next <= 0x9F) return at;
  }
  return std::string_view::npos;
}

}  // namespace wavefill
