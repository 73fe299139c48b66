// Making a Status with a formatted message: invalid_argument("topk is {}; allowed: >= 0", topk).
#pragma once

#include <fmt/format.h>

#include <utility>

#include "wavefill/status.h"

namespace wavefill {

template <typename... Args>
Status make_status(StatusCode code, fmt::format_string<Args...> format, Args&&... args) {
  return {code, fmt::format(format, std::forward<Args>(args)...)};
}

template <typename... Args>
Status invalid_argument(fmt::format_string<Args...> format, Args&&... args) {
  return make_status(StatusCode::invalid_argument, format, std::forward<Args>(args)...);
}

}  // namespace wavefill

// Returns the Status of `expression` from the enclosing function unless it is ok.
#define WAVEFILL_RETURN_IF_ERROR(expression)                                      \
  do {                                                                            \
    if (::wavefill::Status status_ = (expression); !status_.ok()) return status_; \
  } while (false)
