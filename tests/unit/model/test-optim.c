#include <math.h>

#include <lp/lp.h>

#include <lp/optim/lp-param-group-private.h>

static LpTensor *
new_parameter (const double *values,
               gsize         n,
               LpDType      *dtype)
{
  LpTensor *parameter = lp_tensor_new_from_doubles (values, n, (gint64[]) { n }, 1, dtype, NULL);

  lp_tensor_set_requires_grad (parameter, TRUE);

  return parameter;
}

static GPtrArray *
array_of (LpTensor *parameter)
{
  GPtrArray *array = g_ptr_array_new_with_free_func (g_object_unref);

  g_ptr_array_add (array, g_object_ref (parameter));

  return array;
}

/* Adds @gradient to the gradient of @parameter through the tape: d/dp of sum (p * g) = g. */
static void
backward (LpTensor     *parameter,
          const double *gradient,
          gsize         n)
{
  g_autoptr (LpTensor) g = lp_tensor_new_from_doubles (gradient, n, (gint64[]) { n }, 1, lp_tensor_get_dtype (parameter), NULL);
  g_autoptr (LpTensor) product = NULL;
  g_autoptr (LpTensor) sum = NULL;
  g_autoptr (GError) error = NULL;

  product = lp_tensor_mul (parameter, g, &error);
  sum = lp_tensor_sum (product, NULL, 0, FALSE, &error);
  lp_tensor_backward (sum, NULL, &error);
  g_assert_no_error (error);
}

static void
assert_values (LpTensor     *tensor,
               const double *expected,
               double        tolerance)
{
  g_autofree double *values = NULL;
  gsize n;

  values = lp_tensor_dup_doubles (tensor, &n, NULL);
  for (gsize i = 0; i < n; i++)
    g_assert_cmpfloat (fabs (values[i] - expected[i]), <=, tolerance);
}

static void
step (LpOptimizer  *optimizer,
      LpStepResult  expected)
{
  g_autoptr (GError) error = NULL;

  g_assert_cmpint (lp_optimizer_step (optimizer, NULL, &error), ==, expected);
  g_assert_no_error (error);
}

/* Two steps by hand. */
static void
test_sgd (void)
{
  g_autoptr (LpTensor) p = new_parameter ((double[]) { 1, -2 }, 2, lp_dtype_f64 ());
  g_autoptr (GPtrArray) parameters = array_of (p);
  g_autoptr (LpOptimizer) optimizer = lp_sgd_new_full (parameters, 0.1, 0.9, 0.5, 0.01, FALSE);
  double w[2] = { 1, -2 }, g[2] = { 0.5, 1 }, v[2];

  for (int t = 0; t < 3; t++)
    {
      g_assert_true (lp_optimizer_zero_grad (optimizer, NULL));
      backward (p, g, 2);
      step (optimizer, LP_STEP_APPLIED);
      for (int i = 0; i < 2; i++)
        {
          double gradient = g[i] + 0.01 * w[i];

          v[i] = t == 0 ? gradient : 0.9 * v[i] + 0.5 * gradient;
          w[i] -= 0.1 * v[i];
        }
      assert_values (p, w, 1e-12);
    }
  g_assert_cmpint (lp_optimizer_get_step_count (optimizer), ==, 3);
}

static void
test_nesterov (void)
{
  g_autoptr (LpTensor) p = new_parameter ((double[]) { 1 }, 1, lp_dtype_f64 ());
  g_autoptr (GPtrArray) parameters = array_of (p);
  g_autoptr (LpOptimizer) optimizer = lp_sgd_new_full (parameters, 0.1, 0.9, 0, 0, TRUE);
  double w = 1, v = 0;

  for (int t = 0; t < 3; t++)
    {
      g_assert_true (lp_optimizer_zero_grad (optimizer, NULL));
      backward (p, (double[]) { 2 }, 1);
      step (optimizer, LP_STEP_APPLIED);
      v = t == 0 ? 2 : 0.9 * v + 2;
      w -= 0.1 * (2 + 0.9 * v);
      assert_values (p, &w, 1e-12);
    }
}

static void
test_adamw (void)
{
  g_autoptr (LpTensor) p = new_parameter ((double[]) { 1, -2 }, 2, lp_dtype_f64 ());
  g_autoptr (GPtrArray) parameters = array_of (p);
  g_autoptr (LpOptimizer) optimizer = lp_adamw_new (parameters, 1e-2);
  double w[2] = { 1, -2 }, m[2] = { 0 }, v[2] = { 0 };

  g_assert_cmpfloat (lp_param_group_get_weight_decay (lp_optimizer_get_group (optimizer, 0)), ==, 0.01);
  for (int t = 1; t < 6; t++)
    {
      double g[2] = { 0.5 * t, -1.0 / t };

      g_assert_true (lp_optimizer_zero_grad (optimizer, NULL));
      backward (p, g, 2);
      step (optimizer, LP_STEP_APPLIED);
      for (int i = 0; i < 2; i++)
        {
          w[i] *= 1 - 1e-2 * 0.01;
          m[i] = 0.9 * m[i] + 0.1 * g[i];
          v[i] = 0.999 * v[i] + 0.001 * g[i] * g[i];
          w[i] -= 1e-2 * m[i] / (1 - pow (0.9, t)) / (sqrt (v[i] / (1 - pow (0.999, t))) + 1e-8);
        }
      assert_values (p, w, 1e-9);
    }
}

/* Gradients are slices of one bucket; what backward did not reach is left alone, decay included. */
static void
test_buckets (void)
{
  g_autoptr (LpTensor) a = new_parameter ((double[]) { 1, 2, 3 }, 3, NULL);
  g_autoptr (LpTensor) b = new_parameter ((double[]) { 5 }, 1, NULL);
  g_autoptr (GPtrArray) parameters = array_of (a);
  g_autoptr (LpOptimizer) optimizer = NULL;
  g_autoptr (LpTensor) grad_a = NULL;
  g_autoptr (LpTensor) grad_b = NULL;

  g_ptr_array_add (parameters, g_object_ref (b));
  optimizer = lp_adamw_new (parameters, 0.1);
  g_assert_true (lp_optimizer_zero_grad (optimizer, NULL));
  grad_a = lp_tensor_dup_grad (a);
  grad_b = lp_tensor_dup_grad (b);
  g_assert_cmpuint (lp_tensor_get_address (grad_b) - lp_tensor_get_address (grad_a), ==, 64);
  assert_values (grad_a, (double[]) { 0, 0, 0 }, 0);

  backward (a, (double[]) { 1, 1, 1 }, 3);
  backward (a, (double[]) { 1, 1, 1 }, 3);
  assert_values (grad_a, (double[]) { 2, 2, 2 }, 0);
  step (optimizer, LP_STEP_APPLIED);
  assert_values (b, (double[]) { 5 }, 0);
  g_assert_null (lp_tensor_dup_grad (b));

  /* a gradient set by hand counts, too */
  lp_tensor_set_grad (b, b);
  step (optimizer, LP_STEP_APPLIED);
  assert_values (b, (double[]) { 4.895 }, 1e-3);
}

static void
test_scalars (void)
{
  g_autoptr (LpTensor) p = new_parameter ((double[]) { 1 }, 1, NULL);
  g_autoptr (GPtrArray) parameters = array_of (p);
  g_autoptr (LpOptimizer) optimizer = lp_sgd_new (parameters, 1);
  g_autoptr (LpTensor) half = lp_tensor_scalar (0.5, lp_dtype_f32 (), NULL, NULL);
  g_autoptr (LpTensor) one = lp_tensor_scalar (1, lp_dtype_f32 (), NULL, NULL);

  g_assert_true (lp_optimizer_zero_grad (optimizer, NULL));
  backward (p, (double[]) { 4 }, 1);
  lp_optimizer_set_grad_scale (optimizer, half);
  lp_optimizer_set_clip_coefficient (optimizer, half);
  step (optimizer, LP_STEP_APPLIED);
  assert_values (p, (double[]) { 0 }, 0);

  /* used up by the step */
  g_assert_null (lp_optimizer_get_grad_scale (optimizer));
  g_assert_null (lp_optimizer_get_clip_coefficient (optimizer));

  lp_optimizer_set_found_inf (optimizer, one);
  step (optimizer, LP_STEP_SKIPPED);
  assert_values (p, (double[]) { 0 }, 0);
  g_assert_cmpint (lp_optimizer_get_step_count (optimizer), ==, 1);
  g_assert_null (lp_optimizer_get_found_inf (optimizer));
}

static void
test_clip (void)
{
  g_autoptr (LpTensor) p = new_parameter ((double[]) { 0, 0 }, 2, NULL);
  g_autoptr (GPtrArray) parameters = array_of (p);
  g_autoptr (LpOptimizer) optimizer = lp_sgd_new (parameters, 1);
  g_autoptr (GError) error = NULL;
  g_autoptr (LpTensor) grad = NULL;

  g_assert_true (lp_optimizer_zero_grad (optimizer, NULL));
  backward (p, (double[]) { 3, -4 }, 2);
  g_assert_cmpfloat_with_epsilon (lp_optimizer_compute_grad_norm (optimizer, &error), 5, 1e-6);

  /* not above 0: nothing */
  g_assert_true (lp_optimizer_clip_gradients (optimizer, 0, LP_CLIP_NORM, &error));
  g_assert_true (lp_optimizer_clip_gradients (optimizer, 10, LP_CLIP_NORM, &error));
  g_assert_null (lp_optimizer_get_clip_coefficient (optimizer));
  g_assert_true (lp_optimizer_clip_gradients (optimizer, 1, LP_CLIP_NORM, &error));
  step (optimizer, LP_STEP_APPLIED);
  assert_values (p, (double[]) { -0.6, 0.8 }, 1e-5);

  g_assert_true (lp_tensor_fill (p, 0, NULL));
  g_assert_true (lp_optimizer_zero_grad (optimizer, NULL));
  backward (p, (double[]) { 3, -0.25 }, 2);
  g_assert_true (lp_optimizer_clip_gradients (optimizer, 0.5, LP_CLIP_VALUE, &error));
  grad = lp_tensor_dup_grad (p);
  assert_values (grad, (double[]) { 0.5, -0.25 }, 0);
  g_assert_cmpfloat_with_epsilon (lp_optimizer_compute_grad_norm (optimizer, &error), sqrt (0.3125), 1e-6);

  /* who changes a gradient gets the new norm */
  lp_tensor_fill (grad, 1, NULL);
  g_assert_cmpfloat_with_epsilon (lp_optimizer_compute_grad_norm (optimizer, &error), sqrt (2), 1e-6);
  g_assert_false (lp_optimizer_clip_gradients (optimizer, NAN, LP_CLIP_NORM, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_ARGUMENT);
}

static void
test_bad_rate (void)
{
  static const double rates[] = { -1, INFINITY, NAN };
  g_autoptr (LpTensor) p = new_parameter ((double[]) { 1 }, 1, lp_dtype_f32 ());
  g_autoptr (GPtrArray) parameters = array_of (p);

  for (gsize i = 0; i < G_N_ELEMENTS (rates); i++)
    {
      g_autoptr (LpOptimizer) optimizer = lp_sgd_new (parameters, rates[i]);
      g_autoptr (GError) error = NULL;

      backward (p, (double[]) { 1 }, 1);
      g_assert_cmpint (lp_optimizer_step (optimizer, NULL, &error), ==, LP_STEP_FAILED);
      g_assert_error (error, LP_ERROR, LP_ERROR_ARGUMENT);
      g_assert_nonnull (strstr (error->message, "finite and at least 0"));
    }
  assert_values (p, (double[]) { 1 }, 0);
}

static void
test_masters (void)
{
  g_autoptr (LpTensor) with = new_parameter ((double[]) { 1 }, 1, lp_dtype_bf16 ());
  g_autoptr (LpTensor) without = new_parameter ((double[]) { 1 }, 1, lp_dtype_bf16 ());
  g_autoptr (GPtrArray) parameters = array_of (with);
  g_autoptr (GPtrArray) others = array_of (without);
  g_autoptr (LpOptimizer) optimizer = lp_sgd_new (parameters, 1e-3);
  g_autoptr (LpOptimizer) plain = lp_sgd_new (others, 1e-3);
  g_autoptr (LpState) state = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_false (lp_param_group_set_master_dtype (lp_optimizer_get_group (optimizer, 0), lp_dtype_f16 (), &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_DTYPE);
  g_clear_error (&error);
  g_assert_true (lp_param_group_set_master_dtype (lp_optimizer_get_group (optimizer, 0), lp_dtype_f32 (), &error));

  /* steps that are too small for bf16 add up in f32 */
  for (int i = 0; i < 10; i++)
    {
      g_assert_true (lp_optimizer_zero_grad (optimizer, NULL));
      g_assert_true (lp_optimizer_zero_grad (plain, NULL));
      backward (with, (double[]) { -1 }, 1);
      backward (without, (double[]) { -1 }, 1);
      step (optimizer, LP_STEP_APPLIED);
      step (plain, LP_STEP_APPLIED);
    }
  assert_values (with, (double[]) { 1.0078125 }, 0);
  assert_values (without, (double[]) { 1 }, 0);

  state = lp_optimizer_save_state (optimizer, &error);
  g_assert_no_error (error);
  assert_values (lp_tensor_dict_lookup (lp_state_get_tensors (state), "0.0.master"), (double[]) { 1.01 }, 1e-6);
  g_assert_false (lp_param_group_set_master_dtype (lp_optimizer_get_group (optimizer, 0), NULL, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_STATE);
}

static LpDType *
dtype_of_gradient (LpTensor *parameter)
{
  g_autoptr (LpTensor) grad = lp_tensor_dup_grad (parameter);

  return lp_tensor_get_dtype (grad);
}

/* Gradients of weights with masters are f32 from the first backward pass on, whatever came before it. */
static void
test_master_gradients (gconstpointer name)
{
  g_autoptr (LpDType) dtype = lp_dtype_lookup (name, NULL);
  g_autoptr (LpTensor) p = new_parameter ((double[]) { 1 }, 1, dtype);
  g_autoptr (GPtrArray) parameters = array_of (p);
  g_autoptr (LpOptimizer) optimizer = lp_sgd_new (parameters, 1e-3);
  g_autoptr (LpOptimizer) later = NULL;

  g_assert_true (lp_param_group_set_master_dtype (lp_optimizer_get_group (optimizer, 0), lp_dtype_f32 (), NULL));
  for (int i = 0; i < 2; i++)
    {
      g_autoptr (LpTensor) grad = NULL;

      backward (p, (double[]) { 1 }, 1);
      backward (p, (double[]) { 1.0 / 4096 }, 1);
      grad = lp_tensor_dup_grad (p);
      g_assert_true (lp_tensor_get_dtype (grad) == lp_dtype_f32 ());
      assert_values (grad, (double[]) { 1 + 1.0 / 4096 }, 0);
      lp_tensor_set_grad (p, NULL);
    }

  /* that of one optimizer is not that of another, which comes before the first has gone */
  later = lp_sgd_new (parameters, 1e-3);
  g_assert_true (lp_param_group_set_master_dtype (lp_optimizer_get_group (later, 0), lp_dtype_f32 (), NULL));
  g_clear_object (&optimizer);
  backward (p, (double[]) { 1 }, 1);
  g_assert_true (dtype_of_gradient (p) == lp_dtype_f32 ());
  lp_tensor_set_grad (p, NULL);
  g_clear_object (&later);
  backward (p, (double[]) { 1 }, 1);
  g_assert_true (dtype_of_gradient (p) == dtype);
}

static void
test_stochastic_rounding (void)
{
  g_autofree double *ones = g_new (double, 4096);
  g_autofree double *gradient = g_new (double, 4096);
  g_autofree double *values = NULL;
  g_autoptr (LpTensor) p = NULL;
  g_autoptr (GPtrArray) parameters = NULL;
  g_autoptr (LpOptimizer) optimizer = NULL;
  double sum = 0;
  gsize n;

  for (int i = 0; i < 4096; i++)
    {
      ones[i] = 1;
      gradient[i] = -1;
    }
  p = new_parameter (ones, 4096, lp_dtype_bf16 ());
  parameters = array_of (p);
  optimizer = lp_sgd_new (parameters, 1.0 / 512);
  lp_param_group_set_stochastic_rounding (lp_optimizer_get_group (optimizer, 0), TRUE);
  g_assert_true (lp_optimizer_zero_grad (optimizer, NULL));
  backward (p, gradient, 4096);
  step (optimizer, LP_STEP_APPLIED);

  /* 1 + 1/512 is a quarter of the way from 1 to 1 + 1/128 */
  values = lp_tensor_dup_doubles (p, &n, NULL);
  for (gsize i = 0; i < n; i++)
    {
      g_assert_true (values[i] == 1 || values[i] == 1.0078125);
      sum += values[i] - 1;
    }
  g_assert_cmpfloat (fabs (sum / n - 1.0 / 512), <, 5 * 0.0078125 * 0.433 / 64);
}

static void
test_state (void)
{
  g_autoptr (LpTensor) a = new_parameter ((double[]) { 1, 2 }, 2, NULL);
  g_autoptr (LpTensor) b = new_parameter ((double[]) { 1, 2 }, 2, NULL);
  g_autoptr (GPtrArray) parameters_a = array_of (a);
  g_autoptr (GPtrArray) parameters_b = array_of (b);
  g_autoptr (LpOptimizer) first = lp_adamw_new (parameters_a, 0.1);
  g_autoptr (LpOptimizer) second = lp_adamw_new (parameters_b, 0.7);
  g_autoptr (LpState) state = NULL;
  g_autoptr (LpState) empty = lp_state_new ();
  g_autoptr (GBytes) bytes_a = NULL;
  g_autoptr (GBytes) bytes_b = NULL;
  g_autoptr (GError) error = NULL;

  for (int i = 0; i < 3; i++)
    {
      g_assert_true (lp_optimizer_zero_grad (first, NULL));
      backward (a, (double[]) { 0.3, -7 }, 2);
      step (first, LP_STEP_APPLIED);
    }
  state = lp_optimizer_save_state (first, &error);
  g_assert_no_error (error);
  g_assert_true (lp_tensor_assign (b, a, NULL));
  g_assert_true (lp_optimizer_load_state (second, state, &error));
  g_assert_no_error (error);
  g_assert_cmpint (lp_optimizer_get_step_count (second), ==, 3);
  g_assert_cmpfloat (lp_optimizer_get_lr (second), ==, 0.1);

  g_assert_true (lp_optimizer_zero_grad (first, NULL));
  g_assert_true (lp_optimizer_zero_grad (second, NULL));
  backward (a, (double[]) { 1, 1 }, 2);
  backward (b, (double[]) { 1, 1 }, 2);
  step (first, LP_STEP_APPLIED);
  step (second, LP_STEP_APPLIED);
  bytes_a = lp_tensor_dup_bytes (a, NULL);
  bytes_b = lp_tensor_dup_bytes (b, NULL);
  g_assert_true (g_bytes_equal (bytes_a, bytes_b));

  g_assert_false (lp_optimizer_load_state (second, empty, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_FORMAT);
}

static void
test_errors (void)
{
  g_autoptr (LpTensor) p = new_parameter ((double[]) { 1 }, 1, NULL);
  g_autoptr (GPtrArray) parameters = array_of (p);
  g_autoptr (GPtrArray) nothing = g_ptr_array_new ();
  g_autoptr (LpOptimizer) optimizer = lp_sgd_new (parameters, -1);
  g_autoptr (LpOptimizer) empty = lp_sgd_new (nothing, 1);
  g_autoptr (LpOptimizer) groupless = g_object_new (LP_TYPE_SGD, NULL);
  g_autoptr (LpParamGroup) again = lp_param_group_new (parameters, 1);
  g_autoptr (GError) error = NULL;

  g_assert_false (lp_optimizer_add_group (optimizer, again, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_EXISTS);
  g_clear_error (&error);
  g_assert_false (lp_optimizer_zero_grad (empty, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_ARGUMENT);
  g_clear_error (&error);
  g_assert_cmpint (lp_optimizer_step (groupless, NULL, &error), ==, LP_STEP_FAILED);
  g_assert_error (error, LP_ERROR, LP_ERROR_STATE);
  g_clear_error (&error);
  g_assert_cmpint (lp_optimizer_step (optimizer, NULL, &error), ==, LP_STEP_FAILED);
  g_assert_error (error, LP_ERROR, LP_ERROR_ARGUMENT);
  g_clear_error (&error);

  lp_optimizer_set_lr (optimizer, 1);
  lp_sgd_set_nesterov (LP_SGD (optimizer), TRUE);
  g_assert_cmpint (lp_optimizer_step (optimizer, NULL, &error), ==, LP_STEP_FAILED);
  g_assert_error (error, LP_ERROR, LP_ERROR_ARGUMENT);
}

/* An optimizer as a program writes it, with operations on tensors. */

typedef struct
{
  LpOptimizer parent_instance;
  int         mode;
} TestOptimizer;

typedef struct
{
  LpOptimizerClass parent_class;
} TestOptimizerClass;

static GType test_optimizer_get_type (void);

G_DEFINE_TYPE (TestOptimizer, test_optimizer, LP_TYPE_OPTIMIZER)

static gboolean
test_optimizer_step_group (LpOptimizer   *optimizer,
                           LpParamGroup  *group,
                           GError       **error)
{
  g_autoptr (GPtrArray) masters = lp_param_group_dup_masters (group);

  if (((TestOptimizer *) optimizer)->mode == 1)
    return FALSE;

  for (guint i = 0; i < masters->len; i++)
    {
      LpTensor *master = g_ptr_array_index (masters, i);
      g_autoptr (LpTensor) grad = lp_tensor_dup_grad (master);
      g_autoptr (LpTensor) change = NULL;
      g_autoptr (LpTensor) value = NULL;

      if (grad == NULL)
        continue;
      change = lp_tensor_scale (grad, lp_param_group_get_lr (group), error);
      value = lp_tensor_sub (master, change, error);
      if (value == NULL || !lp_tensor_assign (master, value, error))
        return FALSE;
    }

  return TRUE;
}

static void
test_optimizer_class_init (TestOptimizerClass *klass)
{
  LP_OPTIMIZER_CLASS (klass)->step_group = test_optimizer_step_group;
}

static void
test_optimizer_init (TestOptimizer *self)
{
}

static void
test_subclass (void)
{
  g_autoptr (LpTensor) p = new_parameter ((double[]) { 1, 1 }, 2, lp_dtype_bf16 ());
  g_autoptr (GPtrArray) parameters = array_of (p);
  g_autoptr (LpParamGroup) group = lp_param_group_new (parameters, 0.5);
  g_autoptr (LpOptimizer) optimizer = g_object_new (test_optimizer_get_type (), NULL);
  g_autoptr (LpTensor) scale = lp_tensor_scalar (0.25, lp_dtype_f32 (), NULL, NULL);
  g_autoptr (GError) error = NULL;

  g_assert_true (lp_param_group_set_master_dtype (group, lp_dtype_f32 (), NULL));
  g_assert_true (lp_optimizer_add_group (optimizer, group, &error));
  g_assert_true (lp_optimizer_zero_grad (optimizer, NULL));
  backward (p, (double[]) { 3, 4 }, 2);

  /* the base class multiplies and clips for it */
  lp_optimizer_set_grad_scale (optimizer, scale);
  step (optimizer, LP_STEP_APPLIED);
  assert_values (p, (double[]) { 0.625, 0.5 }, 0);

  g_assert_true (lp_optimizer_zero_grad (optimizer, NULL));
  backward (p, (double[]) { 3, 4 }, 2);
  g_assert_true (lp_optimizer_clip_gradients (optimizer, 2.5, LP_CLIP_NORM, &error));
  step (optimizer, LP_STEP_APPLIED);
  assert_values (p, (double[]) { -0.125, -0.5 }, 1e-2);

  ((TestOptimizer *) optimizer)->mode = 1;
  g_assert_cmpint (lp_optimizer_step (optimizer, NULL, &error), ==, LP_STEP_FAILED);
  g_assert_error (error, LP_ERROR, LP_ERROR_SUBCLASS);
  g_assert_nonnull (strstr (error->message, "TestOptimizer"));
}

static void
test_schedules (void)
{
  g_autoptr (LpTensor) p = new_parameter ((double[]) { 1 }, 1, NULL);
  g_autoptr (GPtrArray) parameters = array_of (p);
  g_autoptr (LpOptimizer) optimizer = lp_sgd_new (parameters, 2);
  g_autoptr (LpLrScheduler) cosine = lp_cosine_lr_new (optimizer, 10, 0.1);
  g_autoptr (LpLrScheduler) stairs = lp_step_lr_new (optimizer, 3, 0.5);
  g_autoptr (LpLrScheduler) warmup = lp_warmup_lr_new (optimizer, 4, 0, cosine);
  g_autoptr (LpLrScheduler) bad = lp_step_lr_new (optimizer, 0, 0.5);
  g_autoptr (LpLrScheduler) again = NULL;
  g_autoptr (LpState) state = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_cmpfloat (lp_lr_scheduler_get_factor (stairs, 8, NULL), ==, 0.25);
  g_assert_cmpfloat (lp_lr_scheduler_get_factor (cosine, 0, NULL), ==, 1);
  g_assert_cmpfloat_with_epsilon (lp_lr_scheduler_get_factor (cosine, 5, NULL), 0.55, 1e-12);
  g_assert_cmpfloat_with_epsilon (lp_lr_scheduler_get_factor (cosine, 50, NULL), 0.1, 1e-12);

  g_assert_cmpfloat (lp_optimizer_get_lr (optimizer), ==, 0);
  for (int i = 0; i < 9; i++)
    g_assert_true (lp_lr_scheduler_step (warmup, &error));
  g_assert_cmpfloat_with_epsilon (lp_optimizer_get_lr (optimizer), 1.1, 1e-12);

  state = lp_lr_scheduler_save_state (warmup);
  again = lp_warmup_lr_new (optimizer, 4, 0, cosine);
  g_assert_cmpfloat (lp_optimizer_get_lr (optimizer), ==, 0);
  g_assert_true (lp_lr_scheduler_load_state (again, state, &error));
  g_assert_cmpint (lp_lr_scheduler_get_position (again), ==, 9);
  g_assert_cmpfloat_with_epsilon (lp_optimizer_get_lr (optimizer), 1.1, 1e-12);

  g_assert_false (lp_lr_scheduler_step (bad, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_ARGUMENT);
}

static void
test_encoded_low_copy (void)
{
  g_autoptr (LpTensor) x = lp_tensor_ones ((gint64[]) { 1, 4 }, 2, NULL, NULL, NULL);
  g_autoptr (LpModule) layer = lp_linear_new (4, 2);
  g_autoptr (GPtrArray) parameters = lp_module_dup_parameters (layer);
  g_autoptr (LpOptimizer) optimizer = lp_sgd_new (parameters, 0.5);
  g_autoptr (LpCastPolicy) policy = lp_cast_policy_new (lp_dtype_bf16 ());
  g_autoptr (LpComputeScope) scope = lp_compute_scope_new (policy, NULL);
  LpTensor *weight = lp_linear_get_weight (LP_LINEAR (layer));
  g_autoptr (GError) error = NULL;

  for (int i = 0; i < 2; i++)
    {
      g_autoptr (LpTensor) y = NULL;
      g_autoptr (LpTensor) sum = NULL;
      g_autoptr (LpTensor) plain = NULL;
      g_autoptr (LpTensor) expected = NULL;
      g_autoptr (GBytes) a = NULL;
      g_autoptr (GBytes) b = NULL;

      g_assert_true (lp_optimizer_zero_grad (optimizer, NULL));
      lp_compute_scope_push (scope);
      y = lp_module_forward (layer, x, &error);
      sum = lp_tensor_sum (y, NULL, 0, FALSE, &error);
      lp_compute_scope_pop ();
      lp_tensor_backward (sum, NULL, &error);
      g_assert_no_error (error);
      step (optimizer, LP_STEP_APPLIED);

      /* the fused step has written the copy that the next product uses */
      if (weight->low == NULL)
        continue;
      g_assert_cmpint (weight->low_version, ==, weight->storage->version);
      plain = lp_tensor_detach (weight);
      expected = lp_tensor_to_dtype (plain, lp_dtype_bf16 (), &error);
      a = lp_tensor_dup_bytes (weight->low, &error);
      b = lp_tensor_dup_bytes (expected, &error);
      g_assert_true (g_bytes_equal (a, b));
    }
}

/* A format as a program writes it: one byte per element, steps of 1/4. */

typedef struct
{
  LpDType parent_instance;
} TestDType;

typedef struct
{
  LpDTypeClass parent_class;
} TestDTypeClass;

static GType test_dtype_get_type (void);

G_DEFINE_TYPE (TestDType, test_dtype, LP_TYPE_DTYPE)

static GBytes *
test_dtype_encode (LpDType  *dtype,
                   GBytes   *values,
                   LpShape  *shape,
                   gint      axis,
                   GError  **error)
{
  gsize size;
  const float *x = g_bytes_get_data (values, &size);
  gsize n = size / sizeof (float);
  gint8 *codes = g_new (gint8, n);

  for (gsize i = 0; i < n; i++)
    codes[i] = (gint8) lrintf (x[i] * 4);

  return g_bytes_new_take (codes, n);
}

static GBytes *
test_dtype_decode (LpDType  *dtype,
                   GBytes   *data,
                   LpShape  *shape,
                   gint      axis,
                   gint64    first_block,
                   gint64    n_blocks,
                   GError  **error)
{
  const gint8 *codes = g_bytes_get_data (data, NULL);
  float *x = g_new (float, n_blocks);

  for (gint64 i = 0; i < n_blocks; i++)
    x[i] = codes[first_block + i] / 4.0f;

  return g_bytes_new_take (x, n_blocks * sizeof (float));
}

static gint64
test_dtype_get_encoded_size (LpDType *dtype,
                             LpShape *shape)
{
  return lp_shape_get_n_elements (shape);
}

static void
test_dtype_class_init (TestDTypeClass *klass)
{
  LpDTypeClass *dtype_class = LP_DTYPE_CLASS (klass);

  dtype_class->encode = test_dtype_encode;
  dtype_class->decode = test_dtype_decode;
  dtype_class->get_encoded_size = test_dtype_get_encoded_size;
}

static void
test_dtype_init (TestDType *self)
{
}

static void
forward_backward (LpModule *layer,
                  LpTensor *x)
{
  g_autoptr (LpTensor) y = NULL;
  g_autoptr (LpTensor) sum = NULL;
  g_autoptr (GError) error = NULL;

  y = lp_module_forward (layer, x, &error);
  sum = lp_tensor_sum (y, NULL, 0, FALSE, &error);
  lp_tensor_backward (sum, NULL, &error);
  g_assert_no_error (error);
}

/* A latent f32 master is updated and the stored weight encoded from it: a straight-through estimator. */
static void
check_encoded (LpOptimizer *optimizer,
               LpModule    *layer,
               LpTensor    *x)
{
  LpTensor *weight = lp_linear_get_weight (LP_LINEAR (layer));
  g_autoptr (LpState) state = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_cmpint (lp_tensor_get_n_bytes (weight), ==, 4);
  for (int i = 0; i < 3; i++)
    {
      g_assert_true (lp_optimizer_zero_grad (optimizer, NULL));
      forward_backward (layer, x);
      step (optimizer, LP_STEP_APPLIED);
    }

  state = lp_optimizer_save_state (optimizer, &error);
  g_assert_no_error (error);
  assert_values (lp_tensor_dict_lookup (lp_state_get_tensors (state), "0.0.master"), (double[]) { 0.7, 0.4, 0.7, 0.4 }, 1e-6);
  assert_values (weight, (double[]) { 0.75, 0.5, 0.75, 0.5 }, 0);
  g_assert_true (lp_tensor_get_requires_grad (weight));
}

static void
test_encoded (void)
{
  g_autoptr (LpDType) dtype = g_object_new (test_dtype_get_type (), "name", "test-quarters", "bits", 8, NULL);
  g_autoptr (LpTensor) x = lp_tensor_new_from_doubles ((double[]) { 1, 2 }, 2, (gint64[]) { 1, 2 }, 2, NULL, NULL);

  for (int i = 0; i < 2; i++)
    {
      g_autoptr (LpModule) layer = lp_linear_new_full (2, 2, FALSE);
      g_autoptr (LpTensor) ones = lp_tensor_ones ((gint64[]) { 2, 2 }, 2, NULL, NULL, NULL);
      g_autoptr (GPtrArray) parameters = NULL;
      g_autoptr (LpParamGroup) group = NULL;
      g_autoptr (LpOptimizer) optimizer = NULL;
      g_autoptr (LpTensor) encoded = NULL;
      g_autoptr (GError) error = NULL;

      encoded = lp_tensor_to_dtype (ones, dtype, &error);
      g_assert_no_error (error);
      g_assert_true (lp_module_set_parameter (layer, "weight", encoded, &error));
      g_assert_no_error (error);
      parameters = lp_module_dup_parameters (layer);
      group = lp_param_group_new (parameters, 0.1);

      /* the fused optimizer, and one that knows masters only */
      optimizer = i == 0 ? lp_sgd_new (parameters, 0.1) : g_object_new (test_optimizer_get_type (), NULL);
      if (i == 1)
        g_assert_true (lp_optimizer_add_group (optimizer, group, &error));
      check_encoded (optimizer, layer, x);
    }
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/optim/sgd", test_sgd);
  g_test_add_func ("/optim/nesterov", test_nesterov);
  g_test_add_func ("/optim/adamw", test_adamw);
  g_test_add_func ("/optim/buckets", test_buckets);
  g_test_add_func ("/optim/scalars", test_scalars);
  g_test_add_func ("/optim/clip", test_clip);
  g_test_add_func ("/optim/bad-rate", test_bad_rate);
  g_test_add_func ("/optim/masters", test_masters);
  g_test_add_data_func ("/optim/master-gradients/bf16", "bf16", test_master_gradients);
  g_test_add_data_func ("/optim/master-gradients/f16", "f16", test_master_gradients);
  g_test_add_func ("/optim/stochastic-rounding", test_stochastic_rounding);
  g_test_add_func ("/optim/state", test_state);
  g_test_add_func ("/optim/errors", test_errors);
  g_test_add_func ("/optim/subclass", test_subclass);
  g_test_add_func ("/optim/schedules", test_schedules);
  g_test_add_func ("/optim/low-copy", test_encoded_low_copy);

  g_test_add_func ("/optim/encoded", test_encoded);

  return g_test_run ();
}
