#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/data/lp-dataset.h>

G_BEGIN_DECLS

#define LP_TYPE_TENSOR_DATASET (lp_tensor_dataset_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_FINAL_TYPE (LpTensorDataset, lp_tensor_dataset, LP, TENSOR_DATASET, LpDataset)

LP_AVAILABLE_IN_ALL
LpTensorDataset *lp_tensor_dataset_new         (LpBatch          *tensors,
                                                GError          **error);
LP_AVAILABLE_IN_ALL
LpTensorDataset *lp_tensor_dataset_new_pair    (LpTensor         *inputs,
                                                LpTensor         *targets,
                                                GError          **error);
LP_AVAILABLE_IN_ALL
LpBatch         *lp_tensor_dataset_get_tensors (LpTensorDataset  *self);

G_END_DECLS
