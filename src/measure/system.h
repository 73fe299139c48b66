// Small readings of the operating system's text files. A file that cannot be read gives nothing: what is
// not said is not guessed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace wavefill {

// The whole file, without a trailing newline; absent if it cannot be read.
std::optional<std::string> read_text_file(const std::string& path);

// The value of the first line "name<blanks>: value" or "name: value"; absent if there is none.
std::optional<std::string> colon_field(std::string_view text, std::string_view name);

// The non-negative integer that `text` begins with, after blanks; absent if it begins with none.
std::optional<std::int64_t> leading_integer(std::string_view text);

// The last-level cache as the operating system reports it; 0 = unknown.
std::int64_t last_level_cache_bytes();

// Memory that this process can still take, by the machine and its control group; 0 = unknown.
std::int64_t available_memory_bytes();

// 1 at least.
std::int32_t num_hardware_threads();

}  // namespace wavefill
