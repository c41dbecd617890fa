#include "kernel-fixture.h"

static const int swapped[] = { 1, 2, 0 };

static double
reduce_reference (LpReduce op, double a, double b)
{
  switch (op)
    {
    case LP_REDUCE_MAX: return MAX (a, b);
    case LP_REDUCE_MIN: return MIN (a, b);
    case LP_REDUCE_SUM_SQUARES: return a + b * b;
    default: return a + b;
    }
}

static void
check_reduce (LpReduce op, LpScalar s, const gint64 *dims, int axes, int layout, GRand *rand)
{
  LpArray x = array_new (s, 3, dims, layout == 1 ? swapped : NULL, layout == 2 ? 2 : 1), y, again;
  gint64 kept[3], n = 1;
  g_autofree double *expected = NULL;
  double scale = 1;

  for (int i = 0; i < 3; i++)
    {
      kept[i] = axes >> i & 1 ? 1 : dims[i];
      n *= axes >> i & 1 ? dims[i] : 1;
    }
  y = array_new (s, 3, kept, NULL, 1);
  again = array_new (s, 3, kept, NULL, 1);
  fill_random (&x, rand, -1, 1);
  expected = g_new (double, count (&y));
  for (gint64 i = 0; i < count (&y); i++)
    expected[i] = op == LP_REDUCE_MAX ? -INFINITY : (op == LP_REDUCE_MIN ? INFINITY : 0);
  for (gint64 i = 0; i < count (&x); i++)
    {
      const gint64 index[] = { i / (dims[1] * dims[2]), i / dims[2] % dims[1], i % dims[2] };
      const gint64 at = ((kept[0] > 1 ? index[0] : 0) * kept[1] + (kept[1] > 1 ? index[1] : 0)) * kept[2] + (kept[2] > 1 ? index[2] : 0);

      expected[at] = reduce_reference (op, expected[at], get (&x, i));
    }
  if (op == LP_REDUCE_MEAN)
    scale = 1.0 / (double) n;
  omp_set_num_threads (2);
  g_assert_true (KERNELS->reduce (op, &x, &y, NULL));
  omp_set_num_threads (1);
  g_assert_true (KERNELS->reduce (op, &x, &again, NULL));
  g_assert_cmpmem (y.data, span_bytes (&y), again.data, span_bytes (&again));
  for (gint64 i = 0; i < count (&y); i++)
    assert_close (get (&y, i), expected[i] * scale, scalar_epsilon (s) * (fabs (expected[i] * scale) + 1) + 1e-6 * sqrt ((double) n) * (s == LP_SCALAR_F64 ? 1e-7 : 1) + 1e-13 * fabs (expected[i]),
                  "reduce %d of %d axes %d", op, s, axes);
  array_clear (&x);
  array_clear (&y);
  array_clear (&again);
}

static void
test_reduce (void)
{
  static const gint64 shapes[][3] = { { 5, 7, 9 }, { 1, 1, 1 }, { 20, 33, 65 }, { 1100, 4, 10 }, { 1, 2, 20000 } };
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);

  for (int op = 0; op <= LP_REDUCE_SUM_SQUARES; op++)
    for (gsize s = 0; s < G_N_ELEMENTS (shapes); s++)
      for (int axes = 1; axes < 8; axes++)
        for (int t = 0; t < 4; t++)
          for (int layout = 0; layout < 3; layout++)
            /* the large ones once per operation, axes and layout, in one dtype or another */
            if (s < 2 || t == (op + axes + layout) % 4)
              check_reduce (op, float_scalars[t], shapes[s], axes, layout, rand);
}

static void
test_nan (void)
{
  const gint64 dims[] = { 4, 40 }, one[] = { 4, 1 }, other[] = { 1, 40 };
  LpArray x = array_new (LP_SCALAR_F32, 2, dims, NULL, 1), y = array_new (LP_SCALAR_F32, 2, one, NULL, 1), z = array_new (LP_SCALAR_F32, 2, other, NULL, 1);

  set (&x, 2 * 40 + 17, NAN);
  for (int op = LP_REDUCE_MAX; op <= LP_REDUCE_MIN; op++)
    {
      g_assert_true (KERNELS->reduce (op, &x, &y, NULL));
      g_assert_true (KERNELS->reduce (op, &x, &z, NULL));
      g_assert_true (isnan (get (&y, 2)) && get (&y, 1) == 0);
      g_assert_true (isnan (get (&z, 17)) && get (&z, 16) == 0);
    }
  array_clear (&x);
  array_clear (&y);
  array_clear (&z);
}

static void
test_softmax (void)
{
  const gint64 dims[] = { 5, 37, 6 };
  g_autoptr (GRand) rand = g_rand_new_with_seed (2);

  for (int t = 0; t < 4; t++)
    for (int axis = 0; axis < 3; axis++)
      for (int log = 0; log < 2; log++)
        {
          const LpScalar s = float_scalars[t];
          LpArray x = array_new (s, 3, dims, swapped, 1), y = array_new (s, 3, dims, NULL, 2);
          LpArray dy = array_new (s, 3, dims, NULL, 1), dx = array_new (s, 3, dims, swapped, 1);
          const gint64 inner = axis == 0 ? 37 * 6 : (axis == 1 ? 6 : 1), n = dims[axis];

          fill_random (&x, rand, -4, 4);
          fill_random (&dy, rand, -1, 1);
          g_assert_true (KERNELS->softmax (&x, axis, log, &y, NULL));
          g_assert_true (KERNELS->softmax_grad (&y, &dy, axis, log, &dx, NULL));
          for (gint64 i = 0; i < count (&x); i++)
            {
              const gint64 base = i / (inner * n) * inner * n + i % inner;
              double sum = 0, dot = 0, total = 0, p, expected;

              for (gint64 j = 0; j < n; j++)
                {
                  sum += exp (get (&x, base + j * inner));
                  dot += get (&dy, base + j * inner) * get (&y, base + j * inner);
                  total += get (&dy, base + j * inner);
                }
              p = exp (get (&x, i)) / sum;
              expected = log ? get (&dy, i) - exp (get (&y, i)) * total : get (&y, i) * (get (&dy, i) - dot);
              assert_close (get (&y, i), log ? __builtin_log (p) : p, scalar_epsilon (s) * 8 + 1e-15, "softmax");
              assert_close (get (&dx, i), expected, scalar_epsilon (s) * 8 + 1e-14, "softmax gradient");
            }
          array_clear (&x);
          array_clear (&y);
          array_clear (&dy);
          array_clear (&dx);
        }
}

static void
test_argmax_cumsum (void)
{
  const gint64 dims[] = { 4, 9, 5 }, one[] = { 4, 1, 5 };
  g_autoptr (GRand) rand = g_rand_new_with_seed (3);

  for (int t = 0; t < 4; t++)
    {
      LpArray x = array_new (float_scalars[t], 3, dims, swapped, 1), best = array_new (LP_SCALAR_I64, 3, one, NULL, 1);
      LpArray sums = array_new (LP_SCALAR_F64, 3, dims, NULL, 1);

      fill_random (&x, rand, -1, 1);
      set (&x, 5 * 2 + 1, 3);
      set (&x, 5 * 7 + 1, 3);
      g_assert_true (KERNELS->argmax (&x, 1, &best, NULL));
      g_assert_cmpfloat (get (&best, 1), ==, 2);
      for (int reverse = 0; reverse < 2; reverse++)
        {
          g_assert_true (KERNELS->cumsum (&x, 1, reverse, &sums, NULL));
          for (gint64 i = 0; i < 4 * 9 * 5; i++)
            {
              const gint64 j = i / 5 % 9;
              double sum = 0;

              for (gint64 q = reverse ? j : 0; q <= (reverse ? 8 : j); q++)
                sum += get (&x, i + (q - j) * 5);
              assert_close (get (&sums, i), sum, 1e-14, "cumsum");
            }
        }
      array_clear (&x);
      array_clear (&best);
      array_clear (&sums);
    }
}

static void
test_cross_entropy (void)
{
  const gint64 dims[] = { 6, 13 }, rows[] = { 6 };
  g_autoptr (GRand) rand = g_rand_new_with_seed (4);
  g_autoptr (GError) error = NULL;

  for (int t = 0; t < 4; t++)
    for (int smooth = 0; smooth < 2; smooth++)
      {
        const LpScalar s = float_scalars[t];
        LpCrossEntropyArgs args = { .logits = array_new (s, 2, dims, NULL, 1), .targets = array_new (t % 2 ? LP_SCALAR_I32 : LP_SCALAR_I64, 1, rows, NULL, 1),
                                    .losses = array_new (s == LP_SCALAR_F64 ? s : LP_SCALAR_F32, 1, rows, NULL, 1), .grad = array_new (s, 2, dims, NULL, 1),
                                    .label_smoothing = smooth * 0.1, .ignore_index = -100 };

        fill_random (&args.logits, rand, -4, 4);
        for (int i = 0; i < 6; i++)
          set (&args.targets, i, i == 3 ? -100 : i * 2);
        g_assert_true (KERNELS->cross_entropy (&args, NULL));
        for (int i = 0; i < 6; i++)
          {
            double sum = 0, loss = 0;

            for (int j = 0; j < 13; j++)
              sum += exp (get (&args.logits, i * 13 + j));
            for (int j = 0; j < 13; j++)
              {
                const double q = args.label_smoothing / 13 + (j == i * 2 ? 1 - args.label_smoothing : 0);
                const double p = exp (get (&args.logits, i * 13 + j)) / sum;

                loss -= q * log (p);
                assert_close (get (&args.grad, i * 13 + j), i == 3 ? 0 : p - q, 4 * scalar_epsilon (s) + 1e-15, "cross entropy gradient");
              }
            assert_close (get (&args.losses, i), i == 3 ? 0 : loss, 20 * scalar_epsilon (args.losses.scalar), "cross entropy");
          }
        set (&args.targets, 4, 13);
        g_assert_false (KERNELS->cross_entropy (&args, &error));
        g_assert_error (error, LP_ERROR, LP_ERROR_ARGUMENT);
        g_assert_nonnull (strstr (error->message, "13 in row 4"));
        g_clear_error (&error);
        array_clear (&args.logits);
        array_clear (&args.targets);
        array_clear (&args.losses);
        array_clear (&args.grad);
      }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/kernels/reduce", test_reduce);
  g_test_add_func ("/kernels/reduce-nan", test_nan);
  g_test_add_func ("/kernels/softmax", test_softmax);
  g_test_add_func ("/kernels/argmax-cumsum", test_argmax_cumsum);
  g_test_add_func ("/kernels/cross-entropy", test_cross_entropy);
  return g_test_run ();
}
