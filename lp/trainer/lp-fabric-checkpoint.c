#include <lp/trainer/lp-fabric-private.h>

#include <lp/trainer/lp-checkpoint-private.h>

static char *
name_part (const char *kind,
           guint       index)
{
  return g_strdup_printf ("%s.%u", kind, index);
}

static gboolean
save_parts (LpFabric      *self,
            LpCheckpoint  *checkpoint,
            GError       **error)
{
  g_autoptr (LpPrecisionPlugin) plugin = _lp_precision_slot_dup_plugin (&self->precision);
  LpState *state;

  for (guint i = 0; i < self->modules->len; i++)
    {
      g_autofree char *name = name_part ("module", i);
      g_autoptr (LpTensorDict) weights = NULL;

      if (!_lp_checkpoint_check_module (g_ptr_array_index (self->modules, i), error))
        return FALSE;
      weights = lp_module_dup_state_dict (g_ptr_array_index (self->modules, i));
      _lp_checkpoint_add (checkpoint, name, lp_state_new_full (NULL, weights));
    }
  for (guint i = 0; i < self->optimizers->len; i++)
    {
      g_autofree char *name = name_part ("optimizer", i);

      state = lp_optimizer_save_state (g_ptr_array_index (self->optimizers, i), error);
      if (state == NULL)
        return FALSE;
      _lp_checkpoint_add (checkpoint, name, state);
    }

  return _lp_checkpoint_add_precision (checkpoint, plugin, error);
}

/**
 * lp_fabric_save:
 * @self: a fabric
 * @path: (type filename): a file; missing folders are made
 * @extra: (nullable): what else to save
 * @error: return location for an error
 *
 * Writes a checkpoint of all modules and optimizers that were set up, and of the precision. It appears whole, or the one of
 * that name stays as it was.
 *
 * Returns: whether it was written. Errors: %LP_ERROR_IO, and those of what is saved
 */
gboolean
lp_fabric_save (LpFabric    *self,
                const char  *path,
                LpState     *extra,
                GError     **error)
{
  g_auto (LpCheckpoint) checkpoint = { NULL, };

  g_return_val_if_fail (LP_IS_FABRIC (self), FALSE);
  g_return_val_if_fail (path != NULL, FALSE);
  g_return_val_if_fail (extra == NULL || LP_IS_STATE (extra), FALSE);

  if (!g_initable_init (G_INITABLE (self), NULL, error))
    return FALSE;

  _lp_checkpoint_init (&checkpoint);
  if (extra != NULL)
    _lp_checkpoint_add (&checkpoint, "extra", g_object_ref (extra));

  return save_parts (self, &checkpoint, error) && _lp_checkpoint_write (&checkpoint, path, error);
}

static gboolean
load_modules (LpFabric      *self,
              LpCheckpoint  *checkpoint,
              GError       **error)
{
  for (guint i = 0; i < self->modules->len; i++)
    {
      g_autofree char *name = name_part ("module", i);
      LpState *state = _lp_checkpoint_lookup (checkpoint, name);

      if (state != NULL && !lp_module_load_state_dict (g_ptr_array_index (self->modules, i), lp_state_get_tensors (state),
                                                       TRUE, error))
        return FALSE;
    }

  return TRUE;
}

static gboolean
load_optimizers (LpFabric      *self,
                 LpCheckpoint  *checkpoint,
                 GError       **error)
{
  for (guint i = 0; i < self->optimizers->len; i++)
    {
      g_autofree char *name = name_part ("optimizer", i);
      LpState *state = _lp_checkpoint_lookup (checkpoint, name);

      if (state != NULL && !lp_optimizer_load_state (g_ptr_array_index (self->optimizers, i), state, error))
        return FALSE;
    }

  return TRUE;
}

static gboolean
load_parts (LpFabric      *self,
            LpCheckpoint  *checkpoint,
            const char    *path,
            GError       **error)
{
  GError *local = NULL;

  if (load_modules (self, checkpoint, &local))
    {
      if (load_optimizers (self, checkpoint, &local))
        return _lp_checkpoint_load_precision (checkpoint, self->plugin, path, error);
      _lp_checkpoint_explain_optimizer (checkpoint, self->plugin, &local);
    }

  g_prefix_error (&local, "%s: ", path);
  g_propagate_error (error, local);
  return FALSE;
}

/**
 * lp_fabric_load:
 * @self: a fabric
 * @path: (type filename): a file that [method@Fabric.save] wrote
 * @error: return location for an error
 *
 * Brings the modules and optimizers that were set up, and the precision, to what they were. If they were saved under another
 * precision, a message says so, and what of its state can't be used is left out.
 *
 * Returns: (transfer full): the `extra` that was saved, empty if there was none. Errors: %LP_ERROR_IO, %LP_ERROR_FORMAT,
 *   %LP_ERROR_STATE before a module was set up, and those of what is loaded
 */
LpState *
lp_fabric_load (LpFabric    *self,
                const char  *path,
                GError     **error)
{
  g_auto (LpCheckpoint) checkpoint = { NULL, };
  LpState *extra;

  g_return_val_if_fail (LP_IS_FABRIC (self), NULL);
  g_return_val_if_fail (path != NULL, NULL);

  if (!_lp_fabric_require_attached (self, error))
    return NULL;

  _lp_checkpoint_init (&checkpoint);
  if (!_lp_checkpoint_read (&checkpoint, path, error) || !load_parts (self, &checkpoint, path, error))
    return NULL;

  extra = _lp_checkpoint_lookup (&checkpoint, "extra");

  return extra != NULL ? g_object_ref (extra) : lp_state_new ();
}
