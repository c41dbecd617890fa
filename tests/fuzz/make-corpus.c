/* Writes the corpus from valid files: make-corpus FOLDER. What the fuzzers found is in there too, as regression-*, and stays. */

#include <stdlib.h>
#include <string.h>

#include <json-glib/json-glib.h>

#include "fuzz-run.h"

static const char *root;

/* The path of a file in the folder of @harness. */
static char *
path_of (const char *harness,
         const char *name)
{
  g_autofree char *folder = g_build_filename (root, harness, NULL);

  g_mkdir_with_parents (folder, 0777);

  return g_build_filename (folder, name, NULL);
}

static void
put (const char    *harness,
     const char    *name,
     gconstpointer  data,
     gsize          size)
{
  g_autofree char *path = path_of (harness, name);

  if (!g_file_set_contents (path, data, size, NULL))
    g_error ("%s can't be written", path);
}

static void
put_gzip (const char    *harness,
          const char    *name,
          gconstpointer  data,
          gsize          size)
{
  g_autoptr (GConverter) compressor = G_CONVERTER (g_zlib_compressor_new (G_ZLIB_COMPRESSOR_FORMAT_GZIP, 9));
  guint8 buffer[4096];
  gsize bytes_read, bytes_written;

  g_converter_convert (compressor, data, size, buffer, sizeof buffer, G_CONVERTER_INPUT_AT_END, &bytes_read, &bytes_written,
                       NULL);
  put (harness, name, buffer, bytes_written);
}

static void
make_idx (void)
{
  static const guint8 bytes[] = { 0, 0, 0x08, 2, 0, 0, 0, 2, 0, 0, 0, 2, 1, 2, 3, 4 };
  static const guint8 shorts[] = { 0, 0, 0x0B, 1, 0, 0, 0, 2, 1, 2, 3, 4 };
  static const guint8 doubles[] = { 0, 0, 0x0E, 1, 0, 0, 0, 1, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0 };
  static const guint8 none[] = { 0, 0, 0x0D, 3, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 5 };

  put ("idx", "bytes", bytes, sizeof bytes);
  put ("idx", "shorts", shorts, sizeof shorts);
  put ("idx", "doubles", doubles, sizeof doubles);
  put ("idx", "none", none, sizeof none);
  put_gzip ("idx", "bytes.gz", bytes, sizeof bytes);
}

static void
make_csv (void)
{
  static const char plain[] = "1,2,3\n4,5.5,-6e3\n";
  static const char header[] = "\xEF\xBB\xBFname,\"a, quoted one\"\r\n1,2\r\n\r\n3, 4\r\n";
  static const char odd[] = "inf\nnan\n1e308";

  put ("csv", "plain", plain, sizeof plain - 1);
  put ("csv", "header", header, sizeof header - 1);
  put ("csv", "odd", odd, sizeof odd - 1);
}

static LpTensor *
ones (const gint64 *dims,
      guint         n_dims,
      LpDType      *dtype)
{
  return lp_tensor_ones (dims, n_dims, dtype, NULL, NULL);
}

static void
put_npy (const char *name,
         const char *descr,
         const char *rest,
         gsize       n_bytes)
{
  g_autoptr (GByteArray) file = g_byte_array_new ();
  g_autofree char *header = g_strdup_printf ("{'descr': '%s', %s}\n", descr, rest);
  g_autofree guint8 *elements = g_malloc0 (n_bytes);
  guint8 length[2] = { strlen (header) & 0xff, strlen (header) >> 8 };

  g_byte_array_append (file, (const guint8 *) "\x93NUMPY\x01\x00", 8);
  g_byte_array_append (file, length, 2);
  g_byte_array_append (file, (const guint8 *) header, strlen (header));
  g_byte_array_append (file, elements, n_bytes);
  put ("npy", name, file->data, file->len);
}

static void
make_npy (void)
{
  g_autoptr (LpTensor) tensor = ones ((gint64[]) { 2, 3 }, 2, lp_dtype_f32 ());
  g_autofree char *path = path_of ("npy", "saved");

  g_assert_true (lp_save_npy (tensor, path, NULL));
  put_npy ("fortran", "<f8", "'fortran_order': True, 'shape': (2, 3), ", 48);
  put_npy ("swapped", ">i4", "'fortran_order': False, 'shape': (2,), ", 8);
  put_npy ("scalar", "|b1", "'fortran_order': False, 'shape': (), ", 1);
}

static void
make_safetensors (void)
{
  g_autoptr (LpTensorDict) tensors = lp_tensor_dict_new ();
  g_autoptr (LpTensor) matrix = ones ((gint64[]) { 2, 3 }, 2, lp_dtype_f32 ());
  g_autoptr (LpTensor) vector = ones ((gint64[]) { 3 }, 1, lp_dtype_bf16 ());
  g_autoptr (LpTensor) number = ones (NULL, 0, lp_dtype_i64 ());
  g_autoptr (GVariant) metadata = g_variant_ref_sink (g_variant_new_parsed ("{'format': 'pt', 'lp.encoded.raw': %s}",
                                                      "{\"dtype\":\"f16\",\"shape\":[2]}"));
  g_autoptr (LpTensor) raw = ones ((gint64[]) { 4 }, 1, lp_dtype_u8 ());
  g_autofree char *path = path_of ("safetensors", "saved");

  lp_tensor_dict_set (tensors, "matrix", matrix);
  lp_tensor_dict_set (tensors, "vector", vector);
  lp_tensor_dict_set (tensors, "number", number);
  lp_tensor_dict_set (tensors, "raw", raw);
  g_assert_true (lp_save_safetensors (tensors, metadata, path, NULL));
  put ("safetensors", "empty", "\2\0\0\0\0\0\0\0{}", 10);
}

static void
make_checkpoint (void)
{
  g_autoptr (JsonNode) header = NULL;
  g_autofree char *checkpoint = NULL;
  g_autofree char *text = NULL;
  const char *description;
  guint64 length;
  gsize size;

  checkpoint = fuzz_dup_checkpoint (&size);
  put ("checkpoint", "saved", checkpoint, size);
  memcpy (&length, checkpoint, 8);
  text = g_strndup (checkpoint + 8, GUINT64_FROM_LE (length));
  header = json_from_string (text, NULL);
  description = json_object_get_string_member (json_object_get_object_member (json_node_get_object (header), "__metadata__"),
                                               "lp.checkpoint");
  put ("state", "saved", description, strlen (description));
}

int
main (int   argc,
      char *argv[])
{
  if (argc != 2)
    {
      g_printerr ("%s FOLDER\n", argv[0]);
      return 2;
    }
  root = argv[1];

  make_idx ();
  make_csv ();
  make_npy ();
  make_safetensors ();
  make_checkpoint ();

  return 0;
}
