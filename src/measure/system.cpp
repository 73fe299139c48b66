#include "measure/system.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <thread>

namespace wavefill {
namespace {

constexpr std::int64_t kKib = 1024;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// "307200K" or "32M" as sysfs writes cache sizes.
std::int64_t parse_cache_size(std::string_view text) {
  const std::int64_t count = leading_integer(text).value_or(0);
  if (text.ends_with('K')) return count * kKib;
  if (text.ends_with('M')) return count * kKib * kKib;
  return count;
}

}  // namespace

std::optional<std::string> read_text_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad()) return std::nullopt;
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

std::optional<std::string> colon_field(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos && trimmed(line.substr(0, colon)) == name) {
      return std::string(trimmed(line.substr(colon + 1)));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return std::nullopt;
}

std::optional<std::int64_t> leading_integer(std::string_view text) {
  text = trimmed(text);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0) return std::nullopt;
  return value;
}

std::int64_t last_level_cache_bytes() {
  std::int64_t best_level = 0;
  std::int64_t bytes = 0;
  for (int index = 0;; ++index) {
    const std::string cache = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    const auto level = read_text_file(cache + "level");
    const auto size = read_text_file(cache + "size");
    if (!level || !size) break;
    const std::int64_t seen = leading_integer(*level).value_or(0);
    if (seen < best_level) continue;
    best_level = seen;
    bytes = parse_cache_size(*size);
  }
  return bytes;
}

std::int64_t available_memory_bytes() {
  const auto meminfo = read_text_file("/proc/meminfo");
  const auto field = meminfo ? colon_field(*meminfo, "MemAvailable") : std::nullopt;
  std::int64_t bytes = field ? leading_integer(*field).value_or(0) * kKib : 0;
  const auto limit = read_text_file("/sys/fs/cgroup/memory.max");
  const auto used = read_text_file("/sys/fs/cgroup/memory.current");
  if (!limit || !used) return bytes;
  const auto limit_bytes = leading_integer(*limit);  // absent for "max"
  if (!limit_bytes) return bytes;
  const std::int64_t left = std::max<std::int64_t>(0, *limit_bytes - leading_integer(*used).value_or(0));
  return bytes == 0 ? left : std::min(bytes, left);
}

std::int32_t num_hardware_threads() {
  return static_cast<std::int32_t>(std::max(1U, std::thread::hardware_concurrency()));
}

}  // namespace wavefill
