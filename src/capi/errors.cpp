#include "capi/errors.h"

#include <string>

namespace wavefill::capi {
namespace {

struct LastError {
  std::string text;
  const char* message = "";  // text.c_str(), or a literal
};

thread_local LastError t_last_error;

}  // namespace

int record(const Status& status) {
  t_last_error.text = status.message();
  t_last_error.message = t_last_error.text.c_str();
  return static_cast<int>(status.code());
}

int record_literal(StatusCode code, const char* message) noexcept {
  t_last_error.message = message;
  return static_cast<int>(code);
}

int record_exception(const char* what) noexcept {
  try {
    return record(Status(StatusCode::internal, what));
  } catch (...) {
    return record_literal(StatusCode::internal, "an exception reached the C interface");
  }
}

const char* last_error() noexcept { return t_last_error.message; }

}  // namespace wavefill::capi
