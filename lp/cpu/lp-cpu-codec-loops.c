/* Low-bit formats; built once per instruction set. */

#include "lp-cpu-isa-private.h"

#define LP_CODEC_TABLE LP_CPU_ISA_SYMBOL (_lp_cpu_codec_)
#include <lp/core/lp-codec-template.h>
