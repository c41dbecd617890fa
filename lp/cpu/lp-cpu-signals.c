#include "lp-cpu-private.h"

/* Some kernels of the library move the stack pointer into memory of their own while they run (oneDNN 2.6's sgemm of few rows does),
 * and the frame of a signal handler would be written over what lies below: signals wait until the call has ended. */

sigset_t
_lp_cpu_hold_signals (void)
{
  sigset_t all, before;

  sigfillset (&all);
  pthread_sigmask (SIG_BLOCK, &all, &before);
  return before;
}

void
_lp_cpu_release_signals (sigset_t before)
{
  pthread_sigmask (SIG_SETMASK, &before, NULL);
}
