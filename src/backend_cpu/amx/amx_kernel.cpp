// Attention on AMX: one TDPBF16PS is 16 x 16 x 32 multiply-adds in 16 cycles, sixteen times fp32 SIMD. Budget
// of a core for 64 heads: 128 cycles of TDPBF16PS a token, some 50 to dequantise it, some 40 for its softmax
// (docs/kernels/cpu.md).
#include "backend_cpu/amx/amx_kernel.h"

#if defined(__x86_64__) && defined(__linux__)

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backend_cpu/amx/dequantise.h"
#include "backend_cpu/amx/prefetch.h"
#include "backend_cpu/amx/scores.h"
#include "backend_cpu/amx/softmax.h"
#include "backend_cpu/amx/values.h"

namespace wavefill::cpu {
namespace amx {

// What LDTILECFG reads: palette 1, eight tiles of 16 rows of 64 bytes.
struct alignas(kCacheLineBytes) TileConfig {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfig) == 64);

constexpr TileConfig kTileConfig;

}  // namespace amx
}  // namespace wavefill::cpu

WAVEFILL_AMX_BEGIN
namespace wavefill::cpu::amx {

// 16 heads x 64 dims of q to the B tiles of two steps; heads beyond the tile's are zero.
inline void load_query_block(const HeadTile& tile, int head_begin, int block, Scratch& scratch) {
  __m512i low[16];
  __m512i high[16];
  for (int i = 0; i < 16; ++i) {
    const int head = head_begin + i;
    if (head >= tile.num_heads) {
      low[i] = high[i] = _mm512_setzero_si512();
      continue;
    }
    const Dims64 dims = load_bf16(
        reinterpret_cast<const std::byte*>(tile.q + head * tile.q_stride_head + kBlockDims * block));
    low[i] = dims.low;
    high[i] = dims.high;
  }
  transpose(low);
  transpose(high);
  const int head_tile = head_begin / kTileRows;
  TilePair* steps = scratch.q[head_tile / kPair] + 2 * block;
  for (int pair = 0; pair < 16; ++pair) {
    _mm512_store_si512(steps[0][head_tile % kPair] + pair * kStepDims, low[pair]);
    _mm512_store_si512(steps[1][head_tile % kPair] + pair * kStepDims, high[pair]);
  }
}

inline void load_query(const HeadTile& tile, Scratch& scratch) {
  for (int head = 0; head < tile.num_heads; head += kTileRows) {
    for (int block = 0; block < tile.map.d_qk() / kBlockDims; ++block) {
      load_query_block(tile, head, block, scratch);
    }
  }
}

// One work item under way: chunks come in, are scored and weighed, and wait until there are enough to sum
// their values.
class Item {
 public:
  Item(const HeadTile& tile, TileState& state, Scratch& scratch)
      : tile_(tile), head_tiles_(ceil_div(tile.num_heads, kTileRows)), state_(state), scratch_(scratch) {}

  void attend(TokenWalk& walk);

 private:
  void weigh(int num_tokens);
  void raise_references(const float* chunk_max);
  void sum_pending();

  const HeadTile& tile_;
  const int head_tiles_;
  TileState& state_;
  Scratch& scratch_;
  Pending pending_;
  bool no_sums_ = true;
};

void Item::attend(TokenWalk& walk) {
  auto tokens = walk.next(scratch_.tokens[0]);
  if (tokens.empty()) return;
  prefetch(tile_.map, tokens);
  load_query(tile_, scratch_);
  for (int chunk = 0; !tokens.empty(); ++chunk) {
    const auto next = walk.next(scratch_.tokens[(chunk + 1) % 2]);
    dequantise(tile_.map, tokens, scratch_.keys + pending_.end(), scratch_.rests);
    prefetch(tile_.map, next);
    score_chunk(scratch_, scratch_.keys + pending_.end(),
                ceil_div(static_cast<int>(tokens.size()), kGroupTokens), head_tiles_, tile_.map);
    weigh(static_cast<int>(tokens.size()));
    tokens = next;
  }
  sum_pending();
}

static void add_to(float* sums, __m512 more) {
  _mm512_store_ps(sums, _mm512_add_ps(_mm512_load_ps(sums), more));
}

void Item::weigh(int num_tokens) {
  alignas(kCacheLineBytes) float chunk_max[kTileHeads];
  bool raise = false;
  for (int head = 0; head < tile_.num_heads; head += kTileRows) {
    const __m512 largest = max_of_chunk(scratch_, head / kTileRows, num_tokens, tile_.scale_log2);
    _mm512_store_ps(chunk_max + head, largest);
    raise = raise || state_.empty ||
            _mm512_cmp_ps_mask(_mm512_sub_ps(largest, _mm512_load_ps(state_.max_log2 + head)),
                               _mm512_set1_ps(kSlackLog2), _CMP_GT_OQ) != 0;
  }
  if (raise) raise_references(chunk_max);
  for (int head = 0; head < tile_.num_heads; head += kTileRows) {
    const int head_tile = head / kTileRows;
    const WeightSums sums = weigh_chunk(scratch_, head_tile, num_tokens, pending_.count, tile_.scale_log2,
                                        _mm512_load_ps(state_.max_log2 + head));
    add_to(state_.sum + head, sums.exact);
    add_to(state_.rounded_sum + head, sums.rounded);
  }
  pending_.count += ceil_div(num_tokens, kGroupTokens);
  if (pending_.end() + kChunkGroups > kPendingGroups) {
    sum_pending();
    pending_.begin = 0;
  }
}

// What was weighed by the old references is summed before they change.
void Item::raise_references(const float* chunk_max) {
  sum_pending();
  for (int head = 0; head < tile_.num_heads; head += kTileRows) {
    const __m512 largest = _mm512_load_ps(chunk_max + head);
    if (state_.empty) {
      _mm512_store_ps(state_.max_log2 + head, largest);
      _mm512_store_ps(state_.sum + head, _mm512_setzero_ps());
      _mm512_store_ps(state_.rounded_sum + head, _mm512_setzero_ps());
      continue;
    }
    const __m512 old = _mm512_load_ps(state_.max_log2 + head);
    const __m512 raised = _mm512_max_ps(old, largest);
    alignas(kCacheLineBytes) float factors[kTileRows];
    _mm512_store_ps(factors, exp2(_mm512_sub_ps(old, raised)));
    for (float* sum : {state_.sum + head, state_.rounded_sum + head}) {
      _mm512_store_ps(sum, _mm512_mul_ps(_mm512_load_ps(sum), _mm512_load_ps(factors)));
    }
    _mm512_store_ps(state_.max_log2 + head, raised);
    rescale(scratch_, head / kTileRows, factors);
  }
  state_.empty = false;
}

void Item::sum_pending() {
  if (pending_.count == 0) return;
  sum_values(scratch_, head_tiles_, pending_, no_sums_);
  no_sums_ = false;
  pending_ = {.begin = pending_.end(), .count = 0};
}

static void attend(const HeadTile& tile, TokenWalk& walk, TileState& state, std::byte* scratch) {
  _tile_loadconfig(&kTileConfig);
  Item(tile, state, *reinterpret_cast<Scratch*>(scratch)).attend(walk);
  // Tiles in their initial state need not be saved when the thread is switched.
  _tile_release();
}

static void store_bf16(const std::byte* scratch, int head, float factor, Bf16Bits* out) {
  store_row_bf16(*reinterpret_cast<const Scratch*>(scratch), head, factor, out);
}

static void store_f32(const std::byte* scratch, int head, float factor, float* out) {
  store_row_f32(*reinterpret_cast<const Scratch*>(scratch), head, factor, out);
}

}  // namespace wavefill::cpu::amx
WAVEFILL_AMX_END

namespace wavefill::cpu {
namespace {

bool cpu_has_amx() {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return false;
  constexpr unsigned kAmxBf16 = 1U << 22;
  constexpr unsigned kAmxTile = 1U << 24;
  if ((edx & kAmxBf16) == 0 || (edx & kAmxTile) == 0) return false;
  if (__get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) == 0) return false;
  constexpr unsigned kAvx512Bf16 = 1U << 5;
  return (eax & kAvx512Bf16) != 0;
}

// Linux hands out the tile state only to processes that ask for it; it then holds for all their threads.
bool ask_for_tiles() {
  constexpr int kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr int kTileData = 18;               // XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

}  // namespace

std::optional<CpuKernel> amx_kernel(const CpuKernel& base) {
  if (!cpu_has_amx() || !ask_for_tiles()) return std::nullopt;
  CpuKernel kernel = base;
  kernel.spec.name = "cpu_mla_amx";
  kernel.scratch_bytes = sizeof(amx::Scratch);
  kernel.attend = amx::attend;
  kernel.store_bf16 = amx::store_bf16;
  kernel.store_f32 = amx::store_f32;
  return kernel;
}

}  // namespace wavefill::cpu

#else

namespace wavefill::cpu {

std::optional<CpuKernel> amx_kernel(const CpuKernel& /*base*/) { return std::nullopt; }

}  // namespace wavefill::cpu

#endif
