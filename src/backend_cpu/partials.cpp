#include "backend_cpu/partials.h"

#include <algorithm>
#include <array>
#include <limits>

#include "backend_cpu/row_view.h"
#include "backend_cpu/work_item.h"
#include "core/softmax_state.h"

namespace wavefill::cpu {
namespace {

// Weights are formed so many at a time: a row may have any number of partials, and nothing is allocated.
constexpr std::int32_t kWeightsAtOnce = 64;

// A normalised partial is a state whose sum is 1 at its lse; one without tokens is the empty state.
SoftmaxState state_of_partial(float lse_log2) {
  if (lse_log2 == -std::numeric_limits<float>::infinity()) return {};
  return {.max_log2 = lse_log2, .sum = 1.0F};
}

void combine_head(const CpuKernel& kernel, const Partials& partials, std::int32_t begin, std::int32_t end,
                  const DecodeArgs& args, RowPlace place, int head, float* sum) {
  SoftmaxState row;
  for (std::int32_t partial = begin; partial < end; ++partial) {
    row = merge(row, state_of_partial(partials.lse_of(partial, head))).merged;
  }
  std::array<float, kWeightsAtOnce> weights;
  const std::int64_t stride = partials.num_heads * kValueDim;
  for (std::int32_t first = begin; first < end; first += kWeightsAtOnce) {
    const std::int32_t count = std::min(kWeightsAtOnce, end - first);
    for (std::int32_t i = 0; i < count; ++i) {
      weights[static_cast<std::size_t>(i)] = weight_towards(partials.lse_of(first + i, head), row.max_log2);
    }
    kernel.weigh(partials.o_of(first, head), stride,
                 std::span(weights).first(static_cast<std::size_t>(count)), first == begin, sum);
  }
  kernel.scale_to_bf16(sum, output_scale(row, sink_log2(args, head)), out_of(args, place, head));
  store_lse(args, place, head, lse_log2(row));
}

}  // namespace

void combine(const CpuKernel& kernel, const SplitPlan& plan, const DecodeArgs& args, std::int32_t row,
             int head_begin, int head_end, WorkerScratch& scratch) {
  const Partials partials(plan, args);
  const auto at = static_cast<std::size_t>(row);
  const RowPlace place = place_of(args.shape, row);
  for (int head = head_begin; head < head_end; ++head) {
    combine_head(kernel, partials, plan.row_partial_begin[at], plan.row_partial_begin[at + 1], args, place,
                 head, scratch.sum);
  }
}

}  // namespace wavefill::cpu
