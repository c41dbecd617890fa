#pragma once

#include "lp-cpu-private.h"

G_BEGIN_DECLS

/* Values decoded at a time on their way into a product: with what a foreign dtype returns beside them, 4 MiB. */
#define LP_CPU_PANEL_ELEMENTS ((1 << 20) - LP_CPU_FOREIGN_ELEMENTS)
#define LP_CPU_FOREIGN_ELEMENTS (1 << 16)

/* Elements @start to @start + @n of the whole encoded tensor of @x, on several threads where its dtype allows. */
gboolean _lp_cpu_encoded_read  (const LpArray *x, gint64 start, gint64 n, float *y, GError **error);

/* Memory for decoded values, which is counted. */
float   *_lp_cpu_panel_new     (gint64 n_elements);
void     _lp_cpu_panel_free    (float *panel, gint64 n_elements);
/* The most bytes of decoded values that were alive at once since the last call. */
gint64   _lp_cpu_take_decoded_peak (void);

/* Whether blocks can be decoded on any thread, without an error; and an operand of the packed gemm that is decoded as it is packed. The
 * array outlives the operand. */
gboolean     _lp_cpu_encoded_is_own  (const LpArray *x);
LpCpuOperand _lp_cpu_encoded_operand (const LpArray *x, gint64 row_stride, gint64 k_stride);
/* What decoding takes on all threads while such a product runs: it is begun and ended with the bytes. */
void         _lp_cpu_count_decoded   (gint64 bytes);

void     _lp_cpu_scale_values   (float *values, gint64 n, double factor);
gboolean _lp_cpu_copy_encoded  (const LpArray *x, const LpArray *y, GError **error);

G_END_DECLS
