// The C edge: every exception becomes a code, every Status a code with a thread-local message.
#pragma once

#include <exception>
#include <new>

#include "wavefill/status.h"

namespace wavefill::capi {

// Keeps the message for wf_last_error() of this thread; returns the code.
int record(const Status& status);

// As record(), for when there is no memory for a message: `message` is a literal.
int record_literal(StatusCode code, const char* message) noexcept;

// As record(), with the code `internal`; without the message where there is no memory for it.
int record_exception(const char* what) noexcept;

const char* last_error() noexcept;

// Runs body() -> Status. Nothing is thrown out of a C function.
template <typename Body>
int guarded(Body&& body) noexcept {
  try {
    return record(body());
  } catch (const std::bad_alloc&) {
    return record_literal(StatusCode::resource_exhausted, "out of memory");
  } catch (const std::exception& exception) {
    return record_exception(exception.what());
  } catch (...) {
    return record_literal(StatusCode::internal,
                          "something that is no std::exception reached the C interface");
  }
}

}  // namespace wavefill::capi
