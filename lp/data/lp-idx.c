#include <string.h>

#include <gio/gio.h>

#include <lp/data/lp-idx.h>

#include <lp/core/lp-dtype-private.h>
#include <lp/core/lp-error.h>
#include <lp/data/lp-data-private.h>

/* The largest gunzipped file that is believed, so that a small file can't ask for all memory. */
#define MAX_UNZIPPED (1u << 31)

static LpScalar
scalar_from_code (guint8 code)
{
  switch (code)
    {
    case 0x08:
      return LP_SCALAR_U8;
    case 0x09:
      return LP_SCALAR_I8;
    case 0x0B:
      return LP_SCALAR_I16;
    case 0x0C:
      return LP_SCALAR_I32;
    case 0x0D:
      return LP_SCALAR_F32;
    case 0x0E:
      return LP_SCALAR_F64;
    default:
      return LP_SCALAR_ENCODED;
    }
}

/* Feeds the decompressor until it is done; the output grows with what really comes out. */
static GBytes *
gunzip (const char  *path,
        GBytes      *zipped,
        GError     **error)
{
  g_autoptr (GZlibDecompressor) decompressor = g_zlib_decompressor_new (G_ZLIB_COMPRESSOR_FORMAT_GZIP);
  g_autoptr (GByteArray) output = g_byte_array_new ();
  g_autofree guint8 *buffer = g_malloc (1 << 16);
  gsize size, offset = 0;
  const guint8 *data = g_bytes_get_data (zipped, &size);
  GConverterResult result;

  do
    {
      g_autoptr (GError) local = NULL;
      gsize bytes_read = 0, bytes_written = 0;

      result = g_converter_convert (G_CONVERTER (decompressor), data + offset, size - offset, buffer, 1 << 16,
                                    G_CONVERTER_INPUT_AT_END, &bytes_read, &bytes_written, &local);
      if (result == G_CONVERTER_ERROR)
        {
          _lp_set_format_error (error, path, "the gzip data is broken at byte %" G_GSIZE_FORMAT ": %s", offset,
                                local->message);
          return NULL;
        }
      offset += bytes_read;
      g_byte_array_append (output, buffer, bytes_written);
      if (output->len > MAX_UNZIPPED)
        {
          _lp_set_format_error (error, path, "unpacks to more than %u bytes", output->len);
          return NULL;
        }
    }
  while (result != G_CONVERTER_FINISHED);

  return g_byte_array_free_to_bytes (g_steal_pointer (&output));
}

static void
swap_bytes (guint8       *target,
            const guint8 *source,
            gsize         n,
            guint         width)
{
  for (gsize i = 0; i < n; i++)
    for (guint j = 0; j < width; j++)
      target[i * width + j] = source[i * width + width - 1 - j];
}

static gboolean
parse_header (const char    *path,
              const guint8  *data,
              gsize          size,
              LpScalar      *scalar,
              gint64        *dims,
              guint         *n_dims,
              GError       **error)
{
  gsize expected, available;

  if (size < 4 || data[0] != 0 || data[1] != 0)
    {
      _lp_set_format_error (error, path, "doesn't start like an IDX file (two zero bytes, a type, a number of axes)");
      return FALSE;
    }

  *scalar = scalar_from_code (data[2]);
  if (*scalar == LP_SCALAR_ENCODED)
    {
      _lp_set_format_error (error, path, "byte 2 is 0x%02x, which is no IDX element type", data[2]);
      return FALSE;
    }

  *n_dims = data[3];
  if (*n_dims == 0 || *n_dims > LP_MAX_DIMS)
    {
      _lp_set_format_error (error, path, "byte 3 says %u axes; 1 to %d can be read", *n_dims, LP_MAX_DIMS);
      return FALSE;
    }
  if (size < 4 + 4 * (gsize) *n_dims)
    {
      _lp_set_format_error (error, path, "ends at byte %" G_GSIZE_FORMAT ", within the header", size);
      return FALSE;
    }

  expected = _lp_scalar_sizes[*scalar];
  available = size - 4 - 4 * *n_dims;
  for (guint i = 0; i < *n_dims; i++)
    {
      guint32 dim;

      memcpy (&dim, data + 4 + 4 * i, 4);
      dims[i] = GUINT32_FROM_BE (dim);
      if (__builtin_mul_overflow (expected, (gsize) dims[i], &expected))
        expected = G_MAXSIZE;
    }
  if (expected != available)
    {
      _lp_set_format_error (error, path, "the header promises %" G_GSIZE_FORMAT " bytes of elements, but %" G_GSIZE_FORMAT
                            " follow it", expected, available);
      return FALSE;
    }

  return TRUE;
}

/**
 * lp_load_idx:
 * @path: (type filename): a file, plain or gzip
 * @error: return location for an error
 *
 * Reads a tensor from an IDX file, the format of MNIST and its relatives: bytes 0 0, type, number of axes, extents as
 * big-endian 32-bit numbers, elements.
 *
 * Returns: (transfer full): the tensor: u8, i8, i16, i32, f32 or f64. Errors: %LP_ERROR_IO, %LP_ERROR_FORMAT,
 *   %LP_ERROR_MEMORY
 */
LpTensor *
lp_load_idx (const char  *path,
             GError     **error)
{
  g_autoptr (GBytes) bytes = NULL;
  g_autoptr (GBytes) elements = NULL;
  gint64 dims[LP_MAX_DIMS];
  const guint8 *data;
  LpScalar scalar;
  guint n_dims, width;
  gsize size, start;

  g_return_val_if_fail (path != NULL, NULL);

  bytes = _lp_map_file (path, error);
  if (bytes == NULL)
    return NULL;

  data = g_bytes_get_data (bytes, &size);
  if (size >= 2 && data[0] == 0x1f && data[1] == 0x8b)
    {
      GBytes *unzipped = gunzip (path, bytes, error);

      if (unzipped == NULL)
        return NULL;
      g_bytes_unref (bytes);
      bytes = unzipped;
      data = g_bytes_get_data (bytes, &size);
    }

  if (!parse_header (path, data, size, &scalar, dims, &n_dims, error))
    return NULL;

  start = 4 + 4 * n_dims;
  width = _lp_scalar_sizes[scalar];
  if (width == 1)
    elements = g_bytes_new_from_bytes (bytes, start, size - start);
  else
    {
      guint8 *swapped = g_malloc (MAX (size - start, 1));

      swap_bytes (swapped, data + start, (size - start) / width, width);
      elements = g_bytes_new_take (swapped, size - start);
    }

  return lp_tensor_new_from_bytes (elements, dims, n_dims, _lp_dtype_from_scalar (scalar), error);
}
