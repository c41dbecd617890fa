#include "kernel-fixture.h"

static double
unary_reference (LpUnary op, double p, double x)
{
  switch (op)
    {
    case LP_UNARY_NEG: return -x;
    case LP_UNARY_ABS: return fabs (x);
    case LP_UNARY_SQUARE: return x * x;
    case LP_UNARY_RELU: return x < 0 ? 0 : x;
    case LP_UNARY_GELU_TANH: return 0.5 * x * (1 + tanh (0.79788456080286535588 * (x + 0.044715 * x * x * x)));
    case LP_UNARY_GELU_ERF: return 0.5 * x * (1 + erf (x * M_SQRT1_2));
    case LP_UNARY_SILU: return x / (1 + exp (-x));
    case LP_UNARY_TANH: return tanh (x);
    case LP_UNARY_SIGMOID: return 1 / (1 + exp (-x));
    case LP_UNARY_EXP: return exp (x);
    case LP_UNARY_LOG: return log (x);
    case LP_UNARY_SQRT: return sqrt (x);
    case LP_UNARY_RSQRT: return 1 / sqrt (x);
    case LP_UNARY_RECIPROCAL: return 1 / x;
    case LP_UNARY_POW: return pow (x, p);
    case LP_UNARY_SCALE: return x * p;
    case LP_UNARY_OFFSET: return x + p;
    case LP_UNARY_CLAMP_MAX: return MIN (x, p);
    case LP_UNARY_CLAMP_MIN: return MAX (x, p);
    case LP_UNARY_SIGN: return x > 0 ? 1 : x < 0 ? -1 : x;
    case LP_UNARY_ROUND: return nearbyint (x);
    case LP_UNARY_FLOOR: return floor (x);
    case LP_UNARY_CEIL: return ceil (x);
    case LP_UNARY_TRUNC: return trunc (x);
    default: return isfinite (x);
    }
}

static double
binary_reference (LpBinary op, double a, double b)
{
  switch (op)
    {
    case LP_BINARY_ADD: return a + b;
    case LP_BINARY_SUB: return a - b;
    case LP_BINARY_MUL: return a * b;
    case LP_BINARY_DIV: return a / b;
    case LP_BINARY_MAXIMUM: return MAX (a, b);
    case LP_BINARY_MINIMUM: return MIN (a, b);
    case LP_BINARY_EQUAL: return a == b;
    case LP_BINARY_NOT_EQUAL: return a != b;
    case LP_BINARY_LESS: return a < b;
    case LP_BINARY_LESS_EQUAL: return a <= b;
    case LP_BINARY_GREATER: return a > b;
    default: return a >= b;
    }
}

static gboolean
needs_positive (LpUnary op)
{
  return op == LP_UNARY_LOG || op == LP_UNARY_SQRT || op == LP_UNARY_RSQRT || op == LP_UNARY_POW || op == LP_UNARY_RECIPROCAL;
}

static const gint64 shape[] = { 3, 7, 11 };
static const int swapped[] = { 2, 0, 1 };

static LpArray
layout_new (LpScalar scalar, int layout)
{
  return array_new (scalar, 3, shape, layout == 1 ? swapped : NULL, layout == 2 ? 2 : 1);
}

static void
test_unary (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);

  for (int op = 0; op < LP_N_UNARY; op++)
    for (int t = 0; t < 16; t++)
      for (int layouts = 0; layouts < 9; layouts++)
        {
          const LpScalar sx = float_scalars[t % 4], sy = float_scalars[t / 4];
          LpArray x = layout_new (sx, layouts % 3), y = layout_new (sy, layouts / 3);
          const double eps = MAX (scalar_epsilon (sy), sx == LP_SCALAR_F64 ? 0 : 8 * scalar_epsilon (LP_SCALAR_F32));

          fill_random (&x, rand, needs_positive (op) ? 0.1 : -5, 5);
          g_assert_true (KERNELS->unary (op, 1.5, &x, &y, NULL));
          for (gint64 i = 0; i < count (&x); i++)
            {
              const double expected = unary_reference (op, 1.5, get (&x, i));

              assert_close (get (&y, i), expected, eps * (1 + fabs (expected)) + (sy == LP_SCALAR_F16 ? 0x1p-24 : 0) + 1e-14, "unary %d of %g", op, get (&x, i));
            }
          array_clear (&x);
          array_clear (&y);
        }
}

/* Against central differences of the reference. */
static void
test_unary_grad (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (2);

  for (int op = 0; op < LP_N_UNARY - 1; op++)
    for (int t = 0; t < 4; t++)
      {
        const LpScalar s = float_scalars[t];
        LpArray x = layout_new (s, 0), known = layout_new (LP_SCALAR_F64, 0), dy = layout_new (s, 1), dx = layout_new (s, 2);

        fill_random (&x, rand, needs_positive (op) ? 0.3 : -3, 3);
        fill_random (&dy, rand, -1, 1);
        for (gint64 i = 0; i < count (&x); i++)
          set (&known, i, _lp_unary_needs_output[op] ? unary_reference (op, 1.25, get (&x, i)) : get (&x, i));
        if (t > 0)
          {
            LpArray narrow = layout_new (LP_SCALAR_F32, 0);

            g_assert_true (KERNELS->copy (&known, &narrow, NULL));
            array_clear (&known);
            known = narrow;
          }
        g_assert_true (KERNELS->unary_grad (op, 1.25, &known, &dy, &dx, NULL));
        for (gint64 i = 0; i < count (&x); i++)
          {
            const double at = get (&x, i), h = 1e-5;
            const double slope = (unary_reference (op, 1.25, at + h) - unary_reference (op, 1.25, at - h)) / (2 * h);

            /* the references have a kink there */
            if (fabs (at) < 2 * h || fabs (at - 1.25) < 2 * h ||
                (op >= LP_UNARY_SIGN && op <= LP_UNARY_TRUNC && fabs (2 * at - nearbyint (2 * at)) < 4 * h))
              continue;
            assert_close (get (&dx, i), slope * get (&dy, i), (1e-6 + 2 * scalar_epsilon (s)) * (1 + fabs (slope)), "grad %d at %g", op, at);
          }
        array_clear (&x);
        array_clear (&known);
        array_clear (&dy);
        array_clear (&dx);
      }
}

static void
test_special_values (void)
{
  const gint64 dims[] = { 13 };
  static const double values[] = { NAN, INFINITY, -INFINITY, 0, 1e-40, 200, -200, 88.5, 2.5, -0.5, 0x1.fffffep-2, 8388609, -1.5 };
  LpArray x = array_new (LP_SCALAR_F32, 1, dims, NULL, 1), y = array_new (LP_SCALAR_F32, 1, dims, NULL, 1);
  static const int ops[] = { LP_UNARY_EXP, LP_UNARY_LOG, LP_UNARY_TANH, LP_UNARY_SIGMOID, LP_UNARY_RELU, LP_UNARY_SQRT, LP_UNARY_IS_FINITE,
                             LP_UNARY_CLAMP_MAX, LP_UNARY_CLAMP_MIN, LP_UNARY_SIGN, LP_UNARY_ROUND, LP_UNARY_FLOOR, LP_UNARY_CEIL,
                             LP_UNARY_TRUNC };

  for (int i = 0; i < 13; i++)
    set (&x, i, values[i]);
  for (gsize k = 0; k < G_N_ELEMENTS (ops); k++)
    {
      g_assert_true (KERNELS->unary (ops[k], 1, &x, &y, NULL));
      for (int i = 0; i < 13; i++)
        {
          const double v = get (&x, i);
          double expected = (double) (float) unary_reference (ops[k], 1, v);

          if (isnan (v) && ops[k] != LP_UNARY_IS_FINITE)
            expected = NAN;
          assert_close (get (&y, i), expected, 1e-6 * fabs (expected), "op %d of %g", ops[k], v);
        }
    }
  array_clear (&x);
  array_clear (&y);
}

static void
test_binary (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (3);

  for (int op = 0; op < LP_N_BINARY; op++)
    for (int t = 0; t < 16; t++)
      for (int layouts = 0; layouts < 9; layouts++)
        {
          const gboolean compares = op >= LP_BINARY_EQUAL;
          const LpScalar sa = float_scalars[t % 4], sb = float_scalars[t / 4];
          const LpScalar sy = compares ? LP_SCALAR_BOOL : sa;
          LpArray a = layout_new (sa, layouts % 3), b = layout_new (sb, layouts / 3), y = layout_new (sy, layouts % 2);

          fill_random (&a, rand, 1, 2);
          fill_random (&b, rand, 1, 2);
          set (&b, 5, get (&a, 5));
          if (layouts == 4)
            b.strides[0] = b.strides[2] = 0;
          g_assert_true (KERNELS->binary (op, &a, &b, &y, NULL));
          for (gint64 i = 0; i < count (&y); i++)
            assert_close (get (&y, i), binary_reference (op, get (&a, i), get (&b, i)), 4 * scalar_epsilon (sy), "binary %d", op);
          array_clear (&a);
          array_clear (&b);
          array_clear (&y);
        }
}

static void
test_integers (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (4);

  for (LpScalar s = LP_SCALAR_I64; s < LP_SCALAR_BOOL; s++)
    for (int op = 0; op < LP_N_BINARY; op++)
      {
        LpArray a = layout_new (s, 1), b = layout_new (s, 2), y = layout_new (op >= LP_BINARY_EQUAL ? LP_SCALAR_BOOL : s, 0);

        fill_random (&a, rand, 1, 10);
        fill_random (&b, rand, 1, 10);
        if (op == LP_BINARY_SUB)
          fill_random (&a, rand, 10, 20);
        g_assert_true (KERNELS->binary (op, &a, &b, &y, NULL));
        for (gint64 i = 0; i < count (&y); i++)
          g_assert_cmpfloat (get (&y, i), ==, trunc (binary_reference (op, get (&a, i), get (&b, i))));
        array_clear (&a);
        array_clear (&b);
        array_clear (&y);
      }
}

/* Every pair of dtypes; the values are whole, so that all but the narrowest hold them. */
static void
test_copy (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (5);

  for (LpScalar from = LP_SCALAR_F64; from < LP_N_SCALARS; from++)
    for (LpScalar to = LP_SCALAR_F64; to < LP_N_SCALARS; to++)
      for (int layouts = 0; layouts < 9; layouts++)
        {
          LpArray x = layout_new (from, layouts % 3), y = layout_new (to, layouts / 3);

          for (gint64 i = 0; i < count (&x); i++)
            set (&x, i, from == LP_SCALAR_BOOL ? g_rand_int_range (rand, 0, 2) : g_rand_int_range (rand, 0, 120));
          g_assert_true (KERNELS->copy (&x, &y, NULL));
          for (gint64 i = 0; i < count (&x); i++)
            g_assert_cmpfloat (get (&y, i), ==, to == LP_SCALAR_BOOL ? get (&x, i) != 0 : get (&x, i));
          array_clear (&x);
          array_clear (&y);
        }
}

/* All halves to float32 and back, and rounding against the scalar functions. */
static void
test_rounding (void)
{
  const gint64 dims[] = { 65536 };

  for (int kind = 0; kind < 2; kind++)
    {
      const LpScalar half = kind == 0 ? LP_SCALAR_F16 : LP_SCALAR_BF16;
      LpArray h = array_new (half, 1, dims, NULL, 1), f = array_new (LP_SCALAR_F32, 1, dims, NULL, 1), back = array_new (half, 1, dims, NULL, 1);
      LpArray d = array_new (LP_SCALAR_F64, 1, dims, NULL, 1);
      g_autoptr (GRand) rand = g_rand_new_with_seed (6);

      for (int i = 0; i < 65536; i++)
        ((guint16 *) h.data)[i] = (guint16) i;
      g_assert_true (KERNELS->copy (&h, &f, NULL));
      g_assert_true (KERNELS->copy (&f, &back, NULL));
      for (int i = 0; i < 65536; i++)
        {
          const float value = kind == 0 ? _lp_f16_to_f32 ((guint16) i) : _lp_bf16_to_f32 ((guint16) i);

          if (isnan (value))
            g_assert_true (isnan (get (&back, i)));
          else
            g_assert_cmpint (((guint16 *) back.data)[i], ==, i);
        }
      for (int i = 0; i < 65536; i++)
        {
          const guint32 bits = g_rand_int (rand);

          memcpy (f.data + 4 * i, &bits, 4);
          set (&d, i, get (&f, i % 128 == 0 ? 0 : i) * (1 + 1e-12));
        }
      g_assert_true (KERNELS->copy (&f, &back, NULL));
      for (int i = 0; i < 65536; i++)
        {
          const float value = ((float *) f.data)[i];

          if (!isnan (value))
            g_assert_cmpint (((guint16 *) back.data)[i], ==, kind == 0 ? _lp_f16_from_f32 (value) : _lp_bf16_from_f32 (value));
        }
      g_assert_true (KERNELS->copy (&d, &back, NULL));
      for (int i = 0; i < 65536; i++)
        if (!isnan (get (&d, i)))
          g_assert_cmpint (((guint16 *) back.data)[i], ==, kind == 0 ? _lp_f16_from_f64 (get (&d, i)) : _lp_bf16_from_f64 (get (&d, i)));
      array_clear (&h);
      array_clear (&f);
      array_clear (&d);
      array_clear (&back);
    }
}

static void
test_where_and_fill (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (7);
  LpArray c = layout_new (LP_SCALAR_BOOL, 1), a = layout_new (LP_SCALAR_BF16, 0), b = layout_new (LP_SCALAR_F32, 2), y = layout_new (LP_SCALAR_F64, 1);

  for (gint64 i = 0; i < count (&c); i++)
    set (&c, i, g_rand_int_range (rand, 0, 2));
  fill_random (&a, rand, -1, 1);
  g_assert_true (KERNELS->fill (&b, 0.25, NULL));
  g_assert_true (KERNELS->where (&c, &a, &b, &y, NULL));
  for (gint64 i = 0; i < count (&c); i++)
    g_assert_cmpfloat (get (&y, i), ==, get (&c, i) != 0 ? get (&a, i) : 0.25);
  array_clear (&a);
  array_clear (&b);
  array_clear (&c);
  array_clear (&y);
}

static double
loss_reference (LpLossKind op, double x, double t)
{
  const double d = x - t;

  switch (op)
    {
    case LP_LOSS_MSE: return d * d;
    case LP_LOSS_L1: return fabs (d);
    case LP_LOSS_HUBER: return fabs (d) <= 0.5 ? 0.5 * d * d : 0.5 * (fabs (d) - 0.25);
    default: return MAX (x, 0) - x * t + log1p (exp (-fabs (x)));
    }
}

static void
test_losses (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (8);

  for (int op = 0; op < LP_N_LOSSES; op++)
    for (int s = 0; s < 4; s++)
      {
        LpArray x = layout_new (float_scalars[s], 1), t = layout_new (float_scalars[s], 0), l = layout_new (LP_SCALAR_F64, 2);
        LpArray dl = layout_new (LP_SCALAR_F32, 0), dx = layout_new (LP_SCALAR_F64, 1);

        fill_random (&x, rand, -3, 3);
        fill_random (&t, rand, 0, 1);
        fill_random (&dl, rand, -1, 1);
        g_assert_true (KERNELS->loss (op, 0.5, &x, &t, &l, NULL));
        g_assert_true (KERNELS->loss_grad (op, 0.5, &x, &t, &dl, &dx, NULL));
        for (gint64 i = 0; i < count (&x); i++)
          {
            const double h = 1e-6, at = get (&x, i), target = get (&t, i);
            const double slope = (loss_reference (op, at + h, target) - loss_reference (op, at - h, target)) / (2 * h);

            assert_close (get (&l, i), loss_reference (op, at, target), 1e-12, "loss %d", op);
            assert_close (get (&dx, i), slope * get (&dl, i), 1e-8, "loss gradient %d", op);
          }
        array_clear (&x);
        array_clear (&t);
        array_clear (&l);
        array_clear (&dl);
        array_clear (&dx);
      }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/kernels/unary", test_unary);
  g_test_add_func ("/kernels/unary-grad", test_unary_grad);
  g_test_add_func ("/kernels/special-values", test_special_values);
  g_test_add_func ("/kernels/binary", test_binary);
  g_test_add_func ("/kernels/integers", test_integers);
  g_test_add_func ("/kernels/copy", test_copy);
  g_test_add_func ("/kernels/rounding", test_rounding);
  g_test_add_func ("/kernels/where-and-fill", test_where_and_fill);
  g_test_add_func ("/kernels/losses", test_losses);
  return g_test_run ();
}
