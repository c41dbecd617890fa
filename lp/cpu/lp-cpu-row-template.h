/* Included once per floating compute type, with T, F (name) and M (name). No include guard. */

static double
F (fold_sum) (const void *data, gsize n)
{
  const T *x = data;
  double sum = 0;

#pragma omp simd reduction(+ : sum)
  for (gsize i = 0; i < n; i++)
    sum += (double) x[i];
  return sum;
}

static double
F (fold_squares) (const void *data, gsize n)
{
  const T *x = data;
  double sum = 0;

#pragma omp simd reduction(+ : sum)
  for (gsize i = 0; i < n; i++)
    sum += (double) x[i] * (double) x[i];
  return sum;
}

/* NaN wins: it is looked for apart, so that the loop of comparisons vectorises. */
static double
F (fold_max) (const void *data, gsize n)
{
  const T *x = data;
  T best = (T) -INFINITY;
  int nans = 0;

#pragma omp simd reduction(max : best) reduction(+ : nans)
  for (gsize i = 0; i < n; i++)
    {
      best = x[i] > best ? x[i] : best;
      nans += x[i] != x[i];
    }
  return nans > 0 ? (double) NAN : (double) best;
}

static double
F (fold_min) (const void *data, gsize n)
{
  const T *x = data;
  T best = (T) INFINITY;
  int nans = 0;

#pragma omp simd reduction(min : best) reduction(+ : nans)
  for (gsize i = 0; i < n; i++)
    {
      best = x[i] < best ? x[i] : best;
      nans += x[i] != x[i];
    }
  return nans > 0 ? (double) NAN : (double) best;
}

#define ACCUMULATE(name, expr) \
  static void F (name) (const void *data, gsize n, double *acc) \
  { \
    const T *x = data; \
    _Pragma ("omp simd") \
    for (gsize i = 0; i < n; i++) \
      { \
        const double v = x[i], s = acc[i]; \
        acc[i] = (expr); \
      } \
  }

ACCUMULATE (accumulate_sum, s + v)
ACCUMULATE (accumulate_squares_of, s + v * v)
ACCUMULATE (accumulate_max, (v > s || v != v) ? v : s)
ACCUMULATE (accumulate_min, (v < s || v != v) ? v : s)

#undef ACCUMULATE

static void
F (row_softmax) (const void *data, gsize n, gboolean log, void *out)
{
  const T *x = data;
  T *y = out;
  const T max = (T) F (fold_max) (x, n);
  T sum = 0, shift, factor;

  if (log)
    {
#pragma omp simd reduction(+ : sum)
      for (gsize i = 0; i < n; i++)
        sum += M (lp_exp) (x[i] - max);
      shift = max + (T) __builtin_log ((double) sum);
#pragma omp simd
      for (gsize i = 0; i < n; i++)
        y[i] = x[i] - shift;
      return;
    }
#pragma omp simd reduction(+ : sum)
  for (gsize i = 0; i < n; i++)
    {
      const T e = M (lp_exp) (x[i] - max);

      y[i] = e;
      sum += e;
    }
  factor = 1 / sum;
#pragma omp simd
  for (gsize i = 0; i < n; i++)
    y[i] *= factor;
}

static void
F (row_softmax_grad) (const void *output, const void *grad, gsize n, gboolean log, void *out)
{
  const T *y = output, *dy = grad;
  T *dx = out;
  T sum = 0;

  if (log)
    {
#pragma omp simd reduction(+ : sum)
      for (gsize i = 0; i < n; i++)
        sum += dy[i];
#pragma omp simd
      for (gsize i = 0; i < n; i++)
        dx[i] = dy[i] - M (lp_exp) (y[i]) * sum;
      return;
    }
#pragma omp simd reduction(+ : sum)
  for (gsize i = 0; i < n; i++)
    sum += dy[i] * y[i];
#pragma omp simd
  for (gsize i = 0; i < n; i++)
    dx[i] = y[i] * (dy[i] - sum);
}

static double
F (row_cross_entropy) (const void *data, gsize n, gsize target, double smoothing, void *out)
{
  const T *x = data;
  T *dx = out;
  const T max = (T) F (fold_max) (x, n);
  const T spread = (T) (smoothing / (double) n);
  T sum = 0, total = 0, factor;
  double log_sum, loss;

#pragma omp simd reduction(+ : sum, total)
  for (gsize i = 0; i < n; i++)
    {
      sum += M (lp_exp) (x[i] - max);
      total += x[i];
    }
  log_sum = (double) max + log ((double) sum);
  loss = (1 - smoothing) * (log_sum - (double) x[target]);
  if (smoothing != 0)
    loss += smoothing * (log_sum - (double) total / (double) n);
  if (dx == NULL)
    return loss;
  factor = 1 / sum;
  {
    const T correct = (T) (1 - smoothing);
#pragma omp simd
    for (gsize i = 0; i < n; i++)
      dx[i] = M (lp_exp) (x[i] - max) * factor - spread;
    dx[target] -= correct;
  }
  return loss;
}

static void
F (row_affine) (const void *data, const void *scales, const void *shifts, gsize n, void *out)
{
  const T *x = data, *scale = scales, *shift = shifts;
  T *y = out;

#pragma omp simd
  for (gsize i = 0; i < n; i++)
    y[i] = x[i] * scale[i] + shift[i];
}

static void
F (row_affine2) (const void *data, const void *grad, const void *as, const void *bs, const void *cs, gsize n, void *out)
{
  const T *x = data, *dy = grad, *a = as, *b = bs, *c = cs;
  T *dx = out;

#pragma omp simd
  for (gsize i = 0; i < n; i++)
    dx[i] = dy[i] * a[i] + x[i] * b[i] + c[i];
}

static void
F (accumulate_squares) (const void *data, const void *means, gsize n, double *acc)
{
  const T *x = data, *mean = means;

#pragma omp simd
  for (gsize i = 0; i < n; i++)
    {
      const double d = (double) x[i] - (double) mean[i];

      acc[i] += d * d;
    }
}

static void
F (accumulate_products) (const void *grad, const void *data, const void *means, gsize n, double *sum, double *dot)
{
  const T *dy = grad, *x = data, *mean = means;

#pragma omp simd
  for (gsize i = 0; i < n; i++)
    {
      sum[i] += (double) dy[i];
      dot[i] += (double) dy[i] * ((double) x[i] - (double) mean[i]);
    }
}

/* The first maximum wins; a NaN is larger than anything but an earlier NaN. */
static void
F (take_max) (const void *data, gsize n, gint32 index, void *maxima, gint32 *indices)
{
  const T *x = data;
  T *best = maxima;

#pragma omp simd
  for (gsize i = 0; i < n; i++)
    {
      const gboolean better = (x[i] > best[i]) | ((x[i] != x[i]) & (best[i] == best[i]));

      best[i] = better ? x[i] : best[i];
      indices[i] = better ? index : indices[i];
    }
}

static void
F (add_chosen) (const void *grad, const gint32 *indices, gsize n, gint32 index, void *sums)
{
  const T *dy = grad;
  T *dx = sums;

#pragma omp simd
  for (gsize i = 0; i < n; i++)
    dx[i] += indices[i] == index ? dy[i] : 0;
}
