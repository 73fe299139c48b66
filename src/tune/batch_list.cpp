#include "tune/batch_list.h"

#include <fmt/format.h>

namespace wavefill {

std::string format_batches(std::span<const std::int32_t> batches) {
  constexpr std::size_t kShortestRange = 3;
  std::string text;
  for (std::size_t begin = 0; begin < batches.size();) {
    std::size_t end = begin + 1;
    while (end < batches.size() && batches[end] == batches[end - 1] + 1) ++end;
    if (end - begin < kShortestRange) end = begin + 1;
    if (!text.empty()) text += ',';
    text += std::to_string(batches[begin]);
    if (end - begin > 1) text += fmt::format("-{}", batches[end - 1]);
    begin = end;
  }
  return text;
}

}  // namespace wavefill
