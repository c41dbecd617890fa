#include <lp/autograd/lp-grad-mode.h>

#include <lp/core/lp-thread-stacks-private.h>

static GPrivate modes = G_PRIVATE_INIT ((GDestroyNotify) g_byte_array_unref);

/* the top of the stack, where every operation looks */
static _Thread_local gboolean disabled;

static GByteArray *
get_modes (void)
{
  GByteArray *stack = g_private_get (&modes);

  if (stack == NULL)
    {
      stack = g_byte_array_new ();
      g_private_set (&modes, stack);
    }

  return stack;
}

static guint
get_depth (void)
{
  return get_modes ()->len;
}

static void
drop (void)
{
  GByteArray *stack = get_modes ();

  disabled = stack->data[stack->len - 1];
  g_byte_array_set_size (stack, stack->len - 1);
}

/**
 * lp_grad_mode_is_enabled:
 *
 * Gets whether operations of this thread are recorded for backward. They are unless a mode was pushed.
 *
 * Returns: whether they are
 */
gboolean
lp_grad_mode_is_enabled (void)
{
  return !disabled;
}

/**
 * lp_grad_mode_push:
 * @enabled: whether to record
 *
 * Sets whether operations of this thread are recorded, until [func@grad_mode_pop].
 */
void
lp_grad_mode_push (gboolean enabled)
{
  guint8 previous = disabled;

  _lp_thread_stack_register (LP_THREAD_GRAD_MODES, get_depth, drop);
  g_byte_array_append (get_modes (), &previous, 1);
  disabled = !enabled;
}

/**
 * lp_grad_mode_pop:
 *
 * Undoes the last [func@grad_mode_push] of this thread.
 */
void
lp_grad_mode_pop (void)
{
  if (_lp_thread_stack_may_pop (LP_THREAD_GRAD_MODES, get_depth ()))
    drop ();
}

/**
 * lp_grad_mode_leave: (rename-to lp_grad_mode_pop)
 * @error: return location for an error
 *
 * Undoes the last [func@grad_mode_push] of this thread, if it is the caller's to undo.
 *
 * Returns: whether it could. Errors: %LP_ERROR_STATE if nothing was pushed, or the last push is that of a step that is on
 */
gboolean
lp_grad_mode_leave (GError **error)
{
  if (!_lp_thread_stack_check_pop (LP_THREAD_GRAD_MODES, get_depth (), error))
    return FALSE;
  drop ();

  return TRUE;
}
