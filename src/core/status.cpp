#include "wavefill/status.h"

namespace wavefill {

std::string_view to_string(StatusCode code) {
  switch (code) {
    case StatusCode::ok: return "ok";
    case StatusCode::invalid_argument: return "invalid_argument";
    case StatusCode::unsupported: return "unsupported";
    case StatusCode::not_found: return "not_found";
    case StatusCode::corrupt_data: return "corrupt_data";
    case StatusCode::mismatch: return "mismatch";
    case StatusCode::resource_exhausted: return "resource_exhausted";
    case StatusCode::unavailable: return "unavailable";
    case StatusCode::internal: return "internal";
  }
  return "unknown";
}

}  // namespace wavefill
