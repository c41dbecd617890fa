#include "kernel-fixture.h"

typedef enum { ROWS, COLUMNS, GAPS, N_LAYOUTS } Layout;

static LpArray
matrix_new (LpScalar scalar, gint64 batch, gint64 m, gint64 n, Layout layout)
{
  static const int columns[] = { 0, 2, 1 };
  const gint64 dims[] = { batch, m, n };

  return array_new (scalar, 3, dims, layout == COLUMNS ? columns : NULL, layout == GAPS ? 3 : 1);
}

static double
activate (LpActivation activation, double x)
{
  switch (activation)
    {
    case LP_ACTIVATION_RELU: return MAX (x, 0);
    case LP_ACTIVATION_GELU_TANH: return 0.5 * x * (1 + tanh (0.79788456080286535588 * (x + 0.044715 * x * x * x)));
    case LP_ACTIVATION_GELU_ERF: return 0.5 * x * (1 + erf (x * M_SQRT1_2));
    default: return x;
    }
}

/* Checks one product against the definition, and its bits against those of one thread. */
static void
check_gemm (LpGemmArgs *args, GRand *rand, const char *what)
{
  const gint64 batch = args->d.dims[0], m = args->d.dims[1], n = args->d.dims[2], k = args->a.dims[2];
  const gsize bytes = span_bytes (&args->d);
  const LpScalar narrowest = args->a.scalar == LP_SCALAR_F64 || args->b.scalar == LP_SCALAR_F64 ? LP_SCALAR_F64 : LP_SCALAR_F32;
  g_autofree double *expected = g_new (double, batch * m * n);
  g_autofree guint8 *before = NULL, *first = NULL;
  g_autoptr (GError) error = NULL;

  fill_random (&args->a, rand, -1, 1);
  fill_random (&args->b, rand, -1, 1);
  fill_random (&args->d, rand, -1, 1);
  before = g_memdup2 (args->d.data, bytes);
  for (gint64 i = 0; i < batch * m * n; i++)
    {
      const gint64 b = i / (m * n), row = i / n % m, column = i % n;
      double sum = 0;

      for (gint64 p = 0; p < k; p++)
        sum += read_element (&args->a, (args->a.dims[0] > 1 ? b * args->a.strides[0] : 0) + row * args->a.strides[1] + p * args->a.strides[2])
               * read_element (&args->b, (args->b.dims[0] > 1 ? b * args->b.strides[0] : 0) + p * args->b.strides[1] + column * args->b.strides[2]);
      sum = args->alpha * sum + (args->beta != 0 ? args->beta * get (&args->d, i) : 0);
      if (args->bias.data != NULL)
        sum += get (&args->bias, column);
      expected[i] = activate (args->activation, sum);
    }
  if (args->beta == 0)
    memset (args->d.data, 0xff, bytes);
  omp_set_num_threads (2);
  g_assert_true (KERNELS->gemm (args, &error));
  g_assert_no_error (error);
  for (gint64 i = 0; i < batch * m * n; i++)
    {
      const double tolerance = (2 + sqrt ((double) k)) * scalar_epsilon (narrowest) * (1 + fabs (expected[i]) + sqrt ((double) k) / 3)
                               + scalar_epsilon (args->d.scalar) * fabs (expected[i]) + (args->d.scalar == LP_SCALAR_F16 ? 0x1p-24 : 0);

      assert_close (get (&args->d, i), expected[i], tolerance, "%s [%ld,%ld,%ld]x%ld at %ld", what, (long) batch, (long) m, (long) n, (long) k, (long) i);
    }
  first = g_memdup2 (args->d.data, bytes);
  memcpy (args->d.data, before, bytes);
  omp_set_num_threads (1);
  g_assert_true (KERNELS->gemm (args, &error));
  for (gint64 i = 0; i < batch * m * n; i++)
    {
      LpArray other = args->d;

      other.data = first;
      g_assert_cmpfloat (get (&other, i), ==, get (&args->d, i));
    }
}

static void
run_shape (gint64 batch, gint64 m, gint64 n, gint64 k, LpScalar sa, LpScalar sb, LpScalar sd, Layout la, Layout lb, Layout ld, int variant,
           GRand *rand)
{
  const gint64 bias_dims[] = { n };
  LpGemmArgs args = {
    .a = matrix_new (sa, batch, m, k, la),
    .b = matrix_new (sb, variant % 2 ? 1 : batch, k, n, lb),
    .d = matrix_new (sd, batch, m, n, ld),
    .alpha = variant % 3 == 1 ? 0.5 : 1,
    .beta = variant % 4 == 3 ? 0.75 : 0,
    .activation = (LpActivation) (variant % 4),
  };
  g_autofree char *what = g_strdup_printf ("gemm %d%d%d layouts %d%d%d variant %d", sa, sb, sd, la, lb, ld, variant);

  if (variant % 3 != 0)
    {
      args.bias = array_new (sb, 1, bias_dims, NULL, 1);
      fill_random (&args.bias, rand, -1, 1);
    }
  check_gemm (&args, rand, what);
  array_clear (&args.a);
  array_clear (&args.b);
  array_clear (&args.d);
  array_clear (&args.bias);
}

static void
test_layouts (void)
{
  static const gint64 shapes[][4] = { { 1, 7, 5, 3 }, { 1, 64, 65, 33 }, { 2, 13, 37, 70 }, { 1, 1, 300, 40 }, { 1, 40, 1, 77 }, { 3, 1, 1, 1 } };
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);
  int variant = 0;

  for (gsize s = 0; s < G_N_ELEMENTS (shapes); s++)
    for (int t = 0; t < 4; t++)
      for (int layouts = 0; layouts < 27; layouts++)
        run_shape (shapes[s][0], shapes[s][1], shapes[s][2], shapes[s][3], float_scalars[t], float_scalars[t], float_scalars[t],
                   layouts % 3, layouts / 3 % 3, layouts / 9, variant++, rand);
}

static void
test_mixed_dtypes (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (2);
  int variant = 0;

  for (int a = 0; a < 4; a++)
    for (int b = 0; b < 4; b++)
      for (int d = 0; d < 4; d++)
        run_shape (1, 19, 50, 31, float_scalars[a], float_scalars[b], float_scalars[d], ROWS, COLUMNS, ROWS, variant++, rand);
}

/* Sizes that cross the blocks of the gemm, and long sums that are cut along k. */
static void
test_blocks (void)
{
  static const gint64 shapes[][3] = { { 200, 150, 300 }, { 64, 512, 784 }, { 5, 900, 600 }, { 16, 50, 5000 }, { 300, 20, 4097 }, { 1, 1000, 1500 },
                                      { 784, 512, 64 }, { 64, 10, 512 } };
  g_autoptr (GRand) rand = g_rand_new_with_seed (3);

  for (gsize s = 0; s < G_N_ELEMENTS (shapes); s++)
    for (int layouts = 0; layouts < 8; layouts++)
      run_shape (1, shapes[s][0], shapes[s][1], shapes[s][2], LP_SCALAR_F32, LP_SCALAR_F32, layouts == 7 ? LP_SCALAR_BF16 : LP_SCALAR_F32,
                 layouts & 1, layouts >> 1 & 1, layouts >> 2, layouts, rand);
  run_shape (1, 150, 170, 600, LP_SCALAR_F64, LP_SCALAR_F64, LP_SCALAR_F64, ROWS, COLUMNS, ROWS, 2, rand);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/kernels/gemm/layouts", test_layouts);
  g_test_add_func ("/kernels/gemm/mixed-dtypes", test_mixed_dtypes);
  g_test_add_func ("/kernels/gemm/blocks", test_blocks);
  return g_test_run ();
}
