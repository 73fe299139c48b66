#include "wavefill/version.h"

#include "build_id.h"  // written by cmake/build_id.cmake

#define WAVEFILL_STRINGIFY_(x) #x
#define WAVEFILL_STRINGIFY(x) WAVEFILL_STRINGIFY_(x)
#define WAVEFILL_VERSION_TEXT                \
  WAVEFILL_STRINGIFY(WAVEFILL_VERSION_MAJOR) \
  "." WAVEFILL_STRINGIFY(WAVEFILL_VERSION_MINOR) "." WAVEFILL_STRINGIFY(WAVEFILL_VERSION_PATCH)

namespace wavefill {

std::string_view library_version() { return WAVEFILL_VERSION_TEXT; }

std::string_view library_build() { return WAVEFILL_VERSION_TEXT "+" WAVEFILL_BUILD_ID; }

}  // namespace wavefill
