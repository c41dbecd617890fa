#include <lp/precision/lp-grad-scaler-private.h>

#include <math.h>

#include <lp/optim/lp-optimizer-private.h>
#include <lp/precision/lp-precision-error.h>

/**
 * lp_grad_scaler_save_state:
 * @self: a scaler
 *
 * Gets what the scaler needs to go on after a restart.
 *
 * Returns: (transfer full): the state, which is empty if the scaler is not enabled
 */
LpState *
lp_grad_scaler_save_state (LpGradScaler *self)
{
  LpState *state;

  g_return_val_if_fail (LP_IS_GRAD_SCALER (self), NULL);

  state = lp_state_new ();
  if (!self->enabled)
    return state;

  lp_state_set_value (state, "scale", g_variant_new_double (self->scale));
  lp_state_set_value (state, "growth_factor", g_variant_new_double (self->growth_factor));
  lp_state_set_value (state, "backoff_factor", g_variant_new_double (self->backoff_factor));
  lp_state_set_value (state, "growth_interval", g_variant_new_int64 (self->growth_interval));
  lp_state_set_value (state, "_growth_tracker", g_variant_new_int64 (self->growth_tracker));
  lp_state_set_value (state, "hysteresis", g_variant_new_int64 (self->hysteresis));
  lp_state_set_value (state, "hysteresis_tracker", g_variant_new_int64 (self->hysteresis_tracker));
  lp_state_set_value (state, "min_scale", g_variant_new_double (self->min_scale));
  lp_state_set_value (state, "max_scale", g_variant_new_double (self->max_scale));
  lp_state_set_value (state, "n_skipped", g_variant_new_int64 (self->n_skipped));

  return state;
}

typedef struct
{
  double scale, growth_factor, backoff_factor, growth_interval, growth_tracker;
  double hysteresis, hysteresis_tracker, min_scale, max_scale, n_skipped;
} SavedScaler;

static gboolean
fail (LpState     *state,
      const char  *name,
      const char  *wanted,
      GError     **error)
{
  g_autoptr (GVariant) value = lp_state_dup_value (state, name);
  g_autofree char *text = value != NULL ? g_variant_print (value, FALSE) : NULL;

  if (text == NULL)
    g_set_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_STATE, "The saved state of the gradient scaler has no “%s”, which is %s",
                 name, wanted);
  else
    g_set_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_STATE,
                 "The saved “%s” of the gradient scaler is %s, which is not %s", name, text, wanted);
  return FALSE;
}

/* The first five are those of PyTorch's scaler; what others don't save stays as it is in @saved. */
static gboolean
read_numbers (LpState      *state,
              SavedScaler  *saved,
              GError      **error)
{
  const struct { const char *name; double *value; gboolean required; } fields[] = {
    { "scale", &saved->scale, TRUE },
    { "growth_factor", &saved->growth_factor, TRUE },
    { "backoff_factor", &saved->backoff_factor, TRUE },
    { "growth_interval", &saved->growth_interval, TRUE },
    { "_growth_tracker", &saved->growth_tracker, TRUE },
    { "hysteresis", &saved->hysteresis, FALSE },
    { "hysteresis_tracker", &saved->hysteresis_tracker, FALSE },
    { "min_scale", &saved->min_scale, FALSE },
    { "max_scale", &saved->max_scale, FALSE },
    { "n_skipped", &saved->n_skipped, FALSE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (fields); i++)
    {
      g_autoptr (GVariant) value = lp_state_dup_value (state, fields[i].name);

      if (value == NULL && !fields[i].required)
        continue;
      if (value == NULL || !_lp_variant_to_double (value, fields[i].value))
        return fail (state, fields[i].name, "a number", error);
    }

  return TRUE;
}

static gboolean
read_state (LpState      *state,
            SavedScaler  *saved,
            GError      **error)
{
  if (!read_numbers (state, saved, error))
    return FALSE;

  const struct { const char *name; gboolean ok; const char *wanted; } checks[] = {
    { "scale", (float) saved->scale > 0 && isfinite ((float) saved->scale), "above 0 and finite in float32" },
    { "growth_factor", saved->growth_factor > 1 && isfinite (saved->growth_factor), "above 1 and finite" },
    { "backoff_factor", saved->backoff_factor > 0 && saved->backoff_factor < 1, "between 0 and 1" },
    { "growth_interval", saved->growth_interval >= 1 && saved->growth_interval <= G_MAXINT, "at least 1" },
    { "_growth_tracker", saved->growth_tracker >= 0 && saved->growth_tracker < saved->growth_interval,
      "at least 0 and below growth_interval" },
    { "hysteresis", saved->hysteresis >= 1 && saved->hysteresis <= G_MAXINT, "at least 1" },
    { "hysteresis_tracker", saved->hysteresis_tracker >= 0 && saved->hysteresis_tracker <= saved->hysteresis, "from 0 to hysteresis" },
    { "min_scale", saved->min_scale >= 0 && saved->min_scale <= saved->max_scale, "from 0 to max_scale" },
    { "n_skipped", saved->n_skipped >= 0 && saved->n_skipped <= 0x1p53, "at least 0" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (checks); i++)
    if (!checks[i].ok)
      return fail (state, checks[i].name, checks[i].wanted, error);

  return TRUE;
}

/**
 * lp_grad_scaler_load_state:
 * @self: a scaler
 * @state: what [method@GradScaler.save_state] gave
 * @error: return location for an error
 *
 * Takes saved state back. A scaler that is not enabled ignores it.
 *
 * Returns: %TRUE on success. Errors: %LP_PRECISION_ERROR_BAD_STATE naming what is missing or makes no sense
 */
gboolean
lp_grad_scaler_load_state (LpGradScaler  *self,
                           LpState       *state,
                           GError       **error)
{
  SavedScaler saved = { 0 };

  g_return_val_if_fail (LP_IS_GRAD_SCALER (self), FALSE);
  g_return_val_if_fail (LP_IS_STATE (state), FALSE);

  if (!self->enabled)
    return TRUE;

  saved.hysteresis = saved.hysteresis_tracker = self->hysteresis;
  saved.min_scale = self->min_scale;
  saved.max_scale = self->max_scale;
  if (!read_state (state, &saved, error))
    return FALSE;

  self->growth_factor = saved.growth_factor;
  self->backoff_factor = saved.backoff_factor;
  self->growth_interval = saved.growth_interval;
  self->growth_tracker = saved.growth_tracker;
  self->hysteresis = saved.hysteresis;
  self->hysteresis_tracker = saved.hysteresis_tracker;
  self->min_scale = saved.min_scale;
  self->max_scale = saved.max_scale;
  self->started = self->loaded = TRUE;
  g_hash_table_remove_all (self->records);
  _lp_grad_scaler_change_skipped (self, saved.n_skipped);
  _lp_grad_scaler_change_scale (self, (float) saved.scale);

  return TRUE;
}
