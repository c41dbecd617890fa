/* The loader initialises libraries that don't need each other from the one that it found last to the one that it found
 * first, and it looks level by level. liblp needs libgomp, so what must come before libgomp lies two levels below liblp:
 * this library is what lies between. */

#include "lp-omp-wait-private.h"

void
_lp_omp_wait_restore (void)
{
  _lp_omp_wait_undo ();
}
