#include <lp/metrics/lp-mean-metric.h>

#include <math.h>

#include <lp/core/lp-error.h>
#include <lp/metrics/lp-metric-private.h>

/**
 * LpMeanMetric:
 *
 * The mean of numbers. Predictions are the numbers; targets, if given, are their weights.
 */
struct _LpMeanMetric
{
  LpMetric parent_instance;

  double   sum, weight;
};

G_DEFINE_FINAL_TYPE (LpMeanMetric, lp_mean_metric, LP_TYPE_METRIC)

static gboolean
lp_mean_metric_update (LpMetric  *metric,
                       LpTensor  *predictions,
                       LpTensor  *targets,
                       GError   **error)
{
  LpMeanMetric *self = LP_MEAN_METRIC (metric);
  g_autofree double *values = NULL;
  g_autofree double *weights = NULL;
  gsize n_values, n_weights = 0;

  values = lp_tensor_dup_doubles (predictions, &n_values, error);
  if (values == NULL)
    return FALSE;
  if (targets != NULL)
    {
      weights = lp_tensor_dup_doubles (targets, &n_weights, error);
      if (weights == NULL)
        return FALSE;
      if (n_weights != n_values)
        {
          g_set_error (error, LP_ERROR, LP_ERROR_SHAPE,
                       "There are %" G_GSIZE_FORMAT " numbers and %" G_GSIZE_FORMAT " weights", n_values, n_weights);
          return FALSE;
        }
    }

  for (gsize i = 0; i < n_values; i++)
    lp_mean_metric_add_value (self, values[i], weights != NULL ? weights[i] : 1);

  return TRUE;
}

static LpTensor *
lp_mean_metric_compute (LpMetric  *metric,
                        GError   **error)
{
  LpMeanMetric *self = LP_MEAN_METRIC (metric);

  return lp_tensor_scalar (self->weight != 0 ? self->sum / self->weight : NAN, lp_dtype_f64 (), NULL, error);
}

static void
lp_mean_metric_reset (LpMetric *metric)
{
  LpMeanMetric *self = LP_MEAN_METRIC (metric);

  self->sum = 0;
  self->weight = 0;
}

static gboolean
lp_mean_metric_merge (LpMetric  *metric,
                      LpMetric  *other,
                      GError   **error)
{
  LpMeanMetric *self = LP_MEAN_METRIC (metric);
  LpMeanMetric *source = LP_MEAN_METRIC (other);

  self->sum += source->sum;
  self->weight += source->weight;

  return TRUE;
}

static LpState *
lp_mean_metric_save_state (LpMetric  *metric,
                           GError   **error)
{
  LpMeanMetric *self = LP_MEAN_METRIC (metric);
  LpState *state = lp_state_new ();

  lp_state_set_value (state, "sum", g_variant_new_double (self->sum));
  lp_state_set_value (state, "weight", g_variant_new_double (self->weight));

  return state;
}

static gboolean
lp_mean_metric_load_state (LpMetric  *metric,
                           LpState   *state,
                           GError   **error)
{
  LpMeanMetric *self = LP_MEAN_METRIC (metric);

  return _lp_metric_get_sum (state, "sum", &self->sum, error) &&
         _lp_metric_get_sum (state, "weight", &self->weight, error);
}

static void
lp_mean_metric_class_init (LpMeanMetricClass *klass)
{
  LpMetricClass *metric_class = LP_METRIC_CLASS (klass);

  metric_class->update = lp_mean_metric_update;
  metric_class->compute = lp_mean_metric_compute;
  metric_class->reset = lp_mean_metric_reset;
  metric_class->merge = lp_mean_metric_merge;
  metric_class->save_state = lp_mean_metric_save_state;
  metric_class->load_state = lp_mean_metric_load_state;
}

static void
lp_mean_metric_init (LpMeanMetric *self)
{
}

/**
 * lp_mean_metric_new:
 *
 * Creates a mean of numbers.
 *
 * Returns: (transfer full): the metric
 */
LpMetric *
lp_mean_metric_new (void)
{
  return g_object_new (LP_TYPE_MEAN_METRIC, NULL);
}

/**
 * lp_mean_metric_add_value:
 * @self: a mean
 * @value: a number
 * @weight: its weight
 *
 * Takes in one number.
 */
void
lp_mean_metric_add_value (LpMeanMetric *self,
                          double        value,
                          double        weight)
{
  g_return_if_fail (LP_IS_MEAN_METRIC (self));

  self->sum += value * weight;
  self->weight += weight;
}
