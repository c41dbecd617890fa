#include <math.h>
#include <string.h>

#include <lp/trainer/lp-log-private.h>

#include <lp/autograd/lp-grad-mode.h>
#include <lp/core/lp-error.h>

#define WHEN (LP_LOG_ON_STEP | LP_LOG_ON_EPOCH)

static void
free_entry (gpointer data)
{
  LpLogEntry *entry = data;

  g_clear_object (&entry->metric);
  g_clear_object (&entry->metric_state);
  g_clear_pointer (&entry->pending, g_ptr_array_unref);
  g_clear_pointer (&entry->pending_weights, g_array_unref);
  g_free (entry->name);
  g_free (entry);
}

void
_lp_log_init (LpLog *self)
{
  _lp_log_clear (self);
  for (int i = LP_LOG_PHASE_TRAIN; i < LP_LOG_N_PHASES; i++)
    {
      self->entries[i] = g_ptr_array_new_with_free_func (free_entry);
      self->tables[i] = g_hash_table_new (g_str_hash, g_str_equal);
    }
}

void
_lp_log_clear (LpLog *self)
{
  for (int i = LP_LOG_PHASE_TRAIN; i < LP_LOG_N_PHASES; i++)
    {
      g_clear_pointer (&self->tables[i], g_hash_table_unref);
      g_clear_pointer (&self->entries[i], g_ptr_array_unref);
    }
  *self = (LpLog) { LP_LOG_PHASE_NONE, };
}

static void
reset_sums (LpLogEntry *entry)
{
  entry->sum = 0;
  entry->weight = 0;
  entry->min = INFINITY;
  entry->max = -INFINITY;
  if (entry->pending != NULL)
    {
      g_ptr_array_set_size (entry->pending, 0);
      g_array_set_size (entry->pending_weights, 0);
    }
}

static LpLogEntry *
add_entry (LpLog      *self,
           LpLogPhase  phase,
           const char *name,
           LpLogFlags  flags)
{
  LpLogEntry *entry = g_new0 (LpLogEntry, 1);

  entry->name = g_strdup (name);
  entry->flags = flags;
  reset_sums (entry);
  g_ptr_array_add (self->entries[phase], entry);
  g_hash_table_insert (self->tables[phase], entry->name, entry);

  return entry;
}

static LpLogEntry *
get_entry (LpLog       *self,
           const char  *name,
           LpLogFlags   flags,
           GError     **error)
{
  LpLogEntry *entry;

  if (self->phase == LP_LOG_PHASE_NONE)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_STATE,
                   "'%s' can't be logged now: that is possible in training, validation and test steps and the hooks around "
                   "them", name);
      return NULL;
    }

  if ((flags & WHEN) == 0)
    flags |= self->in_step && self->phase == LP_LOG_PHASE_TRAIN ? LP_LOG_ON_STEP : LP_LOG_ON_EPOCH;
  entry = g_hash_table_lookup (self->tables[self->phase], name);
  if (entry == NULL)
    return add_entry (self, self->phase, name, flags);
  if (entry->flags != flags)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_CONFLICT, "'%s' was logged with other flags before", name);
      return NULL;
    }

  return entry;
}

static inline void
add_number (LpLogEntry *entry,
            double      value,
            double      weight)
{
  entry->step_value = value;
  entry->has_step = TRUE;
  entry->fresh = entry->dirty = TRUE;
  entry->sum += (entry->flags & LP_LOG_SUM) != 0 ? value : value * weight;
  entry->weight += weight;
  entry->min = fmin (entry->min, value);
  entry->max = fmax (entry->max, value);
}

gboolean
_lp_log_add_value (LpLog       *self,
                   const char  *name,
                   double       value,
                   double       weight,
                   LpLogFlags   flags,
                   GError     **error)
{
  LpLogEntry *entry = get_entry (self, name, flags, error);

  if (entry == NULL)
    return FALSE;

  add_number (entry, value, weight);
  return TRUE;
}

gboolean
_lp_log_add_tensor (LpLog       *self,
                    const char  *name,
                    LpTensor    *value,
                    double       weight,
                    LpLogFlags   flags,
                    GError     **error)
{
  LpLogEntry *entry;
  GError *local = NULL;
  double number;

  if (!self->defer)
    {
      number = lp_tensor_get_item (value, &local);
      if (local == NULL)
        return _lp_log_add_value (self, name, number, weight, flags, error);

      g_propagate_prefixed_error (error, local, "'%s' can't be logged: ", name);
      return FALSE;
    }

  entry = get_entry (self, name, flags, error);
  if (entry == NULL)
    return FALSE;
  if (entry->pending == NULL)
    {
      entry->pending = g_ptr_array_new_with_free_func (g_object_unref);
      entry->pending_weights = g_array_new (FALSE, FALSE, sizeof (double));
    }
  g_ptr_array_add (entry->pending, lp_tensor_detach (value));
  g_array_append_val (entry->pending_weights, weight);

  return TRUE;
}

/* A metric of the same type and settings that knows nothing yet. */
static LpMetric *
clone_metric (LpMetric *metric)
{
  guint n_pspecs;
  g_autofree GParamSpec **pspecs = g_object_class_list_properties (G_OBJECT_GET_CLASS (metric), &n_pspecs);
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  g_autoptr (GArray) values = g_array_new (FALSE, TRUE, sizeof (GValue));
  LpMetric *clone;

  g_array_set_clear_func (values, (GDestroyNotify) g_value_unset);
  for (guint i = 0; i < n_pspecs; i++)
    {
      GValue value = G_VALUE_INIT;

      if ((pspecs[i]->flags & G_PARAM_READWRITE) != G_PARAM_READWRITE)
        continue;
      g_object_get_property (G_OBJECT (metric), pspecs[i]->name, &value);
      g_ptr_array_add (names, (gpointer) pspecs[i]->name);
      g_array_append_val (values, value);
    }
  clone = (LpMetric *) g_object_new_with_properties (G_OBJECT_TYPE (metric), names->len, (const char **) names->pdata,
                                                     (const GValue *) values->data);

  return clone;
}

/* Gives a metric what a resumed run had gathered before it stopped. */
static gboolean
restore_metric (LpLogEntry  *entry,
                LpMetric    *metric,
                GError     **error)
{
  g_autoptr (LpState) state = g_steal_pointer (&entry->metric_state);
  g_autoptr (LpMetric) earlier = NULL;

  if (state == NULL)
    return TRUE;
  earlier = clone_metric (metric);

  return lp_metric_load_state (earlier, state, error) && lp_metric_merge (metric, earlier, error);
}

gboolean
_lp_log_add_metric (LpLog       *self,
                    const char  *name,
                    LpMetric    *metric,
                    LpLogFlags   flags,
                    GError     **error)
{
  LpLogEntry *entry;
  GError *local = NULL;

  if ((flags & WHEN) == 0)
    flags |= LP_LOG_ON_EPOCH;
  entry = get_entry (self, name, flags, error);
  if (entry == NULL || !restore_metric (entry, metric, error))
    return FALSE;

  g_set_object (&entry->metric, metric);
  entry->fresh = entry->dirty = TRUE;
  if ((entry->flags & LP_LOG_ON_STEP) == 0)
    return TRUE;

  entry->step_value = lp_metric_compute_value (metric, &local);
  entry->has_step = local == NULL;
  if (local != NULL)
    g_propagate_error (error, local);

  return entry->has_step;
}

static gboolean
settle_entry (LpLogEntry  *entry,
              GError     **error)
{
  if (entry->pending == NULL)
    return TRUE;

  for (guint i = 0; i < entry->pending->len; i++)
    {
      GError *local = NULL;
      double value = lp_tensor_get_item (g_ptr_array_index (entry->pending, i), &local);

      if (local != NULL)
        {
          g_propagate_error (error, local);
          return FALSE;
        }
      add_number (entry, value, g_array_index (entry->pending_weights, double, i));
    }
  g_ptr_array_set_size (entry->pending, 0);
  g_array_set_size (entry->pending_weights, 0);

  return TRUE;
}

gboolean
_lp_log_settle (LpLog   *self,
                GError **error)
{
  for (int phase = LP_LOG_PHASE_TRAIN; phase < LP_LOG_N_PHASES; phase++)
    for (guint i = 0; self->defer && i < self->entries[phase]->len; i++)
      if (!settle_entry (g_ptr_array_index (self->entries[phase], i), error))
        return FALSE;

  return TRUE;
}

void
_lp_log_start_epoch (LpLog      *self,
                     LpLogPhase  phase)
{
  for (guint i = 0; i < self->entries[phase]->len; i++)
    {
      LpLogEntry *entry = g_ptr_array_index (self->entries[phase], i);

      reset_sums (entry);
      g_clear_object (&entry->metric_state);
      entry->fresh = entry->dirty = FALSE;
      if (entry->metric != NULL)
        lp_metric_reset (entry->metric);
    }
}

void
_lp_log_forget (LpLog      *self,
                LpLogPhase  phase)
{
  g_hash_table_remove_all (self->tables[phase]);
  g_ptr_array_set_size (self->entries[phase], 0);
}

static double
reduce (LpLogEntry *entry)
{
  if ((entry->flags & LP_LOG_SUM) != 0)
    return entry->sum;
  if ((entry->flags & LP_LOG_MIN) != 0)
    return entry->min;
  if ((entry->flags & LP_LOG_MAX) != 0)
    return entry->max;

  return entry->sum / entry->weight;
}

gboolean
_lp_log_finish_epoch (LpLog       *self,
                      LpLogPhase   phase,
                      GError     **error)
{
  if (!_lp_log_settle (self, error))
    return FALSE;

  for (guint i = 0; i < self->entries[phase]->len; i++)
    {
      LpLogEntry *entry = g_ptr_array_index (self->entries[phase], i);
      GError *local = NULL;

      if ((entry->flags & LP_LOG_ON_EPOCH) == 0 || !entry->dirty)
        continue;
      if (entry->metric_state != NULL)
        entry->epoch_value = entry->sum;   /* what it was when the run stopped; nothing was added since */
      else
        entry->epoch_value = entry->metric != NULL ? lp_metric_compute_value (entry->metric, &local) : reduce (entry);
      if (local != NULL)
        {
          g_propagate_error (error, local);
          return FALSE;
        }
      entry->has_epoch = TRUE;
      entry->dirty = FALSE;
      g_clear_object (&entry->metric_state);
      reset_sums (entry);
      if (entry->metric != NULL)
        lp_metric_reset (entry->metric);
    }

  return TRUE;
}

static void
add_pair (GVariantBuilder *builder,
          LpLogEntry      *entry,
          const char      *suffix,
          double           value)
{
  g_autofree char *name = (entry->flags & WHEN) == WHEN ? g_strconcat (entry->name, suffix, NULL) : NULL;

  g_variant_builder_add (builder, "{sd}", name != NULL ? name : entry->name, value);
}

GVariant *
_lp_log_dup_step (LpLog      *self,
                  LpLogPhase  phase,
                  gint64      epoch)
{
  GVariantBuilder builder;
  gboolean any = FALSE;

  g_variant_builder_init (&builder, G_VARIANT_TYPE ("a{sd}"));
  for (guint i = 0; i < self->entries[phase]->len; i++)
    {
      LpLogEntry *entry = g_ptr_array_index (self->entries[phase], i);

      if ((entry->flags & LP_LOG_ON_STEP) == 0 || (entry->flags & LP_LOG_NO_LOGGER) != 0 || !entry->has_step)
        continue;
      add_pair (&builder, entry, "_step", entry->step_value);
      any = TRUE;
    }
  if (any)
    g_variant_builder_add (&builder, "{sd}", "epoch", (double) epoch);

  return g_variant_builder_end (&builder);
}

GVariant *
_lp_log_dup_epoch (LpLog      *self,
                   LpLogPhase  phase,
                   gint64      epoch)
{
  GVariantBuilder builder;
  gboolean any = FALSE;

  g_variant_builder_init (&builder, G_VARIANT_TYPE ("a{sd}"));
  for (guint i = 0; i < self->entries[phase]->len; i++)
    {
      LpLogEntry *entry = g_ptr_array_index (self->entries[phase], i);

      if (!entry->fresh || !entry->has_epoch || (entry->flags & LP_LOG_NO_LOGGER) != 0)
        continue;
      add_pair (&builder, entry, "_epoch", entry->epoch_value);
      any = TRUE;
    }
  if (any)
    g_variant_builder_add (&builder, "{sd}", "epoch", (double) epoch);

  return g_variant_builder_end (&builder);
}

static void
add_all (GVariantBuilder *builder,
         LpLogEntry      *entry)
{
  if (entry->has_step && (entry->flags & LP_LOG_ON_STEP) != 0)
    add_pair (builder, entry, "_step", entry->step_value);
  if (entry->has_epoch && (entry->flags & LP_LOG_ON_EPOCH) != 0)
    add_pair (builder, entry, "_epoch", entry->epoch_value);
  if (entry->has_epoch && (entry->flags & WHEN) == WHEN)
    g_variant_builder_add (builder, "{sd}", entry->name, entry->epoch_value);
}

GVariant *
_lp_log_dup_all (LpLog      *self,
                 LpLogFlags  required,
                 LpLogFlags  excluded)
{
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE ("a{sd}"));
  for (int phase = LP_LOG_PHASE_TRAIN; phase < LP_LOG_N_PHASES; phase++)
    for (guint i = 0; self->entries[phase] != NULL && i < self->entries[phase]->len; i++)
      {
        LpLogEntry *entry = g_ptr_array_index (self->entries[phase], i);

        if ((entry->flags & required) == required && (entry->flags & excluded) == 0)
          add_all (&builder, entry);
      }

  return g_variant_builder_end (&builder);
}

GVariant *
_lp_log_dup_results (LpLog *self)
{
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE ("a{sd}"));
  for (guint i = 0; i < self->entries[LP_LOG_PHASE_EVAL]->len; i++)
    {
      LpLogEntry *entry = g_ptr_array_index (self->entries[LP_LOG_PHASE_EVAL], i);

      if (entry->has_epoch)
        g_variant_builder_add (&builder, "{sd}", entry->name, entry->epoch_value);
    }

  return g_variant_builder_end (&builder);
}

gboolean
_lp_log_lookup (LpLog      *self,
                const char *name,
                double     *value)
{
  g_autoptr (GVariant) all = g_variant_ref_sink (_lp_log_dup_all (self, 0, 0));

  return g_variant_lookup (all, name, "d", value);
}

static gboolean
save_entry (LpLogEntry       *entry,
            LpLogPhase        phase,
            LpState          *state,
            GVariantBuilder  *builder,
            GError          **error)
{
  g_autoptr (LpState) metric_state = NULL;
  g_autoptr (GVariant) values = NULL;
  g_auto (GStrv) names = NULL;
  double sum = entry->sum;

  if (entry->metric != NULL)
    {
      sum = lp_metric_compute_value (entry->metric, NULL);
      metric_state = lp_metric_save_state (entry->metric, error);
      if (metric_state == NULL)
        return FALSE;
      values = lp_state_dup_values (metric_state);
      names = lp_tensor_dict_dup_names (lp_state_get_tensors (metric_state));
    }
  else
    values = g_variant_ref_sink (g_variant_new_array (G_VARIANT_TYPE ("{sv}"), NULL, 0));

  g_variant_builder_add (builder, "(ysuddddddbbb@a{sv})", (guchar) phase, entry->name, (guint) entry->flags, sum,
                         entry->weight, entry->min, entry->max, entry->step_value, entry->epoch_value, entry->has_step,
                         entry->has_epoch, entry->fresh, values);
  for (guint i = 0; names != NULL && names[i] != NULL; i++)
    {
      g_autofree char *key = g_strdup_printf ("log.%d.%s.%s", phase, entry->name, names[i]);

      lp_tensor_dict_set (lp_state_get_tensors (state), key,
                          lp_tensor_dict_lookup (lp_state_get_tensors (metric_state), names[i]));
    }

  return TRUE;
}

gboolean
_lp_log_save (LpLog    *self,
              LpState  *state,
              GError  **error)
{
  g_auto (GVariantBuilder) builder = G_VARIANT_BUILDER_INIT (G_VARIANT_TYPE ("a(ysuddddddbbba{sv})"));

  if (!_lp_log_settle (self, error))
    return FALSE;
  for (int phase = LP_LOG_PHASE_TRAIN; phase < LP_LOG_N_PHASES; phase++)
    for (guint i = 0; i < self->entries[phase]->len; i++)
      if (!save_entry (g_ptr_array_index (self->entries[phase], i), phase, state, &builder, error))
        return FALSE;
  lp_state_set_value (state, "log", g_variant_builder_end (&builder));

  return TRUE;
}

static LpState *
make_metric_state (LpState    *state,
                   int         phase,
                   const char *name,
                   GVariant   *values)
{
  g_autoptr (LpTensorDict) tensors = lp_tensor_dict_new ();
  g_auto (GStrv) names = lp_tensor_dict_dup_names (lp_state_get_tensors (state));
  g_autofree char *prefix = g_strdup_printf ("log.%d.%s.", phase, name);

  for (guint i = 0; names[i] != NULL; i++)
    if (g_str_has_prefix (names[i], prefix))
      lp_tensor_dict_set (tensors, names[i] + strlen (prefix),
                          lp_tensor_dict_lookup (lp_state_get_tensors (state), names[i]));
  if (g_variant_n_children (values) == 0 && lp_tensor_dict_get_size (tensors) == 0)
    return NULL;

  return lp_state_new_full (values, tensors);
}

gboolean
_lp_log_load (LpLog    *self,
              LpState  *state,
              GError  **error)
{
  g_autoptr (GVariant) log = lp_state_dup_value (state, "log");
  GVariantIter iter;
  LpLogEntry entry;
  const char *name;
  guchar phase;
  guint flags;
  GVariant *values;

  if (log == NULL || !g_variant_is_of_type (log, G_VARIANT_TYPE ("a(ysuddddddbbba{sv})")))
    {
      g_set_error (error, LP_ERROR, LP_ERROR_FORMAT, "The checkpoint has no usable log");
      return FALSE;
    }

  g_variant_iter_init (&iter, log);
  while (g_variant_iter_next (&iter, "(y&suddddddbbb@a{sv})", &phase, &name, &flags, &entry.sum, &entry.weight, &entry.min,
                              &entry.max, &entry.step_value, &entry.epoch_value, &entry.has_step, &entry.has_epoch,
                              &entry.fresh, &values))
    {
      g_autoptr (GVariant) owned = values;
      LpLogEntry *target;

      if (!(entry.weight >= 0 && isfinite (entry.weight)))
        {
          g_set_error (error, LP_ERROR, LP_ERROR_FORMAT, "The saved weight of the logged value “%s” is %g, which is not a finite number "
                       "that is not below 0", name, entry.weight);
          return FALSE;
        }
      if (phase < LP_LOG_PHASE_TRAIN || phase >= LP_LOG_N_PHASES || g_hash_table_contains (self->tables[phase], name))
        continue;
      target = add_entry (self, phase, name, flags);
      target->sum = entry.sum;
      target->weight = entry.weight;
      target->min = entry.min;
      target->max = entry.max;
      target->step_value = entry.step_value;
      target->epoch_value = entry.epoch_value;
      target->has_step = entry.has_step;
      target->has_epoch = entry.has_epoch;
      target->fresh = entry.fresh;
      target->metric_state = make_metric_state (state, phase, name, values);
      target->dirty = entry.weight > 0 || target->metric_state != NULL;
    }

  return TRUE;
}
