#include "backend_cuda/scaled_values.h"

#include <cstddef>
#include <cstring>

#include "kv/byte_map.h"
#include "wavefill/decode_args.h"

namespace wavefill::test {
namespace {

void multiply_cache(const KvCacheView& kv, std::int32_t exponent) {
  auto* data = const_cast<std::byte*>(kv.data);
  for (std::int64_t page = 0; page < kv.num_pages; ++page) {
    for (std::int32_t token = 0; token < kv.page_size; ++token) {
      std::byte* of_page = data + page * kv.page_stride_bytes;
      std::byte* rope = of_page + token * kFp8Tile64FooterMap.data_bytes + kFp8Tile64FooterMap.bf16_offset;
      for (int dim = 0; dim < 64; ++dim) {
        Bf16Bits bits{};
        std::memcpy(&bits, rope + 2 * dim, sizeof(bits));
        if ((bits & 0x7F80) != 0) bits = static_cast<Bf16Bits>(bits + (exponent << 7));
        std::memcpy(rope + 2 * dim, &bits, sizeof(bits));
      }
      std::byte* scales = of_page + kv.page_size * kFp8Tile64FooterMap.data_bytes + token * 8;
      for (int block = 0; block < 7; ++block) {
        scales[block] = static_cast<std::byte>(std::to_integer<int>(scales[block]) + exponent);
      }
    }
  }
}

}  // namespace

oracle::Case with_flat_scores(oracle::Case c) {
  c.poison = false;
  c.q_scale = 0.0F;
  return c;
}

void multiply_values(oracle::Inputs& inputs, std::int32_t exponent) {
  multiply_cache(inputs.args().main.kv, exponent);
  multiply_cache(inputs.args().extra.kv, exponent);
}

}  // namespace wavefill::test
