#include <lp/lp.h>

/* Extents whose product, or what is computed from it, doesn't fit 64 bits. */

#define BIT(n) (G_GINT64_CONSTANT (1) << (n))
#define DIMS(...) (const gint64[]) { __VA_ARGS__ }, G_N_ELEMENTS (((const gint64[]) { __VA_ARGS__ }))

static const struct
{
  gint64 dims[2];
  gsize  n_dims;
} too_many[] = {
  { { BIT (61) + 1 }, 1 }, { { BIT (60) + 1 }, 1 }, { { BIT (62) - 1 }, 1 }, { { BIT (62), 2 }, 2 }, { { BIT (59), 8 }, 2 },
  { { BIT (58) + 1, 32 }, 2 }, { { BIT (31), BIT (31) }, 2 }, { { 1, BIT (62) }, 2 }, { { BIT (62), 1 }, 2 }, { { 32, BIT (57) + 1 }, 2 },
  { { G_MAXINT64, G_MAXINT64 }, 2 },
};

static const char *const names[] = {
  "f8e4m3", "f8e5m2", "e2m1", "mxfp8-e4m3", "mxfp8-e5m2", "mxfp6-e2m3", "mxfp6-e3m2", "mxfp4", "nvfp4", "nf4", "nf4-dq", "fp4", "fp4-dq",
  "i8-dynamic", "i8-rowwise",
};

typedef struct
{
  LpDType   parent_instance;

  gint64    size;    /* what it gives next */
  gint64    growth;
} TestSize;

typedef LpDTypeClass TestSizeClass;

static GType test_size_get_type (void);

G_DEFINE_TYPE (TestSize, test_size, LP_TYPE_DTYPE)

static gint64
test_size_get_encoded_size (LpDType *dtype,
                            LpShape *shape)
{
  TestSize *self = (TestSize *) dtype;
  const gint64 size = self->size;

  self->size += self->growth;

  return size;
}

static GBytes *
test_size_encode (LpDType  *dtype,
                  GBytes   *values,
                  LpShape  *shape,
                  gint      axis,
                  GError  **error)
{
  gsize size = (gsize) ((TestSize *) dtype)->size;

  return g_bytes_new_take (g_malloc0 (size), size);
}

/* As many values as were asked for, if the data is as long as it was when the tensor was made. */
static GBytes *
test_size_decode (LpDType  *dtype,
                  GBytes   *data,
                  LpShape  *shape,
                  gint      axis,
                  gint64    first_block,
                  gint64    n_blocks,
                  GError  **error)
{
  g_assert_cmpuint (g_bytes_get_size (data), ==, 16);

  return g_bytes_new_take (g_new0 (float, n_blocks), (gsize) n_blocks * sizeof (float));
}

static void
test_size_class_init (TestSizeClass *klass)
{
  klass->get_encoded_size = test_size_get_encoded_size;
  klass->encode = test_size_encode;
  klass->decode = test_size_decode;
}

static void
test_size_init (TestSize *self)
{
}

static void
assert_refused (LpTensor *tensor,
                GError  **error)
{
  g_assert_null (tensor);
  g_assert_error (*error, LP_ERROR, LP_ERROR_SHAPE);
  g_assert_nonnull (strstr ((*error)->message, "can't have these extents"));
  g_clear_error (error);
}

static void
test_encoded (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (GBytes) empty = g_bytes_new (NULL, 0);
  g_autoptr (GBytes) one = g_bytes_new_static ("1", 1);

  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    for (gsize j = 0; j < G_N_ELEMENTS (too_many); j++)
      {
        g_autoptr (LpDType) dtype = lp_dtype_lookup (names[i], NULL);
        g_autoptr (LpShape) shape = lp_shape_new (too_many[j].dims, too_many[j].n_dims);

        g_assert_cmpint (lp_dtype_get_encoded_size (dtype, shape), ==, -1);
        assert_refused (lp_tensor_empty (too_many[j].dims, too_many[j].n_dims, dtype, NULL, &error), &error);
        assert_refused (lp_tensor_new_from_bytes (one, too_many[j].dims, too_many[j].n_dims, dtype, &error), &error);
        g_assert_null (lp_dtype_encode (dtype, empty, shape, -1, &error));
        g_assert_error (error, LP_ERROR, LP_ERROR_SHAPE);
        g_clear_error (&error);
        g_assert_null (lp_dtype_decode (dtype, empty, shape, -1, 0, 1, &error));
        g_assert_error (error, LP_ERROR, LP_ERROR_SHAPE);
        g_clear_error (&error);
      }
}

/* The formula of the base class, with what fills up blocks counted. */
static void
test_padding (void)
{
  g_autoptr (LpDType) dtype = g_object_new (LP_TYPE_DTYPE, "name", "wide-blocks", "bits", 64, "block-size", G_MAXINT, NULL);
  g_autoptr (LpShape) shape = lp_shape_new (DIMS (BIT (32), 1));
  g_autoptr (LpShape) small = lp_shape_new (DIMS (2, 1));

  g_assert_cmpint (lp_dtype_get_encoded_size (dtype, shape), ==, -1);
  g_assert_cmpint (lp_dtype_get_encoded_size (dtype, small), ==, G_GINT64_CONSTANT (16) * G_MAXINT);
}

static void
test_sizes_of_others (void)
{
  static const gint64 bad[] = { -1, G_MININT64, G_MAXINT64, G_MAXINT64 / 2 + 1 };
  TestSize *dtype = g_object_new (test_size_get_type (), "name", "sized", "bits", 8, NULL);
  g_autoptr (LpDType) owner = LP_DTYPE (dtype);
  g_autoptr (LpTensor) values = lp_tensor_zeros (DIMS (16), NULL, NULL, NULL);
  g_autoptr (LpTensor) tensor = NULL;
  g_autoptr (LpTensor) back = NULL;
  g_autoptr (GError) error = NULL;

  for (gsize i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      dtype->size = bad[i];
      assert_refused (lp_tensor_empty (DIMS (16), owner, NULL, &error), &error);
    }

  /* it isn't asked about what can't be */
  dtype->size = 1;
  assert_refused (lp_tensor_empty (DIMS (BIT (31), BIT (31)), owner, NULL, &error), &error);

  /* memory is as large as it was when it was taken, whatever is said later */
  dtype->size = 16;
  tensor = lp_tensor_empty (DIMS (16), owner, NULL, &error);
  g_assert_no_error (error);
  dtype->size = BIT (40);
  back = lp_tensor_to_dtype (tensor, lp_dtype_f32 (), &error);
  g_assert_no_error (error);

  dtype->size = 16;
  dtype->growth = BIT (16);
  g_assert_null (lp_tensor_to_dtype (values, owner, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_SUBCLASS);
}

/* 2^64 + 1 is a product of these two. */
static void
test_views (void)
{
  g_autoptr (LpTensor) one = lp_tensor_zeros (DIMS (1), NULL, NULL, NULL);
  g_autoptr (LpDType) f8 = lp_dtype_lookup ("f8e4m3", NULL);
  g_autoptr (LpTensor) encoded = lp_tensor_to_dtype (one, f8, NULL);
  g_autoptr (LpTensor) none = lp_tensor_zeros (DIMS (0, 4), NULL, NULL, NULL);
  g_autoptr (LpTensor) reshaped = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_null (lp_tensor_reshape (one, DIMS (274177, 67280421310721), &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_SHAPE);
  g_clear_error (&error);
  g_assert_null (lp_tensor_reshape (encoded, DIMS (274177, 67280421310721), &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_SHAPE);
  g_clear_error (&error);
  g_assert_null (lp_tensor_reshape (one, DIMS (274177, 67280421310721, -1), &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_SHAPE);
  g_clear_error (&error);
  g_assert_null (lp_tensor_expand (one, DIMS (274177, 67280421310721), &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_SHAPE);
  g_clear_error (&error);

  reshaped = lp_tensor_reshape (none, DIMS (3, 0), &error);
  g_assert_no_error (error);
  g_assert_cmpint (lp_tensor_get_dim (reshaped, 0), ==, 3);
}

static void
test_shape (void)
{
  g_autoptr (LpShape) large = lp_shape_new (DIMS (BIT (31), BIT (33)));
  g_autoptr (LpShape) none = lp_shape_new (DIMS (BIT (62), BIT (62), 0));

  g_assert_cmpint (lp_shape_get_n_elements (large), ==, G_MAXINT64);
  g_assert_cmpint (lp_shape_get_n_elements (none), ==, 0);
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/extents/encoded", test_encoded);
  g_test_add_func ("/extents/padding", test_padding);
  g_test_add_func ("/extents/sizes-of-others", test_sizes_of_others);
  g_test_add_func ("/extents/views", test_views);
  g_test_add_func ("/extents/shape", test_shape);

  return g_test_run ();
}
