// How wavefill says that something went wrong: a code and one readable message, never an exception.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "wavefill/export.h"

namespace wavefill {

enum class StatusCode : int {
  ok = 0,
  invalid_argument = 1,    // the caller's value is outside what is allowed; the message names both
  unsupported = 2,         // legal, but no kernel or backend here does it; the message names what is
  not_found = 3,           // a file, device, kernel or profile entry that does not exist
  corrupt_data = 4,        // a file that is truncated, of another schema, or contradicts itself
  mismatch = 5,            // a plan or profile made for something else; the message gives both values
  resource_exhausted = 6,  // workspace too small, out of memory
  unavailable = 7,         // the device or driver cannot be used now
  internal = 8,            // a fault of wavefill itself
};

// "invalid_argument" and so on; stable, for logs and JSON.
WAVEFILL_API std::string_view to_string(StatusCode code);

// The outcome of a call that returns nothing else. Converts from no bool: use ok().
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == StatusCode::ok; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }

  friend bool operator==(const Status&, const Status&) = default;

 private:
  StatusCode code_ = StatusCode::ok;
  std::string message_;
};

// Either a value or the Status that explains its absence. value() and operator* require ok().
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}         // NOLINT(google-explicit-constructor)
  Result(Status status) : state_(std::move(status)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return std::holds_alternative<T>(state_); }
  Status status() const { return ok() ? Status{} : std::get<Status>(state_); }

  T& value() & { return std::get<T>(state_); }
  const T& value() const& { return std::get<T>(state_); }
  T&& value() && { return std::get<T>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, Status> state_;
};

}  // namespace wavefill
