#include <lp/metrics/lp-metric-private.h>

#include <lp/core/lp-error.h>

static gboolean
fail (LpTensor  *predictions,
      LpTensor  *targets,
      GError   **error)
{
  g_autoptr (LpShape) a = lp_tensor_dup_shape (predictions);
  g_autoptr (LpShape) b = lp_tensor_dup_shape (targets);
  g_autofree char *x = lp_shape_to_string (a);
  g_autofree char *y = lp_shape_to_string (b);

  g_set_error (error, LP_ERROR, LP_ERROR_SHAPE,
               "Predictions of shape %s and targets of shape %s don't belong together: scores [n, classes] or classes [n] "
               "go with targets [n]", x, y);
  return FALSE;
}

gboolean
_lp_labels_read (LpLabels  *self,
                 LpTensor  *predictions,
                 LpTensor  *targets,
                 GError   **error)
{
  guint n_dims = lp_tensor_get_n_dims (predictions);
  gsize n_scores;

  if (lp_dtype_is_floating (lp_tensor_get_dtype (targets)))
    {
      g_set_error (error, LP_ERROR, LP_ERROR_DTYPE, "Targets are classes, so their dtype is an integer one, not %s",
                   lp_dtype_get_name (lp_tensor_get_dtype (targets)));
      return FALSE;
    }
  if (lp_tensor_get_n_dims (targets) != 1 || n_dims < 1 || n_dims > 2 ||
      lp_tensor_get_dim (predictions, 0) != lp_tensor_get_dim (targets, 0) ||
      (n_dims == 2 && lp_tensor_get_dim (predictions, 1) == 0))
    return fail (predictions, targets, error);
  if (n_dims == 1 && lp_dtype_is_floating (lp_tensor_get_dtype (predictions)))
    return fail (predictions, targets, error);

  self->targets = lp_tensor_dup_int64s (targets, &self->n, error);
  if (self->targets == NULL)
    return FALSE;
  if (n_dims == 1)
    {
      self->classes = lp_tensor_dup_int64s (predictions, &n_scores, error);
      return self->classes != NULL;
    }

  self->n_classes = lp_tensor_get_dim (predictions, 1);
  self->scores = lp_tensor_dup_doubles (predictions, &n_scores, error);

  return self->scores != NULL;
}

gint64
_lp_labels_get (LpLabels *self,
                gsize     row)
{
  const double *scores;
  gsize best = 0;

  if (self->classes != NULL)
    return self->classes[row];

  scores = self->scores + row * self->n_classes;
  for (gsize i = 1; i < self->n_classes; i++)
    if (scores[i] > scores[best])
      best = i;

  return best;
}

void
_lp_labels_clear (LpLabels *self)
{
  g_clear_pointer (&self->scores, g_free);
  g_clear_pointer (&self->classes, g_free);
  g_clear_pointer (&self->targets, g_free);
}
