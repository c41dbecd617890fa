#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/core/lp-registry.h>
#include <lp/tensor/lp-tensor.h>

G_BEGIN_DECLS

/**
 * LpReduceOp:
 * @LP_REDUCE_OP_SUM: their sum
 * @LP_REDUCE_OP_MEAN: their mean
 * @LP_REDUCE_OP_MAX: the largest, element by element
 * @LP_REDUCE_OP_MIN: the smallest, element by element
 *
 * How the tensors of all ranks become one.
 */
typedef enum { LP_REDUCE_OP_SUM, LP_REDUCE_OP_MEAN, LP_REDUCE_OP_MAX, LP_REDUCE_OP_MIN } LpReduceOp;

#define LP_TYPE_REDUCE_OP (lp_reduce_op_get_type ())
#define LP_TYPE_STRATEGY (lp_strategy_get_type ())

LP_AVAILABLE_IN_ALL
GType lp_reduce_op_get_type (void) G_GNUC_CONST;

LP_AVAILABLE_IN_ALL
G_DECLARE_DERIVABLE_TYPE (LpStrategy, lp_strategy, LP, STRATEGY, GObject)

/**
 * LpStrategyClass:
 * @dup_device: the device this rank works on
 * @get_rank: the number of this process among its peers
 * @get_world_size: how many there are
 * @all_reduce: the tensors of all ranks as one, on every rank
 * @broadcast: the tensor of the rank @root, on every rank
 * @barrier: returns when all ranks have called it
 */
struct _LpStrategyClass
{
  GObjectClass parent_class;

  LpDevice *(* dup_device)     (LpStrategy  *self,
                                GError     **error);
  gint      (* get_rank)       (LpStrategy  *self);
  gint      (* get_world_size) (LpStrategy  *self);
  LpTensor *(* all_reduce)     (LpStrategy  *self,
                                LpTensor    *tensor,
                                LpReduceOp   op,
                                GError     **error);
  LpTensor *(* broadcast)      (LpStrategy  *self,
                                LpTensor    *tensor,
                                gint         root,
                                GError     **error);
  gboolean  (* barrier)        (LpStrategy  *self,
                                GError     **error);

  /*< private >*/
  gpointer padding[8];
};

LP_AVAILABLE_IN_ALL
LpDevice *lp_strategy_dup_device     (LpStrategy  *self,
                                      GError     **error);
LP_AVAILABLE_IN_ALL
gint      lp_strategy_get_rank       (LpStrategy  *self);
LP_AVAILABLE_IN_ALL
gint      lp_strategy_get_world_size (LpStrategy  *self);
LP_AVAILABLE_IN_ALL
LpTensor *lp_strategy_all_reduce     (LpStrategy  *self,
                                      LpTensor    *tensor,
                                      LpReduceOp   op,
                                      GError     **error);
LP_AVAILABLE_IN_ALL
LpTensor *lp_strategy_broadcast      (LpStrategy  *self,
                                      LpTensor    *tensor,
                                      gint         root,
                                      GError     **error);
LP_AVAILABLE_IN_ALL
gboolean  lp_strategy_barrier        (LpStrategy  *self,
                                      GError     **error);

G_END_DECLS
