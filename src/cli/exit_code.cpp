#include "cli/exit_code.h"

namespace wavefill::cli {

ExitCode exit_code_of(const Status& status) {
  switch (status.code()) {
    case StatusCode::ok: return ExitCode::ok;
    case StatusCode::invalid_argument:
    case StatusCode::unsupported:
    case StatusCode::not_found:
    case StatusCode::corrupt_data:
    case StatusCode::mismatch: return ExitCode::usage;
    case StatusCode::resource_exhausted:
    case StatusCode::unavailable:
    case StatusCode::internal: return ExitCode::environment;
  }
  return ExitCode::environment;
}

}  // namespace wavefill::cli
