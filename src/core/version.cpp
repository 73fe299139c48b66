#include "wavefill/version.h"

#define WAVEFILL_STRINGIFY_(x) #x
#define WAVEFILL_STRINGIFY(x) WAVEFILL_STRINGIFY_(x)

namespace wavefill {

std::string_view library_version() {
  return WAVEFILL_STRINGIFY(WAVEFILL_VERSION_MAJOR) "." WAVEFILL_STRINGIFY(
      WAVEFILL_VERSION_MINOR) "." WAVEFILL_STRINGIFY(WAVEFILL_VERSION_PATCH);
}

}  // namespace wavefill
