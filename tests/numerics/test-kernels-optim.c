#include "kernel-fixture.h"

#define N 70001

static LpRandomPoint point = { 12345, 7, 3 };

static void
test_random (void)
{
  const gint64 dims[] = { 40, 30, 50 }, part_dims[] = { 5 };
  static const int order[] = { 2, 1, 0 };
  LpArray u = array_new (LP_SCALAR_F32, 3, dims, NULL, 1), v = array_new (LP_SCALAR_F32, 3, dims, order, 1);
  LpArray few = array_new (LP_SCALAR_F64, 1, part_dims, NULL, 1);
  double mean = 0, square = 0;
  guint32 block[4];

  omp_set_num_threads (2);
  g_assert_true (KERNELS->uniform (&u, -1, 3, point, NULL));
  omp_set_num_threads (1);
  g_assert_true (KERNELS->uniform (&v, -1, 3, point, NULL));
  g_assert_true (KERNELS->uniform (&few, -1, 3, point, NULL));
  for (gint64 i = 0; i < count (&u); i++)
    {
      _lp_philox (point.seed, point.stream, point.offset + (guint64) i / 4, block);
      g_assert_cmpfloat (get (&u, i), ==, get (&v, i));
      assert_close (get (&u, i), -1 + 4 * (block[i % 4] >> 8) * 0x1p-24, 1e-6, "uniform");
    }
  for (gint64 i = 0; i < 5; i++)
    assert_close (get (&few, i), get (&u, i), 1e-6, "uniform f64");
  g_assert_true (KERNELS->normal (&u, 1, 2, point, NULL));
  for (gint64 i = 0; i < count (&u); i++)
    {
      mean += get (&u, i) / (double) count (&u);
      square += (get (&u, i) - 1) * (get (&u, i) - 1) / (double) count (&u);
    }
  assert_close (mean, 1, 0.03, "mean");
  assert_close (square, 4, 0.08, "variance");
  array_clear (&u);
  array_clear (&v);
  array_clear (&few);
}

static void
test_dropout (void)
{
  const gint64 dims[] = { 4, 8, 33, 35 };
  static const int order[] = { 0, 2, 3, 1 };
  LpArray x = array_new (LP_SCALAR_F32, 4, dims, NULL, 1), y = array_new (LP_SCALAR_BF16, 4, dims, NULL, 1), z = array_new (LP_SCALAR_F32, 4, dims, order, 1);
  double kept = 0;

  g_assert_true (KERNELS->fill (&x, 1, NULL));
  omp_set_num_threads (2);
  g_assert_true (KERNELS->dropout (&x, 0.5, point, &y, NULL));
  g_assert_true (KERNELS->dropout (&x, 0.5, point, &z, NULL));
  for (gint64 i = 0; i < count (&x); i++)
    {
      g_assert_true (get (&y, i) == 0 || get (&y, i) == 2);
      g_assert_cmpfloat (get (&y, i), ==, get (&z, i));
      kept += get (&y, i) / 2 / (double) count (&x);
    }
  assert_close (kept, 0.5, 0.02, "kept");
  array_clear (&x);
  array_clear (&y);
  array_clear (&z);
}

/* The rule in double precision, for one parameter. */
static double
adamw_reference (double w, double g, double *m, double *v, const LpAdamWArgs *args)
{
  *m = args->beta1 * *m + (1 - args->beta1) * g;
  *v = args->beta2 * *v + (1 - args->beta2) * g * g;
  w *= 1 - args->common.lr * args->common.weight_decay;
  return w - args->common.lr / (1 - pow (args->beta1, (double) args->step)) * *m
                 / (sqrt (*v) / sqrt (1 - pow (args->beta2, (double) args->step)) + args->eps);
}

static void
test_adamw (void)
{
  const gint64 dims[] = { N };
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);

  for (int t = 0; t < 8; t++)
    {
      const LpScalar s = float_scalars[t % 4], wide = s == LP_SCALAR_F64 ? s : LP_SCALAR_F32;
      const gboolean has_master = t >= 4;
      LpArray w = array_new (s, 1, dims, NULL, 1), g = array_new (s, 1, dims, NULL, 1), m = array_new (wide, 1, dims, NULL, 1);
      LpArray v = array_new (wide, 1, dims, NULL, 1), master = array_new (wide, 1, dims, NULL, 1), half = array_new (LP_SCALAR_BF16, 1, dims, NULL, 1);
      const float scale = 0.5f, clip = 0.25f;
      float found = 1;
      LpAdamWArgs args = { .common = { .n = N, .weight = w.data, .weight_scalar = s, .master = has_master ? master.data : NULL, .grad = g.data,
                                       .grad_scalar = s, .moment1 = m.data, .moment2 = v.data, .moment_scalar = wide, .weight16 = (guint16 *) half.data,
                                       .weight16_scalar = LP_SCALAR_BF16, .grad_scale = &scale, .clip = &clip, .found_inf = &found, .lr = 0.01,
                                       .weight_decay = 0.1 },
                           .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .step = 3 };
      g_autofree double *expected = g_new (double, N);
      g_autofree guint8 *before = NULL;

      fill_random (&w, rand, -1, 1);
      fill_random (&g, rand, -1, 1);
      fill_random (&m, rand, -0.1, 0.1);
      fill_random (&v, rand, 0.01, 0.1);
      g_assert_true (KERNELS->copy (&w, &master, NULL));
      before = g_memdup2 (w.data, span_bytes (&w));
      g_assert_true (KERNELS->adamw (&args, NULL));
      g_assert_cmpmem (before, span_bytes (&w), w.data, span_bytes (&w));
      found = 0;
      for (gint64 i = 0; i < N; i++)
        {
          double mi = get (&m, i), vi = get (&v, i);

          expected[i] = adamw_reference (get (&w, i), get (&g, i) * 0.125, &mi, &vi, &args);
        }
      omp_set_num_threads (2);
      g_assert_true (KERNELS->adamw (&args, NULL));
      for (gint64 i = 0; i < N; i++)
        {
          const LpArray *value = has_master ? &master : &w;

          assert_close (get (&w, i), expected[i], scalar_epsilon (s) * fabs (expected[i]) + 1e-6 * (s == LP_SCALAR_F64 ? 1e-8 : 1), "adamw");
          assert_close (get (value, i), expected[i], scalar_epsilon (value->scalar) * fabs (expected[i]) + 1e-6, "master");
          assert_close (get (&half, i), expected[i], 0x1p-7 * fabs (expected[i]) + 1e-6, "16-bit copy");
        }
      array_clear (&w);
      array_clear (&g);
      array_clear (&m);
      array_clear (&v);
      array_clear (&master);
      array_clear (&half);
    }
}

static void
test_sgd (void)
{
  const gint64 dims[] = { 5001 };
  g_autoptr (GRand) rand = g_rand_new_with_seed (2);

  for (int variant = 0; variant < 8; variant++)
    {
      LpArray w = array_new (LP_SCALAR_F32, 1, dims, NULL, 1), g = array_new (LP_SCALAR_BF16, 1, dims, NULL, 1), m = array_new (LP_SCALAR_F32, 1, dims, NULL, 1);
      const gboolean has_moment = variant & 1;
      LpSgdArgs args = { .common = { .n = 5001, .weight = w.data, .weight_scalar = LP_SCALAR_F32, .grad = g.data, .grad_scalar = LP_SCALAR_BF16,
                                     .moment1 = has_moment ? m.data : NULL, .moment_scalar = LP_SCALAR_F32, .lr = 0.1, .weight_decay = 0.01 },
                         .momentum = has_moment ? 0.9 : 0, .dampening = 0.2, .nesterov = has_moment && (variant & 2), .first = variant >> 2 };
      g_autofree double *expected = g_new (double, 5001);

      fill_random (&w, rand, -1, 1);
      fill_random (&g, rand, -1, 1);
      fill_random (&m, rand, -1, 1);
      for (gint64 i = 0; i < 5001; i++)
        {
          const double d = get (&g, i) + 0.01 * get (&w, i);
          const double v = args.first ? d : 0.9 * get (&m, i) + 0.8 * d;

          expected[i] = get (&w, i) - 0.1 * (!has_moment ? d : (args.nesterov ? d + 0.9 * v : v));
        }
      g_assert_true (KERNELS->sgd (&args, NULL));
      for (gint64 i = 0; i < 5001; i++)
        assert_close (get (&w, i), expected[i], 1e-6, "sgd variant %d", variant);
      array_clear (&w);
      array_clear (&g);
      array_clear (&m);
    }
}

/* Rounding is unbiased, and only to a neighbour. */
static void
test_stochastic_rounding (void)
{
  const gint64 dims[] = { N };

  for (int t = 2; t < 4; t++)
    {
      const LpScalar s = float_scalars[t];
      LpArray w = array_new (s, 1, dims, NULL, 1), master = array_new (LP_SCALAR_F32, 1, dims, NULL, 1), g = array_new (LP_SCALAR_F32, 1, dims, NULL, 1);
      const double value = 1 + 0.3 * scalar_epsilon (s);
      LpSgdArgs args = { .common = { .n = N, .weight = w.data, .weight_scalar = s, .master = master.data, .grad = g.data, .grad_scalar = LP_SCALAR_F32,
                                     .stochastic = TRUE, .random = point } };
      double sum = 0;

      g_assert_true (KERNELS->fill (&master, value, NULL));
      set (&master, 9, INFINITY);
      set (&g, 9, 0);
      g_assert_true (KERNELS->sgd (&args, NULL));
      g_assert_true (isinf (get (&w, 9)) || isnan (get (&w, 9)));
      for (gint64 i = 0; i < N; i++)
        if (i != 9)
          {
            g_assert_true (get (&w, i) == 1 || get (&w, i) == 1 + scalar_epsilon (s));
            sum += (get (&w, i) - 1) / scalar_epsilon (s) / N;
          }
      assert_close (sum, 0.3, 0.01, "share rounded up");
      array_clear (&w);
      array_clear (&master);
      array_clear (&g);
    }
}

/* Up by the share of the way to the upper neighbour: by the rule, not by its bits. */
static guint16
round_by_chance (float x, guint32 chance)
{
  const guint16 toward_zero = (guint16) (((union { float f; guint32 bits; }) { x }).bits >> 16);
  const double low = fabs ((double) _lp_bf16_to_f32 (toward_zero)), high = fabs ((double) _lp_bf16_to_f32 ((guint16) (toward_zero + 1)));

  return (guint16) (toward_zero + ((fabs ((double) x) - low) / (high - low) + chance * 0x1p-16 >= 1));
}

static guint32
chance_of (LpRandomPoint at, gint64 i)
{
  guint32 block[4];

  _lp_philox (at.seed, at.stream, at.offset + (guint64) i / 4, block);
  return block[i % 4];
}

typedef struct
{
  LpScalar weight, moments;
  gboolean has_master, sgd;
  LpArray  w, g, m, v, master;
} Fused;

static void
fused_init (Fused *self, LpScalar moments)
{
  const gint64 dims[] = { N };
  g_autoptr (GRand) rand = g_rand_new_with_seed (5);

  self->moments = moments;
  self->w = array_new (self->weight, 1, dims, NULL, 1);
  self->g = array_new (self->weight, 1, dims, NULL, 1);
  self->master = array_new (LP_SCALAR_F32, 1, dims, NULL, 1);
  self->m = array_new (moments, 1, dims, NULL, 1);
  self->v = array_new (moments, 1, dims, NULL, 1);
  fill_random (&self->w, rand, -1, 1);
  fill_random (&self->g, rand, -1, 1);
  g_assert_true (KERNELS->copy (&self->w, &self->master, NULL));
  for (gint64 i = 0; i < N; i++)
    {
      /* what bf16 holds, down to where it has few bits */
      const double size = i % 7 == 0 ? 0x1p-130 : 1;

      set (&self->m, i, (double) _lp_bf16_to_f32 (_lp_bf16_from_f64 (g_rand_double_range (rand, -1, 1) * size)));
      set (&self->v, i, (double) _lp_bf16_to_f32 (_lp_bf16_from_f64 (g_rand_double_range (rand, 0, 1) * size)));
      if (i % 7 == 0)
        set (&self->g, i, 0);
    }
}

static void
fused_step (Fused *self, const float *found_inf)
{
  const LpFusedStepArgs common = { .n = N, .weight = self->w.data, .weight_scalar = self->weight, .master = self->has_master ? self->master.data : NULL,
                                   .grad = self->g.data, .grad_scalar = self->weight, .moment1 = self->m.data,
                                   .moment2 = self->sgd ? NULL : self->v.data, .moment_scalar = self->moments, .moment_random = point,
                                   .found_inf = found_inf, .lr = 0.01, .weight_decay = 0.1 };
  const LpAdamWArgs adamw = { .common = common, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .step = 3 };
  const LpSgdArgs sgd = { .common = common, .momentum = 0.9 };

  g_assert_true (self->sgd ? KERNELS->sgd (&sgd, NULL) : KERNELS->adamw (&adamw, NULL));
}

static void
fused_clear (Fused *self)
{
  array_clear (&self->w);
  array_clear (&self->g);
  array_clear (&self->m);
  array_clear (&self->v);
  array_clear (&self->master);
}

/* Moments in bf16 are those in f32, rounded by chance; the weights of the step don't see the rounding. */
static void
test_narrow_moments (void)
{
  const float found = 1;

  for (int t = 0; t < 12; t++)
    {
      Fused wide = { .weight = float_scalars[1 + t % 3], .has_master = t / 3 % 2, .sgd = t / 6 }, narrow = wide;
      g_autofree guint8 *before = NULL;

      fused_init (&wide, LP_SCALAR_F32);
      fused_init (&narrow, LP_SCALAR_BF16);
      before = g_memdup2 (narrow.m.data, span_bytes (&narrow.m));
      omp_set_num_threads (1);
      fused_step (&narrow, &found);
      g_assert_cmpmem (before, span_bytes (&narrow.m), narrow.m.data, span_bytes (&narrow.m));
      fused_step (&wide, NULL);
      omp_set_num_threads (3);
      fused_step (&narrow, NULL);
      g_assert_cmpmem (wide.w.data, span_bytes (&wide.w), narrow.w.data, span_bytes (&narrow.w));
      g_assert_cmpmem (wide.master.data, span_bytes (&wide.master), narrow.master.data, span_bytes (&narrow.master));
      for (gint64 i = 0; i < N; i++)
        {
          const guint32 chance = chance_of (point, i);

          g_assert_cmphex (((guint16 *) narrow.m.data)[i], ==, round_by_chance (((float *) wide.m.data)[i], chance & 0xffff));
          if (!narrow.sgd)
            g_assert_cmphex (((guint16 *) narrow.v.data)[i], ==, round_by_chance (((float *) wide.v.data)[i], chance >> 16));
        }
      fused_clear (&wide);
      fused_clear (&narrow);
    }
}

/* A thousandth of the way per step is less than half an ulp from 0.2 on: rounded to nearest the mean of squares would stay there. */
static void
test_moments_go_on (void)
{
  enum { n = 4096 };
  const gint64 dims[] = { n };
  LpArray w = array_new (LP_SCALAR_BF16, 1, dims, NULL, 1), g = array_new (LP_SCALAR_BF16, 1, dims, NULL, 1);
  LpArray m = array_new (LP_SCALAR_BF16, 1, dims, NULL, 1), v = array_new (LP_SCALAR_BF16, 1, dims, NULL, 1);
  LpAdamWArgs args = { .common = { .n = n, .weight = w.data, .weight_scalar = LP_SCALAR_BF16, .grad = g.data, .grad_scalar = LP_SCALAR_BF16,
                                   .moment1 = m.data, .moment2 = v.data, .moment_scalar = LP_SCALAR_BF16, .moment_random = point },
                       .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8 };
  double first = 0, second = 0;

  g_assert_true (KERNELS->fill (&g, 1, NULL));
  for (args.step = 1; args.step <= 2000; args.step++)
    {
      args.common.moment_random.offset += n / 4;
      g_assert_true (KERNELS->adamw (&args, NULL));
    }
  for (gint64 i = 0; i < n; i++)
    {
      first += get (&m, i) / n;
      second += get (&v, i) / n;
    }
  assert_close (first, 1, 0.002, "mean");
  assert_close (second, 1 - pow (0.999, 2000), 0.005, "mean of squares");
  array_clear (&w);
  array_clear (&g);
  array_clear (&m);
  array_clear (&v);
}

static void
test_moment_dtypes (void)
{
  static const LpScalar refused[][2] = { { LP_SCALAR_F32, LP_SCALAR_F16 }, { LP_SCALAR_F32, LP_SCALAR_F64 }, { LP_SCALAR_F64, LP_SCALAR_BF16 },
                                         { LP_SCALAR_F64, LP_SCALAR_F32 }, { LP_SCALAR_BF16, LP_SCALAR_ENCODED } };
  double memory[4] = { 0 };

  for (guint i = 0; i < G_N_ELEMENTS (refused); i++)
    {
      const LpSgdArgs args = { .common = { .n = 1, .weight = &memory[0], .weight_scalar = refused[i][0], .grad = &memory[1],
                                           .grad_scalar = refused[i][0], .moment1 = &memory[2], .moment_scalar = refused[i][1] } };
      g_autoptr (GError) error = NULL;

      g_assert_false (KERNELS->sgd (&args, &error));
      g_assert_error (error, LP_ERROR, LP_ERROR_DTYPE);
    }
}

static void
test_grad_stats (void)
{
  const gint64 dims[] = { N };
  g_autoptr (GRand) rand = g_rand_new_with_seed (3);

  for (int t = 0; t < 4; t++)
    {
      LpArray g = array_new (float_scalars[t], 1, dims, NULL, 1);
      const float scale = 0.5f;
      float found = 0;
      double sum = 0, again = 0, expected = 0;
      LpGradStatsArgs args = { .n = N, .grad = g.data, .scalar = float_scalars[t], .scale = &scale, .found_inf = &found, .sum_squares = &sum };

      fill_random (&g, rand, -1, 1);
      for (gint64 i = 0; i < N; i++)
        expected += 0.25 * get (&g, i) * get (&g, i);
      omp_set_num_threads (2);
      g_assert_true (KERNELS->grad_stats (&args, NULL));
      assert_close (sum, expected, 1e-6 * expected, "sum of squares");
      g_assert_cmpfloat (found, ==, 0);
      args.scale = NULL;
      args.sum_squares = &again;
      omp_set_num_threads (1);
      g_assert_true (KERNELS->grad_stats (&args, NULL));
      g_assert_cmpfloat (again, ==, sum);
      set (&g, N - 3, t % 2 ? NAN : INFINITY);
      g_assert_true (KERNELS->grad_stats (&args, NULL));
      g_assert_cmpfloat (found, ==, 1);
      array_clear (&g);
    }
}

static void
test_index (void)
{
  const gint64 xd[] = { 6, 4, 5 }, yd[] = { 6, 3, 5 }, id[] = { 3 };
  static const gint64 picks[] = { 3, 0, 3 };
  g_autoptr (GRand) rand = g_rand_new_with_seed (4);
  g_autoptr (GError) error = NULL;

  for (int t = 0; t < 4; t++)
    {
      const LpScalar s = float_scalars[t];
      LpArray x = array_new (s, 3, xd, NULL, 1), y = array_new (s, 3, yd, NULL, 2), index = array_new (LP_SCALAR_I64, 1, id, NULL, 1);
      LpArray grid = array_new (LP_SCALAR_I32, 3, yd, NULL, 1), sums = array_new (LP_SCALAR_F32, 3, xd, NULL, 1), more = array_new (LP_SCALAR_F32, 3, xd, NULL, 1);

      fill_random (&x, rand, -1, 1);
      for (int i = 0; i < 3; i++)
        set (&index, i, (double) picks[i]);
      for (gint64 i = 0; i < count (&grid); i++)
        set (&grid, i, (double) picks[i / 5 % 3]);
      g_assert_true (KERNELS->index_select (&x, 1, &index, &y, NULL));
      for (gint64 i = 0; i < count (&y); i++)
        g_assert_cmpfloat (get (&y, i), ==, get (&x, (i / 15 * 4 + picks[i / 5 % 3]) * 5 + i % 5));
      g_assert_true (KERNELS->index_add (&sums, 1, &index, &y, NULL));
      g_assert_true (KERNELS->scatter_add (&more, 1, &grid, &y, NULL));
      for (gint64 i = 0; i < count (&sums); i++)
        {
          const gint64 row = i / 5 % 4;

          assert_close (get (&sums, i), get (&x, i) * (row == 3 ? 2 : (row == 0 ? 1 : 0)), 1e-6, "index_add");
          g_assert_cmpfloat (get (&sums, i), ==, get (&more, i));
        }
      g_assert_true (KERNELS->fill (&y, 0, NULL));
      g_assert_true (KERNELS->gather (&x, 1, &grid, &y, NULL));
      for (gint64 i = 0; i < count (&y); i++)
        g_assert_cmpfloat (get (&y, i), ==, get (&x, (i / 15 * 4 + picks[i / 5 % 3]) * 5 + i % 5));
      set (&index, 1, 4);
      g_assert_false (KERNELS->index_select (&x, 1, &index, &y, &error));
      g_assert_error (error, LP_ERROR, LP_ERROR_ARGUMENT);
      g_clear_error (&error);
      array_clear (&x);
      array_clear (&y);
      array_clear (&index);
      array_clear (&grid);
      array_clear (&sums);
      array_clear (&more);
    }
}

static void
test_allocator (void)
{
  for (gsize size = 0; size < 100000; size = size * 5 / 4 + 1)
    {
      guint8 *data = _lp_cpu_allocate (size), *again;

      g_assert_nonnull (data);
      g_assert_cmpuint ((guintptr) data % 64, ==, 0);
      memset (data, 1, size);
      _lp_cpu_release (data, size);
      again = _lp_cpu_allocate (size);
      g_assert_true (again == data);
      _lp_cpu_release (again, size);
    }
  g_assert_null (_lp_cpu_allocate (G_MAXSIZE));
}

/* What waits is at most what was in use at once: blocks of a size that does not come again make room. */
static void
test_waiting_memory (void)
{
  const gsize mib = 1 << 20, sizes[] = { 100 * mib, 80 * mib, 70 * mib, 20 * mib, 50 * mib };

  _lp_cpu_trim ();
  g_assert_cmpuint (_lp_cpu_get_waiting (), ==, 0);
  for (guint i = 0; i < 2 * G_N_ELEMENTS (sizes); i++)
    {
      const gsize size = sizes[i % G_N_ELEMENTS (sizes)];

      _lp_cpu_release (_lp_cpu_allocate (size), size);
      g_assert_cmpuint (_lp_cpu_get_waiting (), >=, size);
      g_assert_cmpuint (_lp_cpu_get_waiting (), <=, 112 * mib);
    }
  _lp_cpu_trim ();
  g_assert_cmpuint (_lp_cpu_get_waiting (), ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/kernels/random", test_random);
  g_test_add_func ("/kernels/dropout", test_dropout);
  g_test_add_func ("/kernels/adamw", test_adamw);
  g_test_add_func ("/kernels/sgd", test_sgd);
  g_test_add_func ("/kernels/stochastic-rounding", test_stochastic_rounding);
  g_test_add_func ("/kernels/narrow-moments", test_narrow_moments);
  g_test_add_func ("/kernels/moments-go-on", test_moments_go_on);
  g_test_add_func ("/kernels/moment-dtypes", test_moment_dtypes);
  g_test_add_func ("/kernels/grad-stats", test_grad_stats);
  g_test_add_func ("/kernels/index", test_index);
  g_test_add_func ("/kernels/allocator", test_allocator);
  g_test_add_func ("/kernels/waiting-memory", test_waiting_memory);
  return g_test_run ();
}
