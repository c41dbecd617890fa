/* Measures the CPU's kernels: one JSON object per line. OMP_NUM_THREADS says how many threads. */

#include <stdio.h>

#include <lp/core/lp-dtype-registry.h>

#include "../numerics/kernel-fixture.h"

#ifdef HAVE_ONEDNN
#include <oneapi/dnnl/dnnl.h>
#endif

#define SECONDS 0.2

/* Fused multiply-adds of float64, in GFLOP/s, as measured; 0 is not known. */
static double peak;

static const char *scalar_names[LP_N_SCALARS] = { [LP_SCALAR_F64] = "f64", [LP_SCALAR_F32] = "f32", [LP_SCALAR_BF16] = "bf16" };

static void
report (const char *name, double value, const char *unit)
{
  printf ("{\"name\": \"%s\", \"value\": %.4g, \"unit\": \"%s\"}\n", name, value, unit);
  fflush (stdout);
}

/* Sorts them. */
static double
median (double *times, guint n)
{
  for (guint i = 1; i < n; i++)
    for (guint j = i; j > 0 && times[j] < times[j - 1]; j--)
      {
        const double t = times[j];

        times[j] = times[j - 1];
        times[j - 1] = t;
      }
  return times[n / 2];
}

/* The median time of @func, in seconds. */
static double
measure (void (* func) (gpointer data), gpointer data)
{
  g_autoptr (GArray) times = g_array_new (FALSE, FALSE, sizeof (double));
  const gint64 start = g_get_monotonic_time ();

  func (data);
  while (times->len < 5 || (double) (g_get_monotonic_time () - start) < SECONDS * 1e6)
    {
      const gint64 before = g_get_monotonic_time ();
      double seconds;
      int n = 0;

      do
        {
          func (data);
          n++;
        }
      while (g_get_monotonic_time () - before < 200);
      seconds = (double) (g_get_monotonic_time () - before) * 1e-6 / n;
      g_array_append_val (times, seconds);
    }
  return median ((double *) (gpointer) times->data, times->len);
}

#define BESIDE_ROUNDS 7

/* The median times of @func with either data, in turns: other programs on the machine then hinder both alike. */
static void
measure_beside (void (* func) (gpointer data), gpointer data, gpointer other, double seconds[2])
{
  gpointer const sides[] = { data, other };
  double times[2][BESIDE_ROUNDS];

  func (data);
  for (int r = 0; r < BESIDE_ROUNDS; r++)
    for (int s = 0; s < 2; s++)
      {
        const gint64 before = g_get_monotonic_time ();

        func (sides[s]);
        times[s][r] = (double) (g_get_monotonic_time () - before) * 1e-6;
      }
  for (int s = 0; s < 2; s++)
    seconds[s] = median (times[s], BESIDE_ROUNDS);
}

#ifdef __x86_64__
typedef double Lanes __attribute__ ((vector_size (32)));

#define PEAK_STEPS 1000000

/* Ten independent chains of fused multiply-adds on every thread. */
static void __attribute__ ((target ("avx2,fma")))
peak_thread (volatile double *sink)
{
  const Lanes f = { 0.999, 0.999, 0.999, 0.999 };
  Lanes a = f, b = f, c = f, d = f, e = f, g = f, h = f, i = f, j = f, k = f;

  for (int s = 0; s < PEAK_STEPS; s++)
    {
      a = a * f + f;
      b = b * f + f;
      c = c * f + f;
      d = d * f + f;
      e = e * f + f;
      g = g * f + f;
      h = h * f + f;
      i = i * f + f;
      j = j * f + f;
      k = k * f + f;
      /* ten equal chains would become one */
      __asm__ volatile ("" : "+x"(a), "+x"(b), "+x"(c), "+x"(d), "+x"(e), "+x"(g), "+x"(h), "+x"(i), "+x"(j), "+x"(k));
    }
  *sink = (a + b + c + d + e + g + h + i + j + k)[0];
}

static void
run_peak (gpointer data)
{
#pragma omp parallel
  {
    volatile double sink;

    peak_thread (&sink);
  }
}
#endif

static void
run_gemm (gpointer data)
{
  KERNELS->gemm (data, NULL);
}

#ifdef HAVE_ONEDNN
static void
run_sgemm (gpointer data)
{
  LpGemmArgs *args = data;
  const gboolean ta = args->a.strides[1] != 1, tb = args->b.strides[1] != 1;
  const gint64 m = args->d.dims[0], n = args->d.dims[1], k = args->a.dims[1];

  dnnl_sgemm (ta ? 'T' : 'N', tb ? 'T' : 'N', m, n, k, 1, (float *) args->a.data, ta ? m : k, (float *) args->b.data, tb ? k : n, 0,
              (float *) args->d.data, n);
}
#endif

static LpArray
matrix_new (LpScalar scalar, gint64 m, gint64 n, gboolean transposed, GRand *rand)
{
  static const int order[] = { 1, 0 };
  const gint64 dims[] = { m, n };
  LpArray a = array_new (scalar, 2, dims, transposed ? order : NULL, 1);

  fill_random (&a, rand, -1, 1);
  return a;
}

/* The passes of a linear layer: x W^T, dY^T x, dY W. */
static const struct
{
  const char *name;
  gint64      m, k, n;
  gboolean    ta, tb;
} products[] = {
  { "512^3", 512, 512, 512, FALSE, FALSE },      { "1024^3", 1024, 1024, 1024, FALSE, FALSE },    { "64x784x512 fwd", 64, 784, 512, FALSE, TRUE },
  { "64x784x512 dW", 512, 64, 784, TRUE, FALSE }, { "64x784x512 dX", 64, 512, 784, FALSE, FALSE }, { "64x512x10 fwd", 64, 512, 10, FALSE, TRUE },
  { "1x784x512 fwd", 1, 784, 512, FALSE, TRUE },  { "1x784x512 dW", 512, 1, 784, TRUE, FALSE },    { "1x784x512 dX", 1, 512, 784, FALSE, FALSE },
  { "2048x768x3072 fwd", 2048, 768, 3072, FALSE, TRUE },
};

static void
bench_gemm (GRand *rand)
{
  static const LpScalar scalars[] = { LP_SCALAR_F64, LP_SCALAR_F32, LP_SCALAR_BF16 };

  for (gsize i = 0; i < G_N_ELEMENTS (products); i++)
    for (int s = 0; s < 3; s++)
      {
        const double flops = 2.0 * (double) (products[i].m * products[i].k * products[i].n);
        g_autofree char *name = g_strdup_printf ("gemm %s %s", scalar_names[scalars[s]], products[i].name);
        g_autofree char *ratio = g_strdup_printf ("%s ratio", name);
        double speed;
        g_autofree char *peer = g_strdup_printf ("dnnl_sgemm %s", products[i].name);
        LpGemmArgs args = { .a = matrix_new (scalars[s], products[i].m, products[i].k, products[i].ta, rand),
                            .b = matrix_new (scalars[s], products[i].k, products[i].n, products[i].tb, rand),
                            .d = matrix_new (scalars[s], products[i].m, products[i].n, FALSE, rand), .alpha = 1 };

        speed = flops / measure (run_gemm, &args) * 1e-9;
        report (name, speed, "GFLOP/s");
        if (peak > 0)
          report (ratio, speed / (scalars[s] == LP_SCALAR_F64 ? peak : 2 * peak), "of the peak");
#ifdef HAVE_ONEDNN
        if (scalars[s] == LP_SCALAR_F32)
          report (peer, flops / measure (run_sgemm, &args) * 1e-9, "GFLOP/s");
#endif
        array_clear (&args.a);
        array_clear (&args.b);
        array_clear (&args.d);
      }
}

static void
run_conv (gpointer data)
{
  KERNELS->conv2d (data, NULL);
}

static void
bench_conv (GRand *rand)
{
  static const struct
  {
    gint64 n, c, size, oc, kernel;
    int    stride;
  } shapes[] = { { 128, 1, 28, 16, 5, 2 }, { 128, 16, 14, 32, 3, 1 }, { 64, 32, 28, 64, 3, 1 } };
  static const char *passes[] = { "fwd", "dX", "dW" };
  static const int order[] = { 0, 2, 3, 1 };

  for (gsize i = 0; i < G_N_ELEMENTS (shapes); i++)
    for (int s = LP_SCALAR_F64; s <= LP_SCALAR_BF16; s++)
      for (int pass = 0; pass < 3; pass++)
        {
          const gint64 n = shapes[i].n, c = shapes[i].c, size = shapes[i].size, oc = shapes[i].oc, kernel = shapes[i].kernel;
          const gint64 out = (size - 1) / shapes[i].stride + 1;
          const int stride = shapes[i].stride, padding = (int) kernel / 2;
          const gint64 xd[] = { n, c, size, size }, wd[] = { oc, c, kernel, kernel }, yd[] = { n, oc, out, out };
          g_autofree char *name = g_strdup_printf ("conv%ldx%ld/%d %s %ldx%ldx%ldx%ld->%ld %s", (long) kernel, (long) kernel, stride,
                                                   scalar_names[s] != NULL ? scalar_names[s] : "f16", (long) n,
                                                   (long) c, (long) size, (long) size, (long) oc, passes[pass]);
          /* one channel has the strides of channels first */
          LpConvArgs args = { .pass = pass, .x = array_new (s, 4, xd, c == 1 ? NULL : order, 1), .w = array_new (s, 4, wd, NULL, 1),
                              .y = array_new (s, 4, yd, order, 1),
                              .stride = { stride, stride }, .padding = { padding, padding }, .dilation = { 1, 1 }, .groups = 1 };

          fill_random (&args.x, rand, -1, 1);
          fill_random (&args.w, rand, -1, 1);
          fill_random (&args.y, rand, -1, 1);
          report (name, measure (run_conv, &args) * 1e6, "us");
          array_clear (&args.x);
          array_clear (&args.w);
          array_clear (&args.y);
        }
}

static void
run_adamw (gpointer data)
{
  KERNELS->adamw (data, NULL);
}

static void
bench_adamw (GRand *rand)
{
  static const struct { const char *name; LpScalar scalar; } rows[] = { { "adamw f32 10M", LP_SCALAR_F32 }, { "adamw bf16 10M", LP_SCALAR_BF16 } };
  const gint64 dims[] = { 10000000 };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      const LpScalar s = rows[i].scalar;
      LpArray w = array_new (s, 1, dims, NULL, 1), g = array_new (s, 1, dims, NULL, 1);
      LpArray m = array_new (s, 1, dims, NULL, 1), v = array_new (s, 1, dims, NULL, 1);
      LpAdamWArgs args = { .common = { .n = 10000000, .weight = w.data, .weight_scalar = s, .grad = g.data, .grad_scalar = s, .moment1 = m.data,
                                       .moment2 = v.data, .moment_scalar = s, .lr = 1e-3, .weight_decay = 0.01 },
                           .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .step = 1 };

      fill_random (&g, rand, -1, 1);
      report (rows[i].name, measure (run_adamw, &args) * 1e3, "ms");
      array_clear (&w);
      array_clear (&g);
      array_clear (&m);
      array_clear (&v);
    }
}

typedef struct
{
  LpArray x, y;
  int     op;
} Elementwise;

static void
run_unary (gpointer data)
{
  Elementwise *e = data;

  KERNELS->unary (e->op, 1, &e->x, &e->y, NULL);
}

static void
run_softmax (gpointer data)
{
  Elementwise *e = data;

  KERNELS->softmax (&e->x, 1, FALSE, &e->y, NULL);
}

static void
run_dropout (gpointer data)
{
  Elementwise *e = data;

  KERNELS->dropout (&e->x, 0.1, (LpRandomPoint) { 1, 2, 3 }, &e->y, NULL);
}

static void
run_copy (gpointer data)
{
  Elementwise *e = data;

  KERNELS->copy (&e->x, &e->y, NULL);
}

static void
bench_elementwise (GRand *rand)
{
  Elementwise e = { matrix_new (LP_SCALAR_F32, 2048, 1024, FALSE, rand), matrix_new (LP_SCALAR_F32, 2048, 1024, FALSE, rand), LP_UNARY_TANH };

  report ("tanh f32 2M", measure (run_unary, &e) * 1e6, "us");
  e.op = LP_UNARY_GELU_TANH;
  report ("gelu_tanh f32 2M", measure (run_unary, &e) * 1e6, "us");
  e.op = LP_UNARY_RELU;
  report ("relu f32 2M", measure (run_unary, &e) * 1e6, "us");
  report ("softmax f32 [2048,1024]", measure (run_softmax, &e) * 1e6, "us");
  report ("dropout f32 2M", measure (run_dropout, &e) * 1e6, "us");
  report ("copy f32 2M", measure (run_copy, &e) * 1e6, "us");
  e.y.scalar = LP_SCALAR_BF16;
  report ("copy f32 to bf16 2M", measure (run_copy, &e) * 1e6, "us");
  e.y.scalar = LP_SCALAR_F16;
  report ("copy f32 to f16 2M", measure (run_copy, &e) * 1e6, "us");
  array_clear (&e.x);
  array_clear (&e.y);
}

/* Between f32 and what is smaller, beyond any cache, beside copying f32: bytes read and written per second. */
static void
bench_conversions (GRand *rand)
{
  static const char *const names[] = { "bf16", "f16", "f8e4m3", "f8e5m2", "nf4", "fp4", "i8-rowwise", "mxfp8-e4m3", "mxfp4", "nvfp4" };
  const gint64 m = 8192, n = 4096, dims[] = { m, n };
  g_autoptr (LpShape) shape = lp_shape_new (dims, 2);
  LpArray wide = matrix_new (LP_SCALAR_F32, m, n, FALSE, rand), other = array_new (LP_SCALAR_F32, 2, dims, NULL, 1);
  Elementwise e = { wide, other, 0 }, plain = e;

  run_copy (&e);
  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autoptr (LpDType) dtype = lp_dtype_lookup (names[i], NULL);
      const gboolean native = lp_dtype_is_native (dtype);
      LpArray low = native ? array_new (_lp_dtype_get_scalar (dtype), 2, dims, NULL, 1) : other;
      const double bytes = native ? 2.0 * (double) (m * n) : (double) lp_dtype_get_encoded_size (dtype, shape);

      if (!native)
        {
          low.dtype = dtype;
          low.scalar = LP_SCALAR_ENCODED;
          low.stored = shape;
          low.stored_size = (gsize) bytes;
          low.data = g_malloc0 ((gsize) bytes);
        }
      for (int back = 0; back < 2; back++)
        {
          g_autofree char *name = g_strdup_printf (back ? "%s to f32 32M" : "f32 to %s 32M", names[i]);
          g_autofree char *copy = g_strdup_printf ("%s beside", name);
          double seconds[2];

          e.x = back ? low : wide;
          e.y = back ? other : low;
          measure_beside (run_copy, &e, &plain, seconds);
          report (name, (4.0 * (double) (m * n) + bytes) / seconds[0] * 1e-9, "GB/s");
          report (copy, 8.0 * (double) (m * n) / seconds[1] * 1e-9, "GB/s");
        }
      if (native)
        array_clear (&low);
      else
        g_free (low.data);
    }
  array_clear (&wide);
  array_clear (&other);
}

typedef struct
{
  LpPoolArgs pool;
  LpArray    x, y, sums;
} Image;

static void
run_pool (gpointer data)
{
  KERNELS->pool2d (&((Image *) data)->pool, NULL);
}

static void
run_pool_grad (gpointer data)
{
  KERNELS->pool2d_grad (&((Image *) data)->pool, NULL);
}

static void
run_image_relu (gpointer data)
{
  Image *image = data;

  KERNELS->unary (LP_UNARY_RELU, 0, &image->x, &image->y, NULL);
}

static void
run_image_relu_grad (gpointer data)
{
  Image *image = data;

  KERNELS->unary_grad (LP_UNARY_RELU, 0, &image->y, &image->x, &image->y, NULL);
}

static void
run_image_copy (gpointer data)
{
  Image *image = data;

  KERNELS->copy (&image->x, &image->y, NULL);
}

static void
run_channel_sums (gpointer data)
{
  Image *image = data;

  KERNELS->reduce (LP_REDUCE_SUM, &image->x, &image->sums, NULL);
}

/* What surrounds a convolution: all of it should take about as long as the copy. */
static void
bench_image (GRand *rand)
{
  static const int order[] = { 0, 2, 3, 1 };
  const gint64 xd[] = { 128, 32, 14, 14 }, yd[] = { 128, 32, 7, 7 }, cd[] = { 1, 32, 1, 1 };
  static const struct
  {
    const char *name;
    void     (* run) (gpointer data);
  } steps[] = {
    { "copy", run_image_copy }, { "relu", run_image_relu }, { "relu gradient", run_image_relu_grad }, { "channel sums", run_channel_sums },
    { "max pool 2x2", run_pool }, { "max pool 2x2 gradient", run_pool_grad },
  };

  for (int s = LP_SCALAR_F64; s <= LP_SCALAR_BF16; s++)
    {
      Image image = { .x = array_new (s, 4, xd, order, 1), .y = array_new (s, 4, xd, order, 1), .sums = array_new (s, 4, cd, NULL, 1) };

      image.pool = (LpPoolArgs) { .max = TRUE, .x = image.x, .y = array_new (s, 4, yd, order, 1), .indices = array_new (LP_SCALAR_I32, 4, yd, order, 1),
                                  .kernel = { 2, 2 }, .stride = { 2, 2 } };
      fill_random (&image.x, rand, -1, 1);
      for (gsize i = 0; i < G_N_ELEMENTS (steps); i++)
        {
          g_autofree char *name = g_strdup_printf ("%s %s [128,32,14,14]", steps[i].name, scalar_names[s] != NULL ? scalar_names[s] : "f16");

          report (name, measure (steps[i].run, &image) * 1e6, "us");
        }
      array_clear (&image.x);
      array_clear (&image.y);
      array_clear (&image.sums);
      array_clear (&image.pool.y);
      array_clear (&image.pool.indices);
    }
}

int
main (int argc, char **argv)
{
  static void (* const groups[]) (GRand *rand) = { bench_gemm, bench_conv, bench_image, bench_adamw, bench_elementwise, bench_conversions };
  static const char *group_names[] = { "gemm", "conv", "image", "adamw", "elementwise", "conversions" };
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);

  report (_lp_cpu_isa->name, omp_get_max_threads (), "threads");
#ifdef __x86_64__
  if (__builtin_cpu_supports ("avx2") && __builtin_cpu_supports ("fma"))
    {
      peak = 10.0 * 8 * PEAK_STEPS * omp_get_max_threads () / measure (run_peak, NULL) * 1e-9;
      report ("fma peak f64 avx2", peak, "GFLOP/s");
    }
#endif
  for (gsize i = 0; i < G_N_ELEMENTS (groups); i++)
    if (argc < 2 || g_str_equal (argv[1], group_names[i]))
      groups[i] (rand);
  return 0;
}
