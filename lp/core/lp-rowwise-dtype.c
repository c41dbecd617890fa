#include <lp/core/lp-rowwise-dtype-private.h>

#include <string.h>

#include <lp/core/lp-dtype-codec-private.h>

/**
 * LpRowwiseDType:
 *
 * Integers of 8 bits with one float32 scale per row, that is along the last axis: `i8-rowwise` in [class@DTypeRegistry].
 *
 * A value x is stored as round (127 x / s), ties to even, where s is the largest magnitude of its row, and read as q s / 127.
 * This is the row-wise quantization of T. Dettmers et al., "LLM.int8(): 8-bit Matrix Multiplication for Transformers at Scale"
 * (2022). Stored are all integers, padded to a multiple of 4 bytes, then the scales.
 */
struct _LpRowwiseDType
{
  LpDType      parent_instance;
};

G_DEFINE_FINAL_TYPE (LpRowwiseDType, lp_rowwise_dtype, LP_TYPE_DTYPE)

static gint64
lp_rowwise_dtype_get_size (LpDType *dtype,
                           gint64   rows,
                           gint64   row)
{
  return _lp_rowwise_scales_offset (rows * row) + rows * (gint64) sizeof (float);
}

static void
lp_rowwise_dtype_begin (LpDType     *dtype,
                        const float *x,
                        gint64       rows,
                        gint64       row,
                        guint8      *data)
{
  guint8 *scales = data + _lp_rowwise_scales_offset (rows * row);

  memset (data + rows * row, 0, _lp_rowwise_scales_offset (rows * row) - rows * row);
#pragma omp parallel for schedule(static) if (rows * row > LP_CODEC_PART)
  for (gint64 i = 0; i < rows; i++)
    {
      const float scale = _lp_codec_loops->absmax (x + i * row, row);

      memcpy (scales + i * sizeof scale, &scale, sizeof scale);
    }
}

/* The scale of a row, and the end of the part of it that lies before @end. */
static float
get_row (const guint8 *data,
         gint64        rows,
         gint64        row,
         gint64        start,
         gint64        end,
         gint64       *until)
{
  const gint64 index = start / row;
  float scale;

  memcpy (&scale, data + _lp_rowwise_scales_offset (rows * row) + index * (gint64) sizeof scale, sizeof scale);
  *until = MIN (end, (index + 1) * row);

  return scale;
}

static void
lp_rowwise_dtype_encode (LpDType     *dtype,
                         const float *x,
                         gint64       rows,
                         gint64       row,
                         gint64       first,
                         gint64       n,
                         guint8      *data)
{
  for (gint64 start = first, until; start < first + n; start = until)
    {
      const float scale = get_row (data, rows, row, start, first + n, &until);

      _lp_codec_loops->encode_int8 (x + (start - first), until - start, scale, (gint8 *) data + start);
    }
}

static void
lp_rowwise_dtype_decode (LpDType      *dtype,
                         const guint8 *data,
                         gint64        rows,
                         gint64        row,
                         gint64        first,
                         gint64        n,
                         float        *y)
{
  for (gint64 start = first, until; start < first + n; start = until)
    {
      const float scale = get_row (data, rows, row, start, first + n, &until);

      _lp_codec_loops->decode_int8 ((const gint8 *) data + start, until - start, scale, y + (start - first));
    }
}

static const LpDTypeCodec codec = {
  .begin = lp_rowwise_dtype_begin,
  .get_size = lp_rowwise_dtype_get_size,
  .encode = lp_rowwise_dtype_encode,
  .decode = lp_rowwise_dtype_decode,
};

static void
lp_rowwise_dtype_constructed (GObject *object)
{
  G_OBJECT_CLASS (lp_rowwise_dtype_parent_class)->constructed (object);

  _lp_dtype_set_layout (LP_DTYPE (object), "i8-rowwise", 8, 1, FALSE);
  _lp_dtype_set_codec (LP_DTYPE (object), &codec);
}

static void
lp_rowwise_dtype_class_init (LpRowwiseDTypeClass *klass)
{
  G_OBJECT_CLASS (klass)->constructed = lp_rowwise_dtype_constructed;
}

static void
lp_rowwise_dtype_init (LpRowwiseDType *self)
{
}

/**
 * lp_rowwise_dtype_new:
 *
 * Creates a dtype.
 *
 * Returns: (transfer full) (type LpRowwiseDType): the dtype
 */
LpDType *
lp_rowwise_dtype_new (void)
{
  return g_object_new (LP_TYPE_ROWWISE_DTYPE, NULL);
}
