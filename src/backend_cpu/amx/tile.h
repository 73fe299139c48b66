// AMX instructions by tile number, and the multiplication of a few tiles that everything here is made of.
#pragma once

#include "backend_cpu/amx/layout.h"
#include "backend_cpu/amx/target.h"

WAVEFILL_AMX_BEGIN
namespace wavefill::cpu::amx {

template <int kTile>
WAVEFILL_AMX_INLINE void tile_zero() {
  asm volatile("tilezero %%tmm%c0" : : "i"(kTile));
}

// Other memory accesses are not moved across tile loads and stores.
template <int kTile>
WAVEFILL_AMX_INLINE void tile_load(const void* data) {
  asm volatile("tileloadd (%1,%2,1), %%tmm%c0" : : "i"(kTile), "r"(data), "r"(long{kRowBytes}) : "memory");
}

// Likewise, without displacing from the first-level cache what is used again.
template <int kTile>
WAVEFILL_AMX_INLINE void tile_stream(const void* data) {
  asm volatile("tileloaddt1 (%1,%2,1), %%tmm%c0" : : "i"(kTile), "r"(data), "r"(long{kRowBytes}) : "memory");
}

template <int kTile>
WAVEFILL_AMX_INLINE void tile_store(void* data) {
  asm volatile("tilestored %%tmm%c0, (%1,%2,1)" : : "i"(kTile), "r"(data), "r"(long{kRowBytes}) : "memory");
}

// c += a b, where b holds pairs of rows.
template <int kC, int kA, int kB>
WAVEFILL_AMX_INLINE void tile_multiply() {
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kC), "i"(kA), "i"(kB));
}

// Sums of up to four products stay in tiles 0..3: kA x kB of them, sum (a, b) in tile a * kB + b.
template <int kCount>
WAVEFILL_AMX_INLINE void zero_sums() {
  tile_zero<0>();
  if constexpr (kCount > 1) tile_zero<1>();
  if constexpr (kCount > 2) tile_zero<2>();
  if constexpr (kCount > 3) tile_zero<3>();
}

template <int kCount>
WAVEFILL_AMX_INLINE void load_sums(float* const (&from)[4]) {
  tile_load<0>(from[0]);
  if constexpr (kCount > 1) tile_load<1>(from[1]);
  if constexpr (kCount > 2) tile_load<2>(from[2]);
  if constexpr (kCount > 3) tile_load<3>(from[3]);
}

template <int kCount>
WAVEFILL_AMX_INLINE void store_sums(float* const (&to)[4]) {
  tile_store<0>(to[0]);
  if constexpr (kCount > 1) tile_store<1>(to[1]);
  if constexpr (kCount > 2) tile_store<2>(to[2]);
  if constexpr (kCount > 3) tile_store<3>(to[3]);
}

// Adds the products of the kA tiles at a with the kB tiles at b. Each tile is loaded once: a's pass by, b's
// are soon needed again.
template <int kA, int kB>
WAVEFILL_AMX_INLINE void add_products(const std::uint16_t* a, const std::uint16_t* b) {
  static_assert(kA <= kPair && kB <= kPair);
  tile_stream<4>(a);
  tile_load<6>(b);
  tile_multiply<0, 4, 6>();
  if constexpr (kA == 2) {
    tile_stream<5>(a + kTileBf16);
    tile_multiply<kB, 5, 6>();
  }
  if constexpr (kB == 2) {
    tile_load<7>(b + kTileBf16);
    tile_multiply<1, 4, 7>();
    if constexpr (kA == 2) tile_multiply<3, 5, 7>();
  }
}

}  // namespace wavefill::cpu::amx
WAVEFILL_AMX_END
