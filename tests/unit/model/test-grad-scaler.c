#include <math.h>

#include <lp/lp.h>

#include <lp/core/lp-dtype-private.h>
#include <lp/tensor/lp-tensor-private.h>

typedef struct
{
  LpTensor    *parameter;
  LpOptimizer *optimizer;
} Setup;

static Setup
set_up (LpDType *dtype)
{
  Setup setup;
  g_autoptr (GPtrArray) parameters = g_ptr_array_new ();

  setup.parameter = lp_tensor_new_from_doubles ((double[]) { 1 }, 1, (gint64[]) { 1 }, 1, dtype, NULL);
  lp_tensor_set_requires_grad (setup.parameter, TRUE);
  g_ptr_array_add (parameters, setup.parameter);
  setup.optimizer = lp_sgd_new (parameters, 0);

  return setup;
}

static void
tear_down (Setup *setup)
{
  g_object_unref (setup->parameter);
  g_object_unref (setup->optimizer);
}

static void
give_gradient (Setup  *setup,
               double  value)
{
  g_autoptr (LpTensor) grad =
    lp_tensor_new_from_doubles (&value, 1, (gint64[]) { 1 }, 1, lp_tensor_get_dtype (setup->parameter), NULL);

  lp_tensor_set_grad (setup->parameter, grad);
}

static void
start (LpGradScaler *scaler)
{
  g_autoptr (LpTensor) loss = lp_tensor_scalar (1, lp_dtype_f32 (), NULL, NULL);
  g_autoptr (LpTensor) scaled = lp_grad_scaler_scale (scaler, loss, NULL);

  g_assert_cmpfloat (lp_tensor_get_item (scaled, NULL), ==, lp_grad_scaler_get_scale (scaler));
}

static void
run_step (LpGradScaler *scaler,
          Setup        *setup,
          gboolean      overflow)
{
  g_autoptr (GError) error = NULL;

  give_gradient (setup, overflow ? INFINITY : 1);
  g_assert_cmpint (lp_grad_scaler_step (scaler, setup->optimizer, NULL, &error), ==,
                   overflow ? LP_STEP_SKIPPED : LP_STEP_APPLIED);
  g_assert_no_error (error);
  g_assert_true (lp_grad_scaler_update (scaler, &error));
  g_assert_no_error (error);
}

static void
test_vector (void)
{
  const gboolean overflow[] = { FALSE, FALSE, TRUE, FALSE, FALSE, FALSE };
  const double scales[] = { 8, 16, 8, 8, 16, 16 };
  const int trackers[] = { 1, 0, 0, 1, 0, 1 };
  Setup setup = set_up (NULL);
  g_autoptr (LpGradScaler) scaler = lp_grad_scaler_new_full (8, 2, 0.5, 2, TRUE, NULL);

  start (scaler);
  for (guint i = 0; i < G_N_ELEMENTS (scales); i++)
    {
      run_step (scaler, &setup, overflow[i]);
      g_assert_cmpfloat (lp_grad_scaler_get_scale (scaler), ==, scales[i]);
      g_assert_cmpint (lp_grad_scaler_get_growth_tracker (scaler), ==, trackers[i]);
    }
  g_assert_cmpint (lp_grad_scaler_get_n_skipped (scaler), ==, 1);
  tear_down (&setup);
}

static void
test_defaults (void)
{
  Setup setup = set_up (NULL);
  g_autoptr (LpGradScaler) scaler = lp_grad_scaler_new ();
  g_autoptr (LpGradScaler) other = lp_grad_scaler_new ();

  start (scaler);
  for (int i = 0; i < 1999; i++)
    run_step (scaler, &setup, FALSE);
  g_assert_cmpfloat (lp_grad_scaler_get_scale (scaler), ==, 65536);
  run_step (scaler, &setup, FALSE);
  g_assert_cmpfloat (lp_grad_scaler_get_scale (scaler), ==, 131072);
  g_assert_cmpint (lp_grad_scaler_get_growth_tracker (scaler), ==, 0);

  start (other);
  for (int i = 0; i < 1999; i++)
    run_step (other, &setup, FALSE);
  run_step (other, &setup, TRUE);
  g_assert_cmpfloat (lp_grad_scaler_get_scale (other), ==, 32768);
  g_assert_cmpint (lp_grad_scaler_get_growth_tracker (other), ==, 0);
  tear_down (&setup);
}

static void
test_growth_is_finite (void)
{
  Setup setup = set_up (NULL);
  g_autoptr (LpGradScaler) scaler = lp_grad_scaler_new_full (0x1p127, 2, 0.5, 1, TRUE, NULL);

  start (scaler);
  run_step (scaler, &setup, FALSE);
  g_assert_cmpfloat (lp_grad_scaler_get_scale (scaler), ==, 0x1p127);
  tear_down (&setup);
}

static void
test_order (void)
{
  Setup setup = set_up (NULL);
  g_autoptr (LpGradScaler) scaler = lp_grad_scaler_new_full (4, 2, 0.5, 2000, TRUE, NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (LpTensor) grad = NULL;

  give_gradient (&setup, 12);
  g_assert_false (lp_grad_scaler_unscale (scaler, setup.optimizer, &error));
  g_assert_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_SCALER);
  g_clear_error (&error);
  g_assert_false (lp_grad_scaler_update (scaler, &error));
  g_assert_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_SCALER);
  g_clear_error (&error);

  start (scaler);
  g_assert_cmpint (lp_grad_scaler_get_stage (scaler, setup.optimizer), ==, LP_SCALER_READY);
  g_assert_true (lp_grad_scaler_unscale (scaler, setup.optimizer, &error));
  g_assert_no_error (error);
  g_assert_cmpint (lp_grad_scaler_get_stage (scaler, setup.optimizer), ==, LP_SCALER_UNSCALED);
  grad = lp_tensor_dup_grad (setup.parameter);
  g_assert_cmpfloat (lp_tensor_get_item (grad, NULL), ==, 3);
  g_assert_false (lp_grad_scaler_unscale (scaler, setup.optimizer, &error));
  g_assert_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_SCALER);
  g_clear_error (&error);

  g_assert_cmpint (lp_grad_scaler_step (scaler, setup.optimizer, NULL, &error), ==, LP_STEP_APPLIED);
  g_assert_cmpint (lp_grad_scaler_get_stage (scaler, setup.optimizer), ==, LP_SCALER_STEPPED);
  g_assert_cmpint (lp_grad_scaler_step (scaler, setup.optimizer, NULL, &error), ==, LP_STEP_FAILED);
  g_assert_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_SCALER);
  g_clear_error (&error);
  g_assert_false (lp_grad_scaler_unscale (scaler, setup.optimizer, &error));
  g_assert_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_SCALER);
  g_clear_error (&error);
  g_assert_true (lp_grad_scaler_update (scaler, &error));
  g_assert_cmpint (lp_grad_scaler_get_stage (scaler, setup.optimizer), ==, LP_SCALER_READY);

  lp_tensor_set_grad (setup.parameter, NULL);
  g_assert_cmpint (lp_grad_scaler_step (scaler, setup.optimizer, NULL, &error), ==, LP_STEP_FAILED);
  g_assert_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_SCALER);
  tear_down (&setup);
}

static void
test_several_optimizers (void)
{
  Setup a = set_up (NULL), b = set_up (NULL);
  g_autoptr (LpGradScaler) scaler = lp_grad_scaler_new_full (4, 2, 0.5, 2000, TRUE, NULL);
  g_autoptr (GError) error = NULL;

  /* one that overflows doesn't skip the other, but one scale serves both */
  start (scaler);
  give_gradient (&a, INFINITY);
  give_gradient (&b, 1);
  g_assert_cmpint (lp_grad_scaler_step (scaler, a.optimizer, NULL, &error), ==, LP_STEP_SKIPPED);
  g_assert_cmpint (lp_grad_scaler_step (scaler, b.optimizer, NULL, &error), ==, LP_STEP_APPLIED);
  g_assert_true (lp_grad_scaler_update (scaler, &error));
  g_assert_cmpfloat (lp_grad_scaler_get_scale (scaler), ==, 2);

  /* whichever of them it is */
  for (int i = 0; i < 2; i++)
    {
      const double scale = lp_grad_scaler_get_scale (scaler);

      give_gradient (&a, i == 0 ? INFINITY : 1);
      give_gradient (&b, i == 1 ? INFINITY : 1);
      g_assert_cmpint (lp_grad_scaler_step (scaler, a.optimizer, NULL, &error), ==, i == 0 ? LP_STEP_SKIPPED : LP_STEP_APPLIED);
      g_assert_cmpint (lp_grad_scaler_step (scaler, b.optimizer, NULL, &error), ==, i == 1 ? LP_STEP_SKIPPED : LP_STEP_APPLIED);
      g_assert_true (lp_grad_scaler_update (scaler, &error));
      g_assert_cmpfloat (lp_grad_scaler_get_scale (scaler), ==, scale / 2);
    }

  /* one update, however many optimizers */
  give_gradient (&a, 1);
  give_gradient (&b, 1);
  lp_grad_scaler_step (scaler, a.optimizer, NULL, &error);
  lp_grad_scaler_step (scaler, b.optimizer, NULL, &error);
  g_assert_true (lp_grad_scaler_update (scaler, &error));
  g_assert_cmpint (lp_grad_scaler_get_growth_tracker (scaler), ==, 1);
  tear_down (&a);
  tear_down (&b);
}

static void
test_f16_gradients (void)
{
  Setup setup = set_up (lp_dtype_f16 ());
  g_autoptr (LpGradScaler) scaler = lp_grad_scaler_new ();
  g_autoptr (GError) error = NULL;

  start (scaler);
  give_gradient (&setup, 1);
  g_assert_false (lp_grad_scaler_unscale (scaler, setup.optimizer, &error));
  g_assert_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_SCALER);
  tear_down (&setup);
}

static void
test_half_loss (void)
{
  g_autoptr (LpGradScaler) scaler = lp_grad_scaler_new ();
  g_autoptr (LpTensor) loss = lp_tensor_scalar (3, lp_dtype_f16 (), NULL, NULL);
  g_autoptr (LpTensor) scaled = lp_grad_scaler_scale (scaler, loss, NULL);

  /* 3 * 65536 doesn't fit in f16 */
  g_assert_true (lp_tensor_get_dtype (scaled) == lp_dtype_f32 ());
  g_assert_cmpfloat (lp_tensor_get_item (scaled, NULL), ==, 196608);
}

static void
test_disabled (void)
{
  Setup setup = set_up (NULL);
  g_autoptr (LpGradScaler) scaler = lp_grad_scaler_new_full (8, 2, 0.5, 2, FALSE, NULL);
  g_autoptr (LpTensor) loss = lp_tensor_scalar (3, NULL, NULL, NULL);
  g_autoptr (LpTensor) scaled = lp_grad_scaler_scale (scaler, loss, NULL);
  g_autoptr (LpState) state = lp_grad_scaler_save_state (scaler);

  g_assert_true (scaled == loss);
  g_assert_cmpfloat (lp_grad_scaler_get_scale (scaler), ==, 1);
  g_assert_true (lp_state_is_empty (state));
  g_assert_true (lp_grad_scaler_load_state (scaler, state, NULL));
  give_gradient (&setup, 1);
  g_assert_cmpint (lp_grad_scaler_step (scaler, setup.optimizer, NULL, NULL), ==, LP_STEP_APPLIED);
  g_assert_true (lp_grad_scaler_update (scaler, NULL));
  tear_down (&setup);
}

static void
test_bad_values (void)
{
  const double values[][3] = {
    { 0, 2, 0.5 }, { -1, 2, 0.5 }, { INFINITY, 2, 0.5 }, { 1, 1, 0.5 }, { 1, 2, 1 }, { 1, 2, 0 }, { NAN, 2, 0.5 }
  };

  for (guint i = 0; i < G_N_ELEMENTS (values); i++)
    {
      g_autoptr (GError) error = NULL;

      g_assert_null (lp_grad_scaler_new_full (values[i][0], values[i][1], values[i][2], 1, TRUE, &error));
      g_assert_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_SCALER);
    }
}

static void
test_state (void)
{
  Setup setup = set_up (NULL);
  g_autoptr (LpGradScaler) scaler = lp_grad_scaler_new_full (8, 2, 0.5, 3, TRUE, NULL);
  g_autoptr (LpGradScaler) restored = lp_grad_scaler_new ();
  g_autoptr (LpState) state = NULL;
  g_autoptr (LpState) empty = lp_state_new ();
  g_autoptr (GError) error = NULL;

  start (scaler);
  run_step (scaler, &setup, FALSE);
  run_step (scaler, &setup, TRUE);
  run_step (scaler, &setup, FALSE);
  state = lp_grad_scaler_save_state (scaler);
  g_assert_true (lp_grad_scaler_load_state (restored, state, &error));
  g_assert_no_error (error);
  g_assert_cmpfloat (lp_grad_scaler_get_scale (restored), ==, 4);
  g_assert_cmpint (lp_grad_scaler_get_growth_tracker (restored), ==, 1);
  g_assert_cmpint (lp_grad_scaler_get_growth_interval (restored), ==, 3);

  /* a restored scaler can unscale at once */
  run_step (restored, &setup, FALSE);

  g_assert_false (lp_grad_scaler_load_state (restored, empty, &error));
  g_assert_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_STATE);
  g_assert_nonnull (strstr (error->message, "“scale”"));
  g_clear_error (&error);
  lp_state_set_value (state, "scale", g_variant_new_double (-1));
  g_assert_false (lp_grad_scaler_load_state (restored, state, &error));
  g_assert_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_STATE);
  g_assert_cmpfloat (lp_grad_scaler_get_scale (restored), ==, 4);
  tear_down (&setup);
}

/* The message says which field it is and what it holds. */
/* Everything that decides what comes next: a restored scaler goes on as the one that was saved, whatever it was made with. */
static void
test_state_is_whole (void)
{
  Setup setup = set_up (NULL);
  g_autoptr (LpGradScaler) scaler =
    g_object_new (LP_TYPE_GRAD_SCALER, "init-scale", 64.0, "growth-factor", 4.0, "backoff-factor", 0.25, "growth-interval", 3,
                  "hysteresis", 2, "min-scale", 8.0, "max-scale", 128.0, NULL);
  g_autoptr (LpGradScaler) restored = lp_grad_scaler_new ();
  const gboolean before[] = { FALSE, TRUE }, after[] = { TRUE, FALSE, FALSE, FALSE, TRUE, TRUE, TRUE, TRUE, FALSE, FALSE, FALSE, FALSE };
  g_autoptr (LpState) state = NULL;

  start (scaler);
  for (guint i = 0; i < G_N_ELEMENTS (before); i++)
    run_step (scaler, &setup, before[i]);
  state = lp_grad_scaler_save_state (scaler);
  g_assert_true (lp_grad_scaler_load_state (restored, state, NULL));
  g_assert_cmpint (lp_grad_scaler_get_n_skipped (restored), ==, 1);
  for (guint i = 0; i < G_N_ELEMENTS (after); i++)
    {
      run_step (scaler, &setup, after[i]);
      run_step (restored, &setup, after[i]);
      g_assert_cmpfloat (lp_grad_scaler_get_scale (restored), ==, lp_grad_scaler_get_scale (scaler));
      g_assert_cmpint (lp_grad_scaler_get_growth_tracker (restored), ==, lp_grad_scaler_get_growth_tracker (scaler));
    }
  g_assert_cmpint (lp_grad_scaler_get_n_skipped (restored), ==, lp_grad_scaler_get_n_skipped (scaler));
  g_assert_cmpfloat (lp_grad_scaler_get_growth_factor (restored), ==, 4);
  g_assert_cmpfloat (lp_grad_scaler_get_backoff_factor (restored), ==, 0.25);
  tear_down (&setup);
}

static void
test_bad_state (void)
{
  static const struct { const char *name, *value, *shown; } rows[] = {
    { "scale", "-1.0", "-1.0" }, { "scale", "nan", "nan" }, { "scale", "inf", "inf" }, { "scale", "0.0", "0.0" },
    { "scale", "1e300", "1e+300" }, { "scale", "1e-300", "1e-300" }, { "scale", "'abc'", "'abc'" }, { "scale", "@ay []", "[]" },
    { "growth_factor", "1.0", "1.0" }, { "growth_factor", "inf", "inf" }, { "backoff_factor", "nan", "nan" },
    { "growth_interval", "int64 0", "0" }, { "_growth_tracker", "int64 -1", "-1" }, { "_growth_tracker", "int64 3", "3" },
    { "_growth_tracker", "'x'", "'x'" }, { "hysteresis", "int64 0", "0" }, { "hysteresis_tracker", "int64 -77", "-77" },
    { "min_scale", "inf", "inf" }, { "min_scale", "'y'", "'y'" }, { "max_scale", "true", "true" }, { "n_skipped", "int64 -5", "-5" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (LpGradScaler) scaler = lp_grad_scaler_new_full (8, 2, 0.5, 3, TRUE, NULL);
      g_autoptr (LpState) state = lp_grad_scaler_save_state (scaler);
      g_autofree char *field = g_strdup_printf ("“%s”", rows[i].name);
      g_autoptr (GError) error = NULL;

      lp_state_set_value (state, "max_scale", g_variant_new_double (65536));
      lp_state_set_value (state, rows[i].name, g_variant_new_parsed (rows[i].value));
      g_assert_false (lp_grad_scaler_load_state (scaler, state, &error));
      g_assert_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_STATE);
      g_test_message ("%s", error->message);
      g_assert_nonnull (strstr (error->message, field));
      g_assert_nonnull (strstr (error->message, rows[i].shown));
    }
}

/* What the bounds were when the state was saved need not hold the initial scale of the scaler that takes it. */
static void
test_loaded_bounds (void)
{
  g_autoptr (LpGradScaler) wide = g_object_new (LP_TYPE_GRAD_SCALER, "init-scale", 0x1p20, "min-scale", 0x1p18, NULL);
  g_autoptr (LpGradScaler) usual = lp_grad_scaler_new ();
  g_autoptr (LpState) state = lp_grad_scaler_save_state (wide);
  g_autoptr (LpTensor) loss = lp_tensor_scalar (1, lp_dtype_f32 (), NULL, NULL);
  g_autoptr (LpTensor) scaled = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_true (lp_grad_scaler_load_state (usual, state, &error));
  g_assert_true (lp_grad_scaler_check (usual, &error));
  g_assert_no_error (error);
  scaled = lp_grad_scaler_scale (usual, loss, &error);
  g_assert_no_error (error);
  g_assert_cmpfloat (lp_tensor_get_item (scaled, NULL), ==, 0x1p20);
  g_assert_cmpfloat (lp_grad_scaler_get_init_scale (usual), ==, 65536);
}

/* Sequences that a script made by the rules of PyTorch and apex; see golden-scaler.py. */
static void
test_golden (void)
{
  g_autofree char *path = g_test_build_filename (G_TEST_DIST, "golden-scaler.txt", NULL);
  g_autofree char *text = NULL;
  g_auto (GStrv) cases = NULL;
  guint n_steps = 0;

  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  cases = g_strsplit (g_strchomp (text), "\n", -1);
  for (guint i = 0; cases[i] != NULL; i++)
    {
      g_auto (GStrv) fields = g_strsplit (cases[i], " ", -1);
      Setup setup = set_up (NULL);
      g_autoptr (LpGradScaler) scaler = g_object_new (LP_TYPE_GRAD_SCALER,
                                                      "init-scale", g_ascii_strtod (fields[1], NULL),
                                                      "growth-factor", g_ascii_strtod (fields[2], NULL),
                                                      "backoff-factor", g_ascii_strtod (fields[3], NULL),
                                                      "growth-interval", atoi (fields[4]),
                                                      "hysteresis", atoi (fields[5]),
                                                      NULL);

      start (scaler);
      for (guint step = 6; fields[step] != NULL; step++, n_steps++)
        {
          union { float value; guint32 bits; } scale;

          run_step (scaler, &setup, fields[step][0] == 'x');
          scale.value = lp_grad_scaler_get_scale (scaler);
          g_assert_cmphex (scale.bits, ==, strtoul (fields[step] + 1, NULL, 16));
          g_assert_cmpint (lp_grad_scaler_get_growth_tracker (scaler), ==, atoi (strchr (fields[step], ',') + 1));
        }
      tear_down (&setup);
    }
  g_assert_cmpuint (n_steps, ==, 5000);
}

static void
test_bounds (void)
{
  Setup setup = set_up (NULL);
  g_autoptr (LpGradScaler) scaler = g_object_new (LP_TYPE_GRAD_SCALER, "init-scale", 8.0, "growth-interval", 1,
                                                  "min-scale", 3.0, "max-scale", 10.0, NULL);
  g_autoptr (LpGradScaler) bad = g_object_new (LP_TYPE_GRAD_SCALER, "init-scale", 8.0, "min-scale", 9.0, NULL);
  g_autoptr (LpGradScaler) none = g_object_new (LP_TYPE_GRAD_SCALER, "hysteresis", 0, NULL);
  g_autoptr (GError) error = NULL;

  start (scaler);
  run_step (scaler, &setup, FALSE);
  g_assert_cmpfloat (lp_grad_scaler_get_scale (scaler), ==, 10);
  run_step (scaler, &setup, TRUE);
  run_step (scaler, &setup, TRUE);
  g_assert_cmpfloat (lp_grad_scaler_get_scale (scaler), ==, 3);

  g_assert_false (lp_grad_scaler_check (bad, &error));
  g_assert_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_SCALER);
  g_clear_error (&error);
  g_assert_false (lp_grad_scaler_check (none, &error));
  g_assert_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_SCALER);
  tear_down (&setup);
}

static void
count_notify (gpointer object, GParamSpec *pspec, gpointer count)
{
  (*(int *) count)++;
}

static void
test_outcomes (void)
{
  Setup setup = set_up (NULL);
  g_autoptr (LpGradScaler) scaler = lp_grad_scaler_new ();
  int n_scaler = 0, n_optimizer = 0;

  g_signal_connect (scaler, "notify::n-skipped", G_CALLBACK (count_notify), &n_scaler);
  g_signal_connect (setup.optimizer, "notify::last-result", G_CALLBACK (count_notify), &n_optimizer);
  g_assert_cmpint (lp_grad_scaler_get_last_result (scaler), ==, LP_STEP_FAILED);
  start (scaler);
  for (int i = 0; i < 4; i++)
    {
      run_step (scaler, &setup, i % 2);
      g_assert_cmpint (lp_grad_scaler_get_last_result (scaler), ==, i % 2 ? LP_STEP_SKIPPED : LP_STEP_APPLIED);
      g_assert_cmpint (lp_optimizer_get_last_result (setup.optimizer), ==, i % 2 ? LP_STEP_SKIPPED : LP_STEP_APPLIED);
    }
  g_assert_cmpint (lp_grad_scaler_get_n_skipped (scaler), ==, 2);
  g_assert_cmpint (lp_optimizer_get_n_skipped (setup.optimizer), ==, 2);
  g_assert_cmpint (lp_optimizer_get_step_count (setup.optimizer), ==, 2);
  g_assert_cmpint (n_scaler, ==, 2);
  g_assert_cmpint (n_optimizer, ==, 4);
  tear_down (&setup);
}

/* Five steps of AdamW on gradients that are scaled, clipped by norm and unscaled; the weights. With @look the program
 * reads the gradients within the step; @plain leaves the scaler out. */
static void
train (gboolean look,
       gboolean plain,
       double   weights[64])
{
  g_autofree double *values = g_new (double, 64);
  gint64 dims[1] = { 64 };
  g_autoptr (LpTensor) parameter = NULL;
  g_autoptr (GPtrArray) parameters = g_ptr_array_new ();
  g_autoptr (LpOptimizer) optimizer = NULL;
  g_autoptr (LpGradScaler) scaler = lp_grad_scaler_new ();
  g_autoptr (LpGenerator) generator = lp_generator_new (3, 1);
  g_autofree double *result = NULL;
  gsize n;

  for (int i = 0; i < 64; i++)
    values[i] = lp_generator_next_double (generator) - 0.5;
  parameter = lp_tensor_new_from_doubles (values, 64, dims, 1, NULL, NULL);
  lp_tensor_set_requires_grad (parameter, TRUE);
  g_ptr_array_add (parameters, parameter);
  optimizer = lp_adamw_new (parameters, 0.01);

  for (int step = 0; step < 5; step++)
    {
      double factor = plain ? 1 : lp_grad_scaler_get_scale (scaler), norm = 0;
      g_autoptr (LpTensor) slope = NULL;
      g_autoptr (LpTensor) product = NULL;
      g_autoptr (LpTensor) loss = NULL;
      g_autoptr (LpTensor) scaled = NULL;

      for (int i = 0; i < 64; i++)
        {
          values[i] = (float) (lp_generator_next_double (generator) - 0.5);
          norm += values[i] * values[i];
        }
      slope = lp_tensor_new_from_doubles (values, 64, dims, 1, NULL, NULL);
      g_assert_true (lp_optimizer_zero_grad (optimizer, NULL));
      product = lp_tensor_mul (parameter, slope, NULL);
      loss = lp_tensor_sum (product, NULL, 0, FALSE, NULL);
      scaled = plain ? g_object_ref (loss) : lp_grad_scaler_scale (scaler, loss, NULL);
      g_assert_true (lp_tensor_backward (scaled, NULL, NULL));
      g_assert_true (plain || lp_grad_scaler_unscale (scaler, optimizer, NULL));
      g_assert_cmpfloat_with_epsilon (lp_optimizer_compute_grad_norm (optimizer, NULL), sqrt (norm), 1e-6);
      g_assert_cmpfloat (factor, ==, plain ? 1 : 65536);
      if (look)
        {
          g_autoptr (LpTensor) grad = lp_tensor_dup_grad (parameter);
          g_autofree double *seen = lp_tensor_dup_doubles (grad, &n, NULL);

          for (int i = 0; i < 64; i++)
            g_assert_cmpfloat (seen[i], ==, values[i]);
        }
      g_assert_true (lp_optimizer_clip_gradients (optimizer, 0.5, LP_CLIP_NORM, NULL));
      if (plain)
        g_assert_cmpint (lp_optimizer_step (optimizer, NULL, NULL), ==, LP_STEP_APPLIED);
      else
        {
          g_assert_cmpint (lp_grad_scaler_step (scaler, optimizer, NULL, NULL), ==, LP_STEP_APPLIED);
          g_assert_true (lp_grad_scaler_update (scaler, NULL));
        }
    }
  result = lp_tensor_dup_doubles (parameter, &n, NULL);
  memcpy (weights, result, 64 * sizeof (double));
}

/* Fused AdamW, clipping and a scaler: as without a scaler, and whether somebody looks or not, bit for bit. */
static void
test_one_pass (void)
{
  double plain[64], scaled[64], seen[64];

  train (FALSE, TRUE, plain);
  train (FALSE, FALSE, scaled);
  train (TRUE, FALSE, seen);
  for (int i = 0; i < 64; i++)
    {
      g_assert_cmpfloat (scaled[i], ==, plain[i]);
      g_assert_cmpfloat (seen[i], ==, plain[i]);
    }
}

/* The gradients stay as they are in memory until somebody asks for one. */
static void
test_lazy (void)
{
  Setup setup = set_up (NULL);
  g_autoptr (LpGradScaler) scaler = lp_grad_scaler_new_full (4, 2, 0.5, 2000, TRUE, NULL);
  g_autoptr (LpTensor) grad = NULL;
  g_autoptr (LpTensor) again = NULL;

  start (scaler);
  give_gradient (&setup, 12);
  g_assert_true (lp_grad_scaler_unscale (scaler, setup.optimizer, NULL));
  g_assert_nonnull (setup.parameter->grad->factor);
  g_assert_cmpfloat (lp_optimizer_compute_grad_norm (setup.optimizer, NULL), ==, 3);
  grad = lp_tensor_dup_grad (setup.parameter);
  g_assert_null (setup.parameter->grad->factor);
  g_assert_cmpfloat (lp_tensor_get_item (grad, NULL), ==, 3);
  g_assert_cmpfloat (lp_optimizer_compute_grad_norm (setup.optimizer, NULL), ==, 3);
  g_assert_cmpint (lp_grad_scaler_step (scaler, setup.optimizer, NULL, NULL), ==, LP_STEP_APPLIED);
  g_assert_true (lp_grad_scaler_update (scaler, NULL));

  /* from now on the tensor that the program holds is right without asking again */
  give_gradient (&setup, 20);
  g_assert_true (lp_grad_scaler_unscale (scaler, setup.optimizer, NULL));
  g_assert_cmpfloat (lp_tensor_get_item (grad, NULL), ==, 5);
  again = lp_tensor_dup_grad (setup.parameter);
  g_assert_true (again == grad);
  tear_down (&setup);
}

static void
test_rounding (void)
{
  const double f16[][2] = {
    { 65519, 65504 }, { 65520, INFINITY }, { 0x1p-24, 0x1p-24 }, { 0x1p-25, 0 }, { 0x1.8p-25, 0x1p-24 },
    { 1 + 0x1p-11, 1 }, { 1 + 3 * 0x1p-11, 1.001953125 }, { 0.1f, 0.0999755859375 }, { 1e-8, 0 }
  };
  const double bf16[][2] = {
    { 1 + 0x1p-8, 1 }, { 1 + 3 * 0x1p-8, 1.015625 }, { 1 + 0x1p-7, 1 + 0x1p-7 }, { 3.4e38, INFINITY },
    { 0.1f, 0.10009765625 }
  };

  for (guint i = 0; i < G_N_ELEMENTS (f16); i++)
    g_assert_cmpfloat (_lp_f16_to_f32 (_lp_f16_from_f32 (f16[i][0])), ==, f16[i][1]);
  for (guint i = 0; i < G_N_ELEMENTS (bf16); i++)
    g_assert_cmpfloat (_lp_bf16_to_f32 (_lp_bf16_from_f32 (bf16[i][0])), ==, bf16[i][1]);
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/grad-scaler/vector", test_vector);
  g_test_add_func ("/grad-scaler/defaults", test_defaults);
  g_test_add_func ("/grad-scaler/growth-is-finite", test_growth_is_finite);
  g_test_add_func ("/grad-scaler/order", test_order);
  g_test_add_func ("/grad-scaler/several-optimizers", test_several_optimizers);
  g_test_add_func ("/grad-scaler/f16-gradients", test_f16_gradients);
  g_test_add_func ("/grad-scaler/half-loss", test_half_loss);
  g_test_add_func ("/grad-scaler/disabled", test_disabled);
  g_test_add_func ("/grad-scaler/bad-values", test_bad_values);
  g_test_add_func ("/grad-scaler/state", test_state);
  g_test_add_func ("/grad-scaler/state-is-whole", test_state_is_whole);
  g_test_add_func ("/grad-scaler/bad-state", test_bad_state);
  g_test_add_func ("/grad-scaler/loaded-bounds", test_loaded_bounds);
  g_test_add_func ("/grad-scaler/golden", test_golden);
  g_test_add_func ("/grad-scaler/bounds", test_bounds);
  g_test_add_func ("/grad-scaler/outcomes", test_outcomes);
  g_test_add_func ("/grad-scaler/one-pass", test_one_pass);
  g_test_add_func ("/grad-scaler/lazy", test_lazy);
  g_test_add_func ("/grad-scaler/rounding", test_rounding);

  return g_test_run ();
}
