#include "measure/environment.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>

#include "measure/system.h"
#include "wavefill/version.h"

namespace wavefill {
namespace {

std::string operating_system() {
  utsname name{};
  if (uname(&name) != 0) return {};
  return fmt::format("{} {} {}", name.sysname, name.release, name.machine);
}

// "0.42" of "0.42 0.33 0.30 1/96 5919".
std::string first_word(const std::string& text) { return text.substr(0, text.find(' ')); }

void set_from_file(Environment& environment, std::string_view name, const std::string& path) {
  if (const auto text = read_text_file(path)) environment.set(name, *text);
}

std::string compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#else
  return "gcc " __VERSION__;
#endif
}

std::string build_kind() {
#ifdef __OPTIMIZE__
  return "optimised";
#else
  return "not optimised";
#endif
}

}  // namespace

void Environment::set(std::string_view name, std::string value) {
  const auto field = std::ranges::find(fields, name, &EnvironmentField::name);
  if (field == fields.end()) {
    fields.push_back({std::string(name), std::move(value)});
  } else {
    field->value = std::move(value);
  }
}

std::string_view Environment::value(std::string_view name) const {
  const auto field = std::ranges::find(fields, name, &EnvironmentField::name);
  return field == fields.end() ? std::string_view{} : std::string_view{field->value};
}

Environment describe_host() {
  Environment environment;
  environment.set("library_version", std::string(library_build()));
  environment.set("compiler", compiler());
  environment.set("build", build_kind());
  environment.set("operating_system", operating_system());
  const auto cpuinfo = read_text_file("/proc/cpuinfo");
  if (const auto model = cpuinfo ? colon_field(*cpuinfo, "model name") : std::nullopt) {
    environment.set("cpu_model", *model);
  }
  environment.set("hardware_threads", std::to_string(num_hardware_threads()));
  environment.set("last_level_cache_bytes", std::to_string(last_level_cache_bytes()));
  environment.set("available_memory_bytes", std::to_string(available_memory_bytes()));
  if (const auto load = read_text_file("/proc/loadavg")) {
    environment.set("load_average_1m", first_word(*load));
  }
  set_from_file(environment, "cpu_governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  set_from_file(environment, "cpu_frequency_khz", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq");
  set_from_file(environment, "transparent_huge_pages", "/sys/kernel/mm/transparent_hugepage/enabled");
  return environment;
}

Environment describe_environment(const DeviceSpec& device) {
  Environment environment = describe_host();
  environment.set("device", device.name);
  environment.set("num_sms", std::to_string(device.num_sms));
  environment.set("compute_capability", std::to_string(device.compute_capability));
  environment.set("l2_bytes", std::to_string(device.l2_bytes));
  environment.set("memory_bandwidth_gbps", fmt::format("{:.1f}", device.memory_bandwidth_gbps));
  return environment;
}

}  // namespace wavefill
