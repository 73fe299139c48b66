// A SplitPlan as kernels read it: in kernel parameters where it fits, else as words in device memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "backend_cuda/kernels/kernels.h"
#include "backend_cuda/split_params.h"
#include "wavefill/decode_args.h"
#include "wavefill/plan.h"

namespace wavefill::cuda {

// The plan as parameters alone, if every row is cut at the same tiles and each worker has one item.
std::optional<PlanParams> uniform_plan(const SplitPlan& plan);

// Rows that are whole, and behind them rows that are cut alike, as parameters alone; each worker has one
// item.
struct WholeAndSplitRows {
  PlanParams whole;
  PlanParams split;
};
std::optional<WholeAndSplitRows> whole_and_split_rows(const SplitPlan& plan);

// Whether every row's pieces lie with neighbouring workers of its head tile, the first at the end of its
// worker and the others each at the begin of theirs; so it is in a frame, as `balanced` fills it.
bool has_neighbouring_pieces(const SplitPlan& plan);

// The most pieces that a row of `plan` has; of a frame, about those of its rows when all have full length.
std::int64_t most_pieces_of_row(const SplitPlan& plan);

// Bytes of the WarpPartials of `plan`.
std::size_t worker_partials_bytes(const SplitPlan& plan);

// Bytes of the image: items, worker_begin and row_partial_begin, one behind the other;
// 4 * (5 items + workers + rows + 2).
std::size_t plan_image_bytes(const SplitPlan& plan);

// Words [begin, begin + to.size()) of the image. Allocates nothing.
void copy_plan_image(const SplitPlan& plan, std::size_t begin, std::span<std::int32_t> to);

// Parameters for an image at `memory` on the device. Needs no device.
PlanParams image_params(const SplitPlan& plan, const void* memory);

// What a replan of `frame` in `memory` needs to know. Precondition: a frame, whose memory it is.
ReplanParams replan_params(const SplitPlan& frame, const LengthView& lengths, const LengthView& extra_lengths,
                           void* memory);

}  // namespace wavefill::cuda
