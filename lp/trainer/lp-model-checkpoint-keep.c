/* Which checkpoints there are, and how one is added. */

#include <math.h>
#include <string.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include <lp/trainer/lp-model-checkpoint-private.h>

#include <lp/data/lp-data-private.h>
#include <lp/trainer/lp-state-private.h>
#include <lp/trainer/lp-trainer-private.h>

void
_lp_kept_free (gpointer data)
{
  LpKept *kept = data;

  g_free (kept->path);
  g_free (kept);
}

static char *
dup_folder (LpModelCheckpoint *self,
            LpTrainer         *trainer)
{
  return self->dirpath != NULL ? g_strdup (self->dirpath) : _lp_trainer_dup_checkpoint_dir (trainer);
}

char *
_lp_model_checkpoint_dup_last (LpCallback *callback,
                               LpTrainer  *trainer)
{
  g_autofree char *folder = dup_folder (LP_MODEL_CHECKPOINT (callback), trainer);

  return g_build_filename (folder, "last.safetensors", NULL);
}

/* One field between braces: a name, and perhaps ":.Nf". */
static void
append_field (GString    *result,
              LpTrainer  *trainer,
              const char *field)
{
  g_auto (GStrv) parts = g_strsplit (field, ":", 2);
  int digits = 6;

  if (strcmp (parts[0], "epoch") == 0)
    {
      g_string_append_printf (result, "epoch=%" G_GINT64_FORMAT, lp_trainer_get_current_epoch (trainer));
      return;
    }
  if (strcmp (parts[0], "step") == 0)
    {
      g_string_append_printf (result, "step=%" G_GINT64_FORMAT, lp_trainer_get_global_step (trainer));
      return;
    }

  if (parts[1] != NULL && parts[1][0] == '.' && g_ascii_isdigit (parts[1][1]))
    digits = parts[1][1] - '0';
  g_string_append_printf (result, "%s=%.*f", parts[0], digits, lp_trainer_get_metric (trainer, parts[0]));
}

static char *
format_name (LpModelCheckpoint *self,
             LpTrainer         *trainer)
{
  GString *result = g_string_new (NULL);

  for (const char *p = self->filename; *p != '\0'; p++)
    {
      const char *close = *p == '{' ? strchr (p, '}') : NULL;
      g_autofree char *field = NULL;

      if (close == NULL)
        {
          g_string_append_c (result, *p);
          continue;
        }
      field = g_strndup (p + 1, close - p - 1);
      append_field (result, trainer, field);
      p = close;
    }
  for (char *p = result->str; *p != '\0'; p++)
    if (*p == G_DIR_SEPARATOR)
      *p = '_';

  return g_string_free (result, FALSE);
}

static gboolean
is_kept (LpModelCheckpoint *self,
         const char        *path)
{
  for (guint i = 0; i < self->kept->len; i++)
    if (strcmp (((LpKept *) g_ptr_array_index (self->kept, i))->path, path) == 0)
      return TRUE;

  return FALSE;
}

/* A name that no kept checkpoint has; a file that a killed run left behind is replaced. */
static char *
choose_path (LpModelCheckpoint *self,
             LpTrainer         *trainer)
{
  g_autofree char *folder = dup_folder (self, trainer);
  g_autofree char *name = format_name (self, trainer);

  for (guint version = 0;; version++)
    {
      g_autofree char *suffix = version > 0 ? g_strdup_printf ("-v%u", version) : g_strdup ("");
      g_autofree char *file = g_strconcat (name, suffix, ".safetensors", NULL);
      char *path = g_build_filename (folder, file, NULL);

      if (!is_kept (self, path))
        return path;
      g_free (path);
    }
}

static gboolean
is_better (LpModelCheckpoint *self,
           double             value,
           double             than)
{
  if (isnan (than))
    return !isnan (value);

  return _lp_monitor_callback_prefers (LP_MONITOR_CALLBACK (self), value, than, 0);
}

static gboolean
has_monitor (LpModelCheckpoint *self)
{
  return _lp_monitor_callback_peek_monitor (LP_MONITOR_CALLBACK (self)) != NULL;
}

static void
set_string (char       **target,
            const char  *value)
{
  char *copy = g_strdup (value);

  g_free (*target);
  *target = copy;
}

/* Puts a checkpoint among the kept ones. Gives back the path of the one that has to go, if any. */
static char *
insert_kept (LpModelCheckpoint *self,
             const char        *path,
             double             score)
{
  LpKept *kept = g_new0 (LpKept, 1);
  guint position = 0;
  char *dropped = NULL;

  kept->path = g_strdup (path);
  kept->score = score;
  while (has_monitor (self) && position < self->kept->len &&
         !is_better (self, score, ((LpKept *) g_ptr_array_index (self->kept, position))->score))
    position++;
  g_ptr_array_insert (self->kept, position, kept);

  if (self->save_top_k >= 0 && self->kept->len > (guint) self->save_top_k)
    {
      dropped = g_strdup (((LpKept *) g_ptr_array_index (self->kept, self->kept->len - 1))->path);
      g_ptr_array_set_size (self->kept, self->kept->len - 1);
    }
  if (self->kept->len > 0)
    {
      kept = g_ptr_array_index (self->kept, 0);
      set_string (&self->best_model_path, kept->path);
      self->best_model_score = kept->score;
    }

  return dropped;
}

static gboolean
belongs_to_best (LpModelCheckpoint *self,
                 double             score)
{
  if (self->save_top_k == 0)
    return FALSE;
  if (self->save_top_k < 0 || self->kept->len < (guint) self->save_top_k || !has_monitor (self))
    return TRUE;

  return is_better (self, score, ((LpKept *) g_ptr_array_index (self->kept, self->kept->len - 1))->score);
}

/* Gives @path the second name @last at one stroke; FALSE where the file system can't. */
static gboolean
link_last (const char *path,
           const char *last)
{
  g_autofree char *temporary = g_strdup_printf ("%s.%d", last, getpid ());

  g_unlink (temporary);
  if (link (path, temporary) != 0)
    return FALSE;
  if (g_rename (temporary, last) != 0)
    {
      g_unlink (temporary);
      return FALSE;
    }
  /* renaming one name of a file onto another does nothing and leaves both */
  g_unlink (temporary);
  _lp_sync_parent (last);

  return TRUE;
}

/* The list of kept ones is part of what is saved, so it changes first; files go away last. */
gboolean
_lp_model_checkpoint_save (LpModelCheckpoint  *self,
                           LpTrainer          *trainer,
                           double              score,
                           GError            **error)
{
  g_autofree char *last = _lp_model_checkpoint_dup_last (LP_CALLBACK (self), trainer);
  g_autofree char *path = NULL;
  g_autofree char *dropped = NULL;

  if (belongs_to_best (self, score))
    {
      path = choose_path (self, trainer);
      dropped = insert_kept (self, path, score);
    }
  if (path == NULL && !self->save_last)
    return TRUE;

  self->saved_step = lp_trainer_get_global_step (trainer);
  set_string (&self->last_model_path, self->save_last ? last : path);
  if (path != NULL && !lp_trainer_save_checkpoint (trainer, path, self->save_weights_only, error))
    return FALSE;
  if (self->save_last && (path == NULL || !link_last (path, last)) &&
      !lp_trainer_save_checkpoint (trainer, last, self->save_weights_only, error))
    return FALSE;
  if (dropped != NULL)
    g_unlink (dropped);

  return TRUE;
}

LpState *
_lp_model_checkpoint_save_state (LpCallback  *callback,
                                 GError     **error)
{
  LpModelCheckpoint *self = LP_MODEL_CHECKPOINT (callback);
  LpState *state = lp_state_new ();
  GVariantBuilder builder;

  g_variant_builder_init (&builder, G_VARIANT_TYPE ("a(sd)"));
  for (guint i = 0; i < self->kept->len; i++)
    {
      LpKept *kept = g_ptr_array_index (self->kept, i);

      g_variant_builder_add (&builder, "(sd)", kept->path, kept->score);
    }
  lp_state_set_value (state, "kept", g_variant_builder_end (&builder));
  lp_state_set_value (state, "saved-step", g_variant_new_int64 (self->saved_step));
  if (self->last_model_path != NULL)
    lp_state_set_value (state, "last-model-path", g_variant_new_string (self->last_model_path));

  return state;
}

void
_lp_model_checkpoint_load_state (LpCallback  *callback,
                                 LpState     *state,
                                 GError     **error)
{
  LpModelCheckpoint *self = LP_MODEL_CHECKPOINT (callback);
  g_autoptr (GVariant) list = lp_state_dup_value (state, "kept");
  GVariantIter iter;
  const char *path;
  double score;

  g_ptr_array_set_size (self->kept, 0);
  if (list != NULL && g_variant_is_of_type (list, G_VARIANT_TYPE ("a(sd)")))
    {
      g_variant_iter_init (&iter, list);
      while (g_variant_iter_next (&iter, "(&sd)", &path, &score))
        if (g_file_test (path, G_FILE_TEST_EXISTS))
          g_free (insert_kept (self, path, score));
    }
  g_free (self->last_model_path);
  self->last_model_path = _lp_state_dup_string (state, "last-model-path");
  _lp_state_get_at_least (state, "saved-step", -1, &self->saved_step, error);
}
