// Structs that grow: how a caller's older or newer form of one is read and written.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "core/errors.h"

namespace wavefill::capi {

// No struct of this interface comes near it, so a larger size is an uninitialised one.
inline constexpr std::size_t kMaxStructBytes = 4096;

// `first_bytes`: the struct's size in the first release that had it; none is smaller.
template <typename T>
Status check_size(const char* name, const T* given, std::size_t first_bytes) {
  if (given == nullptr) return invalid_argument("{} is NULL; allowed: a valid pointer", name);
  if (given->struct_size < first_bytes || given->struct_size > kMaxStructBytes) {
    return invalid_argument("{}.struct_size is {}; allowed: {}, its sizeof", name, given->struct_size,
                            sizeof(T));
  }
  return {};
}

// Copies what the caller's form has into `known`, whose other fields keep their zeros.
template <typename T>
Status read_versioned(const char* name, const T* given, std::size_t first_bytes, T& known) {
  WAVEFILL_RETURN_IF_ERROR(check_size(name, given, first_bytes));
  const std::size_t given_bytes = given->struct_size;
  const auto* bytes = reinterpret_cast<const std::byte*>(given);
  if (given_bytes > sizeof(T) &&
      std::any_of(bytes + sizeof(T), bytes + given_bytes, [](std::byte b) { return b != std::byte{0}; })) {
    return make_status(StatusCode::unsupported,
                       "{} sets a field that this library does not know (struct_size {}; known: {})", name,
                       given_bytes, sizeof(T));
  }
  std::memcpy(&known, given, std::min(given_bytes, sizeof(T)));
  return {};
}

// Writes what the caller's form has room for; its struct_size and what this library does not know stay.
template <typename T>
void write_versioned(T known, T* given) {
  known.struct_size = given->struct_size;
  std::memcpy(given, &known, std::min(given->struct_size, sizeof(T)));
}

}  // namespace wavefill::capi
