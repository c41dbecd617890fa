/* A convolution takes at most 8 MiB per thread beside its operands and results, whatever its shape: forward, both gradients. */

#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <omp.h>

#include <lp/lp.h>

#include <lp/tensor/lp-kernels-private.h>
#include <lp/tensor/lp-tensor-private.h>
#include <lp/tensor/lp-device-private.h>

#define LIMIT ((gsize) 8 << 20)

/* All that the process takes from the C library goes through these: LP's scratch memory, GLib's, the library's. */

void *__libc_malloc (size_t size);
void *__libc_calloc (size_t n, size_t size);
void *__libc_realloc (void *data, size_t size);
void *__libc_memalign (size_t alignment, size_t size);
void  __libc_free (void *data);

static const char *program;
static gssize live, peak;
static gboolean measuring;

static void *
took (void *data)
{
  if (measuring && data != NULL)
    {
      gssize now = __atomic_add_fetch (&live, malloc_usable_size (data), __ATOMIC_RELAXED);

      if (now > __atomic_load_n (&peak, __ATOMIC_RELAXED))
        __atomic_store_n (&peak, now, __ATOMIC_RELAXED);
    }

  return data;
}

static void
gave (void *data)
{
  if (measuring && data != NULL)
    __atomic_sub_fetch (&live, malloc_usable_size (data), __ATOMIC_RELAXED);
}

void *
malloc (size_t size)
{
  return took (__libc_malloc (size));
}

void *
calloc (size_t n, size_t size)
{
  return took (__libc_calloc (n, size));
}

void *
realloc (void *data, size_t size)
{
  gave (data);

  return took (__libc_realloc (data, size));
}

void *
aligned_alloc (size_t alignment, size_t size)
{
  return took (__libc_memalign (alignment, size));
}

int
posix_memalign (void **data, size_t alignment, size_t size)
{
  *data = took (__libc_memalign (alignment, size));

  return *data != NULL ? 0 : 12;
}

void
free (void *data)
{
  gave (data);
  __libc_free (data);
}

typedef struct
{
  gint64 n, c, h, w, out, kernel, stride, padding, groups;
} Shape;

static const Shape shapes[] = {
  { 1, 64, 224, 224, 64, 3, 1, 1, 1 },
  { 1, 3, 1024, 1024, 16, 7, 2, 3, 1 },
  { 2, 512, 14, 14, 512, 3, 1, 1, 1 },
  { 1, 1024, 7, 7, 2048, 3, 1, 1, 1 },
  { 64, 32, 56, 56, 32, 3, 1, 1, 1 },
  { 4, 256, 28, 28, 512, 1, 1, 0, 1 },
  { 1, 128, 256, 256, 128, 3, 1, 1, 128 },
  { 8, 96, 30, 30, 64, 5, 2, 2, 4 },
  { 1, 1, 3000, 3000, 2, 5, 1, 2, 1 },
};
static const char *const dtypes[] = { "f32", "f64", "bf16" };
static const char *const passes[] = { "forward", "input gradient", "weight gradient" };

/* Channels-last, filled without the operations' own memory. */
static LpTensor *
image (gint64   n,
       gint64   c,
       gint64   h,
       gint64   w,
       LpDType *dtype)
{
  const int axes[] = { 0, 3, 1, 2 };
  g_autoptr (LpTensor) plain = lp_tensor_zeros ((gint64[]) { n, h, w, c }, 4, dtype, NULL, NULL);

  return lp_tensor_permute (plain, axes, 4, NULL);
}

static void
check (const Shape *s,
       const char  *name,
       guint        pass)
{
  g_autoptr (LpDType) dtype = lp_dtype_lookup (name, NULL);
  const gint64 h = (s->h + 2 * s->padding - s->kernel) / s->stride + 1, w = (s->w + 2 * s->padding - s->kernel) / s->stride + 1;
  g_autoptr (LpTensor) x = image (s->n, s->c, s->h, s->w, dtype);
  g_autoptr (LpTensor) y = image (s->n, s->out, h, w, dtype);
  g_autoptr (LpTensor) weight = lp_tensor_zeros ((gint64[]) { s->out, s->c / s->groups, s->kernel, s->kernel }, 4, dtype, NULL, NULL);
  LpConvArgs args = { .pass = pass, .x = x->array, .w = weight->array, .y = y->array, .stride = { s->stride, s->stride },
                      .padding = { s->padding, s->padding }, .dilation = { 1, 1 }, .groups = s->groups };
  LpDevice *device = lp_device_get_default ();
  gint64 used = lp_device_get_used_bytes (device);
  g_autoptr (GError) error = NULL;
  gsize most;

  lp_device_reset_peak_bytes (device);
  measuring = TRUE;
  _lp_device_get_kernels (device)->conv2d (&args, &error);
  measuring = FALSE;
  g_assert_no_error (error);
  most = peak;
  g_print ("# %ld %s %s %.1f MiB for %d threads\n", (long) (s - shapes), name, passes[pass], most / 1048576.0, omp_get_max_threads ());
  g_assert_cmpint (lp_device_get_peak_bytes (device), ==, used);
  g_assert_cmpuint (most, <=, LIMIT * omp_get_max_threads ());
}

/* <y, conv (x, w)> is the same sum of products as <x, input gradient of y> and <w, weight gradient of y>. */
static double
dot (LpTensor *a,
     LpTensor *b)
{
  g_autoptr (LpTensor) product = lp_tensor_mul (a, b, NULL);
  g_autoptr (LpTensor) sum = lp_tensor_sum (product, NULL, 0, FALSE, NULL);

  return lp_tensor_get_item (sum, NULL);
}

static LpTensor *
normal (const gint64 *dims)
{
  return lp_tensor_normal (dims, 4, 0, 1, lp_dtype_f64 (), NULL, NULL);
}

static void
test_passes_agree (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (shapes); i++)
    {
      const Shape *s = &shapes[i];
      g_autoptr (LpTensor) x = normal ((gint64[]) { s->n, s->c, s->h, s->w });
      g_autoptr (LpTensor) w = normal ((gint64[]) { s->out, s->c / s->groups, s->kernel, s->kernel });
      g_autoptr (LpTensor) y = NULL;
      g_autoptr (LpTensor) dy = NULL;
      g_autoptr (LpTensor) dx = NULL;
      g_autoptr (LpTensor) dw = NULL;
      g_autoptr (LpShape) shape = NULL;
      g_autoptr (GError) error = NULL;
      double forward, slack;

      lp_tensor_set_requires_grad (x, TRUE);
      lp_tensor_set_requires_grad (w, TRUE);
      y = lp_tensor_conv2d (x, w, NULL, s->stride, s->padding, 1, s->groups, &error);
      g_assert_no_error (error);
      dy = normal ((gint64[]) { s->n, s->out, lp_tensor_get_dim (y, 2), lp_tensor_get_dim (y, 3) });
      lp_tensor_backward (y, dy, &error);
      g_assert_no_error (error);
      dx = lp_tensor_dup_grad (x);
      dw = lp_tensor_dup_grad (w);
      forward = dot (y, dy);
      slack = 1e-9 * sqrt (dot (y, y) * dot (dy, dy));
      g_assert_cmpfloat_with_epsilon (dot (x, dx), forward, slack);
      g_assert_cmpfloat_with_epsilon (dot (w, dw), forward, slack);
    }
}

/* Each case in a process of its own, so that no memory is there from before. */
static void
test_workspace (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (shapes) * G_N_ELEMENTS (dtypes) * G_N_ELEMENTS (passes); i++)
    {
      g_autofree char *number = g_strdup_printf ("%u", i);
      const char *const command[] = { program, number, NULL };
      g_autoptr (GError) error = NULL;
      int status;

      g_spawn_sync (NULL, (char **) command, NULL, G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL, NULL, NULL, &status, &error);
      g_assert_no_error (error);
      g_spawn_check_wait_status (status, &error);
      g_assert_no_error (error);
    }
}

int
main (int   argc,
      char *argv[])
{
  const guint n_dtypes = G_N_ELEMENTS (dtypes), n_passes = G_N_ELEMENTS (passes);
  guint number;

  if (argc == 2 && g_ascii_isdigit (argv[1][0]))
    {
      number = (guint) atoi (argv[1]);
      check (&shapes[number / n_passes / n_dtypes], dtypes[number / n_passes % n_dtypes], number % n_passes);
      return 0;
    }

  g_test_init (&argc, &argv, NULL);
  program = argv[0];

  g_test_add_func ("/convolution/passes-agree", test_passes_agree);
  g_test_add_func ("/convolution/workspace", test_workspace);

  return g_test_run ();
}
