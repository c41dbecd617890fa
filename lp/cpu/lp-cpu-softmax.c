#include <string.h>

#include "lp-cpu-rows-private.h"

static void
softmax_row (const LpCpuRows *rows, gint64 i, guint8 *const *scratch, gpointer data)
{
  const void *x = _lp_cpu_rows_load (rows, 1, i, scratch[1]);
  void *y = _lp_cpu_rows_open (rows, 0, i, scratch[0]);

  _lp_cpu_isa->row->softmax[rows->compute] (x, (gsize) rows->length, GPOINTER_TO_INT (data), y);
  _lp_cpu_rows_close (rows, 0, i, y);
}

gboolean
_lp_cpu_softmax (const LpArray *x, int axis, gboolean log, const LpArray *y, GError **error)
{
  const LpArray *arrays[] = { y, x };
  LpCpuRows rows;

  if (!_lp_cpu_check_native ("softmax", arrays, 2, error))
    return FALSE;
  _lp_cpu_rows_init (&rows, arrays, 2, axis, _lp_cpu_float_compute (arrays, 2));
  _lp_cpu_rows_run (&rows, softmax_row, GINT_TO_POINTER (log));
  return TRUE;
}

static void
softmax_grad_row (const LpCpuRows *rows, gint64 i, guint8 *const *scratch, gpointer data)
{
  const void *y = _lp_cpu_rows_load (rows, 1, i, scratch[1]);
  const void *dy = _lp_cpu_rows_load (rows, 2, i, scratch[2]);
  void *dx = _lp_cpu_rows_open (rows, 0, i, scratch[0]);

  _lp_cpu_isa->row->softmax_grad[rows->compute] (y, dy, (gsize) rows->length, GPOINTER_TO_INT (data), dx);
  _lp_cpu_rows_close (rows, 0, i, dx);
}

gboolean
_lp_cpu_softmax_grad (const LpArray *y, const LpArray *dy, int axis, gboolean log, const LpArray *dx, GError **error)
{
  const LpArray *arrays[] = { dx, y, dy };
  LpCpuRows rows;

  if (!_lp_cpu_check_native ("softmax_grad", arrays, 3, error))
    return FALSE;
  _lp_cpu_rows_init (&rows, arrays, 3, axis, _lp_cpu_float_compute (arrays, 3));
  _lp_cpu_rows_run (&rows, softmax_grad_row, GINT_TO_POINTER (log));
  return TRUE;
}

static void
argmax_row (const LpCpuRows *rows, gint64 i, guint8 *const *scratch, gpointer data)
{
  LpCpuLoop *targets = data;
  const double *x = _lp_cpu_rows_load (rows, 0, i, scratch[0]);
  gint64 best = 0;

  for (gint64 j = 1; j < rows->length; j++)
    {
      if (x[best] != x[best])
        break;
      if (x[j] > x[best] || x[j] != x[j])
        best = j;
    }
  _lp_cpu_loop_store (targets, 1, i, 1, LP_COMPUTE_I64, &best);
}

gboolean
_lp_cpu_argmax (const LpArray *x, int axis, const LpArray *y, GError **error)
{
  const LpArray *arrays[] = { x, y };
  LpCpuRows rows;

  if (!_lp_cpu_check_native ("argmax", arrays, 2, error))
    return FALSE;
  if (x->dims[axis] == 0)
    {
      g_set_error_literal (error, LP_ERROR, LP_ERROR_SHAPE, "argmax of an empty axis");
      return FALSE;
    }
  _lp_cpu_rows_init (&rows, arrays, 2, axis, LP_COMPUTE_F64);
  _lp_cpu_rows_run (&rows, argmax_row, &rows.outer);
  return TRUE;
}

static void
cumsum_row (const LpCpuRows *rows, gint64 i, guint8 *const *scratch, gpointer data)
{
  const gboolean reverse = GPOINTER_TO_INT (data);
  const void *in = _lp_cpu_rows_load (rows, 1, i, scratch[1]);
  void *out = _lp_cpu_rows_open (rows, 0, i, scratch[0]);
  double sum = 0;
  gint64 whole = 0;

  for (gint64 j = 0; j < rows->length; j++)
    {
      const gint64 at = reverse ? rows->length - 1 - j : j;

      if (rows->compute == LP_COMPUTE_I64)
        ((gint64 *) out)[at] = whole = (gint64) ((guint64) whole + (guint64) ((const gint64 *) in)[at]);
      else
        ((double *) out)[at] = sum += ((const double *) in)[at];
    }
  _lp_cpu_rows_close (rows, 0, i, out);
}

gboolean
_lp_cpu_cumsum (const LpArray *x, int axis, gboolean reverse, const LpArray *y, GError **error)
{
  const LpArray *arrays[] = { y, x };
  LpCpuRows rows;

  if (!_lp_cpu_check_native ("cumsum", arrays, 2, error))
    return FALSE;
  _lp_cpu_rows_init (&rows, arrays, 2, axis, _lp_cpu_is_integer (x->scalar) ? LP_COMPUTE_I64 : LP_COMPUTE_F64);
  _lp_cpu_rows_run (&rows, cumsum_row, GINT_TO_POINTER (reverse));
  return TRUE;
}

static gint64
read_target (const LpArray *targets, gint64 row)
{
  const guint8 *at = targets->data + row * targets->strides[0] * _lp_scalar_sizes[targets->scalar];

  return targets->scalar == LP_SCALAR_I64 ? *(const gint64 *) at : *(const gint32 *) at;
}

static void
cross_entropy_row (const LpCpuRows *rows, gint64 i, guint8 *const *scratch, gpointer data)
{
  const LpCrossEntropyArgs *args = data;
  const gboolean has_grad = args->grad.data != NULL;
  const gint64 target = read_target (&args->targets, i);
  const void *x = _lp_cpu_rows_load (rows, 0, i, scratch[0]);
  void *dx = has_grad ? _lp_cpu_rows_open (rows, 1, i, scratch[1]) : NULL;
  double loss = 0;

  if (target != args->ignore_index)
    loss = _lp_cpu_isa->row->cross_entropy[rows->compute] (x, (gsize) rows->length, (gsize) target, args->label_smoothing, dx);
  else if (has_grad)
    memset (dx, 0, (gsize) rows->length * _lp_cpu_compute_size (rows->compute));
  if (has_grad)
    _lp_cpu_rows_close (rows, 1, i, dx);
  _lp_cpu_isa->convert->store[LP_COMPUTE_F64][args->losses.scalar] (
      &loss, 1, args->losses.data + i * args->losses.strides[0] * _lp_scalar_sizes[args->losses.scalar], 1);
}

static gboolean
check_targets (const LpCrossEntropyArgs *args, GError **error)
{
  const gint64 classes = args->logits.dims[1];

  if (args->targets.scalar != LP_SCALAR_I64 && args->targets.scalar != LP_SCALAR_I32)
    {
      g_set_error_literal (error, LP_ERROR, LP_ERROR_DTYPE, "The targets of cross_entropy must be i64 or i32");
      return FALSE;
    }
  for (gint64 i = 0; i < args->logits.dims[0]; i++)
    {
      const gint64 target = read_target (&args->targets, i);

      if (target == args->ignore_index || (target >= 0 && target < classes))
        continue;
      g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT,
                   "Target %" G_GINT64_FORMAT " in row %" G_GINT64_FORMAT " is not one of the %" G_GINT64_FORMAT " classes", target, i,
                   classes);
      return FALSE;
    }
  return TRUE;
}

gboolean
_lp_cpu_cross_entropy (const LpCrossEntropyArgs *args, GError **error)
{
  const LpArray *arrays[] = { &args->logits, &args->grad, &args->losses };
  LpCpuRows rows;

  if (!_lp_cpu_check_native ("cross_entropy", arrays, 3, error) || !check_targets (args, error))
    return FALSE;
  if (args->logits.dims[0] == 0)
    return TRUE;
  _lp_cpu_rows_init (&rows, arrays, args->grad.data != NULL ? 2 : 1, 1, _lp_cpu_float_compute (arrays, 1));
  _lp_cpu_rows_run (&rows, cross_entropy_row, (gpointer) args);
  return TRUE;
}
