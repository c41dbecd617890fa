#include <lp/core/lp-dtype.h>

#include <lp/core/lp-thread-stacks-private.h>

/* The dtypes of this thread for tensors that are made without one, the last on top. */
static GPrivate default_dtypes = G_PRIVATE_INIT ((GDestroyNotify) g_ptr_array_unref);

static GPtrArray *
get_default_stack (void)
{
  GPtrArray *stack = g_private_get (&default_dtypes);

  if (stack != NULL)
    return stack;

  stack = g_ptr_array_new_with_free_func (g_object_unref);
  g_ptr_array_add (stack, g_object_ref (lp_dtype_f32 ()));
  g_private_set (&default_dtypes, stack);

  return stack;
}

/* Without the one at the bottom. */
static guint
get_depth (void)
{
  return get_default_stack ()->len - 1;
}

static void
drop (void)
{
  GPtrArray *stack = get_default_stack ();

  g_ptr_array_set_size (stack, stack->len - 1);
}

/**
 * lp_default_dtype_get:
 *
 * Gets the dtype of tensors of this thread that are created without one: float32 unless another one was pushed.
 *
 * Returns: (transfer none): the dtype
 */
LpDType *
lp_default_dtype_get (void)
{
  GPtrArray *stack = get_default_stack ();

  return g_ptr_array_index (stack, stack->len - 1);
}

/**
 * lp_default_dtype_push:
 * @dtype: a floating dtype
 *
 * Makes @dtype the default of this thread until [func@default_dtype_pop].
 */
void
lp_default_dtype_push (LpDType *dtype)
{
  g_return_if_fail (LP_IS_DTYPE (dtype));

  _lp_thread_stack_register (LP_THREAD_DTYPES, get_depth, drop);
  g_ptr_array_add (get_default_stack (), g_object_ref (dtype));
}

/**
 * lp_default_dtype_pop:
 *
 * Undoes the last [func@default_dtype_push] of this thread.
 */
void
lp_default_dtype_pop (void)
{
  if (_lp_thread_stack_may_pop (LP_THREAD_DTYPES, get_depth ()))
    drop ();
}

/**
 * lp_default_dtype_leave: (rename-to lp_default_dtype_pop)
 * @error: return location for an error
 *
 * Undoes the last [func@default_dtype_push] of this thread, if it is the caller's to undo.
 *
 * Returns: whether it could. Errors: %LP_ERROR_STATE if nothing was pushed, or the last push is that of a step that is on
 */
gboolean
lp_default_dtype_leave (GError **error)
{
  if (!_lp_thread_stack_check_pop (LP_THREAD_DTYPES, get_depth (), error))
    return FALSE;
  drop ();

  return TRUE;
}
