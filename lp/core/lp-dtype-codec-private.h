#pragma once

#include <lp/core/lp-codec-private.h>
#include <lp/core/lp-dtype-private.h>

G_BEGIN_DECLS

/* What a built-in encoded dtype does, in place and on any thread. Tensors are @rows rows of @row elements; blocks are counted row by
 * row, or over all if the dtype is flat. */
typedef struct
{
  gboolean rounds_once;   /* values in float64 are to be rounded to odd on their way to float32 */

  /* Whether the properties make sense; else LP_ERROR_ARGUMENT. May be NULL. */
  gboolean (* check)    (LpDType *dtype, GError **error);
  gint64   (* get_size) (LpDType *dtype, gint64 rows, gint64 row);
  /* Writes what depends on more than a block, from all values, on several threads where they are many. May be NULL. */
  void     (* begin)    (LpDType *dtype, const float *x, gint64 rows, gint64 row, guint8 *data);
  /* Blocks @first to @first + @n from their values, or to them. */
  void     (* encode)   (LpDType *dtype, const float *x, gint64 rows, gint64 row, gint64 first, gint64 n, guint8 *data);
  void     (* decode)   (LpDType *dtype, const guint8 *data, gint64 rows, gint64 row, gint64 first, gint64 n, float *y);
} LpDTypeCodec;

/* Values that one thread looks at in one go. */
#define LP_CODEC_PART 65536

/* NULL for dtypes of others, which are bytes in and bytes out. */
const LpDTypeCodec *_lp_dtype_get_codec (LpDType *self);
void                _lp_dtype_set_codec (LpDType *self, const LpDTypeCodec *codec);

/* The virtual functions of a dtype with a codec. */
GBytes *_lp_dtype_codec_encode   (LpDType *self, GBytes *values, LpShape *shape, gint axis, GError **error);
GBytes *_lp_dtype_codec_decode   (LpDType *self, GBytes *data, LpShape *shape, gint axis, gint64 first_block, gint64 n_blocks, GError **error);
gint64  _lp_dtype_codec_get_size (LpDType *self, gint64 rows, gint64 row);
gboolean _lp_dtype_codec_check   (LpDType *self, GError **error);

/* A tensor of this shape as rows along the last axis. */
void   _lp_dtype_get_rows    (LpShape *shape, gint64 *rows, gint64 *row);
gint64 _lp_dtype_n_blocks    (LpDType *self, gint64 rows, gint64 row);
/* The block that holds element @element; and the elements before block @block. */
gint64 _lp_dtype_block_of    (LpDType *self, gint64 row, gint64 element);
gint64 _lp_dtype_block_start (LpDType *self, gint64 row, gint64 n_elements, gint64 block);

G_END_DECLS
