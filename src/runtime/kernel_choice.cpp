#include "runtime/kernel_choice.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "core/errors.h"
#include "core/parse.h"
#include "wavefill/profile.h"

namespace wavefill {

Result<std::span<const KernelSpec>> select_kernels(const Backend& backend, std::string_view name) {
  const std::span<const KernelSpec> table = backend.kernels();
  if (name.empty()) return table;
  const auto row = std::ranges::find(table, name, &KernelSpec::name);
  if (row != table.end()) return table.subspan(row - table.begin(), 1);
  std::vector<std::string_view> names;
  for (const KernelSpec& kernel : table) names.emplace_back(kernel.name);
  return make_status(StatusCode::not_found, "kernel is {}; allowed on {}: {}", quote_text(name),
                     backend.device().name, fmt::join(names, ", "));
}

Result<const KernelSpec*> choose_kernel(const Backend& backend, std::span<const KernelSpec> kernels,
                                        const DecodeShape& shape, std::string_view preferred) {
  WAVEFILL_RETURN_IF_ERROR(validate(shape));
  const auto wanted = std::ranges::find(kernels, preferred, &KernelSpec::name);
  if (wanted != kernels.end() && backend.supports(*wanted, shape).ok()) return &*wanted;
  std::vector<std::string> reasons;
  for (const KernelSpec& kernel : kernels) {
    const Status status = backend.supports(kernel, shape);
    if (status.ok()) return &kernel;
    if (std::ranges::find(reasons, status.message()) == reasons.end()) reasons.push_back(status.message());
  }
  if (reasons.empty()) reasons.emplace_back("its kernel table is empty");
  return make_status(StatusCode::unsupported, "no kernel of {} takes this shape: {}", backend.device().name,
                     fmt::join(reasons, "; "));
}

std::string_view kernel_of(const Setting& setting) {
  const bool is_measured = setting.kind == PolicyKind::measured && setting.profile != nullptr;
  return is_measured ? std::string_view(setting.profile->key().kernel) : std::string_view();
}

}  // namespace wavefill
