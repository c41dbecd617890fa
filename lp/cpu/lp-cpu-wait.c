#include "lp-omp-wait-private.h"

static void __attribute__ ((constructor))
restore_environment (void)
{
  _lp_omp_wait_restore ();
}
