#include <lp/metrics/lp-metric.h>

#include <math.h>

#include <lp/core/lp-error.h>
#include <lp/metrics/lp-metric-private.h>

/**
 * LpMetric:
 *
 * A number or table about predictions, gathered batch by batch.
 *
 * Metrics count in float64 and int64, whatever dtype the predictions have.
 */
G_DEFINE_ABSTRACT_TYPE (LpMetric, lp_metric, G_TYPE_OBJECT)

static void
set_missing (LpMetric    *self,
             const char  *method,
             GError     **error)
{
  g_set_error (error, LP_ERROR, LP_ERROR_NOT_SUPPORTED, "%s does not implement %s", G_OBJECT_TYPE_NAME (self), method);
}

static gboolean
lp_metric_real_update (LpMetric  *self,
                       LpTensor  *predictions,
                       LpTensor  *targets,
                       GError   **error)
{
  set_missing (self, "update", error);

  return FALSE;
}

static LpTensor *
lp_metric_real_compute (LpMetric  *self,
                        GError   **error)
{
  set_missing (self, "compute", error);

  return NULL;
}

static void
lp_metric_real_reset (LpMetric *self)
{
}

static gboolean
lp_metric_real_merge (LpMetric  *self,
                      LpMetric  *other,
                      GError   **error)
{
  set_missing (self, "merge", error);

  return FALSE;
}

static LpState *
lp_metric_real_save_state (LpMetric  *self,
                           GError   **error)
{
  return lp_state_new ();
}

static gboolean
lp_metric_real_load_state (LpMetric  *self,
                           LpState   *state,
                           GError   **error)
{
  return TRUE;
}

static void
lp_metric_class_init (LpMetricClass *klass)
{
  klass->update = lp_metric_real_update;
  klass->compute = lp_metric_real_compute;
  klass->reset = lp_metric_real_reset;
  klass->merge = lp_metric_real_merge;
  klass->save_state = lp_metric_real_save_state;
  klass->load_state = lp_metric_real_load_state;
}

static void
lp_metric_init (LpMetric *self)
{
}

/* TRUE, or FALSE with an error: a failure without one gets one that names the subclass. */
static gboolean
check_done (LpMetric    *self,
            const char  *method,
            gboolean     done,
            GError      *local,
            GError     **error)
{
  if (local != NULL)
    g_propagate_error (error, local);
  else if (!done)
    g_set_error (error, LP_ERROR, LP_ERROR_SUBCLASS, "%s.%s failed without an error", G_OBJECT_TYPE_NAME (self), method);

  return local == NULL && done;
}

/**
 * lp_metric_update:
 * @self: a metric
 * @predictions: what the model gave
 * @targets: (nullable): what it should have given
 * @error: return location for an error
 *
 * Takes in one batch.
 *
 * Returns: whether it could. Errors: %LP_ERROR_SHAPE, %LP_ERROR_DTYPE, %LP_ERROR_ARGUMENT, and a subclass's own
 */
gboolean
lp_metric_update (LpMetric  *self,
                  LpTensor  *predictions,
                  LpTensor  *targets,
                  GError   **error)
{
  GError *local = NULL;
  gboolean done;

  g_return_val_if_fail (LP_IS_METRIC (self), FALSE);
  g_return_val_if_fail (LP_IS_TENSOR (predictions), FALSE);

  done = LP_METRIC_GET_CLASS (self)->update (self, predictions, targets, &local);

  return check_done (self, "update", done, local, error);
}

/**
 * lp_metric_compute:
 * @self: a metric
 * @error: return location for an error
 *
 * Gets the value of everything taken in since the last reset. Without anything it is NaN, or a table of zeros.
 *
 * Returns: (transfer full): the value. Errors: a subclass's own
 */
LpTensor *
lp_metric_compute (LpMetric  *self,
                   GError   **error)
{
  GError *local = NULL;
  LpTensor *value;

  g_return_val_if_fail (LP_IS_METRIC (self), NULL);

  value = LP_METRIC_GET_CLASS (self)->compute (self, &local);
  if (local == NULL && !LP_IS_TENSOR (value))
    g_set_error (&local, LP_ERROR, LP_ERROR_SUBCLASS, "%s.compute returned no tensor and no error",
                 G_OBJECT_TYPE_NAME (self));
  if (local == NULL)
    return value;

  g_clear_object (&value);
  g_propagate_error (error, local);
  return NULL;
}

/**
 * lp_metric_compute_value:
 * @self: a metric
 * @error: return location for an error
 *
 * Gets the value of a metric whose value is one number.
 *
 * Returns: the value; NaN with an error. Errors: %LP_ERROR_SHAPE if it is a table, and a subclass's own
 */
double
lp_metric_compute_value (LpMetric  *self,
                         GError   **error)
{
  g_autoptr (LpTensor) value = NULL;
  GError *local = NULL;
  double number;

  g_return_val_if_fail (LP_IS_METRIC (self), NAN);

  value = lp_metric_compute (self, error);
  if (value == NULL)
    return NAN;

  number = lp_tensor_get_item (value, &local);
  if (local == NULL)
    return number;

  g_propagate_error (error, local);
  return NAN;
}

/**
 * lp_metric_reset:
 * @self: a metric
 *
 * Forgets everything that was taken in.
 */
void
lp_metric_reset (LpMetric *self)
{
  g_return_if_fail (LP_IS_METRIC (self));

  LP_METRIC_GET_CLASS (self)->reset (self);
}

/**
 * lp_metric_merge:
 * @self: a metric
 * @other: another one of the same type and settings
 * @error: return location for an error
 *
 * Takes in what another metric has taken in.
 *
 * Returns: whether it could. Errors: %LP_ERROR_CONFLICT for another type or other settings, and a subclass's own
 */
gboolean
lp_metric_merge (LpMetric  *self,
                 LpMetric  *other,
                 GError   **error)
{
  GError *local = NULL;
  gboolean done;

  g_return_val_if_fail (LP_IS_METRIC (self), FALSE);
  g_return_val_if_fail (LP_IS_METRIC (other), FALSE);

  if (G_OBJECT_TYPE (self) != G_OBJECT_TYPE (other))
    {
      g_set_error (error, LP_ERROR, LP_ERROR_CONFLICT, "A %s can't be merged into a %s", G_OBJECT_TYPE_NAME (other),
                   G_OBJECT_TYPE_NAME (self));
      return FALSE;
    }

  done = LP_METRIC_GET_CLASS (self)->merge (self, other, &local);

  return check_done (self, "merge", done, local, error);
}

/**
 * lp_metric_save_state:
 * @self: a metric
 * @error: return location for an error
 *
 * Gets what was taken in.
 *
 * Returns: (transfer full): the state. Errors: a subclass's own
 */
LpState *
lp_metric_save_state (LpMetric  *self,
                      GError   **error)
{
  GError *local = NULL;
  LpState *state;

  g_return_val_if_fail (LP_IS_METRIC (self), NULL);

  state = LP_METRIC_GET_CLASS (self)->save_state (self, &local);
  if (local == NULL && !LP_IS_STATE (state))
    g_set_error (&local, LP_ERROR, LP_ERROR_SUBCLASS, "%s.save_state returned no LpState and no error",
                 G_OBJECT_TYPE_NAME (self));
  if (local == NULL)
    return state;

  g_clear_object (&state);
  g_propagate_error (error, local);
  return NULL;
}

/**
 * lp_metric_load_state:
 * @self: a metric
 * @state: what [method@Metric.save_state] gave
 * @error: return location for an error
 *
 * Goes on from a saved state.
 *
 * Returns: whether it could. Errors: %LP_ERROR_FORMAT, and a subclass's own
 */
gboolean
lp_metric_load_state (LpMetric  *self,
                      LpState   *state,
                      GError   **error)
{
  GError *local = NULL;
  gboolean done;

  g_return_val_if_fail (LP_IS_METRIC (self), FALSE);
  g_return_val_if_fail (LP_IS_STATE (state), FALSE);

  done = LP_METRIC_GET_CLASS (self)->load_state (self, state, &local);

  return check_done (self, "load_state", done, local, error);
}

/* Sums of the built-in metrics, under plain names. */
gboolean
_lp_metric_get_sum (LpState     *state,
                    const char  *name,
                    double      *sum,
                    GError     **error)
{
  g_autoptr (GVariant) value = lp_state_dup_value (state, name);

  if (value == NULL || !g_variant_is_of_type (value, G_VARIANT_TYPE_DOUBLE))
    {
      g_set_error (error, LP_ERROR, LP_ERROR_FORMAT, "The state of the metric has no number '%s'", name);
      return FALSE;
    }
  *sum = g_variant_get_double (value);

  return TRUE;
}

gboolean
_lp_metric_check_targets (LpMetric  *self,
                          LpTensor  *targets,
                          GError   **error)
{
  if (targets != NULL)
    return TRUE;

  g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT, "%s needs targets", G_OBJECT_TYPE_NAME (self));
  return FALSE;
}
