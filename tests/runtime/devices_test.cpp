// Device names: what is here runs, everything else is refused with the list.
#include "runtime/devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wavefill {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

TEST(Devices, TheCpuIsAlwaysThereAndLast) {
  const auto devices = usable_devices();
  ASSERT_FALSE(devices.empty());
  EXPECT_EQ(devices.back(), "cpu");
}

TEST(Devices, EveryListedDeviceCanBeMade) {
  for (const std::string& name : usable_devices()) {
    const auto backend = make_backend(name, 1);
    ASSERT_TRUE(backend.ok()) << name << ": " << backend.status().message();
    EXPECT_FALSE((*backend)->kernels().empty()) << name;
  }
}

TEST(Devices, AutoIsTheFirstListed) {
  const auto automatic = make_backend("auto", 1);
  const auto first = make_backend(usable_devices().front(), 1);
  ASSERT_TRUE(automatic.ok() && first.ok());
  EXPECT_EQ((*automatic)->device(), (*first)->device());
}

TEST(Devices, OddNamesAreRefusedWithTheList) {
  for (const std::string_view name :
       {"", "gpu", "CPU", "Cpu", " cpu", "cpu ", "cpu:0", "cuda", "cuda:", "cuda:x", "cuda:-1", "cuda:+1",
        "cuda:01", "cuda: 0", "cuda:0 ", "cuda:0,1", "cuda:99999999999999999999", "auto:0"}) {
    const auto backend = make_backend(name, 1);
    ASSERT_FALSE(backend.ok()) << name;
    EXPECT_EQ(backend.status().code(), StatusCode::invalid_argument) << name;
    EXPECT_THAT(backend.status().message(),
                AllOf(HasSubstr("'" + std::string(name) + "'"), HasSubstr("auto"), HasSubstr("cpu")));
  }
}

TEST(Devices, AGpuThatIsNotHereSaysWhy) {
  const auto backend = make_backend("cuda:63", 1);
  ASSERT_FALSE(backend.ok());
  EXPECT_THAT(backend.status().message(), HasSubstr("cuda:63"));
  const auto code = backend.status().code();
  EXPECT_TRUE(code == StatusCode::unavailable || code == StatusCode::not_found) << to_string(code);
}

TEST(Devices, ThreadsBecomeTheCpusSlots) {
  const auto backend = make_backend("cpu", 3);
  ASSERT_TRUE(backend.ok());
  EXPECT_EQ((*backend)->device().num_sms, 3);
  EXPECT_EQ(make_backend("cpu", -1).status().code(), StatusCode::invalid_argument);
}

}  // namespace
}  // namespace wavefill
