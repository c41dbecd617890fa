/* Operations give the same bits with one thread and with two, forward and backward, over a grid of shapes and all floating dtypes.
 * "--run" computes all and prints a line for each; the number of threads can't be changed in a process that has used them. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lp/lp.h>

static char *program;
static GChecksum *checksum;

/* Images are channels-last in memory, as those that layers give are: what the library's convolutions take. */
static LpTensor *
random_values (const gint64 *dims,
               gsize         n_dims,
               LpDType      *dtype)
{
  const int axes[] = { 0, 3, 1, 2 };
  g_autoptr (LpTensor) plain = NULL;

  if (n_dims != 4)
    return lp_tensor_normal (dims, n_dims, 0, 1, dtype, NULL, NULL);
  plain = lp_tensor_normal ((gint64[]) { dims[0], dims[2], dims[3], dims[1] }, 4, 0, 1, dtype, NULL, NULL);

  return lp_tensor_permute (plain, axes, 4, NULL);
}

static LpTensor *
random_tensor (const gint64 *dims,
               gsize         n_dims,
               const char   *dtype)
{
  g_autoptr (LpDType) type = lp_dtype_lookup (dtype, NULL);
  LpTensor *tensor = random_values (dims, n_dims, type);

  lp_tensor_set_requires_grad (tensor, TRUE);

  return tensor;
}

static void
add (LpTensor *tensor)
{
  g_autoptr (GBytes) bytes = lp_tensor_dup_bytes (tensor, NULL);

  g_checksum_update (checksum, g_bytes_get_data (bytes, NULL), g_bytes_get_size (bytes));
}

/* Takes the result, sends a random gradient back, and adds all to the checksum. */
static void
finish (LpTensor  *result,
        LpTensor **inputs,
        guint      n_inputs,
        GError    *error)
{
  g_autoptr (LpTensor) owned = result;
  g_autoptr (LpTensor) gradient = NULL;
  gint64 dims[LP_MAX_DIMS];

  g_assert_no_error (error);
  for (guint i = 0; i < lp_tensor_get_n_dims (result); i++)
    dims[i] = lp_tensor_get_dim (result, i);
  gradient = random_values (dims, lp_tensor_get_n_dims (result), lp_tensor_get_dtype (result));
  lp_tensor_backward (result, gradient, &error);
  g_assert_no_error (error);
  add (result);
  for (guint i = 0; i < n_inputs; i++)
    {
      g_autoptr (LpTensor) grad = lp_tensor_dup_grad (inputs[i]);

      add (grad);
    }
}

typedef struct
{
  const char *name;
  void      (*compute) (const gint64 *p, const char *dtype);
  gint64      p[9];
} Case;

/* m n k */
static void
gemm (const gint64 *p,
      const char   *dtype)
{
  g_autoptr (LpTensor) x = random_tensor ((gint64[]) { p[0], p[2] }, 2, dtype);
  g_autoptr (LpTensor) w = random_tensor ((gint64[]) { p[1], p[2] }, 2, dtype);
  g_autoptr (LpTensor) b = random_tensor ((gint64[]) { p[1] }, 1, dtype);
  GError *error = NULL;

  finish (lp_tensor_linear (x, w, b, &error), (LpTensor *[]) { x, w, b }, 3, error);
}

/* m n k; what the operands are encoded in goes by the dtype */
static void
encoded_gemm (const gint64 *p,
              const char   *dtype)
{
  static const char *const pairs[][3] = { { "f32", "f8e4m3", "f8e5m2" }, { "f64", "i8-rowwise", "i8-rowwise" }, { "bf16", "bf16", "nf4" },
                                          { "f16", "mxfp8-e4m3", "nvfp4" } };
  g_autoptr (LpTensor) x = random_tensor ((gint64[]) { p[0], p[2] }, 2, "f32");
  g_autoptr (LpTensor) w = random_tensor ((gint64[]) { p[1], p[2] }, 2, "f32");
  LpTensor *values[] = { x, w }, *operands[2];
  g_autoptr (LpTensor) result = NULL;
  guint pair = 0;

  while (!g_str_equal (pairs[pair][0], dtype))
    pair++;
  for (int i = 0; i < 2; i++)
    {
      g_autoptr (LpDType) type = lp_dtype_lookup (pairs[pair][1 + i], NULL);
      g_autoptr (LpTensor) plain = lp_tensor_detach (values[i]);

      operands[i] = lp_tensor_to_dtype (plain, type, NULL);
    }
  result = lp_tensor_linear (operands[0], operands[1], NULL, NULL);
  add (result);
  g_object_unref (operands[0]);
  g_object_unref (operands[1]);
}

/* batch m n k */
static void
matmul (const gint64 *p,
        const char   *dtype)
{
  g_autoptr (LpTensor) x = random_tensor ((gint64[]) { p[0], p[1], p[3] }, 3, dtype);
  g_autoptr (LpTensor) y = random_tensor ((gint64[]) { p[0], p[3], p[2] }, 3, dtype);
  GError *error = NULL;

  finish (lp_tensor_matmul (x, y, &error), (LpTensor *[]) { x, y }, 2, error);
}

/* n c h w, out kernel stride padding groups */
static void
conv (const gint64 *p,
      const char   *dtype)
{
  g_autoptr (LpTensor) x = random_tensor (p, 4, dtype);
  g_autoptr (LpTensor) w = random_tensor ((gint64[]) { p[4], p[1] / p[8], p[5], p[5] }, 4, dtype);
  g_autoptr (LpTensor) b = random_tensor (p + 4, 1, dtype);
  GError *error = NULL;

  finish (lp_tensor_conv2d (x, w, b, p[6], p[7], 1, p[8], &error), (LpTensor *[]) { x, w, b }, 3, error);
}

/* n c h w, kernel stride padding */
static void
max_pool (const gint64 *p,
          const char   *dtype)
{
  g_autoptr (LpTensor) x = random_tensor (p, 4, dtype);
  GError *error = NULL;

  finish (lp_tensor_max_pool2d (x, p[4], p[5], p[6], &error), &x, 1, error);
}

static void
avg_pool (const gint64 *p,
          const char   *dtype)
{
  g_autoptr (LpTensor) x = random_tensor (p, 4, dtype);
  GError *error = NULL;

  finish (lp_tensor_avg_pool2d (x, p[4], p[5], p[6], &error), &x, 1, error);
}

static void
batch_norm (const gint64 *p,
            const char   *dtype)
{
  g_autoptr (LpTensor) x = random_tensor (p, 4, dtype);
  g_autoptr (LpTensor) w = random_tensor (p + 1, 1, dtype);
  g_autoptr (LpTensor) b = random_tensor (p + 1, 1, dtype);
  g_autoptr (LpTensor) mean = random_tensor (p + 1, 1, dtype);
  g_autoptr (LpTensor) variance = lp_tensor_ones (p + 1, 1, lp_tensor_get_dtype (x), NULL, NULL);
  GError *error = NULL;

  lp_tensor_set_requires_grad (mean, FALSE);
  finish (lp_tensor_batch_norm (x, w, b, mean, variance, TRUE, 0.1, 1e-5, &error), (LpTensor *[]) { x, w, b }, 3, error);
  add (mean);
  add (variance);
}

/* rows columns axis */
static void
softmax (const gint64 *p,
         const char   *dtype)
{
  g_autoptr (LpTensor) x = random_tensor (p, 2, dtype);
  GError *error = NULL;

  finish (lp_tensor_softmax (x, p[2], &error), &x, 1, error);
}

static void
log_softmax (const gint64 *p,
             const char   *dtype)
{
  g_autoptr (LpTensor) x = random_tensor (p, 2, dtype);
  GError *error = NULL;

  finish (lp_tensor_log_softmax (x, p[2], &error), &x, 1, error);
}

static void
sum (const gint64 *p,
     const char   *dtype)
{
  const int axis = p[2];
  g_autoptr (LpTensor) x = random_tensor (p, 2, dtype);
  GError *error = NULL;

  finish (lp_tensor_sum (x, &axis, axis >= 0, FALSE, &error), &x, 1, error);
}

static void
mean (const gint64 *p,
      const char   *dtype)
{
  const int axis = p[2];
  g_autoptr (LpTensor) x = random_tensor (p, 2, dtype);
  GError *error = NULL;

  finish (lp_tensor_mean (x, &axis, axis >= 0, FALSE, &error), &x, 1, error);
}

static void
norm (const gint64 *p,
      const char   *dtype)
{
  g_autoptr (LpTensor) x = random_tensor (p, 2, dtype);
  GError *error = NULL;

  finish (lp_tensor_norm (x, &error), &x, 1, error);
}

static const Case cases[] = {
  { "gemm", gemm, { 1, 1, 1 } }, { "gemm", gemm, { 1, 10, 784 } }, { "gemm", gemm, { 3, 5, 7 } }, { "gemm", gemm, { 17, 33, 129 } },
  { "gemm", gemm, { 64, 512, 784 } }, { "gemm", gemm, { 1, 512, 512 } }, { "gemm", gemm, { 513, 2, 65 } },
  { "gemm", gemm, { 2, 3, 20000 } }, { "gemm", gemm, { 127, 255, 63 } },
  { "encoded", encoded_gemm, { 3, 5, 64 } }, { "encoded", encoded_gemm, { 129, 1100, 300 } }, { "encoded", encoded_gemm, { 70, 40, 5000 } },
  { "matmul", matmul, { 1, 5, 6, 7 } }, { "matmul", matmul, { 7, 33, 31, 65 } }, { "matmul", matmul, { 16, 64, 64, 64 } },
  { "conv", conv, { 1, 1, 1, 1, 1, 1, 1, 0, 1 } }, { "conv", conv, { 1, 3, 7, 5, 5, 3, 2, 1, 1 } },
  { "conv", conv, { 32, 1, 28, 28, 16, 3, 1, 1, 1 } }, { "conv", conv, { 33, 16, 14, 14, 32, 3, 1, 1, 1 } },
  { "conv", conv, { 5, 8, 9, 11, 12, 5, 2, 2, 1 } }, { "conv", conv, { 2, 16, 17, 13, 16, 3, 1, 1, 16 } },
  { "conv", conv, { 3, 12, 10, 10, 8, 3, 1, 1, 4 } }, { "conv", conv, { 1, 64, 20, 20, 64, 1, 1, 0, 1 } },
  { "conv", conv, { 1, 3, 64, 64, 8, 7, 2, 3, 1 } }, { "conv", conv, { 2, 64, 7, 7, 128, 3, 1, 1, 1 } },
  { "max-pool", max_pool, { 1, 1, 2, 2, 2, 2, 0 } }, { "max-pool", max_pool, { 32, 16, 28, 28, 2, 2, 0 } },
  { "max-pool", max_pool, { 3, 7, 15, 13, 3, 2, 1 } }, { "max-pool", max_pool, { 1, 33, 31, 29, 3, 1, 1 } },
  { "avg-pool", avg_pool, { 1, 1, 2, 2, 2, 2, 0 } }, { "avg-pool", avg_pool, { 32, 16, 28, 28, 2, 2, 0 } },
  { "avg-pool", avg_pool, { 3, 7, 15, 13, 3, 2, 1 } }, { "avg-pool", avg_pool, { 1, 33, 31, 29, 3, 1, 1 } },
  { "batch-norm", batch_norm, { 2, 1, 1, 1 } }, { "batch-norm", batch_norm, { 32, 16, 28, 28 } },
  { "batch-norm", batch_norm, { 3, 7, 5, 11 } }, { "batch-norm", batch_norm, { 65, 3, 17, 19 } },
  { "softmax", softmax, { 1, 1, 1 } }, { "softmax", softmax, { 64, 10, 1 } }, { "softmax", softmax, { 1, 100003, 1 } },
  { "softmax", softmax, { 1001, 77, 0 } }, { "log-softmax", log_softmax, { 1000, 333, 1 } },
  { "log-softmax", log_softmax, { 333, 1000, 0 } },
  { "sum", sum, { 1, 1, -1 } }, { "sum", sum, { 1000, 333, -1 } }, { "sum", sum, { 1000, 333, 0 } }, { "sum", sum, { 333, 1000, 1 } },
  { "sum", sum, { 100003, 3, 0 } }, { "sum", sum, { 3, 100003, 1 } }, { "mean", mean, { 1001, 97, -1 } },
  { "mean", mean, { 1001, 97, 0 } }, { "mean", mean, { 2, 65537, 1 } }, { "norm", norm, { 777, 333 } }, { "norm", norm, { 1, 5 } },
};

static const char *const dtypes[] = { "f32", "f64", "bf16", "f16" };

static int
run (void)
{
  lp_seed_everything (1);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    for (guint j = 0; j < G_N_ELEMENTS (dtypes); j++)
      {
        checksum = g_checksum_new (G_CHECKSUM_MD5);
        cases[i].compute (cases[i].p, dtypes[j]);
        printf ("%s %u %s %s\n", cases[i].name, i, dtypes[j], g_checksum_get_string (checksum));
        g_checksum_free (checksum);
      }

  return 0;
}

static char **
spawn (const char *n_threads)
{
  char *argv[] = { program, (char *) "--run", NULL };
  g_auto (GStrv) environment = g_environ_setenv (g_get_environ (), "OMP_NUM_THREADS", n_threads, TRUE);
  g_autofree char *output = NULL;
  g_autoptr (GError) error = NULL;
  int status;

  g_spawn_sync (NULL, argv, environment, G_SPAWN_DEFAULT, NULL, NULL, &output, NULL, &status, &error);
  g_assert_no_error (error);
  g_assert_true (g_spawn_check_wait_status (status, &error));

  return g_strsplit (output, "\n", -1);
}

static void
test_same_bits (void)
{
  g_auto (GStrv) one = spawn ("1");
  g_auto (GStrv) two = spawn ("2");
  g_auto (GStrv) three = spawn ("3");

  g_assert_cmpuint (g_strv_length (one), ==, G_N_ELEMENTS (cases) * G_N_ELEMENTS (dtypes) + 1);
  for (guint i = 0; one[i] != NULL; i++)
    {
      g_assert_cmpstr (one[i], ==, two[i]);
      g_assert_cmpstr (one[i], ==, three[i]);
    }
}

int
main (int   argc,
      char *argv[])
{
  if (argc == 2 && strcmp (argv[1], "--run") == 0)
    return run ();

  program = g_canonicalize_filename (argv[0], NULL);
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/threads/same-bits", test_same_bits);

  return g_test_run ();
}
