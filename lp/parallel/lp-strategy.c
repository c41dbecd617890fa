#include <lp/parallel/lp-strategy.h>

#include <lp/core/lp-error.h>

/**
 * LpStrategy:
 *
 * How many processes and devices work together.
 *
 * The defaults are those of one process on the default device.
 */

G_DEFINE_ENUM_TYPE (LpReduceOp, lp_reduce_op,
                    G_DEFINE_ENUM_VALUE (LP_REDUCE_OP_SUM, "sum"),
                    G_DEFINE_ENUM_VALUE (LP_REDUCE_OP_MEAN, "mean"),
                    G_DEFINE_ENUM_VALUE (LP_REDUCE_OP_MAX, "max"),
                    G_DEFINE_ENUM_VALUE (LP_REDUCE_OP_MIN, "min"))

G_DEFINE_ABSTRACT_TYPE (LpStrategy, lp_strategy, G_TYPE_OBJECT)

static LpDevice *
lp_strategy_real_dup_device (LpStrategy  *self,
                             GError     **error)
{
  return g_object_ref (lp_device_get_default ());
}

static gint
lp_strategy_real_get_rank (LpStrategy *self)
{
  return 0;
}

static gint
lp_strategy_real_get_world_size (LpStrategy *self)
{
  return 1;
}

static LpTensor *
lp_strategy_real_all_reduce (LpStrategy  *self,
                             LpTensor    *tensor,
                             LpReduceOp   op,
                             GError     **error)
{
  return g_object_ref (tensor);
}

static LpTensor *
lp_strategy_real_broadcast (LpStrategy  *self,
                            LpTensor    *tensor,
                            gint         root,
                            GError     **error)
{
  return g_object_ref (tensor);
}

static gboolean
lp_strategy_real_barrier (LpStrategy  *self,
                          GError     **error)
{
  return TRUE;
}

static void
lp_strategy_class_init (LpStrategyClass *klass)
{
  klass->dup_device = lp_strategy_real_dup_device;
  klass->get_rank = lp_strategy_real_get_rank;
  klass->get_world_size = lp_strategy_real_get_world_size;
  klass->all_reduce = lp_strategy_real_all_reduce;
  klass->broadcast = lp_strategy_real_broadcast;
  klass->barrier = lp_strategy_real_barrier;
}

static void
lp_strategy_init (LpStrategy *self)
{
}

/* Sets what is missing: success without a result, or failure without an error. */
static void
check_missing (LpStrategy  *self,
               const char  *method,
               gboolean     missing,
               GError     **local)
{
  if (missing && *local == NULL)
    g_set_error (local, LP_ERROR, LP_ERROR_SUBCLASS, "%s.%s gave nothing and no error", G_OBJECT_TYPE_NAME (self), method);
}

static LpTensor *
check_tensor (LpStrategy  *self,
              const char  *method,
              LpTensor    *tensor,
              LpTensor    *result,
              GError      *local,
              GError     **error)
{
  check_missing (self, method, result == NULL, &local);
  if (local == NULL && (!LP_IS_TENSOR (result) || lp_tensor_get_dtype (result) != lp_tensor_get_dtype (tensor) ||
                        lp_tensor_get_n_elements (result) != lp_tensor_get_n_elements (tensor)))
    g_set_error (&local, LP_ERROR, LP_ERROR_SUBCLASS, "%s.%s gave no tensor of the dtype and shape of its argument",
                 G_OBJECT_TYPE_NAME (self), method);
  if (local == NULL)
    return result;

  g_clear_object (&result);
  g_propagate_error (error, local);

  return NULL;
}

/**
 * lp_strategy_dup_device:
 * @self: a strategy
 * @error: return location for an error
 *
 * Gets the device that this rank works on.
 *
 * Returns: (transfer full): the device
 */
LpDevice *
lp_strategy_dup_device (LpStrategy  *self,
                        GError     **error)
{
  GError *local = NULL;
  LpDevice *device;

  g_return_val_if_fail (LP_IS_STRATEGY (self), NULL);

  device = LP_STRATEGY_GET_CLASS (self)->dup_device (self, &local);
  check_missing (self, "dup_device", device == NULL, &local);
  if (local == NULL)
    return device;

  g_clear_object (&device);
  g_propagate_error (error, local);

  return NULL;
}

/**
 * lp_strategy_get_rank:
 * @self: a strategy
 *
 * Gets the number of this process among its peers, counted from 0.
 *
 * Returns: the rank
 */
gint
lp_strategy_get_rank (LpStrategy *self)
{
  g_return_val_if_fail (LP_IS_STRATEGY (self), 0);

  return LP_STRATEGY_GET_CLASS (self)->get_rank (self);
}

/**
 * lp_strategy_get_world_size:
 * @self: a strategy
 *
 * Gets how many processes work together.
 *
 * Returns: their number
 */
gint
lp_strategy_get_world_size (LpStrategy *self)
{
  g_return_val_if_fail (LP_IS_STRATEGY (self), 1);

  return LP_STRATEGY_GET_CLASS (self)->get_world_size (self);
}

/**
 * lp_strategy_all_reduce:
 * @self: a strategy
 * @tensor: the tensor of this rank
 * @op: how the tensors become one
 * @error: return location for an error
 *
 * Makes one tensor of those of all ranks. All ranks have to call it, in the same order.
 *
 * Returns: (transfer full): a tensor of the same dtype and shape on every rank, possibly @tensor itself
 */
LpTensor *
lp_strategy_all_reduce (LpStrategy  *self,
                        LpTensor    *tensor,
                        LpReduceOp   op,
                        GError     **error)
{
  GError *local = NULL;
  LpTensor *result;

  g_return_val_if_fail (LP_IS_STRATEGY (self), NULL);
  g_return_val_if_fail (LP_IS_TENSOR (tensor), NULL);

  result = LP_STRATEGY_GET_CLASS (self)->all_reduce (self, tensor, op, &local);

  return check_tensor (self, "all_reduce", tensor, result, local, error);
}

/**
 * lp_strategy_broadcast:
 * @self: a strategy
 * @tensor: the tensor of this rank, which says dtype and shape
 * @root: the rank whose values all get
 * @error: return location for an error
 *
 * Gives the tensor of one rank to all. All ranks have to call it, in the same order.
 *
 * Returns: (transfer full): the tensor of @root, possibly @tensor itself
 */
LpTensor *
lp_strategy_broadcast (LpStrategy  *self,
                       LpTensor    *tensor,
                       gint         root,
                       GError     **error)
{
  GError *local = NULL;
  LpTensor *result;

  g_return_val_if_fail (LP_IS_STRATEGY (self), NULL);
  g_return_val_if_fail (LP_IS_TENSOR (tensor), NULL);

  if (root < 0 || root >= lp_strategy_get_world_size (self))
    {
      g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT, "There is no rank %d among %d", root,
                   lp_strategy_get_world_size (self));
      return NULL;
    }
  result = LP_STRATEGY_GET_CLASS (self)->broadcast (self, tensor, root, &local);

  return check_tensor (self, "broadcast", tensor, result, local, error);
}

/**
 * lp_strategy_barrier:
 * @self: a strategy
 * @error: return location for an error
 *
 * Waits until all ranks have called it.
 *
 * Returns: %TRUE on success
 */
gboolean
lp_strategy_barrier (LpStrategy  *self,
                     GError     **error)
{
  GError *local = NULL;
  gboolean ok;

  g_return_val_if_fail (LP_IS_STRATEGY (self), FALSE);

  ok = LP_STRATEGY_GET_CLASS (self)->barrier (self, &local);
  check_missing (self, "barrier", !ok, &local);
  if (local != NULL)
    g_propagate_error (error, local);

  return local == NULL;
}
