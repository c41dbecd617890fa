#include <lp/metrics/lp-accuracy.h>

#include <math.h>

#include <lp/core/lp-error.h>
#include <lp/metrics/lp-metric-private.h>

/**
 * LpAccuracy:
 *
 * The share of predictions that are right. Predictions are scores `[n, classes]` or classes `[n]`, targets classes `[n]`.
 */
struct _LpAccuracy
{
  LpMetric parent_instance;

  guint    top_k;
  double   right, count;
};

G_DEFINE_FINAL_TYPE (LpAccuracy, lp_accuracy, LP_TYPE_METRIC)

enum
{
  PROP_0,
  PROP_TOP_K,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];

/* Whether fewer than k classes score higher; of equal scores the lower class counts as higher. */
static gboolean
is_right (LpAccuracy *self,
          LpLabels   *labels,
          gsize       row)
{
  gint64 target = labels->targets[row];
  const double *scores;
  guint higher = 0;

  if (labels->scores == NULL)
    return labels->classes[row] == target;
  if (target < 0 || (gsize) target >= labels->n_classes)
    return FALSE;

  scores = labels->scores + row * labels->n_classes;
  for (gsize i = 0; i < labels->n_classes; i++)
    if (scores[i] > scores[target] || (scores[i] == scores[target] && (gint64) i < target))
      higher++;

  return higher < self->top_k && !isnan (scores[target]);
}

static void
lp_accuracy_get_property (GObject    *object,
                          guint       prop_id,
                          GValue     *value,
                          GParamSpec *pspec)
{
  switch (prop_id)
    {
    case PROP_TOP_K:
      g_value_set_uint (value, LP_ACCURACY (object)->top_k);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_accuracy_set_property (GObject      *object,
                          guint         prop_id,
                          const GValue *value,
                          GParamSpec   *pspec)
{
  switch (prop_id)
    {
    case PROP_TOP_K:
      lp_accuracy_set_top_k (LP_ACCURACY (object), g_value_get_uint (value));
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static gboolean
lp_accuracy_update (LpMetric  *metric,
                    LpTensor  *predictions,
                    LpTensor  *targets,
                    GError   **error)
{
  LpAccuracy *self = LP_ACCURACY (metric);
  g_auto (LpLabels) labels = { NULL, };

  if (!_lp_metric_check_targets (metric, targets, error) || !_lp_labels_read (&labels, predictions, targets, error))
    return FALSE;

  for (gsize i = 0; i < labels.n; i++)
    self->right += is_right (self, &labels, i);
  self->count += labels.n;

  return TRUE;
}

static LpTensor *
lp_accuracy_compute (LpMetric  *metric,
                     GError   **error)
{
  LpAccuracy *self = LP_ACCURACY (metric);

  return lp_tensor_scalar (self->count != 0 ? self->right / self->count : NAN, lp_dtype_f64 (), NULL, error);
}

static void
lp_accuracy_reset (LpMetric *metric)
{
  LpAccuracy *self = LP_ACCURACY (metric);

  self->right = 0;
  self->count = 0;
}

static gboolean
lp_accuracy_merge (LpMetric  *metric,
                   LpMetric  *other,
                   GError   **error)
{
  LpAccuracy *self = LP_ACCURACY (metric);
  LpAccuracy *source = LP_ACCURACY (other);

  if (self->top_k != source->top_k)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_CONFLICT, "A top-%u accuracy can't be merged into a top-%u one", source->top_k,
                   self->top_k);
      return FALSE;
    }

  self->right += source->right;
  self->count += source->count;

  return TRUE;
}

static LpState *
lp_accuracy_save_state (LpMetric  *metric,
                        GError   **error)
{
  LpAccuracy *self = LP_ACCURACY (metric);
  LpState *state = lp_state_new ();

  lp_state_set_value (state, "right", g_variant_new_double (self->right));
  lp_state_set_value (state, "count", g_variant_new_double (self->count));

  return state;
}

static gboolean
lp_accuracy_load_state (LpMetric  *metric,
                        LpState   *state,
                        GError   **error)
{
  LpAccuracy *self = LP_ACCURACY (metric);

  return _lp_metric_get_sum (state, "right", &self->right, error) &&
         _lp_metric_get_sum (state, "count", &self->count, error);
}

static void
lp_accuracy_class_init (LpAccuracyClass *klass)
{
  LpMetricClass *metric_class = LP_METRIC_CLASS (klass);

  metric_class->update = lp_accuracy_update;
  metric_class->compute = lp_accuracy_compute;
  metric_class->reset = lp_accuracy_reset;
  metric_class->merge = lp_accuracy_merge;
  metric_class->save_state = lp_accuracy_save_state;
  metric_class->load_state = lp_accuracy_load_state;

  G_OBJECT_CLASS (klass)->get_property = lp_accuracy_get_property;
  G_OBJECT_CLASS (klass)->set_property = lp_accuracy_set_property;

  /**
   * LpAccuracy:top-k:
   *
   * How many of the classes with the highest scores may hold the right one.
   */
  properties[PROP_TOP_K] =
    g_param_spec_uint ("top-k", NULL, NULL, 1, G_MAXUINT, 1,
                       G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  g_object_class_install_properties (G_OBJECT_CLASS (klass), N_PROPS, properties);
}

static void
lp_accuracy_init (LpAccuracy *self)
{
  self->top_k = 1;
}

/**
 * lp_accuracy_new:
 *
 * Creates an accuracy.
 *
 * Returns: (transfer full): the metric
 */
LpMetric *
lp_accuracy_new (void)
{
  return g_object_new (LP_TYPE_ACCURACY, NULL);
}

/**
 * lp_accuracy_get_top_k:
 * @self: an accuracy
 *
 * Gets how many of the classes with the highest scores may hold the right one.
 *
 * Returns: the number of classes
 */
guint
lp_accuracy_get_top_k (LpAccuracy *self)
{
  g_return_val_if_fail (LP_IS_ACCURACY (self), 1);

  return self->top_k;
}

/**
 * lp_accuracy_set_top_k:
 * @self: an accuracy
 * @top_k: the number of classes, at least 1
 *
 * Sets how many of the classes with the highest scores may hold the right one.
 */
void
lp_accuracy_set_top_k (LpAccuracy *self,
                       guint       top_k)
{
  g_return_if_fail (LP_IS_ACCURACY (self));
  g_return_if_fail (top_k > 0);

  if (self->top_k == top_k)
    return;

  self->top_k = top_k;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_TOP_K]);
}
