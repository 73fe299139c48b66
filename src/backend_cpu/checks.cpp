#include "backend_cpu/checks.h"

#include "backend_cpu/row_view.h"
#include "core/errors.h"

namespace wavefill::cpu {
namespace {

Status check_length(std::string_view name, std::int64_t row, std::int32_t length, std::int32_t topk) {
  if (length >= 0 && length <= topk) return {};
  return invalid_argument("{}.lengths of row {} is {}; allowed: 0..{}", name, row, length, topk);
}

Status check_row_indices(std::string_view name, const SparseCache& cache, std::int64_t row,
                         RowColumns columns) {
  const std::int64_t num_tokens = cache.kv.num_tokens();
  for (std::int32_t column = 0; column < columns.length; ++column) {
    const std::int32_t index = columns.indices[column];
    if (index < num_tokens) continue;
    return invalid_argument(
        "{}.indices of row {}, column {}, is {}; allowed: below the pool's {} tokens, or "
        "negative for none",
        name, row, column, index, num_tokens);
  }
  return {};
}

}  // namespace

Status check_lengths(const SplitPlan& plan, const DecodeArgs& args) {
  const DecodeShape& shape = args.shape;
  for (std::int64_t row = 0; row < shape.rows(); ++row) {
    const RowPlace place = place_of(shape, row);
    const std::int32_t length = columns_of(args.main, shape.topk, place).length;
    const std::int32_t extra_length = columns_of(args.extra, shape.extra_topk, place).length;
    WAVEFILL_RETURN_IF_ERROR(check_length("main", row, length, shape.topk));
    WAVEFILL_RETURN_IF_ERROR(check_length("extra", row, extra_length, shape.extra_topk));
    const std::int64_t tiles = num_kv_tiles(length, extra_length, plan.kernel.kv_tile);
    const std::int32_t planned = plan.row_kv_tiles[static_cast<std::size_t>(row)];
    if (tiles > planned) {
      return make_status(
          StatusCode::mismatch,
          "the plan was made for at most {} kv tiles in row {}; this call has {} ({} + {} tokens)", planned,
          row, tiles, length, extra_length);
    }
  }
  return {};
}

Status check_indices(const DecodeArgs& args) {
  const DecodeShape& shape = args.shape;
  for (std::int64_t row = 0; row < shape.rows(); ++row) {
    const RowPlace place = place_of(shape, row);
    WAVEFILL_RETURN_IF_ERROR(
        check_row_indices("main", args.main, row, columns_of(args.main, shape.topk, place)));
    WAVEFILL_RETURN_IF_ERROR(
        check_row_indices("extra", args.extra, row, columns_of(args.extra, shape.extra_topk, place)));
  }
  return {};
}

}  // namespace wavefill::cpu
