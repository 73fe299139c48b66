// Any bytes as a profile: refused with a message, or read, written and read again to the same.
#include <cstdint>
#include <string_view>

#include "require.h"
#include "wavefill/profile.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const wavefill::Result<wavefill::Profile> profile = wavefill::Profile::parse(text);
  if (!profile.ok()) {
    require(profile.status().code() == wavefill::StatusCode::corrupt_data, "refused as corrupt_data");
    require(!profile.status().message().empty(), "refused with a message");
    return 0;
  }
  const wavefill::Result<wavefill::Profile> again = wavefill::Profile::parse(profile->to_json());
  require(again.ok(), "what was written is read");
  require(*again == *profile, "the round trip is exact");
  for (const wavefill::ProfileEntry& entry : profile->entries()) {
    const auto setting = profile->lookup(profile->key(), entry.batch);
    require(setting.ok() && *setting == entry.setting, "each entry is found under its batch");
  }
  return 0;
}
