#include "backend_cpu/work_item.h"

#include <algorithm>

#include "backend_cpu/partials.h"
#include "backend_cpu/row_view.h"
#include "core/softmax_state.h"
#include "kv/token_codec.h"

namespace wavefill::cpu {
namespace {

SoftmaxState state_of(const TileState& state, int head) {
  if (state.empty) return {};
  return {.max_log2 = state.max_log2[head], .sum = state.sum[head]};
}

// What o is multiplied by to become that of exact weights.
float unround(const TileState& state, int head) { return state.sum[head] / state.rounded_sum[head]; }

// Whole row: normalise with the sink, and write.
void write_output(const CpuKernel& kernel, const DecodeArgs& args, RowPlace place, int head_begin,
                  int num_heads, const WorkerScratch& scratch) {
  for (int h = 0; h < num_heads; ++h) {
    const int head = head_begin + h;
    const SoftmaxState state = state_of(scratch.state, h);
    Bf16Bits* out = out_of(args, place, head);
    if (state.empty()) {
      std::fill(out, out + kValueDim, Bf16Bits{0});
    } else {
      const float scale = output_scale(state, sink_log2(args, head)) * unround(scratch.state, h);
      kernel.store_bf16(scratch.kernel, h, scale, out);
    }
    store_lse(args, place, head, lse_log2(state));
  }
}

void write_partial(const CpuKernel& kernel, const Partials& partials, std::int32_t partial, int head_begin,
                   int num_heads, const WorkerScratch& scratch) {
  for (int h = 0; h < num_heads; ++h) {
    const SoftmaxState state = state_of(scratch.state, h);
    float* o = partials.o_of(partial, head_begin + h);
    if (state.empty()) {
      std::fill(o, o + kValueDim, 0.0F);
    } else {
      kernel.store_f32(scratch.kernel, h, 1.0F / scratch.state.rounded_sum[h], o);
    }
    partials.lse_of(partial, head_begin + h) = lse_log2(state);
  }
}

}  // namespace

void run_work_item(const CpuKernel& kernel, const SplitPlan& plan, const DecodeArgs& args,
                   const WorkItem& item, WorkerScratch& scratch) {
  const DecodeShape& shape = args.shape;
  const int head_begin = item.head_tile * kernel.spec.heads_per_cta;
  const RowPlace place = place_of(shape, item.row);
  const HeadTile tile = {.map = byte_map_of(shape.kv_format, shape.d_qk),
                         .num_heads = std::min(shape.num_heads - head_begin, kernel.spec.heads_per_cta),
                         .q = args.q.data + row_offset(args.q, place) + head_begin * args.q.stride_head,
                         .q_stride_head = args.q.stride_head,
                         .scale_log2 = args.sm_scale * kLog2E};
  TokenWalk walk(args, item, kernel.spec.kv_tile);
  scratch.state.empty = true;
  kernel.attend(tile, walk, scratch.state, scratch.kernel);
  if (item.partial_idx < 0) {
    write_output(kernel, args, place, head_begin, tile.num_heads, scratch);
  } else {
    write_partial(kernel, Partials(plan, args), item.partial_idx, head_begin, tile.num_heads, scratch);
  }
}

}  // namespace wavefill::cpu
