#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/data/lp-dataset.h>

G_BEGIN_DECLS

#define LP_TYPE_SUBSET (lp_subset_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_FINAL_TYPE (LpSubset, lp_subset, LP, SUBSET, LpDataset)

LP_AVAILABLE_IN_ALL
LpSubset  *lp_subset_new         (LpDataset  *dataset,
                                  LpTensor   *indices,
                                  GError    **error);
LP_AVAILABLE_IN_ALL
LpDataset *lp_subset_get_dataset (LpSubset   *self);
LP_AVAILABLE_IN_ALL
LpTensor  *lp_subset_get_indices (LpSubset   *self);

G_END_DECLS
