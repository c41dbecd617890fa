#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* What the CUDA toolkit's headers make of @value in @format, as a float32. 0 where they are not there or don't know the format. */
int cuda_reference (const char *format, int saturate, float value, float *result);

#ifdef __cplusplus
}
#endif
