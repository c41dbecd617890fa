#pragma once

#include "lp-cpu-private.h"

G_BEGIN_DECLS

/* Arrays of one shape, taken apart into rows along one axis. */
typedef struct
{
  LpCpuLoop outer;
  gint64    length;
  gint64    strides[LP_CPU_LOOP_MAX];
  LpCompute compute;
} LpCpuRows;

/* What is done with row @i of the arrays. @scratch has room for one row of each array. */
typedef void (* LpCpuRowFunc) (const LpCpuRows *rows, gint64 i, guint8 *const *scratch, gpointer data);

void        _lp_cpu_rows_init  (LpCpuRows *self, const LpArray *const *arrays, int n_arrays, int axis, LpCompute compute);
void        _lp_cpu_rows_run   (const LpCpuRows *self, LpCpuRowFunc func, gpointer data);
const void *_lp_cpu_rows_load  (const LpCpuRows *self, int k, gint64 row, void *buffer);
/* Where to write row @row of array @k: the memory itself or @buffer, which store then puts in its place. */
void       *_lp_cpu_rows_open  (const LpCpuRows *self, int k, gint64 row, void *buffer);
void        _lp_cpu_rows_close (const LpCpuRows *self, int k, gint64 row, const void *values);

G_END_DECLS
