#include <math.h>

#include <lp/lp.h>

#include <lp/tensor/lp-tensor-private.h>

/* A module as a program writes it. */

typedef struct
{
  LpModule  parent_instance;
  int       mode;
} TestModule;

typedef struct
{
  LpModuleClass parent_class;
} TestModuleClass;

static GType test_module_get_type (void);

G_DEFINE_TYPE (TestModule, test_module, LP_TYPE_MODULE)

static LpTensor *
test_module_forward (LpModule  *module,
                     LpTensor  *input,
                     GError   **error)
{
  TestModule *self = (TestModule *) module;

  switch (self->mode)
    {
    case 0:
      return NULL;
    case 1:
      g_set_error_literal (error, G_IO_ERROR, G_IO_ERROR_FAILED, "mine");
      return NULL;
    case 2:
      g_set_error_literal (error, G_IO_ERROR, G_IO_ERROR_FAILED, "mine");
      return g_object_ref (input);
    default:
      return g_object_ref (input);
    }
}

static void
test_module_class_init (TestModuleClass *klass)
{
  LP_MODULE_CLASS (klass)->forward = test_module_forward;
}

static void
test_module_init (TestModule *self)
{
}

static LpModule *
new_mlp (void)
{
  LpModule *net = lp_sequential_new ();

  lp_sequential_append (LP_SEQUENTIAL (net), lp_linear_new (4, 8));
  lp_sequential_append (LP_SEQUENTIAL (net), lp_relu_new ());
  lp_sequential_append (LP_SEQUENTIAL (net), lp_linear_new (8, 3));

  return net;
}

static LpTensor *
new_input (const gint64 *dims,
           gsize         n_dims)
{
  return lp_tensor_normal (dims, n_dims, 0, 1, NULL, NULL, NULL);
}

static void
test_structure (void)
{
  g_autoptr (LpModule) net = new_mlp ();
  g_autoptr (GPtrArray) parameters = lp_module_dup_parameters (net);
  g_auto (GStrv) names = lp_module_dup_parameter_names (net);
  g_auto (GStrv) modules = lp_module_dup_module_names (net);
  g_autofree char *joined = g_strjoinv (" ", names);
  g_autofree char *joined_modules = g_strjoinv (" ", modules);

  g_assert_cmpstr (joined, ==, "0.weight 0.bias 2.weight 2.bias");
  g_assert_cmpstr (joined_modules, ==, " 0 1 2");
  g_assert_cmpuint (parameters->len, ==, 4);
  g_assert_cmpint (lp_module_get_n_parameters (net), ==, 4 * 8 + 8 + 8 * 3 + 3);
  g_assert_cmpint (lp_module_get_n_bytes (net), ==, 4 * (4 * 8 + 8 + 8 * 3 + 3));
  g_assert_true (lp_module_lookup_parameter (net, "2.bias") == g_ptr_array_index (parameters, 3));
  g_assert_null (lp_module_lookup_parameter (net, "2.bias.x"));
  g_assert_null (lp_module_lookup_parameter (net, "3.bias"));
  g_assert_true (lp_module_lookup_child (net, "") == net);
  g_assert_cmpstr (lp_module_get_path (lp_module_lookup_child (net, "2")), ==, "2");
}

static void
test_paths_nest (void)
{
  g_autoptr (LpModule) outer = lp_sequential_new ();
  LpModule *inner = new_mlp ();
  g_autoptr (LpModule) other = lp_linear_new_full (8, 3, FALSE);
  g_autoptr (GError) error = NULL;

  lp_module_register_child (outer, "features", inner, &error);
  g_assert_no_error (error);
  g_object_unref (inner);
  g_assert_cmpstr (lp_module_get_path (lp_module_lookup_child (outer, "features.2")), ==, "features.2");

  lp_module_set_child (outer, "features.2", other, &error);
  g_assert_no_error (error);
  g_assert_true (lp_module_lookup_child (outer, "features.2") == other);
  g_assert_cmpstr (lp_module_get_path (other), ==, "features.2");

  g_assert_false (lp_module_set_child (outer, "features.9", other, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_UNKNOWN);
  g_clear_error (&error);
  g_assert_false (lp_module_set_child (outer, "nothing.9", other, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_UNKNOWN);
  g_clear_error (&error);
  g_assert_false (lp_module_set_child (outer, "features.2", outer, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_ARGUMENT);
}

static void
test_register_errors (void)
{
  g_autoptr (LpModule) net = new_mlp ();
  g_autoptr (LpTensor) integers = lp_tensor_zeros ((gint64[]) { 2 }, 1, lp_dtype_i64 (), NULL, NULL);
  g_autoptr (LpTensor) floats = lp_tensor_zeros ((gint64[]) { 2 }, 1, NULL, NULL, NULL);
  g_autoptr (GError) error = NULL;

  g_assert_false (lp_module_register_parameter (net, "a.b", floats, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_ARGUMENT);
  g_clear_error (&error);
  g_assert_false (lp_module_register_parameter (net, "", floats, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_ARGUMENT);
  g_clear_error (&error);
  g_assert_false (lp_module_register_parameter (net, "0", floats, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_EXISTS);
  g_clear_error (&error);
  g_assert_false (lp_module_register_parameter (net, "ids", integers, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_DTYPE);
  g_clear_error (&error);
  g_assert_false (lp_module_register_child (lp_module_lookup_child (net, "0"), "loop", net, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_ARGUMENT);
  g_clear_error (&error);
  g_assert_false (lp_module_set_parameter (net, "0.weight", floats, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_SHAPE);
}

static void
test_forward (void)
{
  g_autoptr (LpModule) net = new_mlp ();
  g_autoptr (LpTensor) x = new_input ((gint64[]) { 5, 4 }, 2);
  g_autoptr (LpTensor) wrong = new_input ((gint64[]) { 5, 3 }, 2);
  g_autoptr (GError) error = NULL;
  g_autoptr (LpTensor) y = lp_module_forward (net, x, &error);

  g_assert_no_error (error);
  g_assert_cmpint (lp_tensor_get_dim (y, 0), ==, 5);
  g_assert_cmpint (lp_tensor_get_dim (y, 1), ==, 3);
  g_assert_true (lp_tensor_get_requires_grad (y));

  g_assert_null (lp_module_forward (net, wrong, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_SHAPE);

  /* chaining: the first error stays */
  g_assert_null (lp_module_forward (net, NULL, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_SHAPE);
}

static void
test_subclass (void)
{
  g_autoptr (LpModule) module = g_object_new (test_module_get_type (), NULL);
  g_autoptr (LpTensor) x = new_input ((gint64[]) { 2 }, 1);
  g_autoptr (LpTensor) y = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_null (lp_module_forward (module, x, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_SUBCLASS);
  g_assert_nonnull (strstr (error->message, "TestModule"));
  g_clear_error (&error);

  for (int mode = 1; mode < 3; mode++)
    {
      ((TestModule *) module)->mode = mode;
      g_assert_null (lp_module_forward (module, x, &error));
      g_assert_error (error, G_IO_ERROR, G_IO_ERROR_FAILED);
      g_clear_error (&error);
    }

  ((TestModule *) module)->mode = 3;
  y = lp_module_forward (module, x, &error);
  g_assert_no_error (error);
  g_assert_true (y == x);
}

static void
test_bad_sizes (void)
{
  g_autoptr (LpTensor) x = new_input ((gint64[]) { 2, 2 }, 2);
  LpModule *modules[] = {
    lp_linear_new (0, 3), lp_linear_new (3, -1), lp_conv2d_new (1, 1, 0), lp_conv2d_new_full (3, 4, 3, 1, 0, 1, 2, TRUE),
    lp_max_pool2d_new (0), lp_avg_pool2d_new_full (2, -1, 0), lp_dropout_new (1.5),
    lp_batch_norm2d_new (0)
  };

  for (guint i = 0; i < G_N_ELEMENTS (modules); i++)
    {
      g_autoptr (LpModule) net = lp_sequential_new ();
      g_autoptr (GError) error = NULL;

      lp_sequential_append (LP_SEQUENTIAL (net), modules[i]);
      g_assert_false (lp_module_check (net, &error));
      g_assert_error (error, LP_ERROR, LP_ERROR_ARGUMENT);
      g_clear_error (&error);
      g_assert_null (lp_module_forward (net, x, &error));
      g_assert_error (error, LP_ERROR, LP_ERROR_ARGUMENT);
    }
}

static void
test_default_dtype (void)
{
  g_autoptr (LpModule) low = NULL;
  g_autoptr (LpModule) plain = NULL;

  lp_default_dtype_push (lp_dtype_bf16 ());
  low = lp_linear_new (3, 2);
  lp_default_dtype_pop ();
  plain = lp_linear_new (3, 2);

  g_assert_true (lp_tensor_get_dtype (lp_linear_get_weight (LP_LINEAR (low))) == lp_dtype_bf16 ());
  g_assert_true (lp_tensor_get_dtype (lp_linear_get_weight (LP_LINEAR (plain))) == lp_dtype_f32 ());
}

static void
test_to_dtype (void)
{
  g_autoptr (LpModule) net = lp_batch_norm2d_new (3);
  LpTensor *weight = lp_module_lookup_parameter (net, "weight");
  g_autoptr (GError) error = NULL;

  g_assert_true (lp_module_to_dtype (net, lp_dtype_f64 (), &error));
  g_assert_no_error (error);
  g_assert_true (lp_module_lookup_parameter (net, "weight") == weight);
  g_assert_true (lp_tensor_get_dtype (weight) == lp_dtype_f64 ());
  g_assert_true (lp_tensor_get_requires_grad (weight));
  g_assert_true (lp_tensor_get_dtype (lp_module_lookup_buffer (net, "running_var")) == lp_dtype_f64 ());

  g_assert_false (lp_module_to_dtype (net, lp_dtype_i32 (), &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_DTYPE);
}

static void
test_state_dict (void)
{
  g_autoptr (LpModule) a = new_mlp ();
  g_autoptr (LpModule) b = new_mlp ();
  g_autoptr (LpModule) smaller = lp_linear_new (4, 8);
  g_autoptr (LpTensor) x = new_input ((gint64[]) { 2, 4 }, 2);
  g_autoptr (LpTensor) ya = NULL;
  g_autoptr (LpTensor) yb = NULL;
  g_autoptr (LpTensorDict) state = lp_module_dup_state_dict (a);
  g_autoptr (LpTensorDict) other = lp_module_dup_state_dict (smaller);
  g_autoptr (GBytes) bytes_a = NULL;
  g_autoptr (GBytes) bytes_b = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_cmpuint (lp_tensor_dict_get_size (state), ==, 4);
  g_assert_false (lp_tensor_get_requires_grad (lp_tensor_dict_lookup (state, "0.weight")));

  g_assert_true (lp_module_load_state_dict (b, state, TRUE, &error));
  g_assert_no_error (error);
  ya = lp_module_forward (a, x, &error);
  yb = lp_module_forward (b, x, &error);
  bytes_a = lp_tensor_dup_bytes (ya, &error);
  bytes_b = lp_tensor_dup_bytes (yb, &error);
  g_assert_true (g_bytes_equal (bytes_a, bytes_b));

  g_assert_false (lp_module_load_state_dict (b, other, TRUE, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_FORMAT);
  g_clear_error (&error);
  g_assert_true (lp_module_load_state_dict (b, other, FALSE, &error));
  g_assert_no_error (error);

  lp_tensor_dict_set (state, "2.bias", x);
  g_assert_false (lp_module_load_state_dict (b, state, FALSE, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_SHAPE);
}

/* A name that is too much is cut in the message. */
static void
test_state_dict_long_name (void)
{
  g_autoptr (LpModule) layer = lp_linear_new_full (4, 2, FALSE);
  g_autoptr (LpTensorDict) state = lp_module_dup_state_dict (layer);
  g_autofree char *name = g_strnfill (80000, 'n');
  g_autoptr (GError) error = NULL;

  lp_tensor_dict_set (state, name, lp_tensor_dict_lookup (state, "weight"));
  g_assert_false (lp_module_load_state_dict (layer, state, TRUE, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_FORMAT);
  g_assert_cmpuint (strlen (error->message), <, 2000);
}

/* Floating dtypes are converted into each other; other numbers are no weights. */
static void
test_state_dict_dtypes (void)
{
  static const struct { const char *dtype; gboolean fits; } rows[] = {
    { "f64", TRUE }, { "bf16", TRUE }, { "f8e4m3", TRUE }, { "nf4", TRUE }, { "i64", FALSE }, { "u8", FALSE }, { "bool", FALSE },
  };
  g_autoptr (LpModule) layer = lp_linear_new_full (4, 2, FALSE);
  g_autoptr (LpTensor) values = lp_tensor_ones ((gint64[]) { 2, 4 }, 2, NULL, NULL, NULL);

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (LpTensorDict) state = lp_tensor_dict_new ();
      g_autoptr (LpDType) dtype = lp_dtype_lookup (rows[i].dtype, NULL);
      g_autoptr (LpTensor) weight = lp_tensor_to_dtype (values, dtype, NULL);
      g_autoptr (GError) error = NULL;

      lp_tensor_dict_set (state, "weight", weight);
      g_assert_cmpint (lp_module_load_state_dict (layer, state, TRUE, &error), ==, rows[i].fits);
      if (!rows[i].fits)
        g_assert_error (error, LP_ERROR, LP_ERROR_DTYPE);
    }
}

static void
test_training (void)
{
  g_autoptr (LpModule) net = lp_sequential_new ();
  g_autoptr (LpTensor) x = lp_tensor_ones ((gint64[]) { 1000 }, 1, NULL, NULL, NULL);
  g_autoptr (LpTensor) y = NULL;
  g_autofree double *values = NULL;
  gsize n;
  guint zeros = 0;

  lp_sequential_append (LP_SEQUENTIAL (net), lp_dropout_new (0.5));
  g_assert_true (lp_module_get_training (net));
  y = lp_module_forward (net, x, NULL);
  values = lp_tensor_dup_doubles (y, &n, NULL);
  for (gsize i = 0; i < n; i++)
    zeros += values[i] == 0;
  g_assert_cmpuint (zeros, >, 400);
  g_assert_cmpuint (zeros, <, 600);
  g_clear_object (&y);
  g_clear_pointer (&values, g_free);

  lp_module_set_training (net, FALSE);
  g_assert_false (lp_module_get_training (lp_module_lookup_child (net, "0")));
  y = lp_module_forward (net, x, NULL);
  values = lp_tensor_dup_doubles (y, &n, NULL);
  for (gsize i = 0; i < n; i++)
    g_assert_cmpfloat (values[i], ==, 1);
}

static void
check_moments (LpTensor *tensor,
               double    mean,
               double    std,
               double    bound)
{
  g_autofree double *values = NULL;
  double sum = 0, squares = 0;
  gsize n;

  values = lp_tensor_dup_doubles (tensor, &n, NULL);
  for (gsize i = 0; i < n; i++)
    {
      g_assert_cmpfloat (fabs (values[i]), <=, bound);
      sum += values[i];
      squares += values[i] * values[i];
    }
  g_assert_cmpfloat (fabs (sum / n - mean), <, 5 * std / sqrt (n));
  g_assert_cmpfloat (fabs (sqrt (squares / n) - std), <, 0.05 * std);
}

static void
test_init_functions (void)
{
  g_autoptr (LpTensor) weight = lp_tensor_zeros ((gint64[]) { 100, 20, 3, 3 }, 4, NULL, NULL, NULL);
  g_autoptr (LpTensor) vector = lp_tensor_zeros ((gint64[]) { 100 }, 1, NULL, NULL, NULL);
  g_autoptr (LpModule) linear = lp_linear_new (400, 100);
  g_autoptr (GError) error = NULL;
  double kaiming = sqrt (2.0 / 180), xavier = sqrt (2.0 / (180 + 900));

  g_assert_true (lp_init_kaiming_uniform (weight, 0, &error));
  check_moments (weight, 0, kaiming, kaiming * sqrt (3));
  g_assert_true (lp_init_kaiming_normal (weight, 0, &error));
  check_moments (weight, 0, kaiming, INFINITY);
  g_assert_true (lp_init_xavier_uniform (weight, 1, &error));
  check_moments (weight, 0, xavier, xavier * sqrt (3));
  g_assert_true (lp_init_xavier_normal (weight, 2, &error));
  check_moments (weight, 0, 2 * xavier, INFINITY);
  check_moments (lp_linear_get_weight (LP_LINEAR (linear)), 0, 0.05 / sqrt (3), 0.05);

  g_assert_false (lp_init_kaiming_uniform (vector, 0, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_SHAPE);
}

static void
test_same_seed (void)
{
  g_autoptr (LpModule) a = NULL;
  g_autoptr (LpModule) b = NULL;
  g_autoptr (GBytes) bytes_a = NULL;
  g_autoptr (GBytes) bytes_b = NULL;

  lp_seed_everything (7);
  a = lp_conv2d_new (3, 4, 3);
  lp_seed_everything (7);
  b = lp_conv2d_new (3, 4, 3);
  bytes_a = lp_tensor_dup_bytes (lp_conv2d_get_weight (LP_CONV2D (a)), NULL);
  bytes_b = lp_tensor_dup_bytes (lp_conv2d_get_weight (LP_CONV2D (b)), NULL);
  g_assert_true (g_bytes_equal (bytes_a, bytes_b));
}

static void
test_convolutional (void)
{
  g_autoptr (LpModule) net = lp_sequential_new ();
  LpSequential *layers = LP_SEQUENTIAL (net);
  g_autoptr (LpTensor) x = new_input ((gint64[]) { 2, 1, 12, 12 }, 4);
  g_autoptr (LpTensor) targets = lp_tensor_new_from_int64s ((gint64[]) { 1, 3 }, 2, (gint64[]) { 2 }, 1, NULL, NULL);
  g_autoptr (GPtrArray) parameters = NULL;
  g_autoptr (GError) error = NULL;
  LpTensor *y, *loss;

  lp_sequential_append (layers, lp_conv2d_new_full (1, 4, 3, 1, 1, 1, 1, TRUE));
  lp_sequential_append (layers, lp_batch_norm2d_new (4));
  lp_sequential_append (layers, lp_gelu_new ());
  lp_sequential_append (layers, lp_max_pool2d_new (2));
  lp_sequential_append (layers, lp_avg_pool2d_new (2));
  lp_sequential_append (layers, lp_flatten_new ());
  lp_sequential_append (layers, lp_linear_new (4 * 3 * 3, 5));

  y = lp_module_forward (net, x, &error);
  loss = lp_tensor_cross_entropy (y, targets, &error);
  g_assert_no_error (error);
  lp_tensor_backward (loss, NULL, &error);
  g_assert_no_error (error);
  g_object_unref (y);
  g_object_unref (loss);

  parameters = lp_module_dup_parameters (net);
  for (guint i = 0; i < parameters->len; i++)
    {
      g_autoptr (LpTensor) grad = lp_tensor_dup_grad (g_ptr_array_index (parameters, i));

      g_assert_nonnull (grad);
    }
  lp_module_zero_grad (net);
  g_assert_null (lp_tensor_dup_grad (g_ptr_array_index (parameters, 0)));

  g_clear_pointer (&parameters, g_ptr_array_unref);
  g_assert_finalize_object (g_steal_pointer (&net));
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/nn/structure", test_structure);
  g_test_add_func ("/nn/paths-nest", test_paths_nest);
  g_test_add_func ("/nn/register-errors", test_register_errors);
  g_test_add_func ("/nn/forward", test_forward);
  g_test_add_func ("/nn/subclass", test_subclass);
  g_test_add_func ("/nn/bad-sizes", test_bad_sizes);
  g_test_add_func ("/nn/default-dtype", test_default_dtype);
  g_test_add_func ("/nn/to-dtype", test_to_dtype);
  g_test_add_func ("/nn/state-dict", test_state_dict);
  g_test_add_func ("/nn/state-dict-dtypes", test_state_dict_dtypes);
  g_test_add_func ("/nn/state-dict-long-name", test_state_dict_long_name);
  g_test_add_func ("/nn/training", test_training);
  g_test_add_func ("/nn/init", test_init_functions);
  g_test_add_func ("/nn/same-seed", test_same_seed);
  g_test_add_func ("/nn/convolutional", test_convolutional);

  return g_test_run ();
}
