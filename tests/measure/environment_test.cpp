#include "measure/environment.h"

#include <gtest/gtest.h>

#include "measure/system.h"
#include "wavefill/version.h"

namespace wavefill {
namespace {

TEST(Environment, AFieldIsReplacedInPlace) {
  Environment environment;
  environment.set("a", "1");
  environment.set("b", "2");
  environment.set("a", "3");
  ASSERT_EQ(environment.fields.size(), 2U);
  EXPECT_EQ(environment.fields[0], (EnvironmentField{"a", "3"}));
  EXPECT_EQ(environment.value("b"), "2");
  EXPECT_EQ(environment.value("absent"), "");
}

TEST(Environment, NamesTheDeviceAndTheBuild) {
  DeviceSpec device;
  device.name = "a/b \n device";
  device.num_sms = 7;
  const Environment environment = describe_environment(device);
  EXPECT_EQ(environment.value("device"), device.name);
  EXPECT_EQ(environment.value("num_sms"), "7");
  EXPECT_EQ(environment.value("library_version"), library_build());
  EXPECT_FALSE(environment.value("compiler").empty());
  EXPECT_FALSE(environment.value("operating_system").empty());
}

TEST(System, ColonFieldsAreFoundByWholeName) {
  constexpr std::string_view kText = "model\t\t: 207\nmodel name\t: Some CPU: fast\nlast : \n";
  EXPECT_EQ(colon_field(kText, "model name"), "Some CPU: fast");
  EXPECT_EQ(colon_field(kText, "model"), "207");
  EXPECT_EQ(colon_field(kText, "last"), "");
  EXPECT_EQ(colon_field(kText, "name"), std::nullopt);
  EXPECT_EQ(colon_field("", "name"), std::nullopt);
}

TEST(System, LeadingIntegers) {
  EXPECT_EQ(leading_integer(" 123 kB"), 123);
  EXPECT_EQ(leading_integer("max"), std::nullopt);
  EXPECT_EQ(leading_integer("-5"), std::nullopt);
  EXPECT_EQ(leading_integer(""), std::nullopt);
  EXPECT_EQ(leading_integer("99999999999999999999"), std::nullopt);
}

TEST(System, AFileThatIsNotThereGivesNothing) {
  EXPECT_EQ(read_text_file("/proc/no/such/file"), std::nullopt);
  EXPECT_GE(num_hardware_threads(), 1);
  EXPECT_GE(last_level_cache_bytes(), 0);
  EXPECT_GE(available_memory_bytes(), 0);
}

}  // namespace
}  // namespace wavefill
