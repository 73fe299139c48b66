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

}  // namespace wavefill
