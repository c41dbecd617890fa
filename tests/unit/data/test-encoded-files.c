#include <math.h>

#include <glib/gstdio.h>

#include <lp/lp.h>

#include "../../test-folder.h"

/* A byte is a quarter of its value, in blocks of 4. */
#define TEST_TYPE_QUARTERS (test_quarters_get_type ())
G_DECLARE_FINAL_TYPE (TestQuarters, test_quarters, TEST, QUARTERS, LpDType)

struct _TestQuarters
{
  LpDType parent_instance;
};

G_DEFINE_FINAL_TYPE (TestQuarters, test_quarters, LP_TYPE_DTYPE)

static GBytes *
test_quarters_encode (LpDType *self, GBytes *values, LpShape *shape, gint axis, GError **error)
{
  gsize size;
  const float *x = g_bytes_get_data (values, &size);
  gint8 *y = g_malloc (size / 4);

  for (gsize i = 0; i < size / 4; i++)
    y[i] = (gint8) lrintf (x[i] * 4);

  return g_bytes_new_take (y, size / 4);
}

static GBytes *
test_quarters_decode (LpDType *self, GBytes *data, LpShape *shape, gint axis, gint64 first_block, gint64   n_blocks,
                      GError                                                                             **error)
{
  const gint8 *x = g_bytes_get_data (data, NULL);
  float *y = g_new (float, n_blocks * 4);

  for (gint64 i = 0; i < n_blocks * 4; i++)
    y[i] = (float) x[first_block * 4 + i] / 4;

  return g_bytes_new_take (y, (gsize) n_blocks * 4 * sizeof (float));
}

static gint64
test_quarters_get_encoded_size (LpDType *self, LpShape *shape)
{
  return lp_shape_get_n_elements (shape);
}

static void
test_quarters_class_init (TestQuartersClass *klass)
{
  LpDTypeClass *dtype_class = LP_DTYPE_CLASS (klass);

  dtype_class->encode = test_quarters_encode;
  dtype_class->decode = test_quarters_decode;
  dtype_class->get_encoded_size = test_quarters_get_encoded_size;
}

static void
test_quarters_init (TestQuarters *self)
{
}

/* A dtype that the format doesn't know comes back as itself while somebody holds it or if it is registered, else with an error that names it. */
static void
test_safetensors (void)
{
  g_autoptr (LpDType) dtype = g_object_new (TEST_TYPE_QUARTERS, "name", "quarters", "bits", 8, "block-size", 4, NULL);
  g_autoptr (LpTensorDict) tensors = lp_tensor_dict_new ();
  g_autoptr (LpTensorDict) read = NULL;
  g_autoptr (LpTensor) plain = lp_tensor_full ((gint64[]) { 3, 8 }, 2, 1.75, NULL, NULL, NULL);
  g_autoptr (LpTensor) encoded = NULL;
  g_autoptr (LpRegistryEntry) entry = NULL;
  g_autoptr (GVariant) values = NULL;
  g_autoptr (GError) error = NULL;
  LpTensor *back;
  g_autofree double *numbers = NULL;
  gsize n;

  encoded = lp_tensor_to_dtype (plain, dtype, &error);
  g_assert_no_error (error);
  g_assert_cmpint (lp_tensor_get_n_bytes (encoded), ==, 24);
  lp_tensor_dict_set (tensors, "small.weight", encoded);
  g_assert_true (lp_save_safetensors (tensors, NULL, "a.safetensors", &error));

  /* found while it lives */
  read = lp_load_safetensors ("a.safetensors", &error);
  g_assert_no_error (error);
  g_assert_true (lp_tensor_get_dtype (lp_tensor_dict_lookup (read, "small.weight")) == dtype);
  g_clear_object (&read);
  g_clear_object (&tensors);
  g_clear_object (&encoded);
  g_clear_object (&dtype);
  g_assert_null (lp_load_safetensors ("a.safetensors", &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_UNKNOWN);
  g_assert_nonnull (strstr (error->message, "a.safetensors: tensor 'small.weight': "));
  g_assert_nonnull (strstr (error->message, "“quarters”"));
  g_assert_nonnull (strstr (error->message, "in the LpDTypeRegistry before"));
  g_clear_error (&error);

  values = g_variant_ref_sink (g_variant_new_parsed ("{'name': <'quarters'>, 'bits': <uint32 8>, 'block-size': <uint32 4>}"));
  entry = lp_registry_entry_new ("quarters", TEST_TYPE_QUARTERS, values, "Quarters");
  g_assert_true (lp_registry_add (LP_REGISTRY (lp_dtype_registry_get_default ()), entry, &error));
  read = lp_load_safetensors ("a.safetensors", &error);
  g_assert_no_error (error);
  back = lp_tensor_dict_lookup (read, "small.weight");
  g_assert_cmpstr (lp_dtype_get_name (lp_tensor_get_dtype (back)), ==, "quarters");
  g_assert_cmpint (lp_tensor_get_n_bytes (back), ==, 24);
  g_assert_cmpint (lp_tensor_get_dim (back, 1), ==, 8);
  numbers = lp_tensor_dup_doubles (back, &n, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (n, ==, 24);
  g_assert_cmpfloat (numbers[23], ==, 1.75);
}

/* lie.safetensors: a header and @n bytes. */
static void
write_file (const char *header,
            guint       n)
{
  const guint64 length = GUINT64_TO_LE ((guint64) strlen (header));
  g_autoptr (GByteArray) file = g_byte_array_new ();

  g_byte_array_append (file, (const guint8 *) &length, sizeof length);
  g_byte_array_append (file, (const guint8 *) header, (guint) strlen (header));
  g_byte_array_append (file, (const guint8[8]) { 0 }, n);
  g_assert_true (g_file_set_contents ("lie.safetensors", (const char *) file->data, file->len, NULL));
}

/* A dtype that goes by the name of another isn't saved: it would be read as the other. */
static void
test_taken_names (void)
{
  static const char *const taken[] = { "f32", "nf4", "u8", "here-already" };
  g_autoptr (LpTensor) plain = lp_tensor_full ((gint64[]) { 8 }, 1, 1.75, NULL, NULL, NULL);
  g_autoptr (LpDType) first = g_object_new (TEST_TYPE_QUARTERS, "name", "here-already", "bits", 8, "block-size", 8, NULL);

  for (gsize i = 0; i < G_N_ELEMENTS (taken); i++)
    {
      g_autoptr (LpDType) dtype = g_object_new (TEST_TYPE_QUARTERS, "name", taken[i], "bits", 8, "block-size", 4, NULL);
      g_autoptr (LpTensorDict) tensors = lp_tensor_dict_new ();
      g_autoptr (LpTensor) encoded = lp_tensor_to_dtype (plain, dtype, NULL);
      g_autofree char *name = g_strdup_printf ("name “%s” is taken", taken[i]);
      g_autoptr (GError) error = NULL;

      lp_tensor_dict_set (tensors, "w", encoded);
      g_assert_false (lp_save_safetensors (tensors, NULL, "taken.safetensors", &error));
      g_assert_error (error, LP_ERROR, LP_ERROR_ARGUMENT);
      g_assert_nonnull (strstr (error->message, name));
      g_assert_false (g_file_test ("taken.safetensors", G_FILE_TEST_EXISTS));
    }
}

/* Another object of the same class and layout is the same dtype. */
static void
test_same_dtype (void)
{
  g_autoptr (LpTensor) plain = lp_tensor_full ((gint64[]) { 8 }, 1, 1.75, NULL, NULL, NULL);
  g_autoptr (LpDType) dtype = lp_rowwise_dtype_new ();
  g_autoptr (LpTensorDict) tensors = lp_tensor_dict_new ();
  g_autoptr (LpTensor) encoded = lp_tensor_to_dtype (plain, dtype, NULL);
  g_autoptr (GError) error = NULL;

  lp_tensor_dict_set (tensors, "w", encoded);
  g_assert_true (lp_save_safetensors (tensors, NULL, "same.safetensors", &error));
  g_assert_no_error (error);
}

/* Tensors may be so many that a header of them is read in seconds, and no more. */
static void
test_many_names (void)
{
  const gint64 none = 0;
  g_autoptr (LpTensor) tensor = lp_tensor_zeros (&none, 1, NULL, NULL, NULL);
  g_autoptr (LpTensorDict) tensors = lp_tensor_dict_new ();
  g_autoptr (GString) header = g_string_new ("{");
  g_autoptr (GError) error = NULL;

  for (int i = 0; i < 300000; i++)
    {
      g_autofree char *name = g_strdup_printf ("t%d", i);

      g_string_append_printf (header, "%s\"%s\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}", i > 0 ? "," : "", name);
      lp_tensor_dict_set (tensors, name, tensor);
    }
  g_string_append_c (header, '}');
  write_file (header->str, 0);
  g_assert_null (lp_load_safetensors ("lie.safetensors", &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_FORMAT);
  g_assert_nonnull (strstr (error->message, "more than 1048576 names"));
  g_clear_error (&error);

  g_assert_false (lp_save_safetensors (tensors, NULL, "many.safetensors", &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_ARGUMENT);
}

/* What a file names at length is cut in what is said about it. */
static void
test_long_names (void)
{
  static const char *const headers[] = {
    "{\"%s\":{\"dtype\":\"Q\",\"shape\":[0],\"data_offsets\":[0,0]}}", "{\"x\":{\"dtype\":\"%s\",\"shape\":[0],\"data_offsets\":[0,0]}}",
    "{\"%s\":7}", "{\"__metadata__\":{\"%s\":7}}",
    "{\"__metadata__\":{\"lp.encoded.x\":\"{\\\"dtype\\\":\\\"%s\\\",\\\"shape\\\":[]}\"},"
    "\"x\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}",
  };
  g_autofree char *text = g_strnfill (80000, 'n');
  g_auto (GStrv) umlauts = g_strsplit (text, "n", -1);
  g_autofree char *name = g_strjoinv ("ä", umlauts);

  for (gsize i = 0; i < G_N_ELEMENTS (headers); i++)
    {
      g_auto (GStrv) parts = g_strsplit (headers[i], "%s", 2);
      g_autofree char *header = g_strjoinv (name, parts);
      g_autoptr (GError) error = NULL;

      write_file (header, 0);
      g_assert_null (lp_load_safetensors ("lie.safetensors", &error));
      g_assert_nonnull (error);
      g_test_message ("%s", error->message);
      g_assert_cmpuint (strlen (error->message), <, 2000);
      g_assert_true (g_utf8_validate (error->message, -1, NULL));
    }
}

/* The extents that metadata claim may be a lie: reading fails, as it does for the dtypes of the format. */
static void
test_extents (void)
{
  static const struct { const char *dtype, *shape; gsize n; } lies[] = {
    { "f8e4m3", "[2305843009213693953]", 1 }, { "f8e5m2", "[2305843009213693960]", 8 }, { "e2m1", "[4611686018427387904]", 0 },
    { "mxfp4", "[576460752303423488,8]", 0 }, { "nf4", "[4611686018427387904,4]", 0 }, { "i8-rowwise", "[4611686018427387904,4]", 0 },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (lies); i++)
    {
      g_autofree char *header = g_strdup_printf ("{\"__metadata__\":{\"lp.encoded.t\":\"{\\\"dtype\\\":\\\"%s\\\",\\\"shape\\\":%s}\"},"
                                                 "\"t\":{\"dtype\":\"U8\",\"shape\":[%" G_GSIZE_FORMAT "],\"data_offsets\":[0,%"
                                                 G_GSIZE_FORMAT "]}}", lies[i].dtype, lies[i].shape, lies[i].n, lies[i].n);
      g_autoptr (GError) error = NULL;

      write_file (header, (guint) lies[i].n);
      g_assert_null (lp_load_safetensors ("lie.safetensors", &error));
      g_assert_error (error, LP_ERROR, LP_ERROR_SHAPE);
      g_assert_nonnull (strstr (error->message, "tensor 't': "));
      g_assert_nonnull (strstr (error->message, "can't have these extents"));
    }
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/data/encoded/safetensors", test_safetensors);
  g_test_add_func ("/data/encoded/taken-names", test_taken_names);
  g_test_add_func ("/data/encoded/same-dtype", test_same_dtype);
  g_test_add_func ("/data/encoded/many-names", test_many_names);
  g_test_add_func ("/data/encoded/long-names", test_long_names);
  g_test_add_func ("/data/encoded/extents", test_extents);

  return test_run_in_folder ();
}
