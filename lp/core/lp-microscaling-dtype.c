#include <lp/core/lp-microscaling-dtype.h>

#include <math.h>
#include <string.h>

#include <lp/core/lp-dtype-codec-private.h>
#include <lp/core/lp-error.h>

/**
 * LpMicroscalingDType:
 *
 * Blocks of small floating numbers that share a scale: `mxfp8-e4m3`, `mxfp8-e5m2`, `mxfp6-e2m3`, `mxfp6-e3m2`, `mxfp4` and
 * `nvfp4` in [class@DTypeRegistry].
 *
 * With [property@MicroscalingDType:scale-format] `e8m0`, 32 elements along the last axis share a power of two, found by
 * [property@MicroscalingDType:scale-rule] (OCP Microscaling Formats 1.0). With `e4m3`, as in `nvfp4`, 16 elements share an E4M3
 * number, and the tensor has a float32 scale beside: its largest magnitude over the product of the largest scale and the largest
 * element.
 *
 * Elements round to nearest, ties to even, and saturate. A block with an infinity or NaN decodes to NaN; with `e4m3` scales the
 * whole tensor does. Stored are the packed elements of all blocks, then their scales, then the tensor's. A row whose extent is
 * no multiple of the block size takes whole blocks all the same.
 */
struct _LpMicroscalingDType
{
  LpDType      parent_instance;

  char        *format;
  char        *scale_format;
  LpScaleRule  scale_rule;
  LpElement    element;
  gboolean     power_of_two;
};

G_DEFINE_FINAL_TYPE (LpMicroscalingDType, lp_microscaling_dtype, LP_TYPE_DTYPE)

G_DEFINE_ENUM_TYPE (LpScaleRule, lp_scale_rule,
                    G_DEFINE_ENUM_VALUE (LP_SCALE_RULE_OCP, "ocp"),
                    G_DEFINE_ENUM_VALUE (LP_SCALE_RULE_NVIDIA, "nvidia"))

enum { PROP_0, PROP_FORMAT, PROP_SCALE_FORMAT, PROP_SCALE_RULE, N_PROPS };

static GParamSpec *properties[N_PROPS];

#define MAX_BLOCK 32
#define MAX_SCALE 448   /* of E4M3 */

static gboolean
lp_microscaling_dtype_check (LpDType  *dtype,
                             GError  **error)
{
  LpMicroscalingDType *self = LP_MICROSCALING_DTYPE (dtype);

  if (self->element == LP_N_ELEMENTS)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT, "There is no floating format “%s”: there are e4m3, e5m2, e2m3, e3m2 and e2m1",
                   self->format);
      return FALSE;
    }
  if (!self->power_of_two && g_strcmp0 (self->scale_format, "e4m3") != 0)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT, "Scales of blocks are e8m0 or e4m3, not “%s”", self->scale_format);
      return FALSE;
    }

  return TRUE;
}

/* Bytes of the elements of a block. */
static gint64
get_block_bytes (LpMicroscalingDType *self)
{
  return (gint64) lp_dtype_get_block_size (LP_DTYPE (self)) * _lp_element_get_bits (self->element) / 8;
}

static gint64
lp_microscaling_dtype_get_size (LpDType *dtype,
                                gint64   rows,
                                gint64   row)
{
  LpMicroscalingDType *self = LP_MICROSCALING_DTYPE (dtype);

  if (self->element == LP_N_ELEMENTS)
    return 0;

  return _lp_dtype_n_blocks (dtype, rows, row) * (get_block_bytes (self) + 1) + (self->power_of_two ? 0 : (gint64) sizeof (float));
}

/* The scale of the tensor, which lies behind those of the blocks. */
static float
read_tensor_scale (LpMicroscalingDType *self,
                   const guint8        *data,
                   gint64               n_blocks)
{
  float scale;

  if (self->power_of_two)
    return 1;
  memcpy (&scale, data + n_blocks * (get_block_bytes (self) + 1), sizeof scale);

  return scale;
}

static void
lp_microscaling_dtype_begin (LpDType     *dtype,
                             const float *x,
                             gint64       rows,
                             gint64       row,
                             guint8      *data)
{
  LpMicroscalingDType *self = LP_MICROSCALING_DTYPE (dtype);
  const gint64 n_blocks = _lp_dtype_n_blocks (dtype, rows, row);
  const gint64 n = rows * row, n_parts = (n + LP_CODEC_PART - 1) / LP_CODEC_PART;
  g_autofree float *most = NULL;
  float scale;

  if (self->power_of_two)
    return;
  most = g_new (float, n_parts);
#pragma omp parallel for schedule(static) if (n_parts > 1)
  for (gint64 p = 0; p < n_parts; p++)
    most[p] = _lp_codec_loops->absmax (x + p * LP_CODEC_PART, MIN (LP_CODEC_PART, n - p * LP_CODEC_PART));
  scale = _lp_codec_loops->absmax (most, n_parts) / (MAX_SCALE * _lp_element_formats[self->element].max);
  if (!isfinite (scale))
    scale = NAN;
  memcpy (data + n_blocks * (get_block_bytes (self) + 1), &scale, sizeof scale);
}

static guint8
find_power (LpMicroscalingDType *self,
            float                absmax)
{
  const LpElementFormat *format = &_lp_element_formats[self->element];
  guint32 bits;

  if (!isfinite (absmax))
    return 0xFF;
  if (self->scale_rule == LP_SCALE_RULE_NVIDIA)
    return _lp_e8m0_from_float_ceil (absmax / format->max);
  memcpy (&bits, &absmax, sizeof bits);

  return (guint8) CLAMP ((int) (bits >> 23) - format->emax, 0, 254);
}

/* Blocks that are converted at a time. */
#define CHUNK 64

/* The values of scales as they are stored. */
static void
decode_scales (LpMicroscalingDType *self,
               const guint8        *codes,
               gint64               n,
               float                tensor_scale,
               float               *scales)
{
  if (self->power_of_two)
    for (gint64 b = 0; b < n; b++)
      scales[b] = _lp_e8m0_to_float (codes[b]);
  else
    _lp_codec_loops->decode[LP_ELEMENT_E4M3] (codes, n, tensor_scale, scales);
}

/* From the largest magnitudes of blocks, which become the divisors of the elements. */
static void
encode_scales (LpMicroscalingDType *self,
               float               *absmaxes,
               gint64               n,
               float                tensor_scale,
               guint8              *codes)
{
  if (self->power_of_two)
    for (gint64 b = 0; b < n; b++)
      codes[b] = find_power (self, absmaxes[b]);
  else
    {
      for (gint64 b = 0; b < n; b++)
        absmaxes[b] = tensor_scale > 0 ? absmaxes[b] / _lp_element_formats[self->element].max / tensor_scale : 0;
      _lp_codec_loops->encode[LP_ELEMENT_E4M3][TRUE] (absmaxes, n, 1, codes);
    }
  decode_scales (self, codes, n, tensor_scale, absmaxes);
}

/* Elements before block @b of a run that begins with block @first. */
static gint64
get_offset (LpDType *dtype,
            gint64   rows,
            gint64   row,
            gint64   first,
            gint64   b)
{
  return _lp_dtype_block_start (dtype, row, rows * row, b) - _lp_dtype_block_start (dtype, row, rows * row, first);
}

static void
lp_microscaling_dtype_encode (LpDType     *dtype,
                              const float *x,
                              gint64       rows,
                              gint64       row,
                              gint64       first,
                              gint64       n,
                              guint8      *data)
{
  LpMicroscalingDType *self = (LpMicroscalingDType *) dtype;
  const gint64 n_blocks = _lp_dtype_n_blocks (dtype, rows, row), bytes = get_block_bytes (self), block = lp_dtype_get_block_size (dtype);
  const float tensor_scale = read_tensor_scale (self, data, n_blocks);
  const gboolean whole = row % block == 0;
  float padded[CHUNK * MAX_BLOCK], scales[CHUNK];
  guint8 codes[CHUNK * MAX_BLOCK];

  for (gint64 b = first; b < first + n; b += CHUNK)
    {
      const gint64 count = MIN (CHUNK, first + n - b);
      const float *values = whole ? x + (b - first) * block : padded;

      if (!whole)
        memset (padded, 0, sizeof padded);
      for (gint64 i = 0; !whole && i < count; i++)
        memcpy (padded + i * block, x + get_offset (dtype, rows, row, first, b + i),
                (gsize) get_offset (dtype, rows, row, b + i, b + i + 1) * sizeof (float));
      _lp_codec_loops->block_absmax (values, count, block, scales);
      encode_scales (self, scales, count, tensor_scale, data + n_blocks * bytes + b);
      _lp_codec_loops->encode_blocks[self->element] (values, count, block, scales, codes);
      _lp_codec_loops->pack (codes, count * block, _lp_element_get_bits (self->element), data + b * bytes);
    }
}

static void
lp_microscaling_dtype_decode (LpDType      *dtype,
                              const guint8 *data,
                              gint64        rows,
                              gint64        row,
                              gint64        first,
                              gint64        n,
                              float        *y)
{
  LpMicroscalingDType *self = (LpMicroscalingDType *) dtype;
  const gint64 n_blocks = _lp_dtype_n_blocks (dtype, rows, row), bytes = get_block_bytes (self), block = lp_dtype_get_block_size (dtype);
  const float tensor_scale = read_tensor_scale (self, data, n_blocks);
  const gboolean whole = row % block == 0;
  float padded[CHUNK * MAX_BLOCK], scales[CHUNK];
  guint8 codes[CHUNK * MAX_BLOCK];

  for (gint64 b = first; b < first + n; b += CHUNK)
    {
      const gint64 count = MIN (CHUNK, first + n - b);

      _lp_codec_loops->unpack (data + b * bytes, count * block, _lp_element_get_bits (self->element), codes);
      decode_scales (self, data + n_blocks * bytes + b, count, tensor_scale, scales);
      _lp_codec_loops->decode_blocks[self->element] (codes, count, block, scales, whole ? y + (b - first) * block : padded);
      for (gint64 i = 0; !whole && i < count; i++)
        memcpy (y + get_offset (dtype, rows, row, first, b + i), padded + i * block,
                (gsize) get_offset (dtype, rows, row, b + i, b + i + 1) * sizeof (float));
    }
}

static const LpDTypeCodec codec = {
  .check = lp_microscaling_dtype_check,
  .begin = lp_microscaling_dtype_begin,
  .get_size = lp_microscaling_dtype_get_size,
  .encode = lp_microscaling_dtype_encode,
  .decode = lp_microscaling_dtype_decode,
};

static void
lp_microscaling_dtype_constructed (GObject *object)
{
  LpMicroscalingDType *self = LP_MICROSCALING_DTYPE (object);
  g_autofree char *name = NULL;
  int bits;

  G_OBJECT_CLASS (lp_microscaling_dtype_parent_class)->constructed (object);

  self->element = _lp_element_from_name (self->format);
  self->power_of_two = g_strcmp0 (self->scale_format, "e8m0") == 0;
  _lp_dtype_set_codec (LP_DTYPE (self), &codec);
  if (self->element == LP_N_ELEMENTS)
    return;
  bits = _lp_element_get_bits (self->element);
  name = g_strdup_printf (bits == 4 ? "%sfp%d" : "%sfp%d-%s", self->power_of_two ? "mx" : "nv", bits, self->format);
  _lp_dtype_set_layout (LP_DTYPE (self), name, bits, self->power_of_two ? 32 : 16, FALSE);
}

static void
lp_microscaling_dtype_finalize (GObject *object)
{
  LpMicroscalingDType *self = LP_MICROSCALING_DTYPE (object);

  g_free (self->format);
  g_free (self->scale_format);

  G_OBJECT_CLASS (lp_microscaling_dtype_parent_class)->finalize (object);
}

static void
lp_microscaling_dtype_get_property (GObject    *object,
                                    guint       prop_id,
                                    GValue     *value,
                                    GParamSpec *pspec)
{
  LpMicroscalingDType *self = LP_MICROSCALING_DTYPE (object);

  switch (prop_id)
    {
    case PROP_FORMAT:
      g_value_set_string (value, self->format);
      break;
    case PROP_SCALE_FORMAT:
      g_value_set_string (value, self->scale_format);
      break;
    case PROP_SCALE_RULE:
      g_value_set_enum (value, self->scale_rule);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_microscaling_dtype_set_property (GObject      *object,
                                    guint         prop_id,
                                    const GValue *value,
                                    GParamSpec   *pspec)
{
  LpMicroscalingDType *self = LP_MICROSCALING_DTYPE (object);

  switch (prop_id)
    {
    case PROP_FORMAT:
      self->format = g_value_dup_string (value);
      break;
    case PROP_SCALE_FORMAT:
      self->scale_format = g_value_dup_string (value);
      break;
    case PROP_SCALE_RULE:
      self->scale_rule = g_value_get_enum (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_microscaling_dtype_class_init (LpMicroscalingDTypeClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  const GParamFlags flags = G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS;

  object_class->constructed = lp_microscaling_dtype_constructed;
  object_class->finalize = lp_microscaling_dtype_finalize;
  object_class->get_property = lp_microscaling_dtype_get_property;
  object_class->set_property = lp_microscaling_dtype_set_property;

  /**
   * LpMicroscalingDType:format: (getter get_format)
   *
   * The format of the elements: `e4m3`, `e5m2`, `e2m3`, `e3m2` or `e2m1`.
   */
  properties[PROP_FORMAT] = g_param_spec_string ("format", NULL, NULL, "e4m3", flags);

  /**
   * LpMicroscalingDType:scale-format: (getter get_scale_format)
   *
   * The format of the scales: `e8m0`, in blocks of 32, or `e4m3`, in blocks of 16.
   */
  properties[PROP_SCALE_FORMAT] = g_param_spec_string ("scale-format", NULL, NULL, "e8m0", flags);

  /**
   * LpMicroscalingDType:scale-rule: (getter get_scale_rule)
   *
   * How scales that are powers of two are found. Scales in `e4m3` have one rule only.
   */
  properties[PROP_SCALE_RULE] = g_param_spec_enum ("scale-rule", NULL, NULL, LP_TYPE_SCALE_RULE, LP_SCALE_RULE_OCP, flags);

  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
lp_microscaling_dtype_init (LpMicroscalingDType *self)
{
}

/**
 * lp_microscaling_dtype_new:
 * @format: `e4m3`, `e5m2`, `e2m3`, `e3m2` or `e2m1`
 * @scale_rule: how the scales are found
 *
 * Creates a dtype whose scales are powers of two. With another format, encoding and decoding fail with %LP_ERROR_ARGUMENT.
 *
 * Returns: (transfer full) (type LpMicroscalingDType): the dtype
 */
LpDType *
lp_microscaling_dtype_new (const char  *format,
                           LpScaleRule  scale_rule)
{
  return g_object_new (LP_TYPE_MICROSCALING_DTYPE, "format", format, "scale-rule", scale_rule, NULL);
}

/**
 * lp_microscaling_dtype_get_format:
 * @self: a dtype
 *
 * Gets the format of the elements.
 *
 * Returns: (transfer none): the format
 */
const char *
lp_microscaling_dtype_get_format (LpMicroscalingDType *self)
{
  g_return_val_if_fail (LP_IS_MICROSCALING_DTYPE (self), NULL);

  return self->format;
}

/**
 * lp_microscaling_dtype_get_scale_format:
 * @self: a dtype
 *
 * Gets the format of the scales.
 *
 * Returns: (transfer none): the format
 */
const char *
lp_microscaling_dtype_get_scale_format (LpMicroscalingDType *self)
{
  g_return_val_if_fail (LP_IS_MICROSCALING_DTYPE (self), NULL);

  return self->scale_format;
}

/**
 * lp_microscaling_dtype_get_scale_rule:
 * @self: a dtype
 *
 * Gets how scales that are powers of two are found.
 *
 * Returns: the rule
 */
LpScaleRule
lp_microscaling_dtype_get_scale_rule (LpMicroscalingDType *self)
{
  g_return_val_if_fail (LP_IS_MICROSCALING_DTYPE (self), LP_SCALE_RULE_OCP);

  return self->scale_rule;
}
