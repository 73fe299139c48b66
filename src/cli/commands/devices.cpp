// wavefill devices: what is here, and what can be planned for without being here.
#include <fmt/format.h>

#include <memory>

#include "backend/backend.h"
#include "cli/command.h"
#include "cli/json_output.h"
#include "cli/units.h"
#include "measure/environment.h"
#include "report/text_table.h"
#include "runtime/devices.h"

namespace wavefill::cli {
namespace {

using report::Align;

// A device of this machine; one whose backend cannot be made is listed with the reason.
struct DeviceHere {
  std::string id;  // "cpu", "cuda:0"
  Status status;
  DeviceSpec device;
  std::vector<std::string> kernels;
};

std::vector<DeviceHere> devices_here() {
  std::vector<DeviceHere> devices;
  for (const std::string& id : usable_devices()) {
    const Result<std::unique_ptr<Backend>> backend = make_backend(id, 0);
    DeviceHere here{.id = id, .status = backend.status(), .device = {}, .kernels = {}};
    if (backend.ok()) {
      here.device = (*backend)->device();
      for (const KernelSpec& kernel : (*backend)->kernels()) here.kernels.push_back(kernel.name);
    }
    devices.push_back(std::move(here));
  }
  return devices;
}

Json json_of(const DeviceSpec& device) {
  return {{"name", device.name},
          {"num_sms", device.num_sms},
          {"compute_capability", device.compute_capability},
          {"smem_per_block_optin_bytes", device.smem_per_block_optin_bytes},
          {"smem_per_sm_bytes", device.smem_per_sm_bytes},
          {"registers_per_sm", device.registers_per_sm},
          {"l2_bytes", device.l2_bytes},
          {"memory_bandwidth_gbps", device.memory_bandwidth_gbps},
          {"source", device.source}};
}

Json json_of(const DeviceHere& here) {
  Json json = {{"id", here.id}, {"usable", here.status.ok()}};
  if (!here.status.ok()) {
    json["reason"] = here.status.message();
    return json;
  }
  json.update(json_of(here.device));
  json["kernels"] = here.kernels;
  return json;
}

Json document() {
  Json here = Json::array();
  for (const DeviceHere& device : devices_here()) here.push_back(json_of(device));
  Json host = Json::object();
  for (const EnvironmentField& field : describe_host().fields) host[field.name] = field.value;
  Json known = Json::array();
  for (const DeviceSpec& device : known_devices()) known.push_back(json_of(device));
  return {{"here", std::move(here)}, {"host", std::move(host)}, {"known", std::move(known)}};
}

std::string capability_text(std::int32_t capability) {
  return capability == 0 ? "-" : fmt::format("{}.{}", capability / 10, capability % 10);
}

std::string bandwidth_text(double gbps) { return gbps > 0.0 ? fmt::format("{:.0f} GB/s", gbps) : "-"; }

std::string here_text(const report::TerminalStyle& style) {
  std::string text = report::emphasised("Here", style) + "\n";
  for (const DeviceHere& here : devices_here()) {
    if (!here.status.ok()) {
      text += fmt::format("  {:<8} not usable: {}\n", here.id, here.status.message());
      continue;
    }
    const bool is_cpu = here.device.compute_capability == 0;
    text +=
        fmt::format("  {:<8} {}: {} {}, {} {}\n", here.id, here.device.name, here.device.num_sms,
                    is_cpu ? "threads" : "SMs", bytes_text(static_cast<std::uint64_t>(here.device.l2_bytes)),
                    is_cpu ? "last-level cache" : "L2");
    text += "           kernels:";
    for (const std::string& kernel : here.kernels) text += " " + kernel;
    text += "\n";
  }
  text += "\n" + report::emphasised("Host", style) + "\n";
  for (const EnvironmentField& field : describe_host().fields) {
    text += fmt::format("  {:<22} {}\n", field.name, field.value);
  }
  return text;
}

std::string known_text(const report::TerminalStyle& style) {
  report::TextTable table({{"name", Align::left},
                           {"SMs"},
                           {"capability"},
                           {"smem/block"},
                           {"L2"},
                           {"bandwidth"},
                           {"source", Align::left}});
  for (const DeviceSpec& device : known_devices()) {
    table.add_row({device.name, std::to_string(device.num_sms), capability_text(device.compute_capability),
                   bytes_text(static_cast<std::uint64_t>(device.smem_per_block_optin_bytes)),
                   bytes_text(static_cast<std::uint64_t>(device.l2_bytes)),
                   bandwidth_text(device.memory_bandwidth_gbps), device.source});
  }
  return "\n" + report::emphasised("Known, for wavefill plan", style) + "\n" + table.render(style);
}

}  // namespace

Action define_devices(OptionSet& set) {
  const auto json = std::make_shared<bool>(false);
  add_json_option(set, *json);
  return [json](Console& console) -> Result<ExitCode> {
    console.print(*json ? json_text(document()) : here_text(console.style()) + known_text(console.style()));
    return ExitCode::ok;
  };
}

}  // namespace wavefill::cli
