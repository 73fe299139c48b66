// Which row of a kernel table a decoder plans with.
#pragma once

#include <span>
#include <string_view>

#include "backend/backend.h"
#include "wavefill/plan.h"

namespace wavefill {

// The rows to choose from: the whole table for an empty name, else the one row called so.
// Errors: not_found, listing the names.
Result<std::span<const KernelSpec>> select_kernels(const Backend& backend, std::string_view name);

// The first of `kernels` that takes `shape`, or rather the one called `preferred`, if it is there and takes
// it. Errors: invalid_argument (no device could take the shape), unsupported (none here does; gives each
// different reason once).
Result<const KernelSpec*> choose_kernel(const Backend& backend, std::span<const KernelSpec> kernels,
                                        const DecodeShape& shape, std::string_view preferred = {});

// The kernel whose plans a setting was measured for; empty: any.
std::string_view kernel_of(const Setting& setting);

}  // namespace wavefill
