// AVX-512 arithmetic around the matrix unit.
#pragma once

#include <immintrin.h>

#include "backend_cpu/amx/target.h"

WAVEFILL_AMX_BEGIN
namespace wavefill::cpu::amx {

// 2^x, relative error below 1.5e-7; the polynomial is that of simd/vectors-inl.h.
WAVEFILL_AMX_INLINE __m512 exp2(__m512 x) {
  const __m512 whole = _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  const __m512 f = _mm512_sub_ps(x, whole);
  __m512 p = _mm512_set1_ps(0.001327647187F);
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.009675541334F));
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.05550713274F));
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.2402211972F));
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(0.6931469671F));
  p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(1.000000072F));
  return _mm512_scalef_ps(p, whole);
}

// Transposes 16 x 16 of 32 bits: out[i][j] = in[j][i].
WAVEFILL_AMX_INLINE void transpose(__m512i (&rows)[16]) {
  __m512i t[16];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(rows[i], rows[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(rows[i], rows[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    rows[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
    rows[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
    rows[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
    rows[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm512_shuffle_i32x4(rows[i], rows[i + 4], 0x88);
    t[i + 4] = _mm512_shuffle_i32x4(rows[i], rows[i + 4], 0xDD);
    t[i + 8] = _mm512_shuffle_i32x4(rows[i + 8], rows[i + 12], 0x88);
    t[i + 12] = _mm512_shuffle_i32x4(rows[i + 8], rows[i + 12], 0xDD);
  }
  for (int i = 0; i < 8; ++i) {
    rows[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
    rows[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xDD);
  }
}

}  // namespace wavefill::cpu::amx
WAVEFILL_AMX_END
