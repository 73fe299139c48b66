// Number formats and functions of one instruction: one job a function. The first value of a pair is in the
// low half.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace wavefill::cuda {

// Two e4m3 values in the low 16 bits -> two fp16 values. Exact; NaN stays NaN.
__device__ __forceinline__ uint32_t e4m3x2_to_f16x2(uint32_t pair) {
#if __CUDA_ARCH__ >= 890
  uint32_t result;
  asm("{.reg .b16 low, high; mov.b32 {low, high}, %1; cvt.rn.f16x2.e4m3x2 %0, low;}"
      : "=r"(result)
      : "r"(pair));
  return result;
#else
  // Bytes to the tops of the halves; then sign | exponent and mantissa one place lower is the value times
  // 2^-8, subnormals included, because fp16's exponent has one bit more and its bias is larger by 8.
  const uint32_t spread = __byte_perm(pair, 0, 0x1404);
  const uint32_t bits = (spread & 0x8000'8000U) | ((spread & 0x7F00'7F00U) >> 1);
  const __half2 value = __hmul2(reinterpret_cast<const __half2&>(bits), __float2half2_rn(256.0F));
  const uint32_t is_nan = __vcmpeq2(spread & 0x7F00'7F00U, 0x7F00'7F00U);
  return reinterpret_cast<const uint32_t&>(value) | (is_nan & 0x7E00'7E00U);
#endif
}

__device__ __forceinline__ uint32_t pack_f16x2(float low, float high) {
  const __half2 pair = __floats2half2_rn(low, high);
  return reinterpret_cast<const uint32_t&>(pair);
}

__device__ __forceinline__ uint32_t pack_bf16x2(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return reinterpret_cast<const uint32_t&>(pair);
}

__device__ __forceinline__ float2 unpack_f16x2(uint32_t pair) {
  return __half22float2(reinterpret_cast<const __half2&>(pair));
}

__device__ __forceinline__ float2 unpack_bf16x2(uint32_t pair) {
  return make_float2(__uint_as_float(pair << 16), __uint_as_float(pair & 0xFFFF'0000U));
}

__device__ __forceinline__ uint32_t multiply_f16x2(uint32_t a, uint32_t b) {
  const __half2 product = __hmul2(reinterpret_cast<const __half2&>(a), reinterpret_cast<const __half2&>(b));
  return reinterpret_cast<const uint32_t&>(product);
}

// 2^x in one instruction; x = -inf gives 0. Relative error 2^-22.
__device__ __forceinline__ float exp2_approx(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

// log2 x in one instruction: absolute error 2^-22 near 1, relative beyond.
__device__ __forceinline__ float log2_approx(float x) {
  float result;
  asm("lg2.approx.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

// 1 / x but for its last bit.
__device__ __forceinline__ float reciprocal_approx(float x) {
  float result;
  asm("rcp.approx.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

// 2^exponent as a float; 0 below the normal range. Precondition: exponent <= 127.
__device__ __forceinline__ float power_of_two(int exponent) {
  return exponent < -126 ? 0.0F : __int_as_float((exponent + 127) << 23);
}

}  // namespace wavefill::cuda
