#include "lowbit-fixture.h"

#include <lp/core/lp-codec-private.h>
#include <lp/core/lp-dtype-private.h>

static const char *const formats[] = { "e4m3", "e5m2", "e2m3", "e3m2", "e2m1" };

static gboolean
is_nan_code (LpElement format,
             guint8    code)
{
  const guint8 magnitude = code & 0x7F;

  return format == LP_ELEMENT_E4M3 ? magnitude == 0x7F : format == LP_ELEMENT_E5M2 && magnitude > 0x7C;
}

static guint8
sign_of (LpElement format,
         float     x)
{
  return signbit (x) ? 1 << (_lp_element_formats[format].exponent_bits + _lp_element_formats[format].mantissa_bits) : 0;
}

static void
check_code (LpElement format,
            gboolean  saturate,
            float     x,
            guint8    expected,
            guint8    code)
{
  const guint8 top = _lp_element_formats[format].max_code | sign_of (format, x);

  if (isnan (x))
    expected = _lp_element_formats[format].nan_code;
  else if (saturate && (is_nan_code (format, expected) || (format == LP_ELEMENT_E5M2 && (expected & 0x7F) == 0x7C)))
    expected = top;
  else if (is_nan_code (format, expected) && is_nan_code (format, code))
    expected = code;
  if (code != expected)
    g_error ("%s of %a: %02X, not %02X", formats[format], x, code, expected);
}

/* ml_dtypes' codes of every tie, every boundary and random bits; the loops of this machine and the plain ones. */
static void
test_encode (void)
{
  const LpCodecLoops *loops[] = { _lp_codec_loops, &_lp_codec_portable };
  g_autoptr (GBytes) file = golden_read ("floats.golden");
  g_autoptr (GBytes) inputs = golden_lookup (file, "inputs");
  gsize size;
  const float *x = g_bytes_get_data (inputs, &size);
  const gsize n = size / sizeof (float);
  g_autofree guint8 *codes = g_new (guint8, n);

  g_assert_cmpuint (n, >, 9000);
  for (LpElement f = 0; f < LP_N_ELEMENTS; f++)
    {
      g_autofree char *section = g_strconcat (formats[f], ".codes", NULL);
      g_autoptr (GBytes) expected = golden_lookup (file, section);
      const guint8 *golden = g_bytes_get_data (expected, NULL);

      for (int l = 0; l < 2; l++)
        for (int saturate = 0; saturate < 2; saturate++)
          {
            loops[l]->encode[f][saturate] (x, n, 1, codes);
            for (gsize i = 0; i < n; i++)
              check_code (f, saturate, x[i], golden[i], codes[i]);
          }
    }
}

/* What no file needs to say. */
static void
test_table (void)
{
  const struct { float x; guint8 codes[4]; } rows[] = {   /* e4m3 saturating or not, e5m2 saturating or not */
    { 464, { 0x7E, 0x7E, 0x5F, 0x5F } }, { 465, { 0x7E, 0x7F, 0x5F, 0x5F } }, { 480, { 0x7E, 0x7F, 0x60, 0x60 } },
    { 57344, { 0x7E, 0x7F, 0x7B, 0x7B } }, { 61439, { 0x7E, 0x7F, 0x7B, 0x7B } }, { 61440, { 0x7E, 0x7F, 0x7B, 0x7C } },
    { INFINITY, { 0x7E, 0x7F, 0x7B, 0x7C } }, { -INFINITY, { 0xFE, 0xFF, 0xFB, 0xFC } }, { NAN, { 0x7F, 0x7F, 0x7F, 0x7F } },
    { 0x1p-10f, { 0, 0, 0x14, 0x14 } }, { 0x1p-17f, { 0, 0, 0, 0 } }, { -0.0f, { 0x80, 0x80, 0x80, 0x80 } },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    for (int c = 0; c < 4; c++)
      {
        guint8 code;

        _lp_codec_loops->encode[c / 2 == 0 ? LP_ELEMENT_E4M3 : LP_ELEMENT_E5M2][c % 2 == 0] (&rows[i].x, 1, 1, &code);
        g_assert_cmphex (code, ==, rows[i].codes[c]);
      }
}

static void
test_decode (void)
{
  const LpCodecLoops *loops[] = { _lp_codec_loops, &_lp_codec_portable };
  g_autoptr (GBytes) file = golden_read ("floats.golden");

  for (LpElement f = 0; f < LP_N_ELEMENTS; f++)
    {
      g_autofree char *section = g_strconcat (formats[f], ".values", NULL);
      g_autoptr (GBytes) values = golden_lookup (file, section);
      gsize size;
      const float *expected = g_bytes_get_data (values, &size);
      const gsize n = size / sizeof (float);
      guint8 codes[256];
      float got[256];

      for (gsize i = 0; i < n; i++)
        codes[i] = i;
      for (int l = 0; l < 2; l++)
        {
          loops[l]->decode[f] (codes, n, 1, got);
          for (gsize i = 0; i < n; i++)
            {
              if (isnan (expected[i]))
                g_assert_true (isnan (got[i]));
              else
                g_assert_cmpmem (&got[i], 4, &expected[i], 4);
            }
        }
    }
}

/* All codes through tensors, and all f16 and bf16 values into them: one rounding, the same as from float32. */
static void
test_tensors (void)
{
  const char *const names[] = { "f8e4m3", "f8e5m2", "e2m1" };
  const gint64 n = 0x10000;
  g_autofree guint16 *patterns = g_new (guint16, n);
  g_autoptr (GBytes) bytes = NULL;
  g_autoptr (GError) error = NULL;

  for (gint64 i = 0; i < n; i++)
    patterns[i] = i;
  bytes = g_bytes_new (patterns, 2 * n);
  for (gsize d = 0; d < G_N_ELEMENTS (names); d++)
    {
      g_autoptr (LpDType) dtype = lp_dtype_lookup (names[d], &error);
      LpDType *const halves[] = { lp_dtype_f16 (), lp_dtype_bf16 () };

      for (int h = 0; h < 2; h++)
        {
          g_autoptr (LpTensor) half = lp_tensor_new_from_bytes (bytes, &n, 1, halves[h], &error);
          g_autoptr (LpTensor) single = lp_tensor_to_dtype (half, lp_dtype_f32 (), &error);
          g_autoptr (LpTensor) a = lp_tensor_to_dtype (half, dtype, &error);
          g_autoptr (LpTensor) b = lp_tensor_to_dtype (single, dtype, &error);
          g_autoptr (LpTensor) back = lp_tensor_to_dtype (a, halves[h], &error);
          g_autoptr (LpTensor) again = lp_tensor_to_dtype (back, dtype, &error);
          const gsize size = (gsize) lp_tensor_get_n_bytes (a);

          g_assert_no_error (error);
          g_assert_cmpmem ((gpointer) (gsize) lp_tensor_get_address (a), size, (gpointer) (gsize) lp_tensor_get_address (b), size);
          g_assert_cmpmem ((gpointer) (gsize) lp_tensor_get_address (a), size, (gpointer) (gsize) lp_tensor_get_address (again), size);
        }
    }
}

/* The middle between two codes and a little more, in a double that a float32 can't tell from the middle. */
static void
test_float64_rounds_once (void)
{
  g_autoptr (LpDType) dtype = lp_dtype_lookup ("f8e4m3", NULL);
  double values[126];
  const gint64 n = G_N_ELEMENTS (values);
  g_autoptr (LpTensor) wide = NULL;
  g_autoptr (LpTensor) low = NULL;
  const guint8 *codes;

  for (int i = 0; i < n; i++)
    {
      guint8 pair[] = { i, i + 1 };
      float ends[2];

      _lp_codec_portable.decode[LP_ELEMENT_E4M3] (pair, 2, 1, ends);
      values[i] = ((double) ends[0] + ends[1]) / 2 * (1 + 0x1p-40);
      g_assert_true ((double) (float) values[i] == ((double) ends[0] + ends[1]) / 2);
    }
  wide = lp_tensor_new_from_doubles (values, n, &n, 1, lp_dtype_f64 (), NULL);
  low = lp_tensor_to_dtype (wide, dtype, NULL);
  codes = (const guint8 *) (gsize) lp_tensor_get_address (low);
  for (int i = 0; i < n; i++)
    g_assert_cmphex (codes[i], ==, i + 1);
}

/* The first values. */
static void
check_decoded (GBytes     *file,
               LpTensor   *encoded,
               const char *section)
{
  g_autofree char *name = g_strconcat (section, ".decoded", NULL);
  g_autoptr (GBytes) expected = golden_lookup (file, name);
  g_autoptr (LpTensor) decoded = lp_tensor_to_dtype (encoded, lp_dtype_f32 (), NULL);
  const float *x = g_bytes_get_data (expected, NULL), *y = (const float *) (gsize) lp_tensor_get_address (decoded);

  g_assert_cmpuint (g_bytes_get_size (expected), ==, 300 * sizeof (float));
  for (int i = 0; i < 300; i++)
    g_assert_cmpfloat (y[i], ==, x[i]);
}

static LpTensor *
check_block (GBytes       *file,
             LpDType      *dtype,
             const char   *section,
             const gint64 *dims,
             gsize         n_dims)
{
  g_autoptr (GBytes) expected = golden_lookup (file, section);
  g_autoptr (LpTensor) values = golden_numbers (dims, n_dims);
  g_autoptr (LpTensor) encoded = NULL;
  g_autoptr (GBytes) bytes = NULL;
  g_autoptr (GError) error = NULL;
  const guint8 *a, *b;
  gsize size, n;

  if (n_dims == 2)
    memset ((float *) (gsize) lp_tensor_get_address (values) + 2 * dims[1] + 32, 0, 32 * sizeof (float));
  encoded = lp_tensor_to_dtype (values, dtype, &error);
  g_assert_no_error (error);
  bytes = lp_tensor_dup_bytes (encoded, &error);
  a = g_bytes_get_data (bytes, &size);
  b = g_bytes_get_data (expected, &n);
  g_assert_cmpuint (size, ==, n);
  for (gsize i = 0; i < n; i++)
    if (a[i] != b[i])
      g_error ("%s: byte %" G_GSIZE_FORMAT " of %" G_GSIZE_FORMAT " is %02X, not %02X", section, i, n, a[i], b[i]);

  check_decoded (file, encoded, section);

  return g_steal_pointer (&encoded);
}

/* Byte for byte what the published rules say. */
static void
test_blocks (void)
{
  const gint64 flat[] = { 17101 }, rows[] = { 7, 75 };
  const char *const names[] = { "nf4", "nf4-dq", "fp4", "fp4-dq", "i8-dynamic", "i8-rowwise", "mxfp8-e4m3", "mxfp8-e5m2", "mxfp6-e2m3",
                                "mxfp6-e3m2", "mxfp4", "nvfp4" };
  const char *const nvidia[] = { "mxfp8-e4m3", "mxfp8-e5m2", "mxfp6-e2m3", "mxfp6-e3m2", "mxfp4" };
  g_autoptr (GBytes) file = golden_read ("blocks.golden");
  g_autoptr (GBytes) map = golden_lookup (file, "map");

  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autoptr (LpDType) dtype = lp_dtype_lookup (names[i], NULL);
      const gboolean is_flat = lp_dtype_get_flat (dtype);
      g_autoptr (LpTensor) encoded = check_block (file, dtype, names[i], is_flat ? flat : rows, is_flat ? 1 : 2);

      g_assert_true (lp_dtype_get_thread_safe (dtype));
      g_assert_cmpstr (lp_dtype_get_name (lp_tensor_get_dtype (encoded)), ==, names[i]);
    }
  g_assert_cmpmem (_lp_dynamic_values, sizeof _lp_dynamic_values, g_bytes_get_data (map, NULL), g_bytes_get_size (map));
  for (gsize i = 0; i < G_N_ELEMENTS (nvidia); i++)
    {
      g_autoptr (LpDType) dtype = lp_microscaling_dtype_new (formats[i], LP_SCALE_RULE_NVIDIA);
      g_autofree char *section = g_strconcat (nvidia[i], ".nvidia", NULL);
      g_autoptr (LpTensor) encoded = check_block (file, dtype, section, rows, 2);

      g_assert_nonnull (encoded);
    }
}

/* How far a decoded value may be from what was encoded, relative to the largest of its block. */
static void
test_errors_are_bounded (void)
{
  static const struct { const char *name; int block; float bound; } rows[] = {
    { "nf4", 64, 0.153f }, { "nf4-dq", 64, 0.17f }, { "fp4", 64, 0.168f }, { "fp4-dq", 64, 0.18f }, { "i8-dynamic", 256, 0.008f },
    { "i8-rowwise", 256, 0.0040f }, { "mxfp8-e4m3", 32, 0.126f }, { "mxfp8-e5m2", 32, 0.126f }, { "mxfp6-e2m3", 32, 0.126f },
    { "mxfp6-e3m2", 32, 0.126f }, { "mxfp4", 32, 0.251f }, { "nvfp4", 16, 0.21f },
  };
  const gint64 dims[] = { 60, 256 };
  g_autoptr (LpTensor) values = golden_numbers (dims, 2);
  const float *x = (const float *) (gsize) lp_tensor_get_address (values);
  g_autoptr (GError) error = NULL;

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (LpDType) dtype = lp_dtype_lookup (rows[i].name, NULL);
      g_autoptr (LpTensor) encoded = lp_tensor_to_dtype (values, dtype, &error);
      g_autoptr (LpTensor) decoded = lp_tensor_to_dtype (encoded, lp_dtype_f32 (), &error);
      const float *y = (const float *) (gsize) lp_tensor_get_address (decoded);

      g_assert_no_error (error);
      for (int b = 0; b < 60 * 256; b += rows[i].block)
        {
          float most = 0, worst = 0;

          for (int j = 0; j < rows[i].block; j++)
            {
              most = MAX (most, fabsf (x[b + j]));
              worst = MAX (worst, fabsf (x[b + j] - y[b + j]));
            }
          if (worst > rows[i].bound * most)
            g_error ("%s: error %g of %g", rows[i].name, worst / most, most);
        }
    }
}

static void
test_sizes (void)
{
  static const struct { const char *name; double bits; } rows[] = {
    { "f8e4m3", 8 }, { "f8e5m2", 8 }, { "e2m1", 4 }, { "nf4", 4.5 }, { "fp4", 4.5 }, { "nf4-dq", 4.127 }, { "fp4-dq", 4.127 },
    { "i8-dynamic", 8.125 }, { "mxfp8-e4m3", 8.25 }, { "mxfp6-e2m3", 6.25 }, { "mxfp4", 4.25 }, { "nvfp4", 4.5 },
  };
  const gint64 dims[] = { 4096, 1024 };
  g_autoptr (LpShape) shape = lp_shape_new (dims, 2);

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (LpDType) dtype = lp_dtype_lookup (rows[i].name, NULL);

      g_assert_cmpfloat_with_epsilon ((double) lp_dtype_get_encoded_size (dtype, shape) * 8 / (4096 * 1024), rows[i].bits, 5e-4);
    }
}

/* An infinity or NaN stays visible. */
static void
test_not_finite (void)
{
  const char *const names[] = { "mxfp8-e4m3", "mxfp4", "nvfp4", "nf4", "i8-rowwise", "i8-dynamic" };
  const float bad[] = { INFINITY, NAN };
  g_autoptr (GError) error = NULL;

  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    for (int b = 0; b < 2; b++)
      {
        g_autoptr (LpDType) dtype = lp_dtype_lookup (names[i], NULL);
        const gint64 dims[] = { 1, 64 };
        g_autoptr (LpTensor) values = lp_tensor_ones (dims, 2, lp_dtype_f32 (), NULL, NULL);
        g_autoptr (LpTensor) encoded = NULL;
        g_autoptr (LpTensor) decoded = NULL;
        const float *y;

        ((float *) (gsize) lp_tensor_get_address (values))[5] = bad[b];
        encoded = lp_tensor_to_dtype (values, dtype, &error);
        decoded = lp_tensor_to_dtype (encoded, lp_dtype_f32 (), &error);
        g_assert_no_error (error);
        y = (const float *) (gsize) lp_tensor_get_address (decoded);
        g_assert_false (isfinite (y[5]));
      }
}

/* The code of bitsandbytes' rules, by definition. */
static guint8
nibble_of (const LpNibbleCode *code,
           float               x,
           float               absmax)
{
  const float value = x / fmaxf (absmax, 1e-38f), key = code->sign_magnitude ? fabsf (value) : value;
  int count = 0;

  for (int i = 0; i < (code->sign_magnitude ? 7 : 15); i++)
    count += key > code->thresholds[i];

  return code->sign_magnitude ? (guint8) (code->codes[count] | (value < 0 ? 8 : 0)) : (guint8) count;
}

static float
any_float (GRand *rand)
{
  const guint32 bits = g_rand_int (rand);
  float value;

  memcpy (&value, &bits, sizeof value);

  return value;
}

/* Within 2^-8 of a threshold, and rarely within a few units in the last place; at the mirror image, too, and tiny values. */
static float
near_threshold (const LpNibbleCode *code,
                float               absmax,
                GRand              *rand)
{
  const float threshold = code->thresholds[g_rand_int_range (rand, 0, code->sign_magnitude ? 7 : 15)];
  float value = threshold * absmax;

  if (g_rand_int_range (rand, 0, 256) > 0)
    value += (float) g_rand_double_range (rand, -0x1p-8, 0x1p-8) * absmax;
  else
    for (int i = g_rand_int_range (rand, -3, 4); i != 0; i += i < 0 ? 1 : -1)
      value = nextafterf (value, i < 0 ? -INFINITY : INFINITY);
  if (g_rand_int_range (rand, 0, 8) == 0)
    value = ldexpf (value, -g_rand_int_range (rand, 0, 150));
  if (g_rand_boolean (rand))
    value = -value;

  return fabsf (value) <= absmax || isnan (absmax) ? value : absmax;
}

/* Vectors decide by a product what a division decides, and leave to the division what is too close. */
static void
test_nibbles_near_thresholds (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (7);
  float x[64], absmax;
  guint8 bytes[32];

  for (int round = 0; round < 20000; round++)
    for (int c = 0; c < LP_N_NIBBLES; c++)
      {
        const LpNibbleCode *code = &_lp_nibble_codes[c];
        const float top = round % 4 == 0 ? fabsf (any_float (rand)) : ldexpf ((float) g_rand_double (rand), g_rand_int_range (rand, -3, 4));

        for (int i = 0; i < 64; i++)
          x[i] = near_threshold (code, top, rand);
        x[g_rand_int_range (rand, 0, 64)] = top;
        _lp_codec_loops->encode_nibble_blocks (code, x, 1, 64, &absmax, bytes);
        g_assert_true (absmax == top || (isnan (absmax) && isnan (top)));
        for (int i = 0; i < 64; i++)
          if (nibble_of (code, x[i], absmax) != (i % 2 == 0 ? bytes[i / 2] >> 4 : bytes[i / 2] & 15))
            g_error ("%s of %a by %a: %d, not %d", code->name, x[i], absmax, i % 2 == 0 ? bytes[i / 2] >> 4 : bytes[i / 2] & 15,
                     nibble_of (code, x[i], absmax));
      }
}

static void
test_other_axis (void)
{
  const gint64 dims[] = { 2, 64, 32 }, turned_dims[] = { 2, 32, 64 };
  g_autoptr (LpDType) dtype = lp_dtype_lookup ("mxfp4", NULL);
  g_autoptr (LpTensor) values = golden_numbers (dims, 3);
  g_autoptr (LpTensor) turned = lp_tensor_transpose (values, 1, 2, NULL);
  g_autoptr (LpShape) shape = lp_shape_new (dims, 3);
  g_autoptr (LpShape) turned_shape = lp_shape_new (turned_dims, 3);
  g_autoptr (GBytes) plain = lp_tensor_dup_bytes (values, NULL);
  g_autoptr (GBytes) plain_turned = lp_tensor_dup_bytes (turned, NULL);
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) a = lp_dtype_encode (dtype, plain, shape, 1, &error);
  g_autoptr (GBytes) b = lp_dtype_encode (dtype, plain_turned, turned_shape, -1, &error);
  g_autoptr (GBytes) decoded = NULL;

  g_assert_no_error (error);
  g_assert_true (g_bytes_equal (a, b));
  decoded = lp_dtype_decode (dtype, a, shape, 1, 3, 2, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (g_bytes_get_size (decoded), ==, 4 * 64);
}

static void
test_bad_properties (void)
{
  g_autoptr (GPtrArray) dtypes = g_ptr_array_new_with_free_func (g_object_unref);
  g_autoptr (LpTensor) values = lp_tensor_ones ((gint64[]) { 64 }, 1, lp_dtype_f32 (), NULL, NULL);

  g_ptr_array_add (dtypes, lp_float_dtype_new ("e9m9", TRUE));
  g_ptr_array_add (dtypes, lp_microscaling_dtype_new ("f32", LP_SCALE_RULE_OCP));
  g_ptr_array_add (dtypes, g_object_new (LP_TYPE_MICROSCALING_DTYPE, "scale-format", "f32", NULL));
  g_ptr_array_add (dtypes, lp_blockwise_dtype_new ("nf3", 64, FALSE));
  g_ptr_array_add (dtypes, lp_blockwise_dtype_new ("nf4", 16, FALSE));
  g_ptr_array_add (dtypes, lp_blockwise_dtype_new ("nf4", 96, FALSE));
  g_ptr_array_add (dtypes, lp_blockwise_dtype_new ("nf4", 8192, FALSE));
  g_ptr_array_add (dtypes, lp_blockwise_dtype_new ("nf4", 1, FALSE));
  for (guint i = 0; i < dtypes->len; i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (LpTensor) encoded = lp_tensor_to_dtype (values, g_ptr_array_index (dtypes, i), &error);

      g_assert_error (error, LP_ERROR, LP_ERROR_ARGUMENT);
      g_assert_null (encoded);
    }
}

static void
test_block_sizes (void)
{
  const gint64 dims[] = { 3, 5000 };
  g_autoptr (LpTensor) values = golden_numbers (dims, 2);

  for (guint block = 32; block <= 4096; block *= 2)
    {
      g_autoptr (LpDType) dtype = lp_blockwise_dtype_new ("nf4", block, block > 256);
      g_autoptr (GError) error = NULL;
      g_autoptr (LpTensor) encoded = lp_tensor_to_dtype (values, dtype, &error);
      g_autoptr (LpTensor) decoded = lp_tensor_to_dtype (encoded, lp_dtype_f32 (), &error);
      g_autoptr (LpTensor) again = lp_tensor_to_dtype (decoded, dtype, &error);

      g_assert_no_error (error);
      g_assert_cmpint (g_str_equal (lp_dtype_get_name (dtype), "nf4"), ==, block == 64);
      /* codes of what was decoded are the same; the absmax of a dq tensor may not be */
      g_assert_cmpmem ((gpointer) (gsize) lp_tensor_get_address (encoded), 7500, (gpointer) (gsize) lp_tensor_get_address (again), 7500);
    }
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/lowbit/encode", test_encode);
  g_test_add_func ("/lowbit/table", test_table);
  g_test_add_func ("/lowbit/decode", test_decode);
  g_test_add_func ("/lowbit/tensors", test_tensors);
  g_test_add_func ("/lowbit/float64-rounds-once", test_float64_rounds_once);
  g_test_add_func ("/lowbit/blocks", test_blocks);
  g_test_add_func ("/lowbit/errors-are-bounded", test_errors_are_bounded);
  g_test_add_func ("/lowbit/sizes", test_sizes);
  g_test_add_func ("/lowbit/not-finite", test_not_finite);
  g_test_add_func ("/lowbit/nibbles-near-thresholds", test_nibbles_near_thresholds);
  g_test_add_func ("/lowbit/other-axis", test_other_axis);
  g_test_add_func ("/lowbit/bad-properties", test_bad_properties);
  g_test_add_func ("/lowbit/block-sizes", test_block_sizes);

  return g_test_run ();
}
