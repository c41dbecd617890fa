#include <stdio.h>
#include <string.h>

#include <gio/gio.h>
#include <glib/gstdio.h>

#include <lp/lp.h>

#include "../test-folder.h"

typedef GObject *(* Loader) (const char *path, GError **error);

static GObject *
load_idx (const char *path, GError **error)
{
  return (GObject *) lp_load_idx (path, error);
}

static GObject *
load_npy (const char *path, GError **error)
{
  return (GObject *) lp_load_npy (path, error);
}

static GObject *
load_csv (const char *path, GError **error)
{
  return (GObject *) lp_load_csv (path, FALSE, NULL, error);
}

static GObject *
load_safetensors (const char *path, GError **error)
{
  return (GObject *) lp_load_safetensors (path, error);
}

/* Without the sync of g_file_set_contents (), which would take most of the time. */
static void
put (gconstpointer data,
     gsize         size)
{
  FILE *file = g_fopen ("hostile", "wb");

  g_assert_cmpuint (fwrite (data, 1, size, file), ==, size);
  g_assert_cmpint (fclose (file), ==, 0);
}

static void
expect (Loader         loader,
        gconstpointer  data,
        gsize          size,
        const char    *part)
{
  g_autoptr (GError) error = NULL;

  put (data, size);
  g_assert_null (loader ("hostile", &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_FORMAT);
  g_assert_true (g_str_has_prefix (error->message, "hostile: "));
  if (strstr (error->message, part) == NULL)
    g_error ("'%s' is not in '%s'", part, error->message);
}

/* Whatever it makes of it, it neither crashes nor fails silently. */
static void
survive (Loader        loader,
         gconstpointer data,
         gsize         size,
         gboolean      must_fail)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GObject) result = NULL;

  put (data, size);
  result = loader ("hostile", &error);
  g_assert_true ((result == NULL) == (error != NULL));
  if (must_fail)
    g_assert_null (result);
}

static void
torture (Loader      loader,
         const char *path,
         gboolean    truncated_fails)
{
  g_autofree char *data = NULL;
  gsize size;

  g_assert_true (g_file_get_contents (path, &data, &size, NULL));
  for (gsize i = 0; i < size; i++)
    survive (loader, data, i, truncated_fails);
  for (gsize i = 0; i < MIN (size, 400); i++)
    {
      static const guint8 bytes[] = { 0x00, 0xff, '"', '{', '[', '9' };
      char former = data[i];

      for (guint j = 0; j < G_N_ELEMENTS (bytes); j++)
        {
          data[i] = bytes[j];
          survive (loader, data, size, FALSE);
        }
      data[i] = former;
    }
}

static void
test_missing (void)
{
  Loader loaders[] = { load_idx, load_npy, load_csv, load_safetensors };

  for (guint i = 0; i < G_N_ELEMENTS (loaders); i++)
    {
      g_autoptr (GError) error = NULL;

      g_assert_null (loaders[i] ("no such file", &error));
      g_assert_error (error, LP_ERROR, LP_ERROR_IO);
      g_clear_error (&error);
      g_assert_null (loaders[i] (".", &error));
      g_assert_error (error, LP_ERROR, LP_ERROR_IO);
      g_clear_error (&error);
      g_assert_true (g_file_set_contents ("empty", "", 0, NULL));
      g_assert_null (loaders[i] ("empty", &error));
      g_assert_error (error, LP_ERROR, LP_ERROR_FORMAT);
    }
}

static void
gzip (const char    *path,
      gconstpointer  data,
      gsize          size)
{
  g_autoptr (GConverter) compressor = G_CONVERTER (g_zlib_compressor_new (G_ZLIB_COMPRESSOR_FORMAT_GZIP, 9));
  guint8 buffer[4096];
  gsize bytes_read, bytes_written;

  g_converter_convert (compressor, data, size, buffer, sizeof buffer, G_CONVERTER_INPUT_AT_END, &bytes_read, &bytes_written,
                       NULL);
  g_assert_true (g_file_set_contents (path, (char *) buffer, bytes_written, NULL));
}

static void
test_idx (void)
{
  static const guint8 good[] = { 0, 0, 0x08, 2, 0, 0, 0, 2, 0, 0, 0, 2, 1, 2, 3, 4 };
  static const guint8 huge[] = { 0, 0, 0x0E, 3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2 };
  static const guint8 type[] = { 0, 0, 0x07, 1, 0, 0, 0, 1, 1 };
  static const guint8 axes[] = { 0, 0, 0x08, 9, 0, 0, 0, 1, 1 };

  g_assert_true (g_file_set_contents ("good.idx", (char *) good, sizeof good, NULL));
  torture (load_idx, "good.idx", TRUE);
  gzip ("good.idx.gz", good, sizeof good);
  torture (load_idx, "good.idx.gz", TRUE);
  expect (load_idx, huge, sizeof huge, "promises");
  expect (load_idx, type, sizeof type, "0x07");
  expect (load_idx, axes, sizeof axes, "9 axes");
}

static void
expect_npy (const char *header,
            const char *part)
{
  g_autoptr (GByteArray) file = g_byte_array_new ();
  guint8 length[2] = { strlen (header) & 0xff, strlen (header) >> 8 };

  g_byte_array_append (file, (const guint8 *) "\x93NUMPY\x01\x00", 8);
  g_byte_array_append (file, length, 2);
  g_byte_array_append (file, (const guint8 *) header, strlen (header));
  g_byte_array_append (file, (const guint8 *) "12345678", 8);
  expect (load_npy, file->data, file->len, part);
}

static void
test_npy (void)
{
  g_autoptr (LpTensor) tensor = lp_tensor_ones ((gint64[]) { 2, 3 }, 2, NULL, NULL, NULL);

  g_assert_true (lp_save_npy (tensor, "good.npy", NULL));
  torture (load_npy, "good.npy", TRUE);
  expect_npy ("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", "needs 12 bytes");
  expect_npy ("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 9223372036854775807), }", "more than");
  expect_npy ("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", "too large");
  expect_npy ("{'descr': '|O', 'fortran_order': False, 'shape': (2,), }", "'|O'");
  expect_npy ("{'descr': '<f4', 'descr': '<f8', 'fortran_order': False, 'shape': (2,), }", "key");
  expect_npy ("{'descr': '<f4', 'fortran_order': False}", "missing");
  expect_npy ("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2,), }", "neither");
  expect_npy ("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (2,), }", "structured");
}

static void
test_csv (void)
{
  expect (load_csv, "1,2\n3\n", 6, "line 2 has fewer columns");
  expect (load_csv, "1,2\n3,4,5\n", 10, "line 2 has more columns");
  expect (load_csv, "1,2\n3,x\n", 8, "line 2, column 2: 'x'");
  expect (load_csv, "1,2\n3,\n", 7, "line 2, column 2");
  expect (load_csv, "1,\0002\n", 5, "column 2");
  expect (load_csv, "\n\n", 2, "empty");
}

static void
expect_safetensors (const char *json,
                    gsize       n_bytes,
                    const char *part)
{
  g_autoptr (GByteArray) file = g_byte_array_new ();
  g_autofree guint8 *bytes = g_malloc0 (n_bytes + 1);
  guint64 length = GUINT64_TO_LE ((guint64) strlen (json));

  g_byte_array_append (file, (guint8 *) &length, 8);
  g_byte_array_append (file, (const guint8 *) json, strlen (json));
  g_byte_array_append (file, bytes, n_bytes);
  expect (load_safetensors, file->data, file->len, part);
}

static void
test_safetensors (void)
{
  g_autoptr (LpTensorDict) tensors = lp_tensor_dict_new ();
  g_autoptr (LpTensor) tensor = lp_tensor_ones ((gint64[]) { 2, 3 }, 2, NULL, NULL, NULL);
  g_autofree char *deep = g_strnfill (100000, '[');
  g_autofree char *nested = g_strconcat ("{\"a\":", deep, NULL);

  lp_tensor_dict_set (tensors, "one", tensor);
  lp_tensor_dict_set (tensors, "two", tensor);
  g_assert_true (lp_save_safetensors (tensors, NULL, "good.safetensors", NULL));
  torture (load_safetensors, "good.safetensors", TRUE);

  expect (load_safetensors, "\xff\xff\xff\xff\xff\xff\xff\x7f{}", 10, "claims");
  expect_safetensors ("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
                      "\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "occurs twice");
  expect_safetensors ("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
                      "\"\\u0061\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "occurs twice");
  expect_safetensors ("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,12]}}", 12, "doesn't need");
  expect_safetensors ("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 12, "there are 12");
  expect_safetensors ("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
                      "\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[4,12]}}", 12, "must start at 8");
  expect_safetensors ("{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,8]}}", 8, "whole number");
  expect_safetensors ("{\"a\":{\"dtype\":\"F32\",\"shape\":[1.5],\"data_offsets\":[0,8]}}", 8, "whole number");
  expect_safetensors ("{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296,4],\"data_offsets\":[0,8]}}", 8, "doesn't need");
  expect_safetensors ("{\"a\":{\"dtype\":\"Q9\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, "Q9");
  expect_safetensors ("{\"a\":{\"dtype\":\"F32\",\"shape\":[2]}}", 8, "data_offsets");
  expect_safetensors ("{\"a\":7}", 0, "not described");
  expect_safetensors ("{\"__metadata__\":{\"x\":1}}", 0, "not a string");
  expect_safetensors ("[1]", 0, "'{'");
  expect_safetensors (nested, 0, "nested");
  expect_safetensors ("{\"\xff\":1}", 0, "UTF-8");
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/hostile/missing", test_missing);
  g_test_add_func ("/hostile/idx", test_idx);
  g_test_add_func ("/hostile/npy", test_npy);
  g_test_add_func ("/hostile/csv", test_csv);
  g_test_add_func ("/hostile/safetensors", test_safetensors);

  return test_run_in_folder ();
}
