#include <lp/autograd/lp-compute-scope-private.h>

#include <lp/core/lp-thread-stacks-private.h>

/**
 * LpComputeScope:
 *
 * How operations compute: a cast policy, a quantizer for the operands of matrix products, or both.
 *
 * Scopes are a stack per thread; the innermost counts. A recorded operation keeps its scope, so its gradient is computed
 * under it too, even after the scope was popped.
 */
struct _LpComputeScope
{
  GObject             parent_instance;

  LpCastPolicy       *policy;
  LpOperandQuantizer *quantizer;
};

G_DEFINE_FINAL_TYPE (LpComputeScope, lp_compute_scope, G_TYPE_OBJECT)

static GPrivate scopes = G_PRIVATE_INIT ((GDestroyNotify) g_ptr_array_unref);
static _Thread_local LpComputeScope *innermost;
static _Thread_local const char *current_site;

static guint
get_depth (void)
{
  GPtrArray *stack = g_private_get (&scopes);

  return stack != NULL ? stack->len : 0;
}

static void
drop (void)
{
  GPtrArray *stack = g_private_get (&scopes);

  innermost = stack->len > 1 ? g_ptr_array_index (stack, stack->len - 2) : NULL;
  g_ptr_array_set_size (stack, stack->len - 1);
}

static void
lp_compute_scope_finalize (GObject *object)
{
  LpComputeScope *self = LP_COMPUTE_SCOPE (object);

  g_clear_object (&self->policy);
  g_clear_object (&self->quantizer);

  G_OBJECT_CLASS (lp_compute_scope_parent_class)->finalize (object);
}

static void
lp_compute_scope_class_init (LpComputeScopeClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = lp_compute_scope_finalize;
}

static void
lp_compute_scope_init (LpComputeScope *self)
{
}

/**
 * lp_compute_scope_new:
 * @policy: (nullable): which dtype each class of operations computes in
 * @quantizer: (nullable): what operands of matrix products go through
 *
 * Creates a scope. With neither, operations compute in the dtypes of their inputs, whatever the scopes around it say.
 *
 * Returns: (transfer full): the scope
 */
LpComputeScope *
lp_compute_scope_new (LpCastPolicy       *policy,
                      LpOperandQuantizer *quantizer)
{
  LpComputeScope *self = g_object_new (LP_TYPE_COMPUTE_SCOPE, NULL);

  g_set_object (&self->policy, policy);
  g_set_object (&self->quantizer, quantizer);

  return self;
}

/**
 * lp_compute_scope_get_policy:
 * @self: a scope
 *
 * Gets the cast policy.
 *
 * Returns: (transfer none) (nullable): the policy
 */
LpCastPolicy *
lp_compute_scope_get_policy (LpComputeScope *self)
{
  g_return_val_if_fail (LP_IS_COMPUTE_SCOPE (self), NULL);

  return self->policy;
}

/**
 * lp_compute_scope_get_quantizer:
 * @self: a scope
 *
 * Gets the quantizer.
 *
 * Returns: (transfer none) (nullable): the quantizer
 */
LpOperandQuantizer *
lp_compute_scope_get_quantizer (LpComputeScope *self)
{
  g_return_val_if_fail (LP_IS_COMPUTE_SCOPE (self), NULL);

  return self->quantizer;
}

/**
 * lp_compute_scope_push:
 * @self: a scope
 *
 * Makes @self the innermost scope of this thread until [func@ComputeScope.pop].
 */
void
lp_compute_scope_push (LpComputeScope *self)
{
  GPtrArray *stack = g_private_get (&scopes);

  g_return_if_fail (LP_IS_COMPUTE_SCOPE (self));

  if (stack == NULL)
    {
      stack = g_ptr_array_new_with_free_func (g_object_unref);
      g_private_set (&scopes, stack);
      _lp_thread_stack_register (LP_THREAD_SCOPES, get_depth, drop);
    }
  g_ptr_array_add (stack, g_object_ref (self));
  innermost = self;
}

/**
 * lp_compute_scope_pop:
 *
 * Undoes the last [method@ComputeScope.push] of this thread.
 */
void
lp_compute_scope_pop (void)
{
  if (_lp_thread_stack_may_pop (LP_THREAD_SCOPES, get_depth ()))
    drop ();
}

/**
 * lp_compute_scope_leave: (rename-to lp_compute_scope_pop)
 * @error: return location for an error
 *
 * Undoes the last [method@ComputeScope.push] of this thread, if it is the caller's to undo.
 *
 * Returns: whether it could. Errors: %LP_ERROR_STATE if nothing was pushed, or the last push is that of a step that is on
 */
gboolean
lp_compute_scope_leave (GError **error)
{
  if (!_lp_thread_stack_check_pop (LP_THREAD_SCOPES, get_depth (), error))
    return FALSE;
  drop ();

  return TRUE;
}

/**
 * lp_compute_scope_dup_current:
 *
 * Gets the innermost scope of this thread.
 *
 * Returns: (transfer full) (nullable): the scope, or %NULL outside any
 */
LpComputeScope *
lp_compute_scope_dup_current (void)
{
  return innermost != NULL ? g_object_ref (innermost) : NULL;
}

LpComputeScope *
_lp_compute_scope_peek (void)
{
  return innermost;
}

const char *
_lp_site_peek (void)
{
  return current_site;
}

const char *
_lp_site_push (const char *site)
{
  const char *previous = current_site;

  current_site = site;
  return previous;
}

void
_lp_site_pop (const char *previous)
{
  current_site = previous;
}
