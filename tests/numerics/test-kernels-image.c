#include "kernel-fixture.h"

static const int channels_last[] = { 0, 2, 3, 1 };

typedef struct
{
  gint64 n, c, h, w, oc, kh, kw;
  int    stride, padding, dilation, groups;
} Case;

static const Case cases[] = {
  { 2, 1, 9, 8, 4, 3, 3, 1, 1, 1, 1 }, { 2, 6, 7, 9, 4, 3, 2, 2, 1, 1, 2 }, { 3, 4, 11, 11, 20, 3, 3, 1, 2, 2, 1 }, { 2, 5, 6, 6, 5, 1, 1, 1, 0, 1, 5 },
  { 1, 8, 12, 10, 16, 5, 5, 2, 2, 1, 1 }, { 4, 16, 14, 14, 24, 3, 3, 1, 1, 1, 1 }, { 4, 1, 28, 28, 16, 3, 3, 1, 1, 1, 1 },
  { 4, 1, 28, 28, 16, 5, 5, 2, 2, 1, 1 },
  /* several vectors of channels on both sides, which libraries have kernels of their own for, and ends of vectors */
  { 2, 32, 8, 8, 64, 1, 1, 1, 0, 1, 1 }, { 2, 32, 8, 8, 64, 1, 1, 2, 0, 1, 1 }, { 2, 32, 8, 8, 32, 3, 3, 1, 1, 1, 1 },
  { 2, 32, 9, 7, 48, 3, 3, 2, 1, 1, 1 }, { 2, 40, 6, 6, 24, 1, 1, 2, 0, 1, 1 }, { 2, 32, 8, 8, 32, 3, 3, 1, 1, 1, 2 },
  { 2, 32, 6, 6, 32, 3, 3, 1, 1, 1, 32 },
};

/* An image of these alone is more than is prepared at a time. */
static const Case large = { 3, 1, 740, 720, 2, 3, 3, 90, 1, 1, 1 };

static double *
conv_reference (const LpConvArgs *args)
{
  const LpArray *x = &args->x, *w = &args->w, *y = &args->y;
  const LpArray *out = args->pass == LP_CONV_FORWARD ? y : (args->pass == LP_CONV_INPUT_GRAD ? x : w);
  double *result = g_new0 (double, count (out));
  const gint64 cg = w->dims[1], og = w->dims[0] / args->groups;

  for (gint64 i = 0; i < count (y); i++)
    {
      const gint64 ow = i % y->dims[3], oh = i / y->dims[3] % y->dims[2], oc = i / (y->dims[2] * y->dims[3]) % y->dims[1];
      const gint64 n = i / (y->dims[1] * y->dims[2] * y->dims[3]);

      if (args->pass == LP_CONV_FORWARD && args->bias.data != NULL)
        result[i] += get (&args->bias, oc);
      for (gint64 j = 0; j < cg * w->dims[2] * w->dims[3]; j++)
        {
          const gint64 kw = j % w->dims[3], kh = j / w->dims[3] % w->dims[2], c = j / (w->dims[2] * w->dims[3]);
          const gint64 ih = oh * args->stride[0] - args->padding[0] + kh * args->dilation[0];
          const gint64 iw = ow * args->stride[1] - args->padding[1] + kw * args->dilation[1];
          const gint64 xi = ((n * x->dims[1] + oc / og * cg + c) * x->dims[2] + ih) * x->dims[3] + iw;
          const gint64 wi = oc * cg * w->dims[2] * w->dims[3] + j;

          if (ih < 0 || iw < 0 || ih >= x->dims[2] || iw >= x->dims[3])
            continue;
          if (args->pass == LP_CONV_FORWARD)
            result[i] += get (x, xi) * get (w, wi);
          else if (args->pass == LP_CONV_INPUT_GRAD)
            result[xi] += get (y, i) * get (w, wi);
          else
            result[wi] += get (y, i) * get (x, xi);
        }
    }
  return result;
}

static void
check_conv (const Case *c, LpScalar s, LpConvPass pass, int layout, gboolean bias, GRand *rand)
{
  const gint64 oh = (c->h + 2 * c->padding - c->dilation * (c->kh - 1) - 1) / c->stride + 1;
  const gint64 ow = (c->w + 2 * c->padding - c->dilation * (c->kw - 1) - 1) / c->stride + 1;
  const gint64 xd[] = { c->n, c->c, c->h, c->w }, wd[] = { c->oc, c->c / c->groups, c->kh, c->kw }, yd[] = { c->n, c->oc, oh, ow };
  const int *order = layout > 0 ? channels_last : NULL;
  LpConvArgs args = { .pass = pass, .x = array_new (s, 4, xd, order, layout == 2 ? 2 : 1), .w = array_new (s, 4, wd, layout == 2 ? channels_last : NULL, 1),
                      .y = array_new (s, 4, yd, order, 1), .stride = { c->stride, c->stride }, .padding = { c->padding, c->padding },
                      .dilation = { c->dilation, c->dilation }, .groups = c->groups };
  LpArray *out = pass == LP_CONV_FORWARD ? &args.y : (pass == LP_CONV_INPUT_GRAD ? &args.x : &args.w);
  g_autofree double *expected = NULL;
  g_autofree guint8 *first = NULL;
  g_autoptr (GError) error = NULL;
  double largest = 1;

  if (bias && pass == LP_CONV_FORWARD)
    args.bias = array_new (s, 1, &c->oc, NULL, 1);
  fill_random (&args.x, rand, -1, 1);
  fill_random (&args.w, rand, -1, 1);
  fill_random (&args.y, rand, -1, 1);
  if (args.bias.data != NULL)
    fill_random (&args.bias, rand, -1, 1);
  expected = conv_reference (&args);
  memset (out->data, 0xff, span_bytes (out));
  omp_set_num_threads (2);
  g_assert_true (KERNELS->conv2d (&args, &error));
  for (gint64 i = 0; i < count (out); i++)
    largest = MAX (largest, fabs (expected[i]));
  for (gint64 i = 0; i < count (out); i++)
    assert_close (get (out, i), expected[i], scalar_epsilon (s) * fabs (expected[i]) + 100 * scalar_epsilon (s == LP_SCALAR_F64 ? s : LP_SCALAR_F32) * largest,
                  "conv %ldx%ld pass %d dtype %d layout %d at %ld", (long) c->h, (long) c->w, pass, s, layout, (long) i);
  first = g_memdup2 (out->data, span_bytes (out));
  omp_set_num_threads (1);
  g_assert_true (KERNELS->conv2d (&args, &error));
  for (gint64 i = 0; i < count (out); i++)
    {
      LpArray other = *out;

      other.data = first;
      g_assert_cmpfloat (get (&other, i), ==, get (out, i));
    }
  array_clear (&args.x);
  array_clear (&args.w);
  array_clear (&args.y);
  array_clear (&args.bias);
}

static void
test_conv (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (1);

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    for (int t = 0; t < 4; t++)
      for (int pass = 0; pass < 3; pass++)
        for (int layout = 0; layout < 3; layout++)
          check_conv (&cases[i], float_scalars[t], pass, layout, t % 2 == 0, rand);
  for (int pass = 0; pass < 3; pass++)
    check_conv (&large, LP_SCALAR_F64, pass, 1, TRUE, rand);
}

static void
test_pool (void)
{
  const gint64 xd[] = { 2, 5, 7, 8 }, yd[] = { 2, 5, 4, 4 };
  g_autoptr (GRand) rand = g_rand_new_with_seed (2);

  for (int t = 0; t < 4; t++)
    for (int max = 0; max < 2; max++)
      for (int layout = 0; layout < 2; layout++)
        {
          const LpScalar s = float_scalars[t];
          const int *order = layout ? channels_last : NULL;
          LpArray x = array_new (s, 4, xd, order, 1), dx = array_new (s, 4, xd, order, 1), dy = array_new (s, 4, yd, NULL, 1);
          LpPoolArgs args = { .max = max, .x = x, .y = array_new (s, 4, yd, order, 1), .indices = array_new (LP_SCALAR_I32, 4, yd, order, 1),
                              .kernel = { 3, 3 }, .stride = { 2, 2 }, .padding = { 1, 1 } };
          g_autofree double *expected = g_new0 (double, count (&x));

          fill_random (&x, rand, -1, 1);
          fill_random (&dy, rand, -1, 1);
          set (&x, 3, get (&x, 2));
          g_assert_true (KERNELS->pool2d (&args, NULL));
          for (gint64 i = 0; i < count (&dy); i++)
            {
              const gint64 ow = i % 4, oh = i / 4 % 4, plane = i / 16;
              double best = -INFINITY, sum = 0;
              gint64 where = -1, index = -1, cells = 0;

              for (gint64 k = 0; k < 9; k++)
                {
                  const gint64 h = oh * 2 - 1 + k / 3, w = ow * 2 - 1 + k % 3, at = (plane * 7 + h) * 8 + w;

                  if (h < 0 || w < 0 || h >= 7 || w >= 8)
                    continue;
                  cells++;
                  sum += get (&x, at);
                  if (get (&x, at) > best)
                    {
                      best = get (&x, at);
                      where = at;
                      index = k;
                    }
                }
              if (max)
                {
                  g_assert_cmpfloat (get (&args.y, i), ==, best);
                  g_assert_cmpint ((gint64) get (&args.indices, i), ==, index);
                  expected[where] += get (&dy, i);
                  continue;
                }
              assert_close (get (&args.y, i), sum / (double) cells, 2 * scalar_epsilon (s), "average");
              for (gint64 k = 0; k < 9; k++)
                {
                  const gint64 h = oh * 2 - 1 + k / 3, w = ow * 2 - 1 + k % 3;

                  if (h >= 0 && w >= 0 && h < 7 && w < 8)
                    expected[(plane * 7 + h) * 8 + w] += get (&dy, i) / (double) cells;
                }
            }
          array_clear (&args.y);
          args.x = dx;
          args.y = dy;
          g_assert_true (KERNELS->pool2d_grad (&args, NULL));
          for (gint64 i = 0; i < count (&x); i++)
            assert_close (get (&dx, i), expected[i], 4 * scalar_epsilon (s), "pool gradient max %d layout %d", max, layout);
          array_clear (&x);
          array_clear (&dx);
          array_clear (&dy);
          array_clear (&args.indices);
        }
}

static void
check_batch_norm (LpScalar s, int layout, gboolean training, GRand *rand)
{
  const gint64 dims[] = { 6, 10, 9, 31 }, c[] = { 10 };
  const LpScalar v = s == LP_SCALAR_F64 ? s : LP_SCALAR_F32;
  const int *order = layout ? channels_last : NULL;
  const double n = 6 * 9 * 31, eps = 1e-5;
  LpBatchNormArgs args = { .training = training, .x = array_new (s, 4, dims, order, 1), .y = array_new (s, 4, dims, order, 1),
                           .weight = array_new (v, 1, c, NULL, 1), .bias = array_new (v, 1, c, NULL, 1), .mean = array_new (v, 1, c, NULL, 1),
                           .rstd = array_new (v, 1, c, NULL, 1), .running_mean = array_new (v, 1, c, NULL, 1), .running_var = array_new (v, 1, c, NULL, 1),
                           .momentum = 0.1, .eps = eps };
  LpBatchNormGradArgs grad = { .training = training, .x = args.x, .dy = array_new (s, 4, dims, order, 1), .dx = array_new (s, 4, dims, order, 1),
                               .weight = args.weight, .mean = args.mean, .rstd = args.rstd, .dweight = array_new (v, 1, c, NULL, 1),
                               .dbias = array_new (v, 1, c, NULL, 1) };

  fill_random (&args.x, rand, 0, 2);
  fill_random (&grad.dy, rand, -1, 1);
  fill_random (&args.weight, rand, 0.5, 2);
  fill_random (&args.bias, rand, -1, 1);
  for (int i = 0; i < 10; i++)
    {
      set (&args.running_mean, i, 0.5);
      set (&args.running_var, i, 2);
    }
  omp_set_num_threads (2);
  g_assert_true (KERNELS->batch_norm (&args, NULL));
  g_assert_true (KERNELS->batch_norm_grad (&grad, NULL));
  for (gint64 ch = 0; ch < 10; ch++)
    {
      const double w = get (&args.weight, ch), b = get (&args.bias, ch);
      double mean = 0, var = 0, sum = 0, dot = 0, rstd;

      for (gint64 i = 0; i < count (&args.x); i++)
        if (i / (9 * 31) % 10 == ch)
          mean += get (&args.x, i) / n;
      for (gint64 i = 0; i < count (&args.x); i++)
        if (i / (9 * 31) % 10 == ch)
          var += (get (&args.x, i) - mean) * (get (&args.x, i) - mean) / n;
      if (training)
        {
          assert_close (get (&args.running_mean, ch), 0.45 + 0.1 * mean, 1e-6, "running mean");
          assert_close (get (&args.running_var, ch), 1.8 + 0.1 * var * n / (n - 1), 1e-6, "running var");
        }
      else
        {
          mean = 0.5;
          var = 2;
        }
      rstd = 1 / sqrt (var + eps);
      assert_close (get (&args.mean, ch), mean, 1e-6, "mean");
      assert_close (get (&args.rstd, ch), rstd, 1e-6, "rstd");
      for (gint64 i = 0; i < count (&args.x); i++)
        if (i / (9 * 31) % 10 == ch)
          {
            const double hat = (get (&args.x, i) - mean) * rstd;

            assert_close (get (&args.y, i), hat * w + b, 4 * scalar_epsilon (s) + 2e-6, "batch norm layout %d", layout);
            sum += get (&grad.dy, i);
            dot += get (&grad.dy, i) * hat;
          }
      assert_close (get (&grad.dbias, ch), sum, 1e-4, "dbias");
      assert_close (get (&grad.dweight, ch), dot, 1e-4, "dweight");
      for (gint64 i = 0; i < count (&args.x); i++)
        if (i / (9 * 31) % 10 == ch)
          {
            const double hat = (get (&args.x, i) - mean) * rstd;

            assert_close (get (&grad.dx, i), w * rstd * (get (&grad.dy, i) - (training ? (sum + hat * dot) / n : 0)), 8 * scalar_epsilon (s) + 2e-6, "dx");
          }
    }
  array_clear (&args.x);
  array_clear (&args.y);
  array_clear (&args.weight);
  array_clear (&args.bias);
  array_clear (&args.mean);
  array_clear (&args.rstd);
  array_clear (&args.running_mean);
  array_clear (&args.running_var);
  array_clear (&grad.dy);
  array_clear (&grad.dx);
  array_clear (&grad.dweight);
  array_clear (&grad.dbias);
}

static void
test_batch_norm (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (3);

  for (int t = 0; t < 4; t++)
    for (int layout = 0; layout < 2; layout++)
      for (int training = 0; training < 2; training++)
        check_batch_norm (float_scalars[t], layout, training, rand);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/kernels/conv", test_conv);
  g_test_add_func ("/kernels/pool", test_pool);
  g_test_add_func ("/kernels/batch-norm", test_batch_norm);
  return g_test_run ();
}
