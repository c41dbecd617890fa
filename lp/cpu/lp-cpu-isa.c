#include "lp-cpu-isa-private.h"

#define ISA(isa) { #isa, &_lp_cpu_convert_##isa, &_lp_cpu_map_##isa, &_lp_cpu_row_##isa, &_lp_cpu_optim_##isa, \
                   &_lp_cpu_gemm_##isa, &_lp_cpu_codec_##isa, &_lp_cpu_int8_##isa }

static const LpCpuIsa isa_base = ISA (base);
#ifdef __x86_64__
static const LpCpuIsa isa_avx2 = ISA (avx2);
static const LpCpuIsa isa_avx512 = ISA (avx512);
#endif

const LpCpuIsa *_lp_cpu_isa = &isa_base;

/* LP_CPU_ISA=base or avx2 in the environment lowers the choice, for tests. */
static void
choose_isa (void)
{
#ifdef __x86_64__
  const char *wish = g_getenv ("LP_CPU_ISA");

  __builtin_cpu_init ();
  if (g_strcmp0 (wish, "base") == 0)
    return;
  if (__builtin_cpu_supports ("avx2") && __builtin_cpu_supports ("fma") && __builtin_cpu_supports ("bmi2"))
    _lp_cpu_isa = &isa_avx2;
  if (g_strcmp0 (wish, "avx2") == 0)
    return;
  if (__builtin_cpu_supports ("avx512f") && __builtin_cpu_supports ("avx512bw") && __builtin_cpu_supports ("avx512dq")
      && __builtin_cpu_supports ("avx512vl"))
    _lp_cpu_isa = &isa_avx512;
#endif
}

/* The built-in dtypes use the same loops. */
static void __attribute__ ((constructor))
init_isa (void)
{
  choose_isa ();
  _lp_codec_loops = _lp_cpu_isa->codec;
}
