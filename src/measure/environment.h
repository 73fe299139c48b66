// What a measurement was taken on: enough to tell later whether two figures may be compared.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "wavefill/device.h"
#include "wavefill/status.h"

namespace wavefill {

struct EnvironmentField {
  std::string name;  // "cpu_model", "kernel", "load_average_1m", ...
  std::string value;

  friend bool operator==(const EnvironmentField&, const EnvironmentField&) = default;
};

// An ordered list rather than a struct: each kind of device adds its own fields, and old ledgers stay
// readable.
struct Environment {
  std::vector<EnvironmentField> fields;

  void set(std::string_view name, std::string value);   // replaces a field of that name
  std::string_view value(std::string_view name) const;  // empty if absent

  friend bool operator==(const Environment&, const Environment&) = default;
};

// CPU model, hardware threads, caches, memory, operating system, library version, compiler, load.
Environment describe_host();

// describe_host() and the device's figures.
Environment describe_environment(const DeviceSpec& device);

}  // namespace wavefill
