#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/tensor/lp-tensor.h>

G_BEGIN_DECLS

/* Fill a tensor in place from the default generator of the thread. */
LP_AVAILABLE_IN_ALL
gboolean lp_init_constant        (LpTensor  *tensor,
                                  double     value,
                                  GError   **error);
LP_AVAILABLE_IN_ALL
gboolean lp_init_uniform         (LpTensor  *tensor,
                                  double     low,
                                  double     high,
                                  GError   **error);
LP_AVAILABLE_IN_ALL
gboolean lp_init_normal          (LpTensor  *tensor,
                                  double     mean,
                                  double     std,
                                  GError   **error);
LP_AVAILABLE_IN_ALL
gboolean lp_init_kaiming_uniform (LpTensor  *tensor,
                                  double     slope,
                                  GError   **error);
LP_AVAILABLE_IN_ALL
gboolean lp_init_kaiming_normal  (LpTensor  *tensor,
                                  double     slope,
                                  GError   **error);
LP_AVAILABLE_IN_ALL
gboolean lp_init_xavier_uniform  (LpTensor  *tensor,
                                  double     gain,
                                  GError   **error);
LP_AVAILABLE_IN_ALL
gboolean lp_init_xavier_normal   (LpTensor  *tensor,
                                  double     gain,
                                  GError   **error);

G_END_DECLS
