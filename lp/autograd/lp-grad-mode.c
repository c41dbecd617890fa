#include <lp/autograd/lp-grad-mode.h>

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
  GByteArray *stack = get_modes ();

  g_return_if_fail (stack->len > 0);

  disabled = stack->data[stack->len - 1];
  g_byte_array_set_size (stack, stack->len - 1);
}
