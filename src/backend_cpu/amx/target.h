// Functions between WAVEFILL_AMX_BEGIN and WAVEFILL_AMX_END may use AMX and the AVX-512 that comes with it.
// The rest of the translation unit may not, so that nothing it shares with others (inline functions of
// headers) is compiled for this CPU alone.
#pragma once

#include <hwy/base.h>

#define WAVEFILL_AMX_BEGIN                                                                         \
  HWY_PUSH_ATTRIBUTES(                                                                             \
      "avx,avx2,bmi,bmi2,lzcnt,popcnt,fma,f16c,avx512f,avx512vl,avx512bw,avx512dq,avx512bf16,amx-" \
      "tile,amx-bf16")
#define WAVEFILL_AMX_END HWY_POP_ATTRIBUTES
#define WAVEFILL_AMX_INLINE inline __attribute__((always_inline))
