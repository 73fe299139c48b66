#include "backend_cpu/cpu_info.h"

#include <sys/utsname.h>
#include <tbb/info.h>
#include <unistd.h>

#include <fstream>

namespace wavefill::cpu {
namespace {

// The text behind "key : ", or nothing.
std::string value_of(const std::string& line, const std::string& key) {
  if (line.rfind(key, 0) != 0) return {};
  const auto colon = line.find(':');
  if (colon == std::string::npos) return {};
  const auto begin = line.find_first_not_of(" \t", colon + 1);
  return begin == std::string::npos ? std::string{} : line.substr(begin);
}

std::string machine() {
  utsname names{};
  return uname(&names) == 0 ? names.machine : "unknown";
}

}  // namespace

std::string model_name() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    if (std::string name = value_of(line, "model name"); !name.empty()) return name;
  }
  return machine();
}

std::int64_t last_level_cache_bytes() {
  for (const int level : {_SC_LEVEL4_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE}) {
    if (const long bytes = sysconf(level); bytes > 0) return bytes;
  }
  return 0;
}

int hardware_threads() { return tbb::info::default_concurrency(); }

}  // namespace wavefill::cpu
