/* Included once per floating compute type, with T and F (name). No include guard. */

static void
F (run_sgd) (const LpSgdArgs *args, const double factors[2], gsize n, void *weight, const void *grad, void *moment)
{
  T *w = weight, *m = moment;
  const T *g = grad;
  const T scale = (T) factors[0], clip = (T) factors[1], decay = (T) args->common.weight_decay, lr = (T) args->common.lr;
  const T momentum = args->first ? 0 : (T) args->momentum;
  const T fresh = args->first ? 1 : (T) (1 - args->dampening);
  const T ahead = (T) args->momentum;

  if (m == NULL)
    {
#pragma omp simd
      for (gsize i = 0; i < n; i++)
        w[i] -= lr * (g[i] * scale * clip + decay * w[i]);
      return;
    }
  if (args->first)
    memset (m, 0, n * sizeof (T));
  if (args->nesterov)
    {
#pragma omp simd
      for (gsize i = 0; i < n; i++)
        {
          const T d = g[i] * scale * clip + decay * w[i];
          const T v = momentum * m[i] + fresh * d;

          m[i] = v;
          w[i] -= lr * (d + ahead * v);
        }
      return;
    }
#pragma omp simd
  for (gsize i = 0; i < n; i++)
    {
      const T d = g[i] * scale * clip + decay * w[i];
      const T v = momentum * m[i] + fresh * d;

      m[i] = v;
      w[i] -= lr * v;
    }
}

/* I. Loshchilov and F. Hutter, "Decoupled weight decay regularization", ICLR 2019. */
static void
F (run_adamw) (const LpAdamWArgs *args, const double factors[2], gsize n, void *weight, const void *grad, void *moment1, void *moment2)
{
  T *w = weight, *m = moment1, *v = moment2;
  const T *g = grad;
  const T scale = (T) factors[0], clip = (T) factors[1];
  const T b1 = (T) args->beta1, c1 = (T) (1 - args->beta1);
  const T b2 = (T) args->beta2, c2 = (T) (1 - args->beta2);
  const T keep = (T) (1 - args->common.lr * args->common.weight_decay);
  const T rate = (T) (args->common.lr / (1 - pow (args->beta1, (double) args->step)));
  const T correction = (T) (1 / sqrt (1 - pow (args->beta2, (double) args->step)));
  const T eps = (T) args->eps;

#pragma omp simd
  for (gsize i = 0; i < n; i++)
    {
      const T d = g[i] * scale * clip;
      const T first = b1 * m[i] + c1 * d;
      const T second = b2 * v[i] + c2 * d * d;

      m[i] = first;
      v[i] = second;
      w[i] = keep * w[i] - rate * first / (M (lp_sqrt) (second) * correction + eps);
    }
}

static double
F (run_grad_stats) (void *grad, gsize n, double grad_scale, gboolean keep)
{
  T *g = grad;
  const T scale = (T) grad_scale;
  double sum = 0;

  if (scale == 1 || keep)
    {
#pragma omp simd reduction(+ : sum)
      for (gsize i = 0; i < n; i++)
        {
          const T v = g[i] * scale;

          sum += (double) v * (double) v;
        }
      return sum;
    }
#pragma omp simd reduction(+ : sum)
  for (gsize i = 0; i < n; i++)
    {
      g[i] *= scale;
      sum += (double) g[i] * (double) g[i];
    }
  return sum;
}

static void
F (run_drop) (const void *data, const guint32 *bits, gsize n, guint32 limit, double factor, void *out)
{
  const T *x = data;
  const T scale = (T) factor;
  const gint32 least = (gint32) limit;
  T *y = out;

#pragma omp simd
  for (gsize i = 0; i < n; i++)
    {
      const T scaled = x[i] * scale;

      y[i] = (gint32) (bits[i] >> 8) >= least ? scaled : 0;
    }
}
