// The devices known by name.
#include "wavefill/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <set>

namespace wavefill {
namespace {

using testing::HasSubstr;

TEST(KnownDevices, FiguresArePlausibleAndSourced) {
  std::set<std::string> names;
  for (const DeviceSpec& device : known_devices()) {
    SCOPED_TRACE(device.name);
    EXPECT_TRUE(names.insert(device.name).second);
    for (const char c : device.name) {
      EXPECT_TRUE(std::islower(c) != 0 || std::isdigit(c) != 0 || c == '-') << "a slug: also a file name";
    }
    EXPECT_GT(device.num_sms, 0);
    EXPECT_GE(device.compute_capability, 80);
    // CUDA keeps 1 KiB of an SM's shared memory for itself.
    EXPECT_EQ(device.smem_per_block_optin_bytes, device.smem_per_sm_bytes - 1024);
    EXPECT_EQ(device.registers_per_sm, 65'536);
    EXPECT_GE(device.l2_bytes, std::int64_t{24} << 20);
    EXPECT_GT(device.memory_bandwidth_gbps, 100.0);
    EXPECT_THAT(device.source, HasSubstr("NVIDIA"));
  }
}

struct VendorFigures {
  const char* name;
  std::int32_t num_sms;
  std::int32_t compute_capability;
  std::int64_t smem_optin_bytes;
};

TEST(KnownDevices, SmCountsAndSharedMemoryAreTheVendors) {
  const std::vector<VendorFigures> all = {
      {"rtx-pro-6000", 188, 120, 101'376}, {"h100", 132, 90, 232'448},  {"h100-pcie", 114, 90, 232'448},
      {"h200", 132, 90, 232'448},          {"h20", 78, 90, 232'448},    {"a100", 108, 80, 166'912},
      {"l40s", 142, 89, 101'376},          {"b200", 148, 100, 232'448}, {"rtx-5090", 170, 120, 101'376},
      {"gb10", 48, 121, 101'376}};
  EXPECT_EQ(all.size(), known_devices().size());
  for (const VendorFigures& figures : all) {
    const Result<DeviceSpec> device = find_known_device(figures.name);
    ASSERT_TRUE(device.ok()) << figures.name;
    EXPECT_EQ(device->num_sms, figures.num_sms) << figures.name;
    EXPECT_EQ(device->compute_capability, figures.compute_capability) << figures.name;
    EXPECT_EQ(device->smem_per_block_optin_bytes, figures.smem_optin_bytes) << figures.name;
  }
}

TEST(KnownDevices, UnknownNameListsTheKnownOnes) {
  for (const char* name : {"", "H200", "h200 ", "h300"}) {
    const Result<DeviceSpec> device = find_known_device(name);
    ASSERT_FALSE(device.ok()) << name;
    EXPECT_EQ(device.status().code(), StatusCode::not_found);
    for (const DeviceSpec& known : known_devices()) {
      EXPECT_THAT(device.status().message(), HasSubstr(known.name));
    }
  }
}

}  // namespace
}  // namespace wavefill
