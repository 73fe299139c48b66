// Writing a profile so that the file is always a whole one, and proving that the runtime will use it.
#pragma once

#include <string>

#include "wavefill/device.h"
#include "wavefill/profile.h"
#include "wavefill/shape.h"
#include "wavefill/status.h"

namespace wavefill {

// Writes `profile` to a temporary file beside `path`, flushes it, checks it, and renames it over `path`:
// whoever reads `path` at any moment, or after a crash, finds the old file or the new one. The check reads
// the file as the runtime does (Profile::read, then make_plan with a `measured` setting for every batch of
// the profile) and compares with what was to be written; `shape`'s batch is not used.
// Errors: unavailable (the file system; says which call), mismatch (read back something else). On an error
// the old file is untouched and no temporary file is left.
Status write_profile(const std::string& path, const Profile& profile, const DeviceSpec& device,
                     const KernelSpec& kernel, const DecodeShape& shape);

}  // namespace wavefill
