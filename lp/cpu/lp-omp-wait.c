/* libgomp's threads spin while they wait, and when another process wants the core, all wait for the one that lost it:
 * several times slower. The policy is read from the environment once, by the constructor of libgomp; so this small
 * library, which the loader initialises first (lp-omp-link.c), asks for passive waiting where the user has asked for nothing, and LP's own
 * constructor, which comes after that of libgomp, leaves the environment as it was. */

#include <stdlib.h>

#include "lp-omp-wait-private.h"

static int asked;

static void __attribute__ ((constructor))
ask_for_passive_waiting (void)
{
  if (getenv ("OMP_WAIT_POLICY") != NULL || getenv ("GOMP_SPINCOUNT") != NULL)
    return;
  asked = setenv ("OMP_WAIT_POLICY", "passive", 0) == 0;
}

void
_lp_omp_wait_undo (void)
{
  if (asked)
    unsetenv ("OMP_WAIT_POLICY");
  asked = 0;
}
