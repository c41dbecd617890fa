#pragma once

/* From the library lp-omp-1, which is initialised before libgomp: see lp-omp-wait.c. Takes back what its constructor
 * put into the environment. */
__attribute__ ((visibility ("default"))) void _lp_omp_wait_restore (void);
