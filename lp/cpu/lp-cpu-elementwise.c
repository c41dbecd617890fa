#include <math.h>

#include "lp-cpu-private.h"

const gboolean _lp_unary_needs_output[LP_N_UNARY] = {
  [LP_UNARY_RELU] = TRUE,
  [LP_UNARY_TANH] = TRUE,
  [LP_UNARY_SIGMOID] = TRUE,
  [LP_UNARY_EXP] = TRUE,
  [LP_UNARY_SQRT] = TRUE,
  [LP_UNARY_RSQRT] = TRUE,
  [LP_UNARY_RECIPROCAL] = TRUE,
};

gboolean
_lp_cpu_fill (const LpArray *y, double value, GError **error)
{
  const LpArray scalar = { .data = (guint8 *) &value, .scalar = LP_SCALAR_F64 };
  const LpArray *in = &scalar;

  if (!_lp_cpu_check_native ("fill", &y, 1, error))
    return FALSE;
  return _lp_cpu_map_run (_lp_cpu_isa->map->copy[LP_COMPUTE_F64], LP_COMPUTE_F64, &in, 1, y, 0);
}

/* Integers stay integers where the operation and its parameter are such. */
static LpCompute
unary_compute (LpUnary op, double param, const LpArray *x, const LpArray *y)
{
  const LpArray *arrays[] = { x, y };
  const gboolean whole = param == trunc (param) && fabs (param) < 9e18;

  if (!_lp_cpu_is_integer (x->scalar))
    return _lp_cpu_float_compute (arrays, 2);
  if (whole && _lp_cpu_is_integer (y->scalar) && _lp_cpu_isa->map->unary[LP_COMPUTE_I64][op] != NULL)
    return LP_COMPUTE_I64;
  return LP_COMPUTE_F64;
}

gboolean
_lp_cpu_unary (LpUnary op, double param, const LpArray *x, const LpArray *y, GError **error)
{
  const LpArray *arrays[] = { x, y };
  LpCompute compute;

  if (!_lp_cpu_check_native ("unary", arrays, 2, error))
    return FALSE;
  compute = unary_compute (op, param, x, y);
  return _lp_cpu_map_run (_lp_cpu_isa->map->unary[compute][op], compute, arrays, 1, y, param);
}

gboolean
_lp_cpu_unary_grad (LpUnary op, double param, const LpArray *x, const LpArray *dy, const LpArray *dx, GError **error)
{
  const LpArray *arrays[] = { x, dy, dx };
  LpCompute compute;

  if (!_lp_cpu_check_native ("unary_grad", arrays, 3, error))
    return FALSE;
  compute = _lp_cpu_float_compute (arrays, 3);
  return _lp_cpu_map_run (_lp_cpu_isa->map->unary_grad[compute][op], compute, arrays, 2, dx, param);
}

gboolean
_lp_cpu_binary (LpBinary op, const LpArray *a, const LpArray *b, const LpArray *y, GError **error)
{
  const LpArray *arrays[] = { a, b, y };
  const gboolean integers = _lp_cpu_is_integer (a->scalar) && _lp_cpu_is_integer (b->scalar);
  const gboolean true_division = op == LP_BINARY_DIV && !_lp_cpu_is_integer (y->scalar);
  LpCompute compute;

  if (!_lp_cpu_check_native ("binary", arrays, 3, error))
    return FALSE;
  if (integers)
    compute = true_division ? LP_COMPUTE_F64 : LP_COMPUTE_I64;
  else
    compute = _lp_cpu_float_compute (arrays, 3);
  return _lp_cpu_map_run (_lp_cpu_isa->map->binary[compute][op], compute, arrays, 2, y, 0);
}

gboolean
_lp_cpu_where (const LpArray *condition, const LpArray *a, const LpArray *b, const LpArray *y, GError **error)
{
  const LpArray *arrays[] = { condition, a, b, y };
  LpCompute compute;

  if (!_lp_cpu_check_native ("where", arrays, 4, error))
    return FALSE;
  if (_lp_cpu_is_integer (a->scalar) && _lp_cpu_is_integer (b->scalar))
    compute = LP_COMPUTE_I64;
  else
    compute = _lp_cpu_float_compute (arrays + 1, 3);
  return _lp_cpu_map_run (_lp_cpu_isa->map->where[compute], compute, arrays, 3, y, 0);
}

gboolean
_lp_cpu_loss (LpLossKind op, double param, const LpArray *x, const LpArray *t, const LpArray *l, GError **error)
{
  const LpArray *arrays[] = { x, t, l };
  LpCompute compute;

  if (!_lp_cpu_check_native ("loss", arrays, 3, error))
    return FALSE;
  compute = _lp_cpu_float_compute (arrays, 3);
  return _lp_cpu_map_run (_lp_cpu_isa->map->loss[compute][op], compute, arrays, 2, l, param);
}

gboolean
_lp_cpu_loss_grad (LpLossKind op, double param, const LpArray *x, const LpArray *t, const LpArray *dl, const LpArray  *dx,
                   GError                                                                                            **error)
{
  const LpArray *arrays[] = { x, t, dl, dx };
  LpCompute compute;

  if (!_lp_cpu_check_native ("loss_grad", arrays, 4, error))
    return FALSE;
  compute = _lp_cpu_float_compute (arrays, 4);
  return _lp_cpu_map_run (_lp_cpu_isa->map->loss_grad[compute][op], compute, arrays, 3, dx, param);
}
