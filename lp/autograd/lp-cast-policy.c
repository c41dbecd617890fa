#include <lp/autograd/lp-cast-policy.h>

G_DEFINE_ENUM_TYPE (LpAutocastClass, lp_autocast_class,
                    G_DEFINE_ENUM_VALUE (LP_AUTOCAST_PASSTHROUGH, "passthrough"),
                    G_DEFINE_ENUM_VALUE (LP_AUTOCAST_LOW_PRECISION, "low-precision"),
                    G_DEFINE_ENUM_VALUE (LP_AUTOCAST_FLOAT32, "float32"),
                    G_DEFINE_ENUM_VALUE (LP_AUTOCAST_PROMOTE, "promote"))

/**
 * LpCastPolicy:
 *
 * Which dtype each class of operations computes in.
 *
 * Every operation has a class in the table of operations; a policy names the low dtype and may move single operations to
 * another class.
 */
struct _LpCastPolicy
{
  GObject     parent_instance;

  LpDType    *low_dtype;
  GHashTable *classes;   /* name of operation → LpAutocastClass + 1; NULL when nothing is overridden */
};

G_DEFINE_FINAL_TYPE (LpCastPolicy, lp_cast_policy, G_TYPE_OBJECT)

static void
lp_cast_policy_finalize (GObject *object)
{
  LpCastPolicy *self = LP_CAST_POLICY (object);

  g_clear_object (&self->low_dtype);
  g_clear_pointer (&self->classes, g_hash_table_unref);

  G_OBJECT_CLASS (lp_cast_policy_parent_class)->finalize (object);
}

static void
lp_cast_policy_class_init (LpCastPolicyClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = lp_cast_policy_finalize;
}

static void
lp_cast_policy_init (LpCastPolicy *self)
{
}

/**
 * lp_cast_policy_new:
 * @low_dtype: what operations of the low-precision class compute in
 *
 * Creates a policy that follows the table of operations.
 *
 * Returns: (transfer full): the policy
 */
LpCastPolicy *
lp_cast_policy_new (LpDType *low_dtype)
{
  LpCastPolicy *self;

  g_return_val_if_fail (LP_IS_DTYPE (low_dtype), NULL);

  self = g_object_new (LP_TYPE_CAST_POLICY, NULL);
  self->low_dtype = g_object_ref (low_dtype);

  return self;
}

/**
 * lp_cast_policy_get_low_dtype:
 * @self: a policy
 *
 * Gets what operations of the low-precision class compute in.
 *
 * Returns: (transfer none): the dtype
 */
LpDType *
lp_cast_policy_get_low_dtype (LpCastPolicy *self)
{
  g_return_val_if_fail (LP_IS_CAST_POLICY (self), NULL);

  return self->low_dtype;
}

/**
 * lp_cast_policy_set_class:
 * @self: a policy
 * @operation: the name of an operation, such as `softmax`
 * @autocast_class: its class under this policy
 *
 * Moves an operation to another class.
 */
void
lp_cast_policy_set_class (LpCastPolicy    *self,
                          const char      *operation,
                          LpAutocastClass  autocast_class)
{
  g_return_if_fail (LP_IS_CAST_POLICY (self));
  g_return_if_fail (operation != NULL);

  if (self->classes == NULL)
    self->classes = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_hash_table_insert (self->classes, g_strdup (operation), GINT_TO_POINTER (autocast_class + 1));
}

/**
 * lp_cast_policy_lookup_class:
 * @self: a policy
 * @operation: the name of an operation
 * @fallback: its class in the table of operations
 *
 * Gets the class of an operation under this policy.
 *
 * Returns: the overridden class, or @fallback
 */
LpAutocastClass
lp_cast_policy_lookup_class (LpCastPolicy    *self,
                             const char      *operation,
                             LpAutocastClass  fallback)
{
  gpointer found;

  g_return_val_if_fail (LP_IS_CAST_POLICY (self), fallback);

  if (self->classes == NULL)
    return fallback;

  found = g_hash_table_lookup (self->classes, operation);

  return found != NULL ? (LpAutocastClass) (GPOINTER_TO_INT (found) - 1) : fallback;
}
