#include <math.h>

#include <lp/lp.h>

/* Every operation's gradient against central differences, in float64. */

#define MAX_INPUTS 4

typedef struct
{
  const char *name;
  LpTensor *(* run) (LpTensor **x, GError **error);
  int n_inputs;
  gint64 dims[MAX_INPUTS][5];   /* rank, then the extents */
  double low, high;             /* where the inputs lie */
} Case;

static LpTensor *
index_of (const gint64 *values, gsize n, const gint64 *dims, gsize n_dims)
{
  return lp_tensor_new_from_int64s (values, n, dims, n_dims, NULL, NULL);
}

#define UNARY(name) \
  static LpTensor *run_##name (LpTensor **x, GError **error) { return lp_tensor_##name (x[0], error); }
#define BINARY(name) \
  static LpTensor *run_##name (LpTensor **x, GError **error) { return lp_tensor_##name (x[0], x[1], error); }
#define RUN(name, expression) \
  static LpTensor *run_##name (LpTensor **x, GError **error) { return expression; }

UNARY (sign) UNARY (round) UNARY (floor) UNARY (ceil) UNARY (trunc) UNARY (neg) UNARY (abs) UNARY (square) UNARY (relu) UNARY (silu) UNARY (tanh) UNARY (sigmoid) UNARY (exp) UNARY (log)
UNARY (sqrt) UNARY (rsqrt) UNARY (reciprocal) UNARY (norm) UNARY (copy) UNARY (global_avg_pool2d)
BINARY (add) BINARY (sub) BINARY (mul) BINARY (div) BINARY (maximum) BINARY (minimum) BINARY (matmul)

RUN (gelu_tanh, lp_tensor_gelu (x[0], TRUE, error))
RUN (gelu_erf, lp_tensor_gelu (x[0], FALSE, error))
RUN (pow, lp_tensor_pow (x[0], 2.5, error))
RUN (scale, lp_tensor_scale (x[0], -3, error))
RUN (offset, lp_tensor_offset (x[0], 2, error))
RUN (clamp, lp_tensor_clamp (x[0], -0.4, 0.5, error))
RUN (linear, lp_tensor_linear (x[0], x[1], x[2], error))
RUN (linear_no_bias, lp_tensor_linear (x[0], x[1], NULL, error))
RUN (conv2d, lp_tensor_conv2d (x[0], x[1], x[2], 1, 1, 1, 1, error))
RUN (conv2d_strided, lp_tensor_conv2d (x[0], x[1], NULL, 2, 1, 1, 1, error))
RUN (conv2d_dilated, lp_tensor_conv2d (x[0], x[1], x[2], 1, 2, 2, 1, error))
RUN (conv2d_grouped, lp_tensor_conv2d (x[0], x[1], x[2], 1, 1, 1, 2, error))
RUN (max_pool2d, lp_tensor_max_pool2d (x[0], 2, 0, 0, error))
RUN (max_pool2d_padded, lp_tensor_max_pool2d (x[0], 3, 2, 1, error))
RUN (avg_pool2d, lp_tensor_avg_pool2d (x[0], 2, 0, 0, error))
RUN (avg_pool2d_padded, lp_tensor_avg_pool2d (x[0], 3, 2, 1, error))
RUN (batch_norm, lp_tensor_batch_norm (x[0], x[1], x[2], NULL, NULL, TRUE, 0.1, 1e-5, error))
RUN (batch_norm_plain, lp_tensor_batch_norm (x[0], NULL, NULL, NULL, NULL, TRUE, 0.1, 1e-5, error))
RUN (softmax, lp_tensor_softmax (x[0], -1, error))
RUN (softmax_first, lp_tensor_softmax (x[0], 0, error))
RUN (log_softmax, lp_tensor_log_softmax (x[0], 1, error))
RUN (mse_loss, lp_tensor_mse_loss (x[0], x[1], LP_REDUCTION_MEAN, error))
RUN (mse_loss_none, lp_tensor_mse_loss (x[0], x[1], LP_REDUCTION_NONE, error))
RUN (l1_loss, lp_tensor_l1_loss (x[0], x[1], LP_REDUCTION_SUM, error))
RUN (huber_loss, lp_tensor_huber_loss (x[0], x[1], 0.3, LP_REDUCTION_MEAN, error))
RUN (bce_with_logits, lp_tensor_bce_with_logits (x[0], x[1], LP_REDUCTION_MEAN, error))
RUN (sum_all, lp_tensor_sum (x[0], NULL, 0, FALSE, error))
RUN (sum_axes, lp_tensor_sum (x[0], (const int[]) { 0, -1 }, 2, FALSE, error))
RUN (mean_axis, lp_tensor_mean (x[0], (const int[]) { 1 }, 1, TRUE, error))
RUN (max_axis, lp_tensor_max (x[0], (const int[]) { 1 }, 1, FALSE, error))
RUN (min_all, lp_tensor_min (x[0], NULL, 0, FALSE, error))
RUN (cumsum, lp_tensor_cumsum (x[0], 1, error))
RUN (reshape, lp_tensor_reshape (x[0], (const gint64[]) { 4, -1 }, 2, error))
RUN (flatten, lp_tensor_flatten (x[0], 1, error))
RUN (permute, lp_tensor_permute (x[0], (const int[]) { 2, 0, 1 }, 3, error))
RUN (expand, lp_tensor_expand (x[0], (const gint64[]) { 2, 3, 4 }, 3, error))
RUN (narrow, lp_tensor_narrow (x[0], 1, 1, 2, error))
RUN (select, lp_tensor_select (x[0], -1, -1, error))
RUN (cat, lp_tensor_cat (x, 3, 1, error))
RUN (stack, lp_tensor_stack (x, 2, -1, error))
RUN (pad, lp_tensor_pad (x[0], 1, 1, 2, 0.5, error))

static LpTensor *
run_where (LpTensor **x, GError **error)
{
  g_autoptr (LpTensor) condition = lp_tensor_new_from_int64s ((const gint64[]) { 1, 0, 1, 0, 0, 1 }, 6, (const gint64[]) { 2, 3 },
                                                              2, lp_dtype_bool (), error);

  return lp_tensor_where (condition, x[0], x[1], error);
}

static LpTensor *
run_index_select (LpTensor **x, GError **error)
{
  g_autoptr (LpTensor) index = index_of ((const gint64[]) { 2, 0, 2 }, 3, (const gint64[]) { 3 }, 1);

  return lp_tensor_index_select (x[0], 1, index, error);
}

static LpTensor *
run_gather (LpTensor **x, GError **error)
{
  g_autoptr (LpTensor) index = index_of ((const gint64[]) { 2, 0, 2, 1, 1, 0 }, 6, (const gint64[]) { 2, 3 }, 2);

  return lp_tensor_gather (x[0], 1, index, error);
}

static LpTensor *
run_scatter_add (LpTensor **x, GError **error)
{
  g_autoptr (LpTensor) index = index_of ((const gint64[]) { 2, 0, 2, 1, 1, 0 }, 6, (const gint64[]) { 2, 3 }, 2);

  return lp_tensor_scatter_add (x[0], 1, index, x[1], error);
}

static LpTensor *
run_cross_entropy (LpTensor **x, GError **error)
{
  g_autoptr (LpTensor) targets = index_of ((const gint64[]) { 2, 0, -100, 1 }, 4, (const gint64[]) { 4 }, 1);

  return lp_tensor_cross_entropy_full (x[0], targets, 0.1, -100, LP_REDUCTION_MEAN, error);
}

static LpTensor *
run_cross_entropy_none (LpTensor **x, GError **error)
{
  g_autoptr (LpTensor) targets = index_of ((const gint64[]) { 2, 0, 1, 1 }, 4, (const gint64[]) { 4 }, 1);

  return lp_tensor_cross_entropy_full (x[0], targets, 0, -100, LP_REDUCTION_NONE, error);
}

static LpTensor *
run_dropout (LpTensor **x, GError **error)
{
  g_autoptr (LpGenerator) generator = lp_generator_new (7, 1);
  LpTensor *y;

  lp_generator_push (generator);
  y = lp_tensor_dropout (x[0], 0.4, TRUE, error);
  lp_generator_pop ();

  return y;
}

static LpTensor *
run_shared (LpTensor **x, GError **error)
{
  g_autoptr (LpTensor) y = lp_tensor_mul (x[0], x[0], error);
  g_autoptr (LpTensor) z = lp_tensor_add (y, x[0], error);

  return lp_tensor_mul (z, y, error);
}

#define IMAGES { 4, 2, 4, 5, 5 }
#define ONE(name, low, high) { #name, run_##name, 1, { { 2, 3, 4 } }, low, high }
#define PAIR(name, low, high) { #name, run_##name, 2, { { 2, 3, 4 }, { 2, 3, 4 } }, low, high }

static const Case cases[] = {
  ONE (neg, -1, 1), ONE (abs, 0.1, 1), ONE (square, -1, 1), ONE (relu, 0.1, 1), ONE (silu, -2, 2), ONE (tanh, -1, 1),
  ONE (sigmoid, -2, 2), ONE (exp, -1, 1), ONE (log, 0.2, 2), ONE (sqrt, 0.2, 2), ONE (rsqrt, 0.2, 2), ONE (reciprocal, 0.5, 2),
  ONE (norm, -1, 1), ONE (copy, -1, 1), ONE (gelu_tanh, -2, 2), ONE (gelu_erf, -2, 2), ONE (pow, 0.2, 2), ONE (scale, -1, 1),
  ONE (sign, 0.1, 1), ONE (round, 0.6, 1.4), ONE (floor, 0.1, 0.9), ONE (ceil, 0.1, 0.9), ONE (trunc, -0.9, 0.9),
  ONE (offset, -1, 1), ONE (clamp, -1, 1), ONE (softmax, -2, 2), ONE (softmax_first, -2, 2), ONE (log_softmax, -2, 2),
  ONE (sum_all, -1, 1), ONE (sum_axes, -1, 1), ONE (mean_axis, -1, 1), ONE (max_axis, -1, 1), ONE (min_all, -1, 1),
  ONE (cumsum, -1, 1), ONE (reshape, -1, 1), ONE (dropout, -1, 1), ONE (narrow, -1, 1), ONE (select, -1, 1), ONE (pad, -1, 1),
  ONE (index_select, -1, 1), ONE (shared, -1, 1),
  PAIR (add, -1, 1), PAIR (sub, -1, 1), PAIR (mul, -1, 1), PAIR (div, 0.5, 2), PAIR (maximum, -1, 1), PAIR (minimum, -1, 1),
  PAIR (mse_loss, -1, 1), PAIR (mse_loss_none, -1, 1), PAIR (l1_loss, -1, 1), PAIR (huber_loss, -1, 1),
  PAIR (bce_with_logits, 0.1, 0.9), PAIR (stack, -1, 1),
  { "add-broadcast", run_add, 2, { { 3, 2, 3, 4 }, { 2, 3, 1 } }, -1, 1 },
  { "mul-broadcast", run_mul, 2, { { 2, 3, 4 }, { 0 } }, -1, 1 },
  { "div-broadcast", run_div, 2, { { 1, 4 }, { 2, 3, 4 } }, 0.5, 2 },
  { "maximum-broadcast", run_maximum, 2, { { 2, 3, 4 }, { 1, 4 } }, -1, 1 },
  { "where", run_where, 2, { { 2, 2, 3 }, { 1, 3 } }, -1, 1 },
  { "gather", run_gather, 1, { { 2, 2, 3 } }, -1, 1 },
  { "scatter_add", run_scatter_add, 2, { { 2, 2, 3 }, { 2, 2, 3 } }, -1, 1 },
  { "cross_entropy", run_cross_entropy, 1, { { 2, 4, 3 } }, -2, 2 },
  { "cross_entropy_none", run_cross_entropy_none, 1, { { 2, 4, 3 } }, -2, 2 },
  { "flatten", run_flatten, 1, { { 3, 2, 3, 4 } }, -1, 1 },
  { "permute", run_permute, 1, { { 3, 2, 3, 4 } }, -1, 1 },
  { "expand", run_expand, 1, { { 2, 3, 1 } }, -1, 1 },
  { "cat", run_cat, 3, { { 2, 3, 1 }, { 2, 3, 2 }, { 2, 3, 4 } }, -1, 1 },
  { "matmul", run_matmul, 2, { { 2, 3, 4 }, { 2, 4, 5 } }, -1, 1 },
  { "matmul-batched", run_matmul, 2, { { 3, 2, 3, 4 }, { 3, 2, 4, 2 } }, -1, 1 },
  { "matmul-broadcast", run_matmul, 2, { { 4, 2, 1, 3, 4 }, { 3, 2, 4, 2 } }, -1, 1 },
  { "linear", run_linear, 3, { { 2, 3, 4 }, { 2, 5, 4 }, { 1, 5 } }, -1, 1 },
  { "linear-3d", run_linear, 3, { { 3, 2, 3, 4 }, { 2, 5, 4 }, { 1, 5 } }, -1, 1 },
  { "linear-no-bias", run_linear_no_bias, 2, { { 2, 3, 4 }, { 2, 5, 4 } }, -1, 1 },
  { "conv2d", run_conv2d, 3, { IMAGES, { 4, 3, 4, 3, 3 }, { 1, 3 } }, -1, 1 },
  { "conv2d-strided", run_conv2d_strided, 2, { IMAGES, { 4, 3, 4, 3, 3 } }, -1, 1 },
  { "conv2d-dilated", run_conv2d_dilated, 3, { IMAGES, { 4, 3, 4, 3, 3 }, { 1, 3 } }, -1, 1 },
  { "conv2d-grouped", run_conv2d_grouped, 3, { IMAGES, { 4, 6, 2, 3, 3 }, { 1, 6 } }, -1, 1 },
  { "max_pool2d", run_max_pool2d, 1, { IMAGES }, -1, 1 },
  { "max_pool2d-padded", run_max_pool2d_padded, 1, { IMAGES }, -1, 1 },
  { "avg_pool2d", run_avg_pool2d, 1, { IMAGES }, -1, 1 },
  { "avg_pool2d-padded", run_avg_pool2d_padded, 1, { IMAGES }, -1, 1 },
  { "global_avg_pool2d", run_global_avg_pool2d, 1, { IMAGES }, -1, 1 },
  { "batch_norm", run_batch_norm, 3, { IMAGES, { 1, 4 }, { 1, 4 } }, -1, 1 },
  { "batch_norm-2d", run_batch_norm, 3, { { 2, 6, 4 }, { 1, 4 }, { 1, 4 } }, -1, 1 },
  { "batch_norm-plain", run_batch_norm_plain, 1, { IMAGES }, -1, 1 },
};

/* sum (y * weights), the weights fixed random numbers */
static LpTensor *
weighted_sum (LpTensor *y)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LpGenerator) generator = lp_generator_new (99, 0);
  g_autoptr (LpShape) shape = lp_tensor_dup_shape (y);
  gsize n_dims;
  g_autofree gint64 *dims = lp_shape_dup_dims (shape, &n_dims);
  g_autoptr (LpTensor) weights = NULL;
  g_autoptr (LpTensor) product = NULL;
  LpTensor *sum;

  lp_generator_push (generator);
  weights = lp_tensor_uniform (dims, n_dims, 0.5, 1.5, lp_dtype_f64 (), NULL, &error);
  lp_generator_pop ();
  product = lp_tensor_mul (y, weights, &error);
  sum = lp_tensor_sum (product, NULL, 0, FALSE, &error);
  g_assert_no_error (error);

  return sum;
}

static double
evaluate (const Case *c, LpTensor **x)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LpTensor) y = NULL;
  g_autoptr (LpTensor) sum = NULL;

  lp_grad_mode_push (FALSE);
  y = c->run (x, &error);
  g_assert_no_error (error);
  sum = weighted_sum (y);
  lp_grad_mode_pop ();

  return lp_tensor_get_item (sum, NULL);
}

static void
test_gradient (gconstpointer data)
{
  const Case *c = data;
  const double step = 1e-5;
  g_autoptr (GError) error = NULL;
  LpTensor *x[MAX_INPUTS];
  g_autoptr (LpTensor) y = NULL;
  g_autoptr (LpTensor) loss = NULL;

  lp_seed_everything (1234);
  for (int i = 0; i < c->n_inputs; i++)
    {
      x[i] = lp_tensor_uniform (&c->dims[i][1], c->dims[i][0], c->low, c->high, lp_dtype_f64 (), NULL, &error);
      g_assert_no_error (error);
      lp_tensor_set_requires_grad (x[i], TRUE);
    }

  y = c->run (x, &error);
  g_assert_no_error (error);
  loss = weighted_sum (y);
  lp_tensor_backward (loss, NULL, &error);
  g_assert_no_error (error);

  for (int i = 0; i < c->n_inputs; i++)
    {
      g_autoptr (LpTensor) grad = lp_tensor_dup_grad (x[i]);
      gsize n, n_grads;
      g_autofree double *values = lp_tensor_dup_doubles (x[i], &n, NULL);
      g_autofree double *grads = NULL;
      double *memory = (double *) (gsize) lp_tensor_get_address (x[i]);

      g_assert_nonnull (grad);
      grads = lp_tensor_dup_doubles (grad, &n_grads, NULL);
      g_assert_cmpuint (n, ==, n_grads);
      for (gsize k = 0; k < n; k++)
        {
          double up, down, expected;

          memory[k] = values[k] + step;
          up = evaluate (c, x);
          memory[k] = values[k] - step;
          down = evaluate (c, x);
          memory[k] = values[k];
          expected = (up - down) / (2 * step);
          if (!(fabs (grads[k] - expected) <= 1e-6 * MAX (1, fabs (expected))))
            g_error ("%s: input %d, element %" G_GSIZE_FORMAT ": gradient %.10g, differences %.10g", c->name, i, k, grads[k],
                     expected);
        }
    }
  for (int i = 0; i < c->n_inputs; i++)
    g_object_unref (x[i]);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path = g_strdup_printf ("/gradients/%s", cases[i].name);

      g_test_add_data_func (path, &cases[i], test_gradient);
    }

  return g_test_run ();
}
