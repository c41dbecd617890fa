#pragma once

#include "lp-cpu-private.h"

G_BEGIN_DECLS

/* D = activation (alpha * A B + beta * D + bias) with operands that pack themselves. */
typedef struct
{
  LpCompute    compute;
  gint64       m, n, k;
  LpCpuOperand a, b;              /* rows of b are the columns of B */
  guint8      *d;
  LpScalar     d_scalar;
  gint64       d_row_stride, d_column_stride;
  double       alpha, beta;
  const void  *bias;              /* in the compute type, or NULL */
  gboolean     bias_on_rows;
  LpActivation activation;
} LpCpuProduct;

/* Runs @n_batch products; @prepare moves product and operands to batch @i (NULL for one). */
void _lp_cpu_product_run (const LpCpuProduct *self, gint64 n_batch,
                          void (* prepare) (LpCpuProduct *product, gint64 i, gconstpointer data), gconstpointer data);

/* Bias and activation, in place, on a part of D that is in the compute type with unit column stride. */
void _lp_cpu_product_finish (const LpCpuProduct *self, gint64 m0, gint64 m, gint64 n0, gint64 n);

/* alpha times that part, which was computed into @buffer in the compute type, row by row, plus beta times D. */
void _lp_cpu_product_combine (const LpCpuProduct *self, gint64 m0, gint64 m, gint64 n0, gint64 n, guint8 *buffer);

/* Bias, activation and the conversion, for such a part. */
void _lp_cpu_product_store (const LpCpuProduct *self, gint64 m0, gint64 m, gint64 n0, gint64 n, guint8 *buffer);

/* Products with a single row or column. FALSE without doing anything for any other. */
gboolean _lp_cpu_gemv (const LpCpuProduct *product);

/* Products of rows of 8-bit integers. FALSE without doing anything for any other. */
gboolean _lp_cpu_int8_gemm (const LpGemmArgs *args, const LpCpuProduct *product);

/* The tuned library's part, if it is there. FALSE without doing anything when it isn't the better choice. */
gboolean _lp_cpu_onednn_gemm    (const LpCpuProduct *product);
gboolean _lp_cpu_onednn_sum_int8 (const gint8 *a, gint64 a_stride, const gint8 *b, gint64 b_stride, gint64 m, gint64 n, gint64 k,
                                  gint32 *sums);
gboolean _lp_cpu_onednn_conv2d  (const LpConvArgs *args);
gboolean _lp_cpu_onednn_has_bf16 (void);

G_END_DECLS
