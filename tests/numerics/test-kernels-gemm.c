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
  static const gint64 shapes[][3] = { { 160, 100, 300 }, { 64, 130, 300 }, { 5, 900, 300 }, { 16, 30, 4100 }, { 40, 20, 4097 }, { 1, 1000, 800 },
                                      { 300, 160, 64 }, { 64, 10, 512 } };
  g_autoptr (GRand) rand = g_rand_new_with_seed (3);

  for (gsize s = 0; s < G_N_ELEMENTS (shapes); s++)
    for (int layouts = 0; layouts < 8; layouts++)
      run_shape (1, shapes[s][0], shapes[s][1], shapes[s][2], LP_SCALAR_F32, LP_SCALAR_F32, layouts == 7 ? LP_SCALAR_BF16 : LP_SCALAR_F32,
                 layouts & 1, layouts >> 1 & 1, layouts >> 2, layouts, rand);
  run_shape (1, 20, 800, 300, LP_SCALAR_F64, LP_SCALAR_F64, LP_SCALAR_F64, COLUMNS, ROWS, ROWS, 3, rand);
  run_shape (1, 150, 170, 600, LP_SCALAR_F64, LP_SCALAR_F64, LP_SCALAR_F64, ROWS, COLUMNS, ROWS, 2, rand);
}

/* The three products of a linear layer in bf16, so large that libraries for it get them in parts, the last of which is smaller:
 * the output, and the gradients of the input and of the weight, which is added to what is there. */
static void
test_bf16_layer (void)
{
  static const struct { gint64 m, n, k; Layout a, b; LpScalar d; gboolean bias; double beta; } products[] = {
    { 150, 270, 210, ROWS, COLUMNS, LP_SCALAR_BF16, TRUE, 0 }, { 150, 270, 210, ROWS, COLUMNS, LP_SCALAR_F32, TRUE, 0 },
    { 150, 210, 270, ROWS, ROWS, LP_SCALAR_BF16, FALSE, 0 }, { 270, 210, 150, COLUMNS, ROWS, LP_SCALAR_F32, FALSE, 1 },
    { 270, 210, 150, COLUMNS, ROWS, LP_SCALAR_BF16, FALSE, 1 }, { 270, 210, 150, COLUMNS, ROWS, LP_SCALAR_BF16, FALSE, 0 },
    { 600, 530, 150, COLUMNS, ROWS, LP_SCALAR_F32, FALSE, 1 }, { 1100, 70, 310, ROWS, COLUMNS, LP_SCALAR_BF16, TRUE, 0 },
  };
  g_autoptr (GRand) rand = g_rand_new_with_seed (4);

  for (gsize i = 0; i < G_N_ELEMENTS (products); i++)
    {
      LpGemmArgs args = {
        .a = matrix_new (LP_SCALAR_BF16, 1, products[i].m, products[i].k, products[i].a),
        .b = matrix_new (LP_SCALAR_BF16, 1, products[i].k, products[i].n, products[i].b),
        .d = matrix_new (products[i].d, 1, products[i].m, products[i].n, ROWS),
        .alpha = 1,
        .beta = products[i].beta,
      };

      if (products[i].bias)
        {
          args.bias = array_new (LP_SCALAR_BF16, 1, &products[i].n, NULL, 1);
          fill_random (&args.bias, rand, -1, 1);
        }
      check_gemm (&args, rand, "bf16 layer");
      array_clear (&args.a);
      array_clear (&args.b);
      array_clear (&args.d);
      array_clear (&args.bias);
    }
}

/* More and fewer matrices than threads, each with its own second operand or all with one. */
static void
test_bf16_batches (void)
{
  static const gint64 batches[] = { 2, 7 };
  g_autoptr (GRand) rand = g_rand_new_with_seed (8);

  for (int b = 0; b < 2; b++)
    for (int variant = 0; variant < 8; variant++)
      run_shape (batches[b], 40, 72, 24, LP_SCALAR_BF16, LP_SCALAR_BF16, variant % 3 == 0 ? LP_SCALAR_F32 : LP_SCALAR_BF16,
                 ROWS, variant / 2 % 2 == 0 ? COLUMNS : ROWS, ROWS, variant, rand);
}

/* An operand of the plainest encoded kind: a byte is a quarter of its value, in blocks of 4. */
#define TEST_TYPE_QUARTERS (test_quarters_get_type ())
G_DECLARE_FINAL_TYPE (TestQuarters, test_quarters, TEST, QUARTERS, LpDType)

struct _TestQuarters
{
  LpDType parent_instance;
};

G_DEFINE_FINAL_TYPE (TestQuarters, test_quarters, LP_TYPE_DTYPE)

static GBytes *
test_quarters_encode (LpDType *self, GBytes *values, LpShape *shape, gint axis, GError **error)
{
  gsize size;
  const float *x = g_bytes_get_data (values, &size);
  gint8 *y = g_malloc (size / 4);

  for (gsize i = 0; i < size / 4; i++)
    y[i] = (gint8) lrintf (x[i] * 4);
  return g_bytes_new_take (y, size / 4);
}

static GBytes *
test_quarters_decode (LpDType *self, GBytes *data, LpShape *shape, gint axis, gint64 first_block, gint64 n_blocks, GError **error)
{
  const gint8 *x = g_bytes_get_data (data, NULL);
  float *y = g_new (float, n_blocks * 4);

  for (gint64 i = 0; i < n_blocks * 4; i++)
    y[i] = (float) x[first_block * 4 + i] / 4;
  return g_bytes_new_take (y, (gsize) n_blocks * 4 * sizeof (float));
}

static gint64
test_quarters_get_encoded_size (LpDType *self, LpShape *shape)
{
  return lp_shape_get_n_elements (shape);
}

static void
test_quarters_class_init (TestQuartersClass *klass)
{
  LpDTypeClass *dtype_class = LP_DTYPE_CLASS (klass);

  dtype_class->encode = test_quarters_encode;
  dtype_class->decode = test_quarters_decode;
  dtype_class->get_encoded_size = test_quarters_get_encoded_size;
}

static void
test_quarters_init (TestQuarters *self)
{
}

/* Large enough for more than one panel; both orders of the weights, both axes of the cut. */
static void
test_encoded (void)
{
  g_autoptr (LpDType) dtype = g_object_new (TEST_TYPE_QUARTERS, "name", "quarters", "bits", 8, "block-size", 4, NULL);
  static const int columns[] = { 1, 0 };
  const gint64 k = 1100, n = 1204, m = 3;
  const gint64 ad[] = { m, k }, wd[] = { n, k }, bd[] = { k, n }, dd[] = { m, n };
  g_autoptr (GRand) rand = g_rand_new_with_seed (4);

  for (int transposed = 0; transposed < 2; transposed++)
    for (int t = 0; t < 4; t++)
      {
        LpArray a = array_new (LP_SCALAR_F32, 2, ad, NULL, 1), d = array_new (float_scalars[t], 2, dd, NULL, 1);
        LpArray plain = array_new (LP_SCALAR_F32, 2, transposed ? wd : bd, NULL, 1);
        LpArray code = array_new (LP_SCALAR_I8, 2, transposed ? wd : bd, NULL, 1), back = array_new (LP_SCALAR_F32, 2, bd, transposed ? columns : NULL, 1);
        LpArray b = back;
        LpGemmArgs args = { .a = a, .d = d, .alpha = 1, .activation = LP_ACTIVATION_RELU };
        g_autoptr (LpShape) stored = lp_shape_new (code.dims, 2);
        g_autoptr (GError) error = NULL;

        fill_random (&a, rand, -1, 1);
        for (gint64 i = 0; i < count (&plain); i++)
          set (&plain, i, g_rand_int_range (rand, -20, 20) / 4.0);
        code.scalar = LP_SCALAR_ENCODED;
        code.dtype = dtype;
        code.stored = stored;
        code.stored_size = (gsize) lp_dtype_get_encoded_size (dtype, stored);
        g_assert_true (KERNELS->copy (&plain, &code, &error));
        g_assert_no_error (error);
        memset (back.data, 0, span_bytes (&back));
        b.data = code.data;
        b.scalar = LP_SCALAR_ENCODED;
        b.dtype = dtype;
        b.stored = stored;
        b.stored_size = code.stored_size;
        args.b = b;
        g_assert_true (KERNELS->gemm (&args, &error));
        g_assert_no_error (error);
        memcpy (back.data, plain.data, span_bytes (&plain));
        for (gint64 i = 0; i < m * n; i++)
          {
            double sum = 0;

            for (gint64 p = 0; p < k; p++)
              sum += get (&a, i / n * k + p) * get (&back, p * n + i % n);
            assert_close (get (&d, i), MAX (sum, 0), 1e-3 + scalar_epsilon (float_scalars[t]) * fabs (sum), "encoded gemm %d", transposed);
          }
        array_clear (&a);
        array_clear (&d);
        array_clear (&plain);
        array_clear (&code);
        array_clear (&back);
      }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/kernels/gemm/layouts", test_layouts);
  g_test_add_func ("/kernels/gemm/mixed-dtypes", test_mixed_dtypes);
  g_test_add_func ("/kernels/gemm/blocks", test_blocks);
  g_test_add_func ("/kernels/gemm/bf16-layer", test_bf16_layer);
  g_test_add_func ("/kernels/gemm/bf16-batches", test_bf16_batches);
  g_test_add_func ("/kernels/gemm/encoded", test_encoded);
  return g_test_run ();
}
