#include <lp/metrics/lp-mean-squared-error.h>

#include <math.h>

#include <lp/core/lp-error.h>
#include <lp/metrics/lp-metric-private.h>

/**
 * LpMeanSquaredError:
 *
 * The mean of the squared differences of predictions and targets of one shape.
 */
struct _LpMeanSquaredError
{
  LpMetric parent_instance;

  double   sum, count;
};

G_DEFINE_FINAL_TYPE (LpMeanSquaredError, lp_mean_squared_error, LP_TYPE_METRIC)

static gboolean
lp_mean_squared_error_update (LpMetric  *metric,
                              LpTensor  *predictions,
                              LpTensor  *targets,
                              GError   **error)
{
  LpMeanSquaredError *self = LP_MEAN_SQUARED_ERROR (metric);
  g_autoptr (LpShape) shape = lp_tensor_dup_shape (predictions);
  g_autoptr (LpShape) target_shape = NULL;
  g_autofree double *values = NULL;
  g_autofree double *wanted = NULL;
  gsize n_values;

  if (!_lp_metric_check_targets (metric, targets, error))
    return FALSE;
  target_shape = lp_tensor_dup_shape (targets);
  if (!lp_shape_equal (shape, target_shape))
    {
      g_autofree char *x = lp_shape_to_string (shape);
      g_autofree char *y = lp_shape_to_string (target_shape);

      g_set_error (error, LP_ERROR, LP_ERROR_SHAPE, "Predictions are of shape %s, targets of %s", x, y);
      return FALSE;
    }

  values = lp_tensor_dup_doubles (predictions, &n_values, error);
  wanted = values != NULL ? lp_tensor_dup_doubles (targets, &n_values, error) : NULL;
  if (wanted == NULL)
    return FALSE;

  for (gsize i = 0; i < n_values; i++)
    self->sum += (values[i] - wanted[i]) * (values[i] - wanted[i]);
  self->count += n_values;

  return TRUE;
}

static LpTensor *
lp_mean_squared_error_compute (LpMetric  *metric,
                               GError   **error)
{
  LpMeanSquaredError *self = LP_MEAN_SQUARED_ERROR (metric);

  return lp_tensor_scalar (self->count != 0 ? self->sum / self->count : NAN, lp_dtype_f64 (), NULL, error);
}

static void
lp_mean_squared_error_reset (LpMetric *metric)
{
  LpMeanSquaredError *self = LP_MEAN_SQUARED_ERROR (metric);

  self->sum = 0;
  self->count = 0;
}

static gboolean
lp_mean_squared_error_merge (LpMetric  *metric,
                             LpMetric  *other,
                             GError   **error)
{
  LpMeanSquaredError *self = LP_MEAN_SQUARED_ERROR (metric);
  LpMeanSquaredError *source = LP_MEAN_SQUARED_ERROR (other);

  self->sum += source->sum;
  self->count += source->count;

  return TRUE;
}

static LpState *
lp_mean_squared_error_save_state (LpMetric  *metric,
                                  GError   **error)
{
  LpMeanSquaredError *self = LP_MEAN_SQUARED_ERROR (metric);
  LpState *state = lp_state_new ();

  lp_state_set_value (state, "sum", g_variant_new_double (self->sum));
  lp_state_set_value (state, "count", g_variant_new_double (self->count));

  return state;
}

static gboolean
lp_mean_squared_error_load_state (LpMetric  *metric,
                                  LpState   *state,
                                  GError   **error)
{
  LpMeanSquaredError *self = LP_MEAN_SQUARED_ERROR (metric);

  return _lp_metric_get_sum (state, "sum", &self->sum, error) &&
         _lp_metric_get_sum (state, "count", &self->count, error);
}

static void
lp_mean_squared_error_class_init (LpMeanSquaredErrorClass *klass)
{
  LpMetricClass *metric_class = LP_METRIC_CLASS (klass);

  metric_class->update = lp_mean_squared_error_update;
  metric_class->compute = lp_mean_squared_error_compute;
  metric_class->reset = lp_mean_squared_error_reset;
  metric_class->merge = lp_mean_squared_error_merge;
  metric_class->save_state = lp_mean_squared_error_save_state;
  metric_class->load_state = lp_mean_squared_error_load_state;
}

static void
lp_mean_squared_error_init (LpMeanSquaredError *self)
{
}

/**
 * lp_mean_squared_error_new:
 *
 * Creates a mean squared error.
 *
 * Returns: (transfer full): the metric
 */
LpMetric *
lp_mean_squared_error_new (void)
{
  return g_object_new (LP_TYPE_MEAN_SQUARED_ERROR, NULL);
}
