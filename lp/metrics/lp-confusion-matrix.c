#include <lp/metrics/lp-confusion-matrix.h>

#include <lp/core/lp-error.h>
#include <lp/metrics/lp-metric-private.h>

/**
 * LpConfusionMatrix:
 *
 * How often each class was taken for each: a table `[classes, classes]` of i64 whose rows are the right classes and whose
 * columns are the predicted ones.
 */
struct _LpConfusionMatrix
{
  LpMetric  parent_instance;

  guint     num_classes;
  gint64   *counts;
};

G_DEFINE_FINAL_TYPE (LpConfusionMatrix, lp_confusion_matrix, LP_TYPE_METRIC)

enum
{
  PROP_0,
  PROP_NUM_CLASSES,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];

static gsize
get_n_cells (LpConfusionMatrix *self)
{
  return (gsize) self->num_classes * self->num_classes;
}

static gboolean
check_classes (LpConfusionMatrix  *self,
               LpLabels           *labels,
               GError            **error)
{
  for (gsize i = 0; i < labels->n; i++)
    {
      gint64 target = labels->targets[i];
      gint64 predicted = _lp_labels_get (labels, i);

      if (target < 0 || target >= self->num_classes || predicted < 0 || predicted >= self->num_classes)
        {
          g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT,
                       "Row %" G_GSIZE_FORMAT " has target %" G_GINT64_FORMAT " and prediction %" G_GINT64_FORMAT
                       ", but there are %u classes", i, target, predicted, self->num_classes);
          return FALSE;
        }
    }

  return TRUE;
}

static gboolean
lp_confusion_matrix_update (LpMetric  *metric,
                            LpTensor  *predictions,
                            LpTensor  *targets,
                            GError   **error)
{
  LpConfusionMatrix *self = LP_CONFUSION_MATRIX (metric);
  g_auto (LpLabels) labels = { NULL, };

  if (!_lp_metric_check_targets (metric, targets, error) || !_lp_labels_read (&labels, predictions, targets, error) ||
      !check_classes (self, &labels, error))
    return FALSE;

  for (gsize i = 0; i < labels.n; i++)
    self->counts[labels.targets[i] * self->num_classes + _lp_labels_get (&labels, i)]++;

  return TRUE;
}

static LpTensor *
lp_confusion_matrix_compute (LpMetric  *metric,
                             GError   **error)
{
  LpConfusionMatrix *self = LP_CONFUSION_MATRIX (metric);
  gint64 dims[2] = { self->num_classes, self->num_classes };

  return lp_tensor_new_from_int64s (self->counts, get_n_cells (self), dims, 2, lp_dtype_i64 (), error);
}

static void
lp_confusion_matrix_reset (LpMetric *metric)
{
  LpConfusionMatrix *self = LP_CONFUSION_MATRIX (metric);

  for (gsize i = 0; i < get_n_cells (self); i++)
    self->counts[i] = 0;
}

static gboolean
check_num_classes (LpConfusionMatrix  *self,
                   gsize               n_cells,
                   GError            **error)
{
  if (n_cells == get_n_cells (self))
    return TRUE;

  g_set_error (error, LP_ERROR, LP_ERROR_CONFLICT, "A table of %" G_GSIZE_FORMAT " cells doesn't fit %u classes", n_cells,
               self->num_classes);
  return FALSE;
}

static gboolean
lp_confusion_matrix_merge (LpMetric  *metric,
                           LpMetric  *other,
                           GError   **error)
{
  LpConfusionMatrix *self = LP_CONFUSION_MATRIX (metric);
  LpConfusionMatrix *source = LP_CONFUSION_MATRIX (other);

  if (!check_num_classes (self, get_n_cells (source), error))
    return FALSE;
  for (gsize i = 0; i < get_n_cells (self); i++)
    self->counts[i] += source->counts[i];

  return TRUE;
}

static LpState *
lp_confusion_matrix_save_state (LpMetric  *metric,
                                GError   **error)
{
  g_autoptr (LpTensor) counts = lp_confusion_matrix_compute (metric, error);
  LpState *state;

  if (counts == NULL)
    return NULL;

  state = lp_state_new ();
  lp_tensor_dict_set (lp_state_get_tensors (state), "counts", counts);

  return state;
}

static gboolean
lp_confusion_matrix_load_state (LpMetric  *metric,
                                LpState   *state,
                                GError   **error)
{
  LpConfusionMatrix *self = LP_CONFUSION_MATRIX (metric);
  LpTensor *tensor = lp_tensor_dict_lookup (lp_state_get_tensors (state), "counts");
  g_autofree gint64 *counts = NULL;
  gsize n_cells;

  if (tensor == NULL)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_FORMAT, "The state of the metric has no tensor 'counts'");
      return FALSE;
    }

  counts = lp_tensor_dup_int64s (tensor, &n_cells, error);
  if (counts == NULL || !check_num_classes (self, n_cells, error))
    return FALSE;

  g_free (self->counts);
  self->counts = g_steal_pointer (&counts);

  return TRUE;
}

static void
lp_confusion_matrix_get_property (GObject    *object,
                                  guint       prop_id,
                                  GValue     *value,
                                  GParamSpec *pspec)
{
  switch (prop_id)
    {
    case PROP_NUM_CLASSES:
      g_value_set_uint (value, LP_CONFUSION_MATRIX (object)->num_classes);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_confusion_matrix_set_property (GObject      *object,
                                  guint         prop_id,
                                  const GValue *value,
                                  GParamSpec   *pspec)
{
  LpConfusionMatrix *self = LP_CONFUSION_MATRIX (object);

  switch (prop_id)
    {
    case PROP_NUM_CLASSES:
      self->num_classes = g_value_get_uint (value);
      self->counts = g_new0 (gint64, get_n_cells (self));
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_confusion_matrix_finalize (GObject *object)
{
  g_free (LP_CONFUSION_MATRIX (object)->counts);

  G_OBJECT_CLASS (lp_confusion_matrix_parent_class)->finalize (object);
}

static void
lp_confusion_matrix_class_init (LpConfusionMatrixClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  LpMetricClass *metric_class = LP_METRIC_CLASS (klass);

  object_class->get_property = lp_confusion_matrix_get_property;
  object_class->set_property = lp_confusion_matrix_set_property;
  object_class->finalize = lp_confusion_matrix_finalize;

  metric_class->update = lp_confusion_matrix_update;
  metric_class->compute = lp_confusion_matrix_compute;
  metric_class->reset = lp_confusion_matrix_reset;
  metric_class->merge = lp_confusion_matrix_merge;
  metric_class->save_state = lp_confusion_matrix_save_state;
  metric_class->load_state = lp_confusion_matrix_load_state;

  /**
   * LpConfusionMatrix:num-classes:
   *
   * How many classes there are.
   */
  properties[PROP_NUM_CLASSES] =
    g_param_spec_uint ("num-classes", NULL, NULL, 1, 1 << 16, 2,
                       G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS);

  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
lp_confusion_matrix_init (LpConfusionMatrix *self)
{
}

/**
 * lp_confusion_matrix_new:
 * @num_classes: how many classes there are, 1 to 65536
 *
 * Creates a table of zeros.
 *
 * Returns: (transfer full): the metric
 */
LpMetric *
lp_confusion_matrix_new (guint num_classes)
{
  g_return_val_if_fail (num_classes > 0 && num_classes <= 1 << 16, NULL);

  return g_object_new (LP_TYPE_CONFUSION_MATRIX, "num-classes", num_classes, NULL);
}

/**
 * lp_confusion_matrix_get_num_classes:
 * @self: a confusion matrix
 *
 * Gets how many classes there are.
 *
 * Returns: the number of classes
 */
guint
lp_confusion_matrix_get_num_classes (LpConfusionMatrix *self)
{
  g_return_val_if_fail (LP_IS_CONFUSION_MATRIX (self), 0);

  return self->num_classes;
}
