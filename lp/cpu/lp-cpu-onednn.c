#include "lp-cpu-gemm-private.h"

gboolean
_lp_cpu_onednn_gemm (const LpCpuProduct *product)
{
  return FALSE;
}

gboolean
_lp_cpu_onednn_conv2d (const LpConvArgs *args)
{
  return FALSE;
}

gboolean
_lp_cpu_onednn_has_bf16 (void)
{
  return FALSE;
}
