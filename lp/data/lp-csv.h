#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/data/lp-batch.h>

G_BEGIN_DECLS

LP_AVAILABLE_IN_ALL
LpTensor *lp_load_csv         (const char  *path,
                               gboolean     has_header,
                               LpDType     *dtype,
                               GError     **error);
LP_AVAILABLE_IN_ALL
LpBatch  *lp_load_csv_columns (const char  *path,
                               LpDType     *dtype,
                               GError     **error);

G_END_DECLS
