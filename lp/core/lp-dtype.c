#include <lp/core/lp-dtype-codec-private.h>
#include <lp/core/lp-dtype-living-private.h>
#include <lp/core/lp-error.h>
#include <lp/core/lp-exception.h>

/**
 * LpDType:
 *
 * How a tensor's elements are stored.
 *
 * The base class is the type of the native dtypes, which kernels read directly. A subclass adds a format of its own:
 * it says how many [property@DType:bits] an element takes on average and how many elements make a
 * [property@DType:block-size], and turns float32 into bytes and back. Anything that an encoding needs (scales, say) is
 * part of its bytes.
 */
typedef struct
{
  char    *name;
  guint    bits;
  guint    block_size;
  gboolean thread_safe;
  gboolean flat;
  LpScalar scalar;
  const LpDTypeCodec *codec;
} LpDTypePrivate;

G_DEFINE_TYPE_WITH_PRIVATE (LpDType, lp_dtype, G_TYPE_OBJECT)

enum { PROP_0, PROP_NAME, PROP_BITS, PROP_BLOCK_SIZE, PROP_THREAD_SAFE, PROP_FLAT, N_PROPS };

static GParamSpec *properties[N_PROPS];

#define UNNAMED "unnamed"

/* What fills up short blocks counted: neither bits nor float32 values of so many overflow, nor an encoding with its scales. */
#define MAX_ENCODED_ELEMENTS (G_MAXINT64 / 64)

const guint8 _lp_scalar_sizes[LP_N_SCALARS] = { 0, 8, 4, 2, 2, 8, 4, 2, 1, 1, 1 };

static const char *const scalar_names[LP_N_SCALARS] = {
  NULL, "f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "bool"
};

#define PRIV(self) ((LpDTypePrivate *) lp_dtype_get_instance_private (self))

static gboolean
not_implemented (LpDType     *self,
                 const char  *method,
                 GError     **error)
{
  g_set_error (error, LP_ERROR, LP_ERROR_NOT_SUPPORTED, "%s does not implement %s", G_OBJECT_TYPE_NAME (self), method);
  return FALSE;
}

static GBytes *
lp_dtype_real_encode (LpDType  *self,
                      GBytes   *values,
                      LpShape  *shape,
                      gint      axis,
                      GError  **error)
{
  if (PRIV (self)->codec != NULL)
    return _lp_dtype_codec_encode (self, values, shape, axis, error);
  not_implemented (self, "encode", error);
  return NULL;
}

static GBytes *
lp_dtype_real_decode (LpDType  *self,
                      GBytes   *data,
                      LpShape  *shape,
                      gint      axis,
                      gint64    first_block,
                      gint64    n_blocks,
                      GError  **error)
{
  if (PRIV (self)->codec != NULL)
    return _lp_dtype_codec_decode (self, data, shape, axis, first_block, n_blocks, error);
  not_implemented (self, "decode", error);
  return NULL;
}

/* Whether what is computed from @shape can't overflow. */
static gboolean
can_be_encoded (LpDType *self,
                LpShape *shape)
{
  LpDTypePrivate *priv = PRIV (self);
  const gint64 n = lp_shape_get_n_elements (shape), block = priv->block_size;
  gint64 row = lp_shape_get_n_dims (shape) > 0 ? lp_shape_get_dim (shape, -1) : 1, padded;

  if (n == 0)
    return TRUE;
  if (n > MAX_ENCODED_ELEMENTS)
    return FALSE;
  if (priv->flat)
    row = n;

  return !__builtin_mul_overflow (n / row * ((row + block - 1) / block), block, &padded) && padded <= MAX_ENCODED_ELEMENTS;
}

static gboolean
check_shape (LpDType  *self,
             LpShape  *shape,
             GError  **error)
{
  g_autofree char *text = NULL;

  if (can_be_encoded (self, shape))
    return TRUE;

  text = lp_shape_to_string (shape);
  g_set_error (error, LP_ERROR, LP_ERROR_SHAPE, "A tensor in %s can't have the extents %s: they are too many", PRIV (self)->name, text);
  return FALSE;
}

/* Whole blocks: of every row along the last axis, or of all if the dtype is flat. */
static gint64
lp_dtype_real_get_encoded_size (LpDType *self,
                                LpShape *shape)
{
  LpDTypePrivate *priv = PRIV (self);
  gint64 n = lp_shape_get_n_elements (shape);
  gint64 row = lp_shape_get_n_dims (shape) > 0 ? lp_shape_get_dim (shape, -1) : 1;
  gint64 blocks;

  if (n == 0)
    return 0;

  if (priv->codec != NULL)
    return _lp_dtype_codec_get_size (self, n / row, row);
  if (priv->flat)
    row = n;
  blocks = n / row * ((row + priv->block_size - 1) / priv->block_size);

  return (blocks * priv->block_size * priv->bits + 7) / 8;
}

static void
lp_dtype_constructed (GObject *object)
{
  LpDTypePrivate *priv = PRIV (LP_DTYPE (object));

  G_OBJECT_CLASS (lp_dtype_parent_class)->constructed (object);

  if (g_strcmp0 (priv->name, UNNAMED) != 0)
    _lp_dtype_remember (LP_DTYPE (object), priv->name);
}

static void
lp_dtype_finalize (GObject *object)
{
  g_free (PRIV (LP_DTYPE (object))->name);

  G_OBJECT_CLASS (lp_dtype_parent_class)->finalize (object);
}

static void
lp_dtype_get_property (GObject    *object,
                       guint       prop_id,
                       GValue     *value,
                       GParamSpec *pspec)
{
  LpDTypePrivate *priv = PRIV (LP_DTYPE (object));

  switch (prop_id)
    {
    case PROP_NAME:
      g_value_set_string (value, priv->name);
      break;
    case PROP_BITS:
      g_value_set_uint (value, priv->bits);
      break;
    case PROP_BLOCK_SIZE:
      g_value_set_uint (value, priv->block_size);
      break;
    case PROP_THREAD_SAFE:
      g_value_set_boolean (value, priv->thread_safe);
      break;
    case PROP_FLAT:
      g_value_set_boolean (value, priv->flat);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_dtype_set_property (GObject      *object,
                       guint         prop_id,
                       const GValue *value,
                       GParamSpec   *pspec)
{
  LpDTypePrivate *priv = PRIV (LP_DTYPE (object));

  switch (prop_id)
    {
    case PROP_NAME:
      priv->name = g_value_dup_string (value);
      break;
    case PROP_BITS:
      priv->bits = g_value_get_uint (value);
      break;
    case PROP_BLOCK_SIZE:
      priv->block_size = g_value_get_uint (value);
      break;
    case PROP_THREAD_SAFE:
      priv->thread_safe = g_value_get_boolean (value);
      break;
    case PROP_FLAT:
      priv->flat = g_value_get_boolean (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_dtype_class_init (LpDTypeClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  const GParamFlags flags = G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY;

  object_class->constructed = lp_dtype_constructed;
  object_class->finalize = lp_dtype_finalize;
  object_class->get_property = lp_dtype_get_property;
  object_class->set_property = lp_dtype_set_property;

  klass->encode = lp_dtype_real_encode;
  klass->decode = lp_dtype_real_decode;
  klass->get_encoded_size = lp_dtype_real_get_encoded_size;

  /**
   * LpDType:name: (getter get_name)
   *
   * The name, such as `f32` or `nf4`.
   */
  properties[PROP_NAME] = g_param_spec_string ("name", NULL, NULL, UNNAMED, flags);

  /**
   * LpDType:bits: (getter get_bits)
   *
   * The bits of an element, scales of blocks not counted.
   */
  properties[PROP_BITS] = g_param_spec_uint ("bits", NULL, NULL, 1, 64, 32, flags);

  /**
   * LpDType:block-size: (getter get_block_size)
   *
   * How many consecutive elements are encoded together: 1 for plain formats.
   */
  properties[PROP_BLOCK_SIZE] = g_param_spec_uint ("block-size", NULL, NULL, 1, G_MAXINT, 1, flags);

  /**
   * LpDType:thread-safe: (getter get_thread_safe)
   *
   * Whether decoding may run on other threads than the one that runs the step.
   */
  properties[PROP_THREAD_SAFE] = g_param_spec_boolean ("thread-safe", NULL, NULL, FALSE, flags);

  /**
   * LpDType:flat: (getter get_flat)
   *
   * Whether blocks run on from row to row, over the elements of the tensor in row-major order. If not, a row whose extent
   * is no multiple of the block size ends in a short block.
   */
  properties[PROP_FLAT] = g_param_spec_boolean ("flat", NULL, NULL, FALSE, flags);

  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
lp_dtype_init (LpDType *self)
{
  PRIV (self)->scalar = LP_SCALAR_ENCODED;
}

LpDType *
_lp_dtype_from_scalar (LpScalar scalar)
{
  static gsize initialized;
  static LpDType *dtypes[LP_N_SCALARS];

  if (g_once_init_enter (&initialized))
    {
      for (LpScalar i = LP_SCALAR_F64; i < LP_N_SCALARS; i++)
        {
          dtypes[i] = g_object_new (LP_TYPE_DTYPE,
                                    "name", scalar_names[i],
                                    "bits", 8 * _lp_scalar_sizes[i],
                                    "thread-safe", TRUE,
                                    NULL);
          PRIV (dtypes[i])->scalar = i;
        }
      g_once_init_leave (&initialized, 1);
    }

  return dtypes[scalar];
}

void
_lp_dtype_set_layout (LpDType    *self,
                      const char *name,
                      guint       bits,
                      guint       block_size,
                      gboolean    flat)
{
  LpDTypePrivate *priv = PRIV (self);

  if (g_strcmp0 (priv->name, UNNAMED) == 0)
    {
      g_free (priv->name);
      priv->name = g_strdup (name);
    }
  priv->bits = bits;
  priv->block_size = block_size;
  priv->flat = flat;
  priv->thread_safe = TRUE;
}

const LpDTypeCodec *
_lp_dtype_get_codec (LpDType *self)
{
  return PRIV (self)->codec;
}

void
_lp_dtype_set_codec (LpDType            *self,
                     const LpDTypeCodec *codec)
{
  PRIV (self)->codec = codec;
}

LpScalar
_lp_dtype_get_scalar (LpDType *self)
{
  return PRIV (self)->scalar;
}

LpDType *
_lp_dtype_get_gradient_dtype (LpDType *self)
{
  return lp_dtype_is_floating (self) && lp_dtype_is_native (self) ? self : lp_dtype_f32 ();
}

LpDType *
_lp_dtype_get_moment_dtype (LpDType *self)
{
  LpDType *dtype = _lp_dtype_get_gradient_dtype (self);

  return dtype == lp_dtype_f16 () ? lp_dtype_bf16 () : dtype;
}

/**
 * lp_dtype_get_name: (get-property name)
 * @self: a dtype
 *
 * Gets the name, such as `f32`.
 *
 * Returns: (transfer none): the name
 */
const char *
lp_dtype_get_name (LpDType *self)
{
  g_return_val_if_fail (LP_IS_DTYPE (self), NULL);

  return PRIV (self)->name;
}

/**
 * lp_dtype_get_bits: (get-property bits)
 * @self: a dtype
 *
 * Gets the bits of an element.
 *
 * Returns: the bits
 */
guint
lp_dtype_get_bits (LpDType *self)
{
  g_return_val_if_fail (LP_IS_DTYPE (self), 0);

  return PRIV (self)->bits;
}

/**
 * lp_dtype_get_block_size: (get-property block-size)
 * @self: a dtype
 *
 * Gets how many elements are encoded together.
 *
 * Returns: the elements of a block
 */
guint
lp_dtype_get_block_size (LpDType *self)
{
  g_return_val_if_fail (LP_IS_DTYPE (self), 0);

  return PRIV (self)->block_size;
}

/**
 * lp_dtype_get_thread_safe: (get-property thread-safe)
 * @self: a dtype
 *
 * Gets whether decoding may run on any thread.
 *
 * Returns: whether it may
 */
gboolean
lp_dtype_get_thread_safe (LpDType *self)
{
  g_return_val_if_fail (LP_IS_DTYPE (self), FALSE);

  return PRIV (self)->thread_safe;
}

/**
 * lp_dtype_get_flat: (get-property flat)
 * @self: a dtype
 *
 * Gets whether blocks run on from row to row.
 *
 * Returns: whether they do
 */
gboolean
lp_dtype_get_flat (LpDType *self)
{
  g_return_val_if_fail (LP_IS_DTYPE (self), FALSE);

  return PRIV (self)->flat;
}

/**
 * lp_dtype_is_floating:
 * @self: a dtype
 *
 * Gets whether elements are real numbers, not integers or truth values. Subclasses always are.
 *
 * Returns: whether they are
 */
gboolean
lp_dtype_is_floating (LpDType *self)
{
  g_return_val_if_fail (LP_IS_DTYPE (self), FALSE);

  return PRIV (self)->scalar <= LP_SCALAR_BF16;
}

/**
 * lp_dtype_is_native:
 * @self: a dtype
 *
 * Gets whether kernels read it directly, without decoding.
 *
 * Returns: whether they do
 */
gboolean
lp_dtype_is_native (LpDType *self)
{
  g_return_val_if_fail (LP_IS_DTYPE (self), FALSE);

  return PRIV (self)->scalar != LP_SCALAR_ENCODED;
}

static gboolean
check_length (LpDType     *self,
              const char  *method,
              GBytes      *bytes,
              gint64       expected,
              GError     **error)
{
  if (bytes == NULL)
    {
      if (error == NULL || *error == NULL)
        g_set_error (error, LP_ERROR, LP_ERROR_SUBCLASS, "%s.%s returned nothing and set no error",
                     G_OBJECT_TYPE_NAME (self), method);
      return FALSE;
    }
  if ((gint64) g_bytes_get_size (bytes) == expected)
    return TRUE;

  g_set_error (error, LP_ERROR, LP_ERROR_SUBCLASS,
               "%s.%s returned %" G_GSIZE_FORMAT " bytes where %" G_GINT64_FORMAT " were expected",
               G_OBJECT_TYPE_NAME (self), method, g_bytes_get_size (bytes), expected);
  return FALSE;
}

/* A GError that a subclass set beside a result must not get lost, nor be set by us twice. */
static GBytes *
take_bytes (LpDType     *self,
            const char  *method,
            GBytes      *bytes,
            gint64       expected,
            GError      *local,
            GError     **error)
{
  g_autoptr (GBytes) result = bytes;

  if (local != NULL)
    {
      g_propagate_error (error, local);
      return NULL;
    }
  if (!check_length (self, method, result, expected, error))
    return NULL;

  return g_steal_pointer (&result);
}

static gboolean
check_axis (LpDType  *self,
            LpShape  *shape,
            gint      axis,
            GError  **error)
{
  if (axis == -1 || lp_shape_get_dim (shape, axis) >= 0)
    return TRUE;

  g_set_error (error, LP_ERROR, LP_ERROR_SHAPE, "%s has no axis %d to encode along: the tensor has %u",
               PRIV (self)->name, axis, lp_shape_get_n_dims (shape));
  return FALSE;
}

/**
 * lp_dtype_encode:
 * @self: a dtype
 * @values: float32 values in row-major order
 * @shape: the shape of the tensor
 * @axis: the axis along which blocks lie; -1 is the last
 * @error: return location for an error
 *
 * Encodes a whole tensor.
 *
 * Returns: (transfer full): the bytes, [method@DType.get_encoded_size] of them. Errors: %LP_ERROR_SHAPE,
 *   %LP_ERROR_NOT_SUPPORTED, %LP_ERROR_SUBCLASS, and whatever the subclass reports
 */
GBytes *
lp_dtype_encode (LpDType  *self,
                 GBytes   *values,
                 LpShape  *shape,
                 gint      axis,
                 GError  **error)
{
  GError *local = NULL;
  GBytes *result;
  gint64 expected;

  g_return_val_if_fail (LP_IS_DTYPE (self), NULL);

  if (!check_axis (self, shape, axis, error) || !check_shape (self, shape, error))
    return NULL;
  expected = 4 * lp_shape_get_n_elements (shape);
  if ((gint64) g_bytes_get_size (values) != expected)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_SHAPE,
                   "%" G_GSIZE_FORMAT " bytes of values do not fill a shape that takes %" G_GINT64_FORMAT,
                   g_bytes_get_size (values), expected);
      return NULL;
    }

  result = LP_DTYPE_GET_CLASS (self)->encode (self, values, shape, axis, &local);

  expected = lp_dtype_get_encoded_size (self, shape);
  if (local == NULL && !lp_check_exceptions (&local))
    g_clear_pointer (&result, g_bytes_unref);

  return take_bytes (self, "encode", result, expected, local, error);
}

/**
 * lp_dtype_decode:
 * @self: a dtype
 * @data: all the bytes of a tensor
 * @shape: its shape
 * @axis: the axis along which blocks lie; -1 is the last
 * @first_block: the first block to decode
 * @n_blocks: how many
 * @error: return location for an error
 *
 * Decodes some blocks of a tensor. A row whose extent is no multiple of the block size ends in a short block; so does a
 * tensor in a [property@DType:flat] dtype.
 *
 * Returns: (transfer full): float32 values, block after block; a short block gives as many values as it has.
 *   Errors as for [method@DType.encode]
 */
GBytes *
lp_dtype_decode (LpDType  *self,
                 GBytes   *data,
                 LpShape  *shape,
                 gint      axis,
                 gint64    first_block,
                 gint64    n_blocks,
                 GError  **error)
{
  LpDTypePrivate *priv;
  GError *local = NULL;
  GBytes *result;
  gint64 row, blocks_per_row, total, n_values = 0;

  g_return_val_if_fail (LP_IS_DTYPE (self), NULL);

  if (!check_axis (self, shape, axis, error) || !check_shape (self, shape, error))
    return NULL;

  priv = PRIV (self);
  row = lp_shape_get_n_dims (shape) > 0 ? lp_shape_get_dim (shape, axis) : 1;
  if (priv->flat)
    row = lp_shape_get_n_elements (shape);
  blocks_per_row = MAX (1, (row + priv->block_size - 1) / priv->block_size);
  total = row > 0 ? lp_shape_get_n_elements (shape) / row * blocks_per_row : 0;
  if (first_block < 0 || n_blocks < 0 || first_block > total || n_blocks > total - first_block)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT,
                   "Blocks %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT " are not all among the %" G_GINT64_FORMAT
                   " of the tensor", first_block, first_block + n_blocks, total);
      return NULL;
    }

  for (gint64 b = first_block, last = first_block + n_blocks; b < last;)
    {
      gint64 in_row = b % blocks_per_row, until = MIN (blocks_per_row, in_row + (last - b));

      n_values += MIN (row, until * priv->block_size) - in_row * priv->block_size;
      b += until - in_row;
    }

  result = LP_DTYPE_GET_CLASS (self)->decode (self, data, shape, axis, first_block, n_blocks, &local);

  return take_bytes (self, "decode", result, 4 * n_values, local, error);
}

/**
 * lp_dtype_get_encoded_size:
 * @self: a dtype
 * @shape: a shape
 *
 * Gets the bytes that a tensor of @shape takes.
 *
 * Returns: the bytes, or -1 if @shape has so many elements that they can't be counted, or the subclass gives a number that can't be
 */
gint64
lp_dtype_get_encoded_size (LpDType *self,
                           LpShape *shape)
{
  gint64 size;

  g_return_val_if_fail (LP_IS_DTYPE (self), 0);

  if (!can_be_encoded (self, shape))
    return -1;
  size = LP_DTYPE_GET_CLASS (self)->get_encoded_size (self, shape);

  return size >= 0 && size <= G_MAXINT64 / 2 ? size : -1;
}

#define DEFINE_GETTER(name, SCALAR) \
  LpDType * \
  lp_dtype_##name (void) \
  { \
    return _lp_dtype_from_scalar (LP_SCALAR_##SCALAR); \
  }

/**
 * lp_dtype_f64:
 *
 * Gets IEEE 754 binary64.
 *
 * Returns: (transfer none): the dtype
 */
DEFINE_GETTER (f64, F64)
/**
 * lp_dtype_f32:
 *
 * Gets IEEE 754 binary32.
 *
 * Returns: (transfer none): the dtype
 */
DEFINE_GETTER (f32, F32)
/**
 * lp_dtype_f16:
 *
 * Gets IEEE 754 binary16.
 *
 * Returns: (transfer none): the dtype
 */
DEFINE_GETTER (f16, F16)
/**
 * lp_dtype_bf16:
 *
 * Gets bfloat16: the upper half of a binary32.
 *
 * Returns: (transfer none): the dtype
 */
DEFINE_GETTER (bf16, BF16)
/**
 * lp_dtype_i64:
 *
 * Gets signed 64-bit integers.
 *
 * Returns: (transfer none): the dtype
 */
DEFINE_GETTER (i64, I64)
/**
 * lp_dtype_i32:
 *
 * Gets signed 32-bit integers.
 *
 * Returns: (transfer none): the dtype
 */
DEFINE_GETTER (i32, I32)
/**
 * lp_dtype_i16:
 *
 * Gets signed 16-bit integers.
 *
 * Returns: (transfer none): the dtype
 */
DEFINE_GETTER (i16, I16)
/**
 * lp_dtype_i8:
 *
 * Gets signed 8-bit integers.
 *
 * Returns: (transfer none): the dtype
 */
DEFINE_GETTER (i8, I8)
/**
 * lp_dtype_u8:
 *
 * Gets unsigned 8-bit integers.
 *
 * Returns: (transfer none): the dtype
 */
DEFINE_GETTER (u8, U8)
/**
 * lp_dtype_bool:
 *
 * Gets truth values of one byte, 0 or 1.
 *
 * Returns: (transfer none): the dtype
 */
DEFINE_GETTER (bool, BOOL)
