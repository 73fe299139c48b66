// The version of the headers; library_version() is that of the library in use.
#pragma once

#include <string_view>

#include "wavefill/export.h"

#define WAVEFILL_VERSION_MAJOR 0
#define WAVEFILL_VERSION_MINOR 1
#define WAVEFILL_VERSION_PATCH 0

namespace wavefill {

// "0.1.0"
WAVEFILL_API std::string_view library_version();

// "0.1.0+1a2b3c4d": the version, and a hash of the sources of kernels, planner and runtime. Builds that may
// differ in speed differ in it; a profile serves only the build that it was measured with.
WAVEFILL_API std::string_view library_build();

}  // namespace wavefill
