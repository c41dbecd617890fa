/* What has to be called in pairs: around the building of a model, and around a run. */

#include <lp/precision/lp-precision-plugin-private.h>

#include <lp/core/lp-error.h>

#define GET_CLASS(self) LP_PRECISION_PLUGIN_GET_CLASS (self)

/**
 * lp_precision_plugin_begin_init:
 * @self: a plugin
 * @error: return location for an error
 *
 * Must be called before a model is built, on the same thread. On success
 * [method@PrecisionPlugin.end_init] has to follow, whatever becomes of the model.
 *
 * Returns: %TRUE on success
 */
gboolean
lp_precision_plugin_begin_init (LpPrecisionPlugin  *self,
                                GError            **error)
{
  LpPrecisionPluginData *data;
  GError *local = NULL;
  LpInitMark mark;
  gboolean ok;

  g_return_val_if_fail (LP_IS_PRECISION_PLUGIN (self), FALSE);

  if (!_lp_precision_plugin_ensure_init (self, error))
    return FALSE;

  data = _lp_precision_plugin_get_data (self);
  mark.n_pushed = data->n_pushed;
  _lp_thread_get_depths (&mark.before);
  ok = GET_CLASS (self)->begin_init (self, &local);
  ok = _lp_precision_plugin_end_boolean (self, "begin_init", ok, local, error);
  if (ok)
    g_array_append_val (data->marks, mark);
  else
    {
      _lp_thread_restore (&mark.before);
      data->n_pushed = mark.n_pushed;
    }

  return ok;
}

/* What the default begin_init pushed is popped here, what a class pushed by itself is its own to pop. */
static gboolean
end_mark (LpPrecisionPlugin  *self,
          GError            **error)
{
  LpPrecisionPluginData *data = _lp_precision_plugin_get_data (self);
  LpInitMark mark = g_array_index (data->marks, LpInitMark, data->marks->len - 1);
  LpThreadDepths expected = mark.before;
  LpThreadDepths now;
  guint dropped;

  g_array_set_size (data->marks, data->marks->len - 1);
  expected.depths[LP_THREAD_DTYPES] += data->n_pushed - mark.n_pushed;
  data->n_pushed = mark.n_pushed;
  dropped = _lp_thread_restore (&expected);
  _lp_thread_get_depths (&now);
  _lp_thread_restore (&mark.before);
  if (dropped != 0)
    return _lp_thread_refuse_leftover (dropped, G_OBJECT_TYPE_NAME (self), "end_init", error);
  if (now.depths[LP_THREAD_DTYPES] >= expected.depths[LP_THREAD_DTYPES])
    return TRUE;

  g_set_error (error, LP_ERROR, LP_ERROR_STATE, "The default dtype that %s.begin_init pushed was popped before end_init",
               G_OBJECT_TYPE_NAME (self));
  return FALSE;
}

/**
 * lp_precision_plugin_end_init:
 * @self: a plugin
 * @error: return location for an error
 *
 * Must be called after a model was built. The default dtype is what it was before, even if this fails.
 *
 * Returns: %TRUE on success. Errors: %LP_ERROR_STATE without [method@PrecisionPlugin.begin_init], and when what was pushed in between
 *   was not popped
 */
gboolean
lp_precision_plugin_end_init (LpPrecisionPlugin  *self,
                              GError            **error)
{
  LpPrecisionPluginData *data;
  GError *local = NULL;
  gboolean ok;

  g_return_val_if_fail (LP_IS_PRECISION_PLUGIN (self), FALSE);

  data = _lp_precision_plugin_get_data (self);
  if (data->marks->len == 0)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_STATE, "end_init of a %s was called without begin_init",
                   G_OBJECT_TYPE_NAME (self));
      return FALSE;
    }

  ok = GET_CLASS (self)->end_init (self, &local);
  if (!end_mark (self, ok && local == NULL ? &local : NULL))
    ok = FALSE;

  return _lp_precision_plugin_end_boolean (self, "end_init", ok, local, error);
}

static gboolean
take_part (LpPrecisionPlugin   *self,
           LpPrecisionContext  *context,
           GError             **error)
{
  LpDevice *device = lp_precision_context_get_device (context);
  GError *local = NULL;
  gboolean ok;

  if (!_lp_precision_plugin_ensure_init (self, error) || !lp_precision_plugin_validate (self, context, error) ||
      (device != NULL && !lp_precision_plugin_supports (self, device, error)))
    return FALSE;
  ok = GET_CLASS (self)->attach (self, context, &local);

  return _lp_precision_plugin_end_boolean (self, "attach", ok, local, error);
}

/**
 * lp_precision_plugin_attach:
 * @self: a plugin
 * @context: what is known of the run
 * @error: return location for an error
 *
 * Must be called when a run starts. The plugin is validated again, with what is known by now. On success
 * [method@PrecisionPlugin.detach] has to follow.
 *
 * Returns: %TRUE on success. Errors: %LP_PRECISION_ERROR_CONFLICT for a plugin that is in use elsewhere; those of
 *   [method@PrecisionPlugin.validate] and [method@PrecisionPlugin.supports]
 */
gboolean
lp_precision_plugin_attach (LpPrecisionPlugin   *self,
                            LpPrecisionContext  *context,
                            GError             **error)
{
  LpPrecisionPluginData *data;

  g_return_val_if_fail (LP_IS_PRECISION_PLUGIN (self), FALSE);
  g_return_val_if_fail (LP_IS_PRECISION_CONTEXT (context), FALSE);

  data = _lp_precision_plugin_get_data (self);
  if (!g_atomic_int_compare_and_exchange (&data->attached, 0, 1))
    {
      g_set_error (error, LP_PRECISION_ERROR, LP_PRECISION_ERROR_CONFLICT,
                   "This %s is in use elsewhere; make another one, or wait until that run has ended",
                   G_OBJECT_TYPE_NAME (self));
      return FALSE;
    }
  data->n_optimizers = 0;
  if (take_part (self, context, error))
    return TRUE;

  _lp_precision_plugin_unwind_all (self);
  g_atomic_int_set (&data->attached, 0);

  return FALSE;
}

/**
 * lp_precision_plugin_detach:
 * @self: a plugin
 * @error: return location for an error
 *
 * Must be called when a run has ended. What the plugin changed on the thread is undone, and it can be attached again,
 * even if this fails. Without a run it does nothing.
 *
 * Returns: %TRUE on success. Errors: %LP_ERROR_STATE, with nothing changed, while a trainer or fabric has attached it, which detach it
 *   themselves
 */
gboolean
lp_precision_plugin_detach (LpPrecisionPlugin  *self,
                            GError            **error)
{
  LpPrecisionPluginData *data;
  GError *local = NULL;
  gboolean ok;

  g_return_val_if_fail (LP_IS_PRECISION_PLUGIN (self), FALSE);

  data = _lp_precision_plugin_get_data (self);
  if (!g_atomic_int_get (&data->attached))
    return TRUE;
  if (data->held)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_STATE, "The %s is in use by a run that is on, and is detached when that ends",
                   G_OBJECT_TYPE_NAME (self));
      return FALSE;
    }

  ok = GET_CLASS (self)->detach (self, &local);
  _lp_precision_plugin_unwind_all (self);
  g_clear_object (&data->scope);
  g_atomic_int_set (&data->attached, 0);

  return _lp_precision_plugin_end_boolean (self, "detach", ok, local, error);
}
