#include <math.h>

#include <lp/lp.h>

#include <lp/tensor/lp-tensor-private.h>

/* Products of encoded operands, in all orders in memory, against sums in wider arithmetic. */

typedef struct
{
  LpTensor *stored, *decoded;
  gboolean  turned;          /* [columns, rows] in memory */
} Operand;

static Operand
operand_new (const char *name,
             gint64      rows,
             gint64      columns,
             gboolean    turned)
{
  const gint64 dims[] = { turned ? columns : rows, turned ? rows : columns };
  g_autoptr (LpTensor) values = lp_tensor_normal (dims, 2, 0, 1, lp_dtype_f32 (), NULL, NULL);
  g_autoptr (LpDType) dtype = lp_dtype_lookup (name, NULL);
  Operand self = { .turned = turned };

  self.stored = lp_tensor_to_dtype (values, dtype, NULL);
  self.decoded = lp_tensor_to_dtype (self.stored, lp_dtype_f32 (), NULL);

  return self;
}

static void
operand_clear (Operand *self)
{
  g_object_unref (self->stored);
  g_object_unref (self->decoded);
}

static LpArray
array_of (const Operand *self)
{
  LpArray array = self->stored->array;

  if (!self->turned)
    return array;
  array.dims[0] = self->stored->array.dims[1];
  array.dims[1] = self->stored->array.dims[0];
  array.strides[0] = self->stored->array.strides[1];
  array.strides[1] = self->stored->array.strides[0];

  return array;
}

static double
value_at (const Operand *self,
          gint64         row,
          gint64         column)
{
  const gint64 indices[] = { self->turned ? column : row, self->turned ? row : column };

  return (double) ((const float *) self->decoded->array.data)[indices[0] * self->decoded->array.dims[1] + indices[1]];
}

static void
check_product (const char *left,
               const char *right,
               int         order,
               LpDType    *result_dtype)
{
  const gint64 m = 70, n = 91, k = 600, dims[] = { m, n };
  const double half_ulp = result_dtype == lp_dtype_bf16 () ? 0x1p-8 : 0x1p-24;
  Operand a = operand_new (left, m, k, order & 1), b = operand_new (right, k, n, order >> 1);
  g_autoptr (LpTensor) d = lp_tensor_ones (dims, 2, result_dtype, NULL, NULL);
  g_autoptr (LpTensor) bias = lp_tensor_normal (&n, 1, 0, 1, lp_dtype_f32 (), NULL, NULL);
  LpGemmArgs args = { .a = array_of (&a), .b = array_of (&b), .d = d->array, .bias = bias->array, .alpha = 0.5, .beta = 2,
                      .activation = LP_ACTIVATION_RELU };
  g_autoptr (GError) error = NULL;
  g_autofree double *got = NULL;
  gsize size;

  g_assert_true (_lp_tensor_get_kernels (d)->gemm (&args, &error));
  g_assert_no_error (error);
  got = lp_tensor_dup_doubles (d, &size, NULL);
  for (gint64 i = 0; i < m; i++)
    for (gint64 j = 0; j < n; j++)
      {
        double sum = 0, most = 0;

        for (gint64 p = 0; p < k; p++)
          {
            sum += value_at (&a, i, p) * value_at (&b, p, j);
            most += fabs (value_at (&a, i, p) * value_at (&b, p, j));
          }
        sum = fmax (0.5 * sum + 2 + (double) ((const float *) bias->array.data)[j], 0);
        g_assert_cmpfloat_with_epsilon (got[i * n + j], sum, half_ulp * fabs (sum) + 1e-6 * most);
      }
  operand_clear (&a);
  operand_clear (&b);
}

static void
test_orders (void)
{
  static const char *const pairs[][2] = { { "f8e4m3", "f8e5m2" }, { "f8e4m3", "f32" }, { "f32", "nf4" }, { "i8-rowwise", "i8-rowwise" },
                                          { "mxfp4", "nf4-dq" }, { "i8-rowwise", "f32" }, { "nvfp4", "f64" } };

  for (gsize i = 0; i < G_N_ELEMENTS (pairs); i++)
    for (int order = 0; order < 4; order++)
      {
        check_product (pairs[i][0], pairs[i][1], order, lp_dtype_f32 ());
        check_product (pairs[i][0], pairs[i][1], order, lp_dtype_bf16 ());
      }
}

/* Integers that are their own codes: the scale of each row is 127. */
static LpTensor *
integers_new (gint64   rows,
              gint64   columns,
              GRand   *rand,
              gint32   least,
              gint64 **integers)
{
  const gint64 dims[] = { rows, columns };
  g_autoptr (LpTensor) values = lp_tensor_empty (dims, 2, lp_dtype_f32 (), NULL, NULL);
  g_autoptr (LpDType) dtype = lp_dtype_lookup ("i8-rowwise", NULL);

  *integers = g_new (gint64, rows * columns);
  for (gint64 i = 0; i < rows * columns; i++)
    {
      (*integers)[i] = i % columns == 0 ? 127 : g_rand_int_range (rand, least, 128);
      ((float *) values->array.data)[i] = (float) (*integers)[i];
    }

  return lp_tensor_to_dtype (values, dtype, NULL);
}

/* Sums beyond what float32 holds exactly are rounded once, at the end. */
static void
check_integers (gint64 m,
                gint64 n,
                gint64 k,
                gint32 least)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed ((guint32) (m + k));
  g_autofree gint64 *a = NULL, *b = NULL;
  g_autoptr (LpTensor) left = integers_new (m, k, rand, least, &a);
  g_autoptr (LpTensor) right = integers_new (n, k, rand, least, &b);
  g_autoptr (GError) error = NULL;
  g_autoptr (LpTensor) result = lp_tensor_linear (left, right, NULL, &error);
  const float *got;
  gint64 most = 0;

  g_assert_no_error (error);
  got = (const float *) result->array.data;
  for (gint64 i = 0; i < m; i++)
    for (gint64 j = 0; j < n; j++)
      {
        gint64 sum = 0;

        for (gint64 p = 0; p < k; p++)
          sum += a[i * k + p] * b[j * k + p];
        most = MAX (most, ABS (sum));
        g_assert_cmpfloat ((double) got[i * n + j], ==, (double) (float) sum);
      }
  g_assert_true (k < 4096 || least < 0 || most > 1 << 24);
}

static void
test_integers (void)
{
  check_integers (1, 1, 1, -127);
  check_integers (3, 5, 33, -127);
  check_integers (37, 70, 4097, 40);
  check_integers (1, 40, 8192, 100);
  check_integers (150, 800, 1025, -127);
  check_integers (600, 20, 4096, 90);
  check_integers (2, 3, 131071, 100);
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  lp_seed_everything (3);
  g_test_add_func ("/encoded-products/orders", test_orders);
  g_test_add_func ("/encoded-products/integers", test_integers);

  return g_test_run ();
}
