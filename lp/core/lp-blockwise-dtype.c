#include <lp/core/lp-blockwise-dtype-private.h>

#include <string.h>

#include <lp/core/lp-dtype-codec-private.h>
#include <lp/core/lp-error.h>

/**
 * LpBlockwiseDType:
 *
 * The block-wise codes of bitsandbytes: `nf4`, `nf4-dq`, `fp4`, `fp4-dq` and `i8-dynamic` in [class@DTypeRegistry].
 *
 * The elements of a tensor, as one run in row-major order, are cut in blocks. Each is divided by the largest magnitude of its block,
 * its absmax, and stored as the code of the nearest value: one of 16 for `nf4` and `fp4`, two to a byte with the first in the upper
 * half, and one of 256 for the signed 8-bit dynamic map. A value exactly between two neighbours, as a float32, takes the lower one.
 *
 * With [property@BlockwiseDType:double-quantized], the absmax of all blocks, less their mean, are stored by the same method in the
 * dynamic map with blocks of 256. An element of `nf4` with blocks of 64 takes 4.5 bits, one of `nf4-dq` 4.127.
 *
 * Sources: T. Dettmers et al., "QLoRA: Efficient Finetuning of Quantized LLMs" (2023), and "8-bit Optimizers via Block-wise
 * Quantization" (2021). `fp4` here is not the `e2m1` of OCP.
 *
 * Stored are all codes, padded to a multiple of 4 bytes, then the absmax as float32; or, double quantized, the mean, the second absmax,
 * both in float32, and the codes of the first.
 */
struct _LpBlockwiseDType
{
  LpDType   parent_instance;

  char     *code;
  gboolean  double_quantized;
  LpNibble  nibble;         /* LP_N_NIBBLES: the dynamic map */
};

G_DEFINE_FINAL_TYPE (LpBlockwiseDType, lp_blockwise_dtype, LP_TYPE_DTYPE)

enum { PROP_0, PROP_CODE, PROP_DOUBLE_QUANTIZED, N_PROPS };

static GParamSpec *properties[N_PROPS];

#define DEFAULT_BLOCK 64
#define DEFAULT_DYNAMIC_BLOCK 256

static gboolean
lp_blockwise_dtype_check (LpDType  *dtype,
                          GError  **error)
{
  LpBlockwiseDType *self = LP_BLOCKWISE_DTYPE (dtype);
  const guint block = lp_dtype_get_block_size (dtype);

  if (self->nibble == LP_N_NIBBLES && g_strcmp0 (self->code, "dynamic") != 0)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT, "There is no code “%s”: there are nf4, fp4 and dynamic", self->code);
      return FALSE;
    }
  if (block < 32 || block > 4096 || (block & (block - 1)) != 0)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT, "Blocks of %s have 32, 64, 128, … or 4096 elements, not %u", self->code, block);
      return FALSE;
    }

  return TRUE;
}

static float
read_float (const guint8 *data,
            gint64        index)
{
  float value;

  memcpy (&value, data + index * (gint64) sizeof value, sizeof value);

  return value;
}

static void
write_float (guint8 *data,
             gint64  index,
             float   value)
{
  memcpy (data + index * (gint64) sizeof value, &value, sizeof value);
}

/* Where the absmax begin. */
static gint64
absmax_offset (LpBlockwiseDType *self,
               gint64            n)
{
  const gint64 bytes = self->nibble == LP_N_NIBBLES ? n : (n + 1) / 2;

  return _lp_blockwise_absmax_offset (bytes);
}

static gint64
n_nested_blocks (gint64 n_blocks)
{
  return _lp_blockwise_count_blocks (n_blocks, LP_BLOCKWISE_NESTED_BLOCK);
}

static gint64
lp_blockwise_dtype_get_size (LpDType *dtype,
                             gint64   rows,
                             gint64   row)
{
  LpBlockwiseDType *self = LP_BLOCKWISE_DTYPE (dtype);
  const gint64 n_blocks = _lp_dtype_n_blocks (dtype, rows, row);
  const gint64 start = absmax_offset (self, rows * row);

  if (self->double_quantized)
    return start + (1 + n_nested_blocks (n_blocks)) * (gint64) sizeof (float) + n_blocks;

  return start + n_blocks * (gint64) sizeof (float);
}

/* The absmax of all blocks in 8 bits. @absmax is used up. */
static void
encode_absmax (float  *absmax,
               gint64  n_blocks,
               guint8 *data)
{
  guint8 *codes = data + (1 + n_nested_blocks (n_blocks)) * (gint64) sizeof (float);
  double sum = 0;
  float mean;

  for (gint64 i = 0; i < n_blocks; i++)
    sum += (double) absmax[i];
  mean = (float) (sum / (double) n_blocks);
  write_float (data, 0, mean);
  for (gint64 first = 0; first < n_blocks; first += LP_BLOCKWISE_NESTED_BLOCK)
    {
      const gint64 n = MIN (LP_BLOCKWISE_NESTED_BLOCK, n_blocks - first);
      float most, divisor;

      for (gint64 i = first; i < first + n; i++)
        absmax[i] -= mean;
      most = _lp_codec_loops->absmax (absmax + first, n);
      divisor = MAX (most, 1e-38f);
      write_float (data, 1 + first / LP_BLOCKWISE_NESTED_BLOCK, most);
      for (gint64 i = first; i < first + n; i++)
        codes[i] = _lp_dynamic_encode (absmax[i] / divisor);
    }
}

static float
decode_absmax (const guint8 *data,
               gint64        n_blocks,
               gint64        block)
{
  const guint8 *codes = data + (1 + n_nested_blocks (n_blocks)) * (gint64) sizeof (float);

  return _lp_dynamic_values[codes[block]] * read_float (data, 1 + block / LP_BLOCKWISE_NESTED_BLOCK) + read_float (data, 0);
}

static void
lp_blockwise_dtype_begin (LpDType     *dtype,
                          const float *x,
                          gint64       rows,
                          gint64       row,
                          guint8      *data)
{
  LpBlockwiseDType *self = LP_BLOCKWISE_DTYPE (dtype);
  const gint64 n = rows * row, block = lp_dtype_get_block_size (dtype), n_blocks = _lp_dtype_n_blocks (dtype, rows, row);
  const gint64 bytes = self->nibble == LP_N_NIBBLES ? n : (n + 1) / 2;
  g_autofree float *absmax = NULL;

  memset (data + bytes, 0, absmax_offset (self, n) - bytes);
  if (!self->double_quantized)
    return;
  absmax = g_new (float, n_blocks);
#pragma omp parallel for schedule(static) if (n > LP_CODEC_PART)
  for (gint64 b = 0; b < n_blocks; b++)
    absmax[b] = _lp_codec_loops->absmax (x + b * block, MIN (block, n - b * block));
  encode_absmax (absmax, n_blocks, data + absmax_offset (self, n));
}

static void
encode_dynamic (const float *x,
                gint64       n,
                float        absmax,
                guint8      *codes)
{
  const float divisor = MAX (absmax, 1e-38f);

  for (gint64 i = 0; i < n; i++)
    codes[i] = _lp_dynamic_encode (x[i] / divisor);
}

/* Blocks that are encoded at a time. */
#define CHUNK 64

static void
encode_whole (LpBlockwiseDType *self,
              const float      *x,
              gint64            block,
              gint64            first,
              gint64            n_blocks,
              guint8           *codes,
              guint8           *absmaxes)
{
  float absmax[CHUNK];

  for (gint64 b = first; b < first + n_blocks; b += CHUNK, x += CHUNK * block)
    {
      const gint64 n = MIN (CHUNK, first + n_blocks - b);

      _lp_codec_loops->encode_nibble_blocks (&_lp_nibble_codes[self->nibble], x, n, block, absmax, codes + b * block / 2);
      if (!self->double_quantized)
        memcpy (absmaxes + b * (gint64) sizeof (float), absmax, n * sizeof (float));
    }
}

/* The codes follow the exact absmax, also where it is stored in 8 bits. */
static void
lp_blockwise_dtype_encode (LpDType     *dtype,
                           const float *x,
                           gint64       rows,
                           gint64       row,
                           gint64       first,
                           gint64       n_blocks,
                           guint8      *data)
{
  LpBlockwiseDType *self = (LpBlockwiseDType *) dtype;
  const gint64 n = rows * row, block = lp_dtype_get_block_size (dtype);
  const gint64 n_whole = self->nibble != LP_N_NIBBLES ? MIN (n_blocks, n / block - first) : 0;
  guint8 *absmaxes = data + absmax_offset (self, n);

  encode_whole (self, x, block, first, n_whole, data, absmaxes);
  x += n_whole * block;
  for (gint64 b = first + n_whole; b < first + n_blocks; b++, x += block)
    {
      const gint64 count = MIN (block, n - b * block);
      const float absmax = _lp_codec_loops->absmax (x, count);

      if (!self->double_quantized)
        write_float (absmaxes, b, absmax);
      if (self->nibble == LP_N_NIBBLES)
        encode_dynamic (x, count, absmax, data + b * block);
      else
        _lp_codec_loops->encode_nibbles (&_lp_nibble_codes[self->nibble], x, count, absmax, data + b * block / 2);
    }
}

static void
lp_blockwise_dtype_decode (LpDType      *dtype,
                           const guint8 *data,
                           gint64        rows,
                           gint64        row,
                           gint64        first,
                           gint64        n,
                           float        *y)
{
  LpBlockwiseDType *self = (LpBlockwiseDType *) dtype;
  const gint64 n_elements = rows * row, block = lp_dtype_get_block_size (dtype);
  const gint64 n_blocks = _lp_dtype_n_blocks (dtype, rows, row);
  const guint8 *absmaxes = data + absmax_offset (self, n_elements);

  for (gint64 b = first; b < first + n; b++, y += block)
    {
      const gint64 count = MIN (block, n_elements - b * block);
      const float absmax = self->double_quantized ? decode_absmax (absmaxes, n_blocks, b) : read_float (absmaxes, b);

      if (self->nibble != LP_N_NIBBLES)
        _lp_codec_loops->decode_nibbles (&_lp_nibble_codes[self->nibble], data + b * block / 2, count, absmax, y);
      else
        for (gint64 i = 0; i < count; i++)
          y[i] = _lp_dynamic_values[data[b * block + i]] * absmax;
    }
}

static const LpDTypeCodec codec = {
  .check = lp_blockwise_dtype_check,
  .get_size = lp_blockwise_dtype_get_size,
  .begin = lp_blockwise_dtype_begin,
  .encode = lp_blockwise_dtype_encode,
  .decode = lp_blockwise_dtype_decode,
};

static void
lp_blockwise_dtype_constructed (GObject *object)
{
  LpBlockwiseDType *self = LP_BLOCKWISE_DTYPE (object);
  guint block = lp_dtype_get_block_size (LP_DTYPE (self));
  g_autofree char *name = NULL;
  guint usual;
  gboolean dynamic;

  G_OBJECT_CLASS (lp_blockwise_dtype_parent_class)->constructed (object);

  self->nibble = 0;
  while (self->nibble < LP_N_NIBBLES && g_strcmp0 (_lp_nibble_codes[self->nibble].name, self->code) != 0)
    self->nibble++;
  dynamic = self->nibble == LP_N_NIBBLES;
  usual = dynamic ? DEFAULT_DYNAMIC_BLOCK : DEFAULT_BLOCK;
  if (block == 1)
    block = usual;
  name = g_strconcat (dynamic ? "i8-" : "", self->code, self->double_quantized ? "-dq" : "", NULL);
  if (block != usual)
    {
      g_autofree char *plain = g_steal_pointer (&name);

      name = g_strdup_printf ("%s-block%u", plain, block);
    }
  _lp_dynamic_init ();
  _lp_dtype_set_layout (LP_DTYPE (self), name, dynamic ? 8 : 4, block, TRUE);
  _lp_dtype_set_codec (LP_DTYPE (self), &codec);
}

static void
lp_blockwise_dtype_finalize (GObject *object)
{
  g_free (LP_BLOCKWISE_DTYPE (object)->code);

  G_OBJECT_CLASS (lp_blockwise_dtype_parent_class)->finalize (object);
}

static void
lp_blockwise_dtype_get_property (GObject    *object,
                                 guint       prop_id,
                                 GValue     *value,
                                 GParamSpec *pspec)
{
  LpBlockwiseDType *self = LP_BLOCKWISE_DTYPE (object);

  switch (prop_id)
    {
    case PROP_CODE:
      g_value_set_string (value, self->code);
      break;
    case PROP_DOUBLE_QUANTIZED:
      g_value_set_boolean (value, self->double_quantized);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_blockwise_dtype_set_property (GObject      *object,
                                 guint         prop_id,
                                 const GValue *value,
                                 GParamSpec   *pspec)
{
  LpBlockwiseDType *self = LP_BLOCKWISE_DTYPE (object);

  switch (prop_id)
    {
    case PROP_CODE:
      self->code = g_value_dup_string (value);
      break;
    case PROP_DOUBLE_QUANTIZED:
      self->double_quantized = g_value_get_boolean (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_blockwise_dtype_class_init (LpBlockwiseDTypeClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  const GParamFlags flags = G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS;

  object_class->constructed = lp_blockwise_dtype_constructed;
  object_class->finalize = lp_blockwise_dtype_finalize;
  object_class->get_property = lp_blockwise_dtype_get_property;
  object_class->set_property = lp_blockwise_dtype_set_property;

  /**
   * LpBlockwiseDType:code: (getter get_code)
   *
   * The values that an element may take: `nf4`, `fp4` or `dynamic`.
   */
  properties[PROP_CODE] = g_param_spec_string ("code", NULL, NULL, "nf4", flags);

  /**
   * LpBlockwiseDType:double-quantized: (getter get_double_quantized)
   *
   * Whether the absmax of the blocks are stored in 8 bits.
   */
  properties[PROP_DOUBLE_QUANTIZED] = g_param_spec_boolean ("double-quantized", NULL, NULL, FALSE, flags);

  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
lp_blockwise_dtype_init (LpBlockwiseDType *self)
{
}

/**
 * lp_blockwise_dtype_new:
 * @code: `nf4`, `fp4` or `dynamic`
 * @block_size: elements of a block: a power of two from 32 to 4096
 * @double_quantized: whether the absmax of the blocks are stored in 8 bits
 *
 * Creates a dtype, called like the registered one, or, with another block size than that, such as `nf4-block128`. With another code or
 * block size, encoding and decoding fail with %LP_ERROR_ARGUMENT.
 *
 * Returns: (transfer full) (type LpBlockwiseDType): the dtype
 */
LpDType *
lp_blockwise_dtype_new (const char *code,
                        guint       block_size,
                        gboolean    double_quantized)
{
  return g_object_new (LP_TYPE_BLOCKWISE_DTYPE,
                       "code", code,
                       "block-size", MAX (block_size, 2),
                       "double-quantized", double_quantized,
                       NULL);
}

/**
 * lp_blockwise_dtype_get_code:
 * @self: a dtype
 *
 * Gets the code, such as `nf4`.
 *
 * Returns: (transfer none): the code
 */
const char *
lp_blockwise_dtype_get_code (LpBlockwiseDType *self)
{
  g_return_val_if_fail (LP_IS_BLOCKWISE_DTYPE (self), NULL);

  return self->code;
}

/**
 * lp_blockwise_dtype_get_double_quantized:
 * @self: a dtype
 *
 * Gets whether the absmax of the blocks are stored in 8 bits.
 *
 * Returns: whether they are
 */
gboolean
lp_blockwise_dtype_get_double_quantized (LpBlockwiseDType *self)
{
  g_return_val_if_fail (LP_IS_BLOCKWISE_DTYPE (self), FALSE);

  return self->double_quantized;
}
