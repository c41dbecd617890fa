#include <lp/core/lp-dtype-codec-private.h>

#include <lp/core/lp-error.h>

/* What the built-in encoded dtypes share: where blocks lie, the way from bytes to pointers, and other axes than the last. */

void
_lp_dtype_get_rows (LpShape *shape,
                    gint64  *rows,
                    gint64  *row)
{
  const gint64 n = lp_shape_get_n_elements (shape);

  *row = lp_shape_get_n_dims (shape) > 0 ? lp_shape_get_dim (shape, -1) : 1;
  *rows = *row > 0 ? n / *row : 0;
}

static gint64
blocks_per_row (LpDType *self,
                gint64   row)
{
  const gint64 block = lp_dtype_get_block_size (self);

  return (row + block - 1) / block;
}

gint64
_lp_dtype_n_blocks (LpDType *self,
                    gint64   rows,
                    gint64   row)
{
  return lp_dtype_get_flat (self) ? blocks_per_row (self, rows * row) : rows * blocks_per_row (self, row);
}

gint64
_lp_dtype_block_of (LpDType *self,
                    gint64   row,
                    gint64   element)
{
  const gint64 block = lp_dtype_get_block_size (self);

  if (lp_dtype_get_flat (self) || row % block == 0)
    return element / block;

  return element / row * blocks_per_row (self, row) + element % row / block;
}

gint64
_lp_dtype_block_start (LpDType *self,
                       gint64   row,
                       gint64   n_elements,
                       gint64   block)
{
  const gint64 size = lp_dtype_get_block_size (self);
  gint64 in_row;

  if (lp_dtype_get_flat (self) || row % size == 0)
    return MIN (block * size, n_elements);

  in_row = blocks_per_row (self, row);

  return block / in_row * row + block % in_row * size;
}

gboolean
_lp_dtype_codec_check (LpDType  *self,
                       GError  **error)
{
  const LpDTypeCodec *codec = _lp_dtype_get_codec (self);

  return codec->check == NULL || codec->check (self, error);
}

gint64
_lp_dtype_codec_get_size (LpDType *self,
                          gint64   rows,
                          gint64   row)
{
  return rows * row > 0 ? _lp_dtype_get_codec (self)->get_size (self, rows, row) : 0;
}

/* @values with @axis last, in @out. */
static void
bring_axis_last (const float *values,
                 LpShape     *shape,
                 gint         axis,
                 float       *out)
{
  const gint64 row = lp_shape_get_dim (shape, axis), n = lp_shape_get_n_elements (shape);
  gint64 inner = 1;

  for (guint i = axis + 1; i < lp_shape_get_n_dims (shape); i++)
    inner *= lp_shape_get_dim (shape, (gint) i);
  for (gint64 i = 0; i < n; i++)
    {
      const gint64 outer = i / (row * inner), along = i / inner % row, within = i % inner;

      out[(outer * inner + within) * row + along] = values[i];
    }
}

static gboolean
is_last (LpShape *shape,
         gint     axis)
{
  return axis == -1 || axis == (gint) lp_shape_get_n_dims (shape) - 1;
}

/* Rows along @axis. */
static gboolean
find_rows (LpDType  *self,
           LpShape  *shape,
           gint      axis,
           gint64   *rows,
           gint64   *row,
           GError  **error)
{
  if (!_lp_dtype_codec_check (self, error))
    return FALSE;
  _lp_dtype_get_rows (shape, rows, row);
  if (is_last (shape, axis))
    return TRUE;

  *row = lp_shape_get_dim (shape, axis);
  *rows = *row > 0 ? lp_shape_get_n_elements (shape) / *row : 0;
  if (_lp_dtype_codec_get_size (self, *rows, *row) == lp_dtype_get_encoded_size (self, shape))
    return TRUE;

  g_set_error (error, LP_ERROR, LP_ERROR_SHAPE, "Blocks of %s along axis %d of %" G_GINT64_FORMAT " elements take other space than "
               "along the last one, by which a tensor is measured", lp_dtype_get_name (self), axis, *row);
  return FALSE;
}

GBytes *
_lp_dtype_codec_encode (LpDType  *self,
                        GBytes   *values,
                        LpShape  *shape,
                        gint      axis,
                        GError  **error)
{
  const LpDTypeCodec *codec = _lp_dtype_get_codec (self);
  g_autofree float *turned = NULL;
  const float *x = g_bytes_get_data (values, NULL);
  gint64 rows, row, size;
  guint8 *data;

  if (!find_rows (self, shape, axis, &rows, &row, error))
    return NULL;
  size = _lp_dtype_codec_get_size (self, rows, row);
  if (size == 0)
    return g_bytes_new (NULL, 0);

  if (!is_last (shape, axis))
    {
      turned = g_new (float, rows * row);
      bring_axis_last (x, shape, axis, turned);
      x = turned;
    }
  data = g_malloc0 (size);
  if (codec->begin != NULL)
    codec->begin (self, x, rows, row, data);
  codec->encode (self, x, rows, row, 0, _lp_dtype_n_blocks (self, rows, row), data);

  return g_bytes_new_take (data, size);
}

GBytes *
_lp_dtype_codec_decode (LpDType  *self,
                        GBytes   *data,
                        LpShape  *shape,
                        gint      axis,
                        gint64    first_block,
                        gint64    n_blocks,
                        GError  **error)
{
  gint64 rows, row, n, start;
  float *y;

  if (!find_rows (self, shape, axis, &rows, &row, error))
    return NULL;
  if ((gint64) g_bytes_get_size (data) < _lp_dtype_codec_get_size (self, rows, row))
    {
      g_set_error (error, LP_ERROR, LP_ERROR_SHAPE, "%" G_GSIZE_FORMAT " bytes are too few for a tensor in %s that takes %" G_GINT64_FORMAT,
                   g_bytes_get_size (data), lp_dtype_get_name (self), _lp_dtype_codec_get_size (self, rows, row));
      return NULL;
    }
  if (n_blocks == 0)
    return g_bytes_new (NULL, 0);

  start = _lp_dtype_block_start (self, row, rows * row, first_block);
  n = _lp_dtype_block_start (self, row, rows * row, first_block + n_blocks) - start;
  y = g_new (float, n);
  _lp_dtype_get_codec (self)->decode (self, g_bytes_get_data (data, NULL), rows, row, first_block, n_blocks, y);

  return g_bytes_new_take (y, (gsize) n * sizeof (float));
}
