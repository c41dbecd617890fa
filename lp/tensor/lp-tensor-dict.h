#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/tensor/lp-tensor.h>

G_BEGIN_DECLS

#define LP_TYPE_TENSOR_DICT (lp_tensor_dict_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_FINAL_TYPE (LpTensorDict, lp_tensor_dict, LP, TENSOR_DICT, GObject)

LP_AVAILABLE_IN_ALL
LpTensorDict *lp_tensor_dict_new       (void);
LP_AVAILABLE_IN_ALL
void          lp_tensor_dict_set       (LpTensorDict *self,
                                        const char   *name,
                                        LpTensor     *tensor);
LP_AVAILABLE_IN_ALL
LpTensor     *lp_tensor_dict_lookup    (LpTensorDict *self,
                                        const char   *name);
LP_AVAILABLE_IN_ALL
gboolean      lp_tensor_dict_remove    (LpTensorDict *self,
                                        const char   *name);
LP_AVAILABLE_IN_ALL
guint         lp_tensor_dict_get_size  (LpTensorDict *self);
LP_AVAILABLE_IN_ALL
char        **lp_tensor_dict_dup_names (LpTensorDict *self);

G_END_DECLS
