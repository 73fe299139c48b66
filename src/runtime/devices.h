// The devices of this machine by name, and the backend that runs on one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "wavefill/status.h"

namespace wavefill {

// What `make_backend` can run on here and now, preferred first: "cuda:0", "cuda:1", ..., "cpu".
std::vector<std::string> usable_devices();

// `device`: "auto" (the first usable device), "cpu" or "cuda:N". num_threads is for the CPU alone.
// Errors: invalid_argument (no device is called so; lists what is there), not_found (no GPU of that
// number), unavailable (a GPU in a build or on a machine without CUDA).
Result<std::unique_ptr<Backend>> make_backend(std::string_view device, std::int32_t num_threads);

}  // namespace wavefill
