/* The conversions of CUDA's headers, which are compiled for the host too. */

#include <cstring>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>

#include "cuda-reference.h"

static float
of_half (__half_raw half)
{
  return __half2float (__half (half));
}

extern "C" int
cuda_reference (const char *format, int saturate, float value, float *result)
{
  const __nv_saturation_t saturation = saturate ? __NV_SATFINITE : __NV_NOSAT;

  if (std::strcmp (format, "f16") == 0)
    *result = __half2float (__float2half_rn (value));
  else if (std::strcmp (format, "bf16") == 0)
    *result = __bfloat162float (__float2bfloat16_rn (value));
  else if (std::strcmp (format, "e4m3") == 0)
    *result = of_half (__nv_cvt_fp8_to_halfraw (__nv_cvt_float_to_fp8 (value, saturation, __NV_E4M3), __NV_E4M3));
  else if (std::strcmp (format, "e5m2") == 0)
    *result = of_half (__nv_cvt_fp8_to_halfraw (__nv_cvt_float_to_fp8 (value, saturation, __NV_E5M2), __NV_E5M2));
  else if (std::strcmp (format, "e2m3") == 0)
    *result = of_half (__nv_cvt_fp6_to_halfraw (__nv_cvt_float_to_fp6 (value, __NV_E2M3, cudaRoundNearest), __NV_E2M3));
  else if (std::strcmp (format, "e3m2") == 0)
    *result = of_half (__nv_cvt_fp6_to_halfraw (__nv_cvt_float_to_fp6 (value, __NV_E3M2, cudaRoundNearest), __NV_E3M2));
  else if (std::strcmp (format, "e2m1") == 0)
    *result = of_half (__nv_cvt_fp4_to_halfraw (__nv_cvt_float_to_fp4 (value, __NV_E2M1, cudaRoundNearest), __NV_E2M1));
  else
    return 0;

  return 1;
}
