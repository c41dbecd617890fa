#pragma once

/* From the library lp-omp-wait-1, which is initialised before libgomp: see lp-omp-wait.c. Takes back what its constructor
 * put into the environment. */
__attribute__ ((visibility ("default"))) void _lp_omp_wait_undo (void);

/* The same, from the library lp-omp-1: see lp-omp-link.c. */
__attribute__ ((visibility ("default"))) void _lp_omp_wait_restore (void);
