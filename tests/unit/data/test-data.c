#include <math.h>
#include <string.h>

#include <glib/gstdio.h>

#include <lp/lp.h>

#include "../../test-folder.h"

static LpDataset *
make_dataset (gint64 n)
{
  g_autofree gint64 *values = g_new (gint64, n);
  g_autoptr (LpTensor) x = NULL;

  for (gint64 i = 0; i < n; i++)
    values[i] = i;
  x = lp_tensor_new_from_int64s (values, n, &n, 1, lp_dtype_i64 (), NULL);

  return LP_DATASET (lp_tensor_dataset_new_pair (x, x, NULL));
}

static char *
read_epoch (LpDataLoader *loader,
            gint64        epoch)
{
  GString *text = g_string_new (NULL);
  g_autoptr (GError) error = NULL;
  LpBatch *batch;

  if (epoch >= 0)
    g_assert_true (lp_data_loader_start_epoch (loader, epoch, &error));
  while ((batch = lp_data_loader_next (loader, &error)) != NULL)
    {
      gsize n;
      g_autofree gint64 *values = lp_tensor_dup_int64s (lp_batch_get_tensor (batch, 0), &n, NULL);

      for (gsize i = 0; i < n; i++)
        g_string_append_printf (text, "%" G_GINT64_FORMAT " ", values[i]);
      g_string_append_c (text, '|');
      g_object_unref (batch);
    }
  g_assert_no_error (error);

  return g_string_free (text, FALSE);
}

static void
test_order (void)
{
  g_autoptr (LpDataset) dataset = make_dataset (11);
  g_autoptr (LpDataLoader) loader = lp_data_loader_new (dataset, 4, FALSE);
  g_autoptr (LpDataLoader) other = lp_data_loader_new (dataset, 4, TRUE);
  g_autofree char *plain = NULL;
  g_autofree char *first = NULL;
  g_autofree char *again = NULL;
  g_autofree char *second = NULL;

  plain = read_epoch (loader, 0);
  g_assert_cmpstr (plain, ==, "0 1 2 3 |4 5 6 7 |8 9 10 |");
  g_assert_cmpint (lp_data_loader_get_length (loader), ==, 3);
  lp_data_loader_set_drop_last (loader, TRUE);
  g_assert_cmpint (lp_data_loader_get_length (loader), ==, 2);

  lp_data_loader_set_seed (other, 5);
  first = read_epoch (other, 0);
  second = read_epoch (other, 1);
  lp_data_loader_set_prefetch (other, 0);
  again = read_epoch (other, 0);
  g_assert_cmpstr (first, ==, again);
  g_assert_cmpstr (first, !=, second);
  g_assert_cmpstr (first, !=, plain);
}

static void
test_position (void)
{
  g_autoptr (LpDataset) dataset = make_dataset (50);
  g_autoptr (LpDataLoader) loader = lp_data_loader_new (dataset, 4, TRUE);
  g_autoptr (LpDataLoader) other = lp_data_loader_new (dataset, 4, TRUE);
  g_autoptr (LpState) state = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree char *rest = NULL;
  g_autofree char *resumed = NULL;

  lp_data_loader_set_seed (loader, 9);
  g_assert_true (lp_data_loader_start_epoch (loader, 3, NULL));
  for (int i = 0; i < 5; i++)
    g_object_unref (lp_data_loader_next (loader, NULL));
  state = lp_data_loader_save_state (loader);
  rest = read_epoch (loader, -1);

  g_assert_true (lp_data_loader_load_state (other, state, &error));
  g_assert_no_error (error);
  resumed = read_epoch (other, -1);
  g_assert_cmpstr (rest, ==, resumed);

  lp_data_loader_set_shuffle (other, FALSE);
  g_assert_false (lp_data_loader_load_state (other, state, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_CONFLICT);
}

static void
test_split (void)
{
  g_autoptr (LpDataset) dataset = make_dataset (10);
  const gint64 lengths[] = { 3, -1 };
  const gint64 bad[] = { 8, 3 };
  g_autoptr (GPtrArray) parts = NULL;
  g_autoptr (GError) error = NULL;
  gboolean seen[10] = { FALSE, };

  parts = lp_dataset_split (dataset, lengths, 2, 1, &error);
  g_assert_no_error (error);
  for (guint p = 0; p < parts->len; p++)
    {
      LpDataset *part = g_ptr_array_index (parts, p);

      g_assert_cmpint (lp_dataset_get_length (part), ==, p == 0 ? 3 : 7);
      for (gint64 i = 0; i < lp_dataset_get_length (part); i++)
        {
          g_autoptr (LpBatch) item = lp_dataset_get_item (part, i, &error);
          int value = (int) lp_tensor_get_item (lp_batch_lookup (item, "input"), NULL);

          g_assert_false (seen[value]);
          seen[value] = TRUE;
        }
    }
  g_assert_null (lp_dataset_split (dataset, bad, 2, 1, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_ARGUMENT);
}

static void
test_batch (void)
{
  g_autoptr (LpTensor) one = lp_tensor_scalar (1, NULL, NULL, NULL);
  g_autoptr (LpTensor) two = lp_tensor_scalar (2, NULL, NULL, NULL);
  g_autoptr (LpBatch) inner = lp_batch_new ();
  g_autoptr (LpBatch) item = lp_batch_new ();
  g_autoptr (GPtrArray) items = g_ptr_array_new ();
  g_autoptr (LpBatch) stacked = NULL;
  g_autoptr (GError) error = NULL;

  lp_batch_append (inner, two, "deep");
  lp_batch_append (item, one, "x");
  lp_batch_append_batch (item, inner, "more");
  g_ptr_array_add (items, item);
  g_ptr_array_add (items, item);
  stacked = lp_batch_stack (items, &error);
  g_assert_no_error (error);
  g_assert_cmpuint (lp_batch_get_size (stacked), ==, 2);
  g_assert_cmpint (lp_batch_get_n_samples (stacked), ==, 2);
  g_assert_cmpint (lp_tensor_get_dim (lp_batch_lookup (lp_batch_lookup_batch (stacked, "more"), "deep"), 0), ==, 2);
  g_assert_null (lp_batch_get_tensor (stacked, 1));
  g_assert_null (lp_batch_get_tensor (stacked, 9));

  g_ptr_array_add (items, inner);
  g_assert_null (lp_batch_stack (items, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_SHAPE);
}

static void
write_file (const char    *path,
            gconstpointer  data,
            gsize          size)
{
  g_assert_true (g_file_set_contents (path, data, size, NULL));
}

static void
test_idx (void)
{
  static const guint8 data[] = { 0, 0, 0x0B, 2, 0, 0, 0, 2, 0, 0, 0, 2, 0, 1, 0, 2, 0xff, 0xff, 1, 0 };
  g_autoptr (LpTensor) tensor = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree gint64 *values = NULL;
  gsize n;

  write_file ("a.idx", data, sizeof data);
  tensor = lp_load_idx ("a.idx", &error);
  g_assert_no_error (error);
  values = lp_tensor_dup_int64s (tensor, &n, NULL);
  g_assert_cmpuint (n, ==, 4);
  g_assert_cmpint (values[1], ==, 2);
  g_assert_cmpint (values[2], ==, -1);
  g_assert_cmpint (values[3], ==, 256);
}

static void
test_csv (void)
{
  const char *text = "a, \"b\"\r\n1,2.5\n\n-3e2, 4\n";
  g_autoptr (LpTensor) tensor = NULL;
  g_autoptr (LpBatch) columns = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree double *values = NULL;
  gsize n;

  write_file ("a.csv", text, strlen (text));
  tensor = lp_load_csv ("a.csv", TRUE, lp_dtype_f64 (), &error);
  g_assert_no_error (error);
  values = lp_tensor_dup_doubles (tensor, &n, NULL);
  g_assert_cmpuint (n, ==, 4);
  g_assert_cmpfloat (values[2], ==, -300);
  columns = lp_load_csv_columns ("a.csv", NULL, &error);
  g_assert_no_error (error);
  g_assert_cmpfloat (lp_tensor_get_dim (lp_batch_lookup (columns, "b"), 0), ==, 2);

  g_assert_null (lp_load_csv ("a.csv", FALSE, NULL, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_FORMAT);
  g_assert_nonnull (strstr (error->message, "line 1, column 1"));
}

/* What can't be kept is refused where it stands; what floats can hold stays. */
static void
test_csv_values (void)
{
  const struct { const char *text; gsize size; gboolean header; LpDType *dtype; const char *problem; } rows[] = {
    { "a,b\n1,nan\n", 0, TRUE, lp_dtype_i64 (), "line 2, column 2: nan has no place in i64" },
    { "1,2\n\n1e999,4\n", 0, FALSE, lp_dtype_i64 (), "line 3, column 1: 1e999 has no place in i64" },
    { "1,-inf\n", 0, FALSE, lp_dtype_i32 (), "line 1, column 2: -inf has no place in i32" },
    { "9223372036854775807\n", 0, FALSE, lp_dtype_i64 (), "exactly up to 2^53" },
    { "256\n", 0, FALSE, lp_dtype_u8 (), "line 1, column 1: 256 has no place in u8" },
    { "-1\n", 0, FALSE, lp_dtype_u8 (), "-1 has no place in u8" },
    { "nan\n", 0, FALSE, lp_dtype_bool (), "nan has no place in bool" },
    { "9007199254740992,-3.7,0,-0.5\n", 0, FALSE, lp_dtype_i64 (), NULL },
    { "255.5\n-0.5\n", 0, FALSE, lp_dtype_u8 (), NULL },
    { "nan,inf,1e999\n", 0, FALSE, NULL, NULL },
    { "nan,inf\n", 0, FALSE, lp_dtype_f16 (), NULL },
    { "a,\xff\xfe\x01\n", 0, TRUE, NULL, "line 1, column 2: the name is not UTF-8" },
    { "\xff\xfe\0\x01", 4, TRUE, NULL, "line 1, column 1: the name is not UTF-8" },
    { "a\0b,c\n1,2\n", 10, TRUE, NULL, "line 1, column 1: the name is not UTF-8" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (GError) error = NULL;
      g_autoptr (LpTensor) tensor = NULL;
      g_autoptr (LpBatch) columns = NULL;

      write_file ("b.csv", rows[i].text, rows[i].size > 0 ? rows[i].size : strlen (rows[i].text));
      tensor = lp_load_csv ("b.csv", rows[i].header, rows[i].dtype, &error);
      g_assert_true ((tensor != NULL) == (rows[i].problem == NULL));
      if (rows[i].problem == NULL)
        continue;
      g_assert_error (error, LP_ERROR, LP_ERROR_FORMAT);
      g_test_message ("%s", error->message);
      g_assert_nonnull (strstr (error->message, rows[i].problem));
      g_clear_error (&error);
      if (!rows[i].header)
        continue;
      columns = lp_load_csv_columns ("b.csv", rows[i].dtype, &error);
      g_assert_null (columns);
      g_assert_error (error, LP_ERROR, LP_ERROR_FORMAT);
      g_assert_nonnull (strstr (error->message, rows[i].problem));
    }
}

static void
check_equal (LpTensor *a,
             LpTensor *b)
{
  g_autoptr (GBytes) x = lp_tensor_dup_bytes (a, NULL);
  g_autoptr (GBytes) y = lp_tensor_dup_bytes (b, NULL);
  g_autoptr (LpShape) s = lp_tensor_dup_shape (a);
  g_autoptr (LpShape) t = lp_tensor_dup_shape (b);

  g_assert_true (g_bytes_equal (x, y));
  g_assert_true (lp_shape_equal (s, t));
  g_assert_true (lp_tensor_get_dtype (a) == lp_tensor_get_dtype (b));
}

static LpTensor *
make_tensor (LpDType *dtype,
             gint64   rows,
             gint64   columns)
{
  g_autoptr (LpTensor) values = lp_tensor_arange (-3, -3 + (double) (rows * columns), 1, lp_dtype_f64 (), NULL, NULL);
  g_autoptr (LpTensor) cast = lp_tensor_to_dtype (values, dtype, NULL);
  gint64 dims[2] = { rows, columns };

  return lp_tensor_reshape (cast, dims, 2, NULL);
}

static void
test_npy (void)
{
  LpDType *dtypes[] = { lp_dtype_f64 (), lp_dtype_f32 (), lp_dtype_f16 (), lp_dtype_i64 (), lp_dtype_i32 (), lp_dtype_u8 () };
  g_autoptr (GError) error = NULL;
  g_autoptr (LpTensor) unfit = make_tensor (lp_dtype_bf16 (), 2, 3);

  for (guint i = 0; i < G_N_ELEMENTS (dtypes); i++)
    {
      g_autoptr (LpTensor) tensor = make_tensor (dtypes[i], 2, 3);
      g_autoptr (LpTensor) transposed = lp_tensor_transpose (tensor, 0, 1, NULL);
      g_autoptr (LpTensor) read = NULL;
      g_autoptr (LpTensor) again = NULL;

      g_assert_true (lp_save_npy (tensor, "a.npy", &error));
      read = lp_load_npy ("a.npy", &error);
      g_assert_no_error (error);
      check_equal (tensor, read);
      g_assert_true (lp_save_npy (transposed, "a.npy", &error));
      again = lp_load_npy ("a.npy", &error);
      check_equal (transposed, again);
    }
  g_assert_false (lp_save_npy (unfit, "b.npy", &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_DTYPE);
  g_assert_false (g_file_test ("b.npy", G_FILE_TEST_EXISTS));
}

static void
test_safetensors (void)
{
  g_autoptr (LpTensorDict) tensors = lp_tensor_dict_new ();
  g_autoptr (LpTensorDict) read = NULL;
  g_autoptr (GError) error = NULL;
  g_autoptr (GVariant) metadata = NULL;
  g_autoptr (GVariant) back = NULL;
  g_auto (GStrv) names = NULL;
  const char *names_in[] = { "z.bytes", "a.weight", "half", "brain", "count", "empty", "scalar" };
  const char *value;

  for (guint i = 0; i < G_N_ELEMENTS (names_in); i++)
    {
      LpDType *dtypes[] = { lp_dtype_u8 (), lp_dtype_f32 (), lp_dtype_f16 (), lp_dtype_bf16 (), lp_dtype_i64 () };
      g_autoptr (LpTensor) tensor = i < 5 ? make_tensor (dtypes[i], 3, i + 1)
                                    : i == 5 ? lp_tensor_zeros ((gint64[]) { 0, 4 }, 2, NULL, NULL, NULL)
                                    : lp_tensor_scalar (3, NULL, NULL, NULL);

      lp_tensor_dict_set (tensors, names_in[i], tensor);
    }
  metadata = g_variant_ref_sink (g_variant_new_parsed ("{'about': 'a \"test\"'}"));
  g_assert_true (lp_save_safetensors (tensors, metadata, "a.safetensors", &error));
  read = lp_load_safetensors ("a.safetensors", &error);
  g_assert_no_error (error);
  names = lp_tensor_dict_dup_names (read);
  g_assert_cmpuint (g_strv_length (names), ==, 7);
  g_assert_cmpstr (names[0], ==, "count");
  for (guint i = 0; i < 7; i++)
    check_equal (lp_tensor_dict_lookup (tensors, names[i]), lp_tensor_dict_lookup (read, names[i]));
  back = lp_load_safetensors_metadata ("a.safetensors", &error);
  g_assert_true (g_variant_lookup (back, "about", "&s", &value));
  g_assert_cmpstr (value, ==, "a \"test\"");
}

static void
test_metrics (void)
{
  static const double scores[] = { 0.1, 0.7, 0.2, 0.5, 0.3, 0.2, 0.1, 0.2, 0.7 };
  static const gint64 classes[] = { 1, 1, 2 };
  g_autoptr (LpTensor) x = lp_tensor_new_from_doubles (scores, 9, (gint64[]) { 3, 3 }, 2, NULL, NULL);
  g_autoptr (LpTensor) y = lp_tensor_new_from_int64s (classes, 3, (gint64[]) { 3 }, 1, lp_dtype_i64 (), NULL);
  g_autoptr (LpMetric) accuracy = lp_accuracy_new ();
  g_autoptr (LpMetric) other = lp_accuracy_new ();
  g_autoptr (LpMetric) matrix = lp_confusion_matrix_new (3);
  g_autoptr (LpMetric) mean = lp_mean_metric_new ();
  g_autoptr (LpTensor) table = NULL;
  g_autoptr (LpState) state = NULL;
  g_autoptr (GError) error = NULL;
  g_autofree gint64 *cells = NULL;
  gsize n;

  g_assert_true (isnan (lp_metric_compute_value (accuracy, NULL)));
  g_assert_true (lp_metric_update (accuracy, x, y, &error));
  g_assert_cmpfloat_with_epsilon (lp_metric_compute_value (accuracy, &error), 2.0 / 3, 1e-12);
  state = lp_metric_save_state (accuracy, &error);
  g_assert_true (lp_metric_load_state (other, state, &error));
  g_assert_true (lp_metric_merge (accuracy, other, &error));
  g_assert_cmpfloat_with_epsilon (lp_metric_compute_value (accuracy, &error), 2.0 / 3, 1e-12);
  g_assert_false (lp_metric_merge (accuracy, matrix, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_CONFLICT);
  g_clear_error (&error);

  g_assert_true (lp_metric_update (matrix, x, y, &error));
  table = lp_metric_compute (matrix, &error);
  cells = lp_tensor_dup_int64s (table, &n, NULL);
  g_assert_cmpint (cells[1 * 3 + 0], ==, 1);
  g_assert_cmpint (cells[1 * 3 + 1], ==, 1);
  g_assert_cmpint (cells[2 * 3 + 2], ==, 1);

  for (int i = 0; i < 1000; i++)
    lp_mean_metric_add_value (LP_MEAN_METRIC (mean), 1, i + 1);
  g_assert_cmpfloat (lp_metric_compute_value (mean, &error), ==, 1);
  g_assert_false (lp_metric_update (accuracy, y, x, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_DTYPE);
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/data/order", test_order);
  g_test_add_func ("/data/position", test_position);
  g_test_add_func ("/data/split", test_split);
  g_test_add_func ("/data/batch", test_batch);
  g_test_add_func ("/data/idx", test_idx);
  g_test_add_func ("/data/csv", test_csv);
  g_test_add_func ("/data/csv-values", test_csv_values);
  g_test_add_func ("/data/npy", test_npy);
  g_test_add_func ("/data/safetensors", test_safetensors);
  g_test_add_func ("/metrics", test_metrics);

  return test_run_in_folder ();
}
