#include <lp/core/lp-float-dtype.h>

#include <lp/core/lp-dtype-codec-private.h>
#include <lp/core/lp-error.h>

/**
 * LpFloatDType:
 *
 * A floating format of 8, 6 or 4 bits without scales: `f8e4m3`, `f8e5m2` and `e2m1` in [class@DTypeRegistry].
 *
 * Conversions round to nearest, ties to even, once from any of the wider formats. Formats of 4 bits lie two to a byte, the first in
 * the lower half; those of 6 bits four to three bytes, from the low end on.
 *
 * The formats are those of the OCP 8-bit Floating Point Specification 1.0 (E4M3 without infinities) and of the OCP
 * Microscaling Formats 1.0.
 */
struct _LpFloatDType
{
  LpDType      parent_instance;

  char        *format;
  gboolean     saturate;
  LpElement    element;
};

G_DEFINE_FINAL_TYPE (LpFloatDType, lp_float_dtype, LP_TYPE_DTYPE)

enum { PROP_0, PROP_FORMAT, PROP_SATURATE, N_PROPS };

static GParamSpec *properties[N_PROPS];

/* Codes that are packed and unpacked at a time. */
#define CHUNK 1024

static gboolean
lp_float_dtype_check (LpDType  *dtype,
                      GError  **error)
{
  LpFloatDType *self = LP_FLOAT_DTYPE (dtype);

  if (self->element < LP_N_ELEMENTS)
    return TRUE;

  g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT, "There is no floating format “%s”: there are e4m3, e5m2, e2m3, e3m2 and e2m1",
               self->format);
  return FALSE;
}

static gint64
lp_float_dtype_get_size (LpDType *dtype,
                         gint64   rows,
                         gint64   row)
{
  if (LP_FLOAT_DTYPE (dtype)->element == LP_N_ELEMENTS)
    return 0;

  return (rows * row * lp_dtype_get_bits (dtype) + 7) / 8;
}

static void
lp_float_dtype_encode (LpDType     *dtype,
                       const float *x,
                       gint64       rows,
                       gint64       row,
                       gint64       first,
                       gint64       n,
                       guint8      *data)
{
  LpFloatDType *self = (LpFloatDType *) dtype;
  const gint64 block = lp_dtype_get_block_size (dtype);
  const gint64 start = first * block, end = MIN (rows * row, (first + n) * block);
  const int bits = _lp_element_get_bits (self->element);
  guint8 codes[CHUNK];

  if (bits == 8)
    {
      _lp_codec_loops->encode[self->element][self->saturate] (x, end - start, 1, data + start);
      return;
    }
  for (gint64 i = start; i < end; i += CHUNK)
    {
      const gint64 count = MIN (CHUNK, end - i);

      _lp_codec_loops->encode[self->element][self->saturate] (x + (i - start), count, 1, codes);
      _lp_codec_loops->pack (codes, count, bits, data + i * bits / 8);
    }
}

static void
lp_float_dtype_decode (LpDType      *dtype,
                       const guint8 *data,
                       gint64        rows,
                       gint64        row,
                       gint64        first,
                       gint64        n,
                       float        *y)
{
  LpFloatDType *self = (LpFloatDType *) dtype;
  const gint64 block = lp_dtype_get_block_size (dtype);
  const gint64 start = first * block, end = MIN (rows * row, (first + n) * block);
  const int bits = _lp_element_get_bits (self->element);
  guint8 codes[CHUNK];

  if (bits == 8)
    {
      _lp_codec_loops->decode[self->element] (data + start, end - start, 1, y);
      return;
    }
  for (gint64 i = start; i < end; i += CHUNK)
    {
      const gint64 count = MIN (CHUNK, end - i);

      _lp_codec_loops->unpack (data + i * bits / 8, count, bits, codes);
      _lp_codec_loops->decode[self->element] (codes, count, 1, y + (i - start));
    }
}

static const LpDTypeCodec codec = {
  .rounds_once = TRUE,
  .check = lp_float_dtype_check,
  .get_size = lp_float_dtype_get_size,
  .encode = lp_float_dtype_encode,
  .decode = lp_float_dtype_decode,
};

static void
lp_float_dtype_constructed (GObject *object)
{
  LpFloatDType *self = LP_FLOAT_DTYPE (object);
  g_autofree char *name = NULL;
  int bits;

  G_OBJECT_CLASS (lp_float_dtype_parent_class)->constructed (object);

  self->element = _lp_element_from_name (self->format);
  _lp_dtype_set_codec (LP_DTYPE (self), &codec);
  if (self->element == LP_N_ELEMENTS)
    return;
  bits = _lp_element_get_bits (self->element);
  name = bits == 4 ? g_strdup (self->format) : g_strdup_printf ("f%d%s", bits, self->format);
  _lp_dtype_set_layout (LP_DTYPE (self), name, bits, bits == 8 ? 1 : bits == 6 ? 4 : 2, TRUE);
}

static void
lp_float_dtype_finalize (GObject *object)
{
  g_free (LP_FLOAT_DTYPE (object)->format);

  G_OBJECT_CLASS (lp_float_dtype_parent_class)->finalize (object);
}

static void
lp_float_dtype_get_property (GObject    *object,
                             guint       prop_id,
                             GValue     *value,
                             GParamSpec *pspec)
{
  LpFloatDType *self = LP_FLOAT_DTYPE (object);

  switch (prop_id)
    {
    case PROP_FORMAT:
      g_value_set_string (value, self->format);
      break;
    case PROP_SATURATE:
      g_value_set_boolean (value, self->saturate);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_float_dtype_set_property (GObject      *object,
                             guint         prop_id,
                             const GValue *value,
                             GParamSpec   *pspec)
{
  LpFloatDType *self = LP_FLOAT_DTYPE (object);

  switch (prop_id)
    {
    case PROP_FORMAT:
      self->format = g_value_dup_string (value);
      break;
    case PROP_SATURATE:
      self->saturate = g_value_get_boolean (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_float_dtype_class_init (LpFloatDTypeClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  const GParamFlags flags = G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS;

  object_class->constructed = lp_float_dtype_constructed;
  object_class->finalize = lp_float_dtype_finalize;
  object_class->get_property = lp_float_dtype_get_property;
  object_class->set_property = lp_float_dtype_set_property;

  /**
   * LpFloatDType:format: (getter get_format)
   *
   * The bits of exponent and mantissa: `e4m3`, `e5m2`, `e2m3`, `e3m2` or `e2m1`.
   */
  properties[PROP_FORMAT] = g_param_spec_string ("format", NULL, NULL, "e4m3", flags);

  /**
   * LpFloatDType:saturate: (getter get_saturate)
   *
   * Whether what is too large, infinities included, becomes the largest finite value. If not, it becomes an infinity in
   * `e5m2` and NaN in `e4m3`; the other formats have neither and always saturate.
   */
  properties[PROP_SATURATE] = g_param_spec_boolean ("saturate", NULL, NULL, TRUE, flags);

  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
lp_float_dtype_init (LpFloatDType *self)
{
}

/**
 * lp_float_dtype_new:
 * @format: `e4m3`, `e5m2`, `e2m3`, `e3m2` or `e2m1`
 * @saturate: whether what is too large becomes the largest finite value
 *
 * Creates a dtype. With another format, encoding and decoding fail with %LP_ERROR_ARGUMENT.
 *
 * Returns: (transfer full) (type LpFloatDType): the dtype
 */
LpDType *
lp_float_dtype_new (const char *format,
                    gboolean    saturate)
{
  return g_object_new (LP_TYPE_FLOAT_DTYPE, "format", format, "saturate", saturate, NULL);
}

/**
 * lp_float_dtype_get_format:
 * @self: a dtype
 *
 * Gets the format, such as `e4m3`.
 *
 * Returns: (transfer none): the format
 */
const char *
lp_float_dtype_get_format (LpFloatDType *self)
{
  g_return_val_if_fail (LP_IS_FLOAT_DTYPE (self), NULL);

  return self->format;
}

/**
 * lp_float_dtype_get_saturate:
 * @self: a dtype
 *
 * Gets whether what is too large becomes the largest finite value.
 *
 * Returns: whether it does
 */
gboolean
lp_float_dtype_get_saturate (LpFloatDType *self)
{
  g_return_val_if_fail (LP_IS_FLOAT_DTYPE (self), FALSE);

  return self->saturate;
}
