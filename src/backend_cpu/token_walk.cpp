#include "backend_cpu/token_walk.h"

#include <algorithm>

#include "backend_cpu/row_view.h"
#include "core/math.h"
#include "kv/token_codec.h"

namespace wavefill::cpu {

TokenWalk::TokenWalk(const DecodeArgs& args, const WorkItem& item, std::int32_t kv_tile)
    : map_(byte_map_of(args.shape.kv_format, args.shape.d_qk)) {
  const RowPlace place = place_of(args.shape, item.row);
  const RowColumns main = columns_of(args.main, args.shape.topk, place);
  const RowColumns extra = columns_of(args.extra, args.shape.extra_topk, place);
  const std::int64_t main_tiles = ceil_div(main.length, kv_tile);
  const auto clip = [kv_tile](std::int64_t tile, std::int32_t length) {
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(tile * kv_tile, 0, length));
  };
  caches_[0] = {.kv = &args.main.kv,
                .indices = main.indices,
                .begin = clip(item.tile_begin, main.length),
                .end = clip(item.tile_end, main.length)};
  caches_[1] = {.kv = &args.extra.kv,
                .indices = extra.indices,
                .begin = clip(item.tile_begin - main_tiles, extra.length),
                .end = clip(item.tile_end - main_tiles, extra.length)};
}

std::span<const TokenAddress> TokenWalk::next(std::span<TokenAddress> tokens) {
  std::size_t count = 0;
  for (; cache_ < caches_.size(); ++cache_) {
    Columns& columns = caches_[cache_];
    for (; columns.begin < columns.end && count < tokens.size(); ++columns.begin) {
      const std::int32_t index = columns.indices[columns.begin];
      if (index < 0) continue;
      const TokenOffsets offsets =
          token_offsets(map_, index, columns.kv->page_size, columns.kv->page_stride_bytes);
      tokens[count++] = {.data = columns.kv->data + offsets.data,
                         .scales = columns.kv->data + offsets.scales};
    }
    if (count == tokens.size()) break;
  }
  return tokens.first(count);
}

}  // namespace wavefill::cpu
