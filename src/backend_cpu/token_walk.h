// The tokens of a work item, as addresses, in the order of their columns.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kv/byte_map.h"
#include "wavefill/decode_args.h"
#include "wavefill/plan.h"

namespace wavefill::cpu {

struct TokenAddress {
  const std::byte* data = nullptr;
  const std::byte* scales = nullptr;  // equal to data where the format has none
};

// Only tokens that count have an address: holes, and columns beyond a row's length, are left out here, before
// any kernel sees them. So no kernel has masked lanes that could touch memory holding NaN.
class TokenWalk {
 public:
  // Tiles are numbered by the lengths at run time, main cache first: an item of a plan made for longer rows
  // clips to what there is.
  TokenWalk(const DecodeArgs& args, const WorkItem& item, std::int32_t kv_tile);

  // The next tokens, at most tokens.size() of them: fewer only at the end of the walk.
  std::span<const TokenAddress> next(std::span<TokenAddress> tokens);

 private:
  // Half-open range of one cache's columns.
  struct Columns {
    const KvCacheView* kv = nullptr;
    const std::int32_t* indices = nullptr;
    std::int32_t begin = 0;
    std::int32_t end = 0;
  };

  ByteMap map_;
  std::array<Columns, 2> caches_;
  std::size_t cache_ = 0;
};

}  // namespace wavefill::cpu
