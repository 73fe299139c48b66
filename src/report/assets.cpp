#include "report/assets.h"

#include <algorithm>

namespace wavefill::report {

std::string_view asset(std::string_view name) {
  const auto found = std::ranges::find(assets(), name, &Asset::name);
  return found == assets().end() ? std::string_view{} : found->content;
}

}  // namespace wavefill::report
