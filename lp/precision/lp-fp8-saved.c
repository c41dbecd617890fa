#include <lp/precision/lp-fp8-scaling-private.h>

#include <math.h>
#include <string.h>

#include <lp/ops/lp-ops.h>
#include <lp/precision/lp-precision-error.h>
#include <lp/tensor/lp-tensor-private.h>

/* The scales of fp8 operands and what they were computed from, as they are saved and taken back. */

#define HISTORY_PREFIX "amax-history."

/* One row per operand: what its scale is and what it was computed from. */
LpState *
_lp_fp8_scalings_save (GPtrArray  *scalings,
                       GError    **error)
{
  LpState *state = lp_state_new ();
  g_autoptr (GVariantBuilder) builder = g_variant_builder_new (G_VARIANT_TYPE ("a{s(du)}"));

  for (guint i = 0; i < scalings->len; i++)
    {
      LpFp8Scaling *scaling = g_ptr_array_index (scalings, i);

      g_variant_builder_add (builder, "{s(du)}", scaling->site, scaling->scale, scaling->n_waited);
      if (scaling->history != NULL)
        {
          g_autofree char *name = g_strconcat (HISTORY_PREFIX, scaling->site, NULL);
          g_autoptr (LpTensor) copy = lp_tensor_copy (scaling->history, error);

          if (copy == NULL)
            {
              g_object_unref (state);
              return NULL;
            }
          lp_tensor_dict_set (lp_state_get_tensors (state), name, copy);
        }
    }
  lp_state_set_value (state, "scales", g_variant_builder_end (builder));

  return state;
}

static LpTensor *
lookup_history (LpState    *state,
                const char *site)
{
  g_autofree char *name = g_strconcat (HISTORY_PREFIX, site, NULL);

  return lp_tensor_dict_lookup (lp_state_get_tensors (state), name);
}

/* A run records what it meets: a maximum may be infinite or NaN, but not below 0. */
static gboolean
check_history (LpTensor    *saved,
               const char  *site,
               GError     **error)
{
  g_autofree double *values = NULL;
  gsize n;

  if (lp_tensor_get_dtype (saved) != lp_dtype_f32 () || lp_tensor_get_n_dims (saved) != 1)
    {
      g_set_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_STATE,
                   "The saved “" HISTORY_PREFIX "%s” is in %s, its number of axes %u: a history is in f32 and has one axis", site,
                   lp_dtype_get_name (lp_tensor_get_dtype (saved)), lp_tensor_get_n_dims (saved));
      return FALSE;
    }
  values = lp_tensor_dup_doubles (saved, &n, error);
  for (gsize i = 0; values != NULL && i < n; i++)
    if (values[i] < 0)
      {
        g_set_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_STATE,
                     "Element %" G_GSIZE_FORMAT " of the saved “" HISTORY_PREFIX "%s” is %g: a maximum is at least 0", i, site, values[i]);
        return FALSE;
      }

  return values != NULL;
}

static gboolean
check_saved (GHashTable  *by_site,
             LpState     *state,
             GVariant    *scales,
             GError     **error)
{
  GVariantIter iter;
  const char *site;
  double scale;

  g_variant_iter_init (&iter, scales);
  while (g_variant_iter_next (&iter, "{&s(du)}", &site, &scale, NULL))
    {
      LpFp8Scaling *scaling = g_hash_table_lookup (by_site, site);
      LpTensor *history = lookup_history (state, site);

      if (scaling == NULL)
        continue;
      if (!((float) scale > 0) || isinf ((float) scale))
        {
          g_set_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_STATE, "The saved scale of “%s” is %g: a scale is above 0 and finite",
                       site, scale);
          return FALSE;
        }
      if (scaling->history != NULL && history != NULL && !check_history (history, site, error))
        return FALSE;
    }

  return TRUE;
}

/* What a saved state and the plugin don't have in common. */
typedef enum
{
  NOTE_NO_LAYER,
  NOTE_NO_SCALE,
  NOTE_NO_HISTORY,
  NOTE_OTHER_LENGTH,
  NOTE_NOT_FINITE,
  NOTE_LEFT_OVER,
  N_NOTES
} Note;

typedef struct
{
  GString *names[N_NOTES];
} Notes;

static void
take_note (Notes      *notes,
           Note        note,
           const char *name)
{
  if (notes->names[note] == NULL)
    notes->names[note] = g_string_new (NULL);
  g_string_append_printf (notes->names[note], "%s“%s”", notes->names[note]->len > 0 ? ", " : "", name);
}

static void
tell_notes (Notes *notes)
{
  static const char *const texts[N_NOTES] = {
    [NOTE_NO_LAYER] = "Saved scales are passed over, as no layer of that name computes in fp8",
    [NOTE_NO_SCALE] = "The saved state has no scale for these operands, which keep the one they have",
    [NOTE_NO_HISTORY] = "The saved state has no amax-history for these operands, which start an empty one",
    [NOTE_OTHER_LENGTH] = "These operands have a saved amax-history of another length than the recipe's: the newest maxima that fit are taken",
    [NOTE_NOT_FINITE] = "These operands have a saved amax-history with maxima that are not finite: while they are in it, the scale may stay as it is",
    [NOTE_LEFT_OVER] = "Of the saved state these tensors are passed over, as no operand keeps them",
  };

  for (guint i = 0; i < N_NOTES; i++)
    if (notes->names[i] != NULL)
      {
        g_warning ("%s: %s", texts[i], notes->names[i]->str);
        g_string_free (notes->names[i], TRUE);
      }
}

/* As much of a saved history as there is room for. */
static gboolean
take_history (LpFp8Scaling  *self,
              LpState       *state,
              Notes         *notes,
              GError       **error)
{
  LpTensor *saved = lookup_history (state, self->site);
  const gsize length = (gsize) self->history->array.dims[0];
  float *history = (float *) self->history->array.data;
  g_autofree double *values = NULL;
  gboolean finite = TRUE;
  gsize n;

  memset (history, 0, length * sizeof (float));
  if (saved == NULL)
    {
      take_note (notes, NOTE_NO_HISTORY, self->site);
      return TRUE;
    }
  values = lp_tensor_dup_doubles (saved, &n, error);
  if (values == NULL)
    return FALSE;
  for (gsize i = 0; i < MIN (n, length); i++)
    {
      history[i] = (float) values[i];
      finite = finite && isfinite (history[i]);
    }
  if (n != length)
    take_note (notes, NOTE_OTHER_LENGTH, self->site);
  if (!finite)
    take_note (notes, NOTE_NOT_FINITE, self->site);

  return TRUE;
}

static void
note_left_over (GPtrArray  *scalings,
                GHashTable *by_site,
                LpState    *state,
                GVariant   *scales,
                Notes      *notes)
{
  g_auto (GStrv) tensors = lp_tensor_dict_dup_names (lp_state_get_tensors (state));

  for (guint i = 0; i < scalings->len; i++)
    {
      LpFp8Scaling *scaling = g_ptr_array_index (scalings, i);

      if (!g_variant_lookup (scales, scaling->site, "(du)", NULL, NULL))
        take_note (notes, NOTE_NO_SCALE, scaling->site);
    }
  for (guint i = 0; tensors[i] != NULL; i++)
    {
      const char *site = g_str_has_prefix (tensors[i], HISTORY_PREFIX) ? tensors[i] + strlen (HISTORY_PREFIX) : NULL;
      LpFp8Scaling *scaling = site != NULL ? g_hash_table_lookup (by_site, site) : NULL;
      const gboolean has_scale = site != NULL && g_variant_lookup (scales, site, "(du)", NULL, NULL);

      /* of a layer that is not there was told already */
      if (!has_scale || (scaling != NULL && scaling->history == NULL))
        take_note (notes, NOTE_LEFT_OVER, tensors[i]);
    }
}

gboolean
_lp_fp8_scalings_load (GPtrArray   *scalings,
                       GHashTable  *by_site,
                       LpState     *state,
                       GError     **error)
{
  g_autoptr (GVariant) scales = lp_state_dup_value (state, "scales");
  Notes notes = { { NULL } };
  gboolean ok = TRUE;
  GVariantIter iter;
  const char *site;
  double scale;
  guint n_waited;

  if (scales == NULL || !g_variant_is_of_type (scales, G_VARIANT_TYPE ("a{s(du)}")))
    {
      g_set_error_literal (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_BAD_STATE,
                           "The saved state has no “scales” of fp8 operands, of type a{s(du)}");
      return FALSE;
    }
  if (!check_saved (by_site, state, scales, error))
    return FALSE;

  g_variant_iter_init (&iter, scales);
  while (ok && g_variant_iter_next (&iter, "{&s(du)}", &site, &scale, &n_waited))
    {
      LpFp8Scaling *scaling = g_hash_table_lookup (by_site, site);

      if (scaling == NULL)
        {
          take_note (&notes, NOTE_NO_LAYER, site);
          continue;
        }
      scaling->scale = scale;
      scaling->n_waited = n_waited;
      ok = scaling->history == NULL || take_history (scaling, state, &notes, error);
    }
  note_left_over (scalings, by_site, state, scales, &notes);
  tell_notes (&notes);

  return ok;
}
