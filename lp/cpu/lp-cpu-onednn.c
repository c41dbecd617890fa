#include <string.h>

#include "lp-cpu-gemm-private.h"

#ifdef HAVE_ONEDNN

#include <oneapi/dnnl/dnnl.h>

/* Everything that LP asks of oneDNN. A result of the library may depend on the number of threads, so it only ever sees
 * one: LP cuts the data by shape and runs the parts itself. */

/* Multiply-adds of one part, about 50 microseconds. */
#define PART_WORK (1 << 21)
/* Elements of the result of one part: sums of few terms are bound by memory. */
#define PART_OUTPUT (1 << 17)
#define MAX_PARTS 64

static char
transposition (gint64 row_stride, gint64 column_stride, gint64 rows, gint64 columns)
{
  if ((column_stride == 1 || columns == 1) && row_stride >= columns)
    return 'N';
  if ((row_stride == 1 || rows == 1) && column_stride >= rows)
    return 'T';
  return 0;
}

typedef struct
{
  const LpCpuProduct *product;
  char   ta, tb;
  gint64 lda, ldb;
} Sgemm;

static void
run_part (const Sgemm *self, gint64 m0, gint64 m, gint64 n0, gint64 n)
{
  const LpCpuProduct *p = self->product;
  const float *a = (const float *) p->a.data + m0 * p->a.row_stride;
  const float *b = (const float *) p->b.data + n0 * p->b.row_stride;
  float *d = (float *) p->d + m0 * p->d_row_stride + n0;

  if (m <= 0 || n <= 0)
    return;
  dnnl_sgemm (self->ta, self->tb, m, n, p->k, (float) p->alpha, a, self->lda, b, self->ldb, (float) p->beta, d, p->d_row_stride);
  _lp_cpu_product_finish (p, m0, m, n0, n);
}

/* Where the library wins, as measured: it reads operands without packing them when few rows share them. */
static gboolean
is_better (const LpCpuProduct *p, char tb)
{
  if (p->compute != LP_COMPUTE_F32 || p->a.scalar != LP_SCALAR_F32 || p->b.scalar != LP_SCALAR_F32 || p->d_scalar != LP_SCALAR_F32)
    return FALSE;
  if (p->d_column_stride != 1 || p->d_row_stride < p->n || p->k == 0)
    return FALSE;
  return p->m <= 256 || p->n <= 32 || p->k <= 16 || tb == 'T';
}

gboolean
_lp_cpu_onednn_gemm (const LpCpuProduct *p)
{
  const gint64 work = p->m * p->n * p->k;
  const gint64 parts = CLAMP (MAX (work / PART_WORK, p->m * p->n / PART_OUTPUT), 1, MAX_PARTS);
  const gboolean cut_n = p->n >= p->m;
  const gint64 extent = cut_n ? p->n : p->m;
  const gint64 step = ((extent + parts - 1) / parts + 47) / 48 * 48;
  Sgemm self = { .product = p };
  int before;

  self.ta = transposition (p->a.row_stride, p->a.k_stride, p->m, p->k);
  self.tb = transposition (p->b.k_stride, p->b.row_stride, p->k, p->n);
  if (self.ta == 0 || self.tb == 0 || !is_better (p, self.tb))
    return FALSE;
  self.lda = MAX (1, self.ta == 'N' ? p->a.row_stride : p->a.k_stride);
  self.ldb = MAX (1, self.tb == 'N' ? p->b.k_stride : p->b.row_stride);
  if (parts == 1 || omp_in_parallel ())
    {
      before = omp_get_max_threads ();
      omp_set_num_threads (1);
      for (gint64 i = 0; i < extent; i += step)
        run_part (&self, cut_n ? 0 : i, cut_n ? p->m : MIN (step, extent - i), cut_n ? i : 0, cut_n ? MIN (step, extent - i) : p->n);
      omp_set_num_threads (before);
      return TRUE;
    }
#pragma omp parallel
  {
    omp_set_num_threads (1);
#pragma omp for schedule(static)
    for (gint64 i = 0; i < extent; i += step)
      run_part (&self, cut_n ? 0 : i, cut_n ? p->m : MIN (step, extent - i), cut_n ? i : 0, cut_n ? MIN (step, extent - i) : p->n);
  }
  return TRUE;
}

#if DNNL_VERSION_MAJOR == 2

/* Parts of a batch, at most: each is run on one thread. */
#define CONV_PARTS 16

typedef struct
{
  LpConvPass pass;
  int        groups, has_bias;
  gint64     n, x[3], w[4], y[3];         /* extents but for the batch */
  gint64     x_strides[4], w_strides[4], y_strides[4];
  int        stride[2], padding[2], dilation[2];
} ConvKey;

/* A convolution over a part of the batch, weights in the layout that the library likes best. */
typedef struct
{
  ConvKey              key;
  dnnl_primitive_t     primitive;         /* NULL: not worth it */
  dnnl_primitive_t     reorder;           /* weights to or from the library's layout */
  dnnl_memory_desc_t   x, y, w, bias, plain_w, scratchpad;
} Conv;

static dnnl_engine_t engine;
static dnnl_stream_t stream;

static guint
conv_key_hash (gconstpointer data)
{
  const guint8 *bytes = data;
  guint hash = 5381;

  for (gsize i = 0; i < sizeof (ConvKey); i++)
    hash = hash * 33 + bytes[i];
  return hash;
}

static gboolean
conv_key_equal (gconstpointer a, gconstpointer b)
{
  return memcmp (a, b, sizeof (ConvKey)) == 0;
}

static void
describe_image (dnnl_memory_desc_t *desc, gint64 n, const gint64 *extents, const gint64 *strides)
{
  const dnnl_dims_t dims = { n, extents[0], extents[1], extents[2] };
  const dnnl_dims_t steps = { strides[0], strides[1], strides[2], strides[3] };

  dnnl_memory_desc_init_by_strides (desc, 4, dims, dnnl_f32, steps);
}

static void
describe_weights (Conv *self, dnnl_memory_desc_t *any)
{
  const ConvKey *key = &self->key;
  const gint64 *s = key->w_strides;
  const gint64 oc = key->w[0] / key->groups;
  const dnnl_dims_t grouped = { key->groups, oc, key->w[1], key->w[2], key->w[3] };
  const dnnl_dims_t grouped_steps = { oc * s[0], s[0], s[1], s[2], s[3] };
  const dnnl_dims_t dims = { key->w[0], key->w[1], key->w[2], key->w[3] };
  const dnnl_dims_t steps = { s[0], s[1], s[2], s[3] };
  const gboolean plain = key->groups == 1;

  dnnl_memory_desc_init_by_strides (&self->plain_w, plain ? 4 : 5, plain ? dims : grouped, dnnl_f32, plain ? steps : grouped_steps);
  dnnl_memory_desc_init_by_tag (any, plain ? 4 : 5, plain ? dims : grouped, dnnl_f32, dnnl_format_tag_any);
}

static dnnl_status_t
describe_pass (Conv *self, const dnnl_memory_desc_t *w, dnnl_prop_kind_t prop, dnnl_convolution_desc_t *desc)
{
  const ConvKey *key = &self->key;
  dnnl_dims_t strides = { 0 }, dilates = { 0 }, before = { 0 }, after = { 0 };

  for (int i = 0; i < 2; i++)
    {
      strides[i] = key->stride[i];
      dilates[i] = key->dilation[i] - 1;
      before[i] = key->padding[i];
      after[i] = (key->y[1 + i] - 1) * key->stride[i] + (key->w[2 + i] - 1) * key->dilation[i] + 1 - key->x[1 + i] - key->padding[i];
    }
  if (prop == dnnl_backward_data)
    return dnnl_dilated_convolution_backward_data_desc_init (desc, dnnl_convolution_direct, &self->x, w, &self->y, strides, dilates, before, after);
  if (prop == dnnl_backward_weights)
    return dnnl_dilated_convolution_backward_weights_desc_init (desc, dnnl_convolution_direct, &self->x, w, NULL, &self->y, strides, dilates,
                                                               before, after);
  return dnnl_dilated_convolution_forward_desc_init (desc, dnnl_forward_training, dnnl_convolution_direct, &self->x, w,
                                                     key->has_bias ? &self->bias : NULL, &self->y, strides, dilates, before, after);
}

static dnnl_primitive_desc_t
plan_pass (Conv *self, const dnnl_memory_desc_t *w, dnnl_prop_kind_t prop, const_dnnl_primitive_desc_t hint)
{
  dnnl_convolution_desc_t desc;
  dnnl_primitive_attr_t attr = NULL;
  dnnl_primitive_desc_t plan = NULL;

  dnnl_primitive_attr_create (&attr);
  dnnl_primitive_attr_set_scratchpad_mode (attr, dnnl_scratchpad_mode_user);
  if (describe_pass (self, w, prop, &desc) != dnnl_success || dnnl_primitive_desc_create (&plan, &desc, attr, engine, hint) != dnnl_success)
    plan = NULL;
  dnnl_primitive_attr_destroy (attr);
  return plan;
}

static void
make_reorder (Conv *self)
{
  const gboolean out = self->key.pass == LP_CONV_WEIGHT_GRAD;
  dnnl_primitive_desc_t plan;

  if (dnnl_reorder_primitive_desc_create (&plan, out ? &self->w : &self->plain_w, engine, out ? &self->plain_w : &self->w, engine, NULL)
      != dnnl_success)
    return;
  dnnl_primitive_create (&self->reorder, plan);
  dnnl_primitive_desc_destroy (plan);
}

static void
make_primitives (Conv *self)
{
  static const dnnl_prop_kind_t props[] = { dnnl_forward_training, dnnl_backward_data, dnnl_backward_weights };
  const LpConvPass pass = self->key.pass;
  dnnl_primitive_desc_t forward, plan;
  dnnl_memory_desc_t any;
  const char *name = NULL;

  describe_image (&self->x, self->key.n, self->key.x, self->key.x_strides);
  describe_image (&self->y, self->key.n, self->key.y, self->key.y_strides);
  dnnl_memory_desc_init_by_tag (&self->bias, 1, (dnnl_dims_t) { self->key.w[0] }, dnnl_f32, dnnl_a);
  describe_weights (self, &any);
  forward = plan_pass (self, &any, dnnl_forward_training, NULL);
  plan = pass == LP_CONV_FORWARD ? forward : (forward != NULL ? plan_pass (self, &any, props[pass], forward) : NULL);
  if (plan != NULL && dnnl_primitive_desc_query (plan, dnnl_query_impl_info_str, 0, &name) == dnnl_success && strstr (name, "ref") == NULL)
    {
      self->w = *dnnl_primitive_desc_query_md (plan, pass == LP_CONV_WEIGHT_GRAD ? dnnl_query_diff_weights_md : dnnl_query_weights_md, 0);
      self->scratchpad = *dnnl_primitive_desc_query_md (plan, dnnl_query_scratchpad_md, 0);
      make_reorder (self);
      if (self->reorder != NULL)
        dnnl_primitive_create (&self->primitive, plan);
    }
  if (plan != NULL && plan != forward)
    dnnl_primitive_desc_destroy (plan);
  if (forward != NULL)
    dnnl_primitive_desc_destroy (forward);
}

/* Conv objects live as long as the process; there is one per shape. */
static Conv *
look_up (const ConvKey *key)
{
  static GMutex lock;
  static GHashTable *cache;
  Conv *self;
  int before;

  g_mutex_lock (&lock);
  if (cache == NULL)
    {
      cache = g_hash_table_new (conv_key_hash, conv_key_equal);
      dnnl_engine_create (&engine, dnnl_cpu, 0);
      dnnl_stream_create (&stream, engine, dnnl_stream_default_flags);
    }
  self = g_hash_table_lookup (cache, key);
  if (self == NULL)
    {
      self = g_new0 (Conv, 1);
      self->key = *key;
      before = omp_get_max_threads ();
      omp_set_num_threads (1);
      make_primitives (self);
      omp_set_num_threads (before);
      g_hash_table_insert (cache, &self->key, self);
    }
  g_mutex_unlock (&lock);
  return self->primitive != NULL ? self : NULL;
}

static void
execute (dnnl_primitive_t primitive, const int *names, const dnnl_memory_desc_t *const *descs, void *const *data, int n)
{
  dnnl_exec_arg_t args[5];

  for (int i = 0; i < n; i++)
    {
      args[i].arg = names[i];
      dnnl_memory_create (&args[i].memory, descs[i], engine, data[i]);
    }
  dnnl_primitive_execute (primitive, stream, n, args);
  for (int i = 0; i < n; i++)
    dnnl_memory_destroy (args[i].memory);
}

static void
run_reorder (const Conv *self, const void *from, void *to)
{
  const gboolean out = self->key.pass == LP_CONV_WEIGHT_GRAD;

  execute (self->reorder, (const int[]) { DNNL_ARG_FROM, DNNL_ARG_TO },
           (const dnnl_memory_desc_t *const[]) { out ? &self->w : &self->plain_w, out ? &self->plain_w : &self->w },
           (void *const[]) { (void *) from, to }, 2);
}

static void
run_conv_part (const Conv *self, const LpConvArgs *args, gint64 first, void *w)
{
  static const int names[][5] = {
    { DNNL_ARG_SRC, DNNL_ARG_DST, DNNL_ARG_WEIGHTS, DNNL_ARG_SCRATCHPAD, DNNL_ARG_BIAS },
    { DNNL_ARG_DIFF_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS, DNNL_ARG_SCRATCHPAD },
    { DNNL_ARG_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_SCRATCHPAD },
  };
  void *scratchpad = _lp_cpu_scratch (LP_SCRATCH_LIBRARY, MAX (dnnl_memory_desc_get_size (&self->scratchpad), 1));

  execute (self->primitive, names[args->pass],
           (const dnnl_memory_desc_t *const[]) { &self->x, &self->y, &self->w, &self->scratchpad, &self->bias },
           (void *const[]) { (float *) args->x.data + first * args->x.strides[0], (float *) args->y.data + first * args->y.strides[0], w, scratchpad,
                             args->bias.data },
           self->key.has_bias ? 5 : 4);
}

static ConvKey
make_key (const LpConvArgs *args, gint64 n)
{
  ConvKey key;

  memset (&key, 0, sizeof key);  /* holes are hashed too */
  key.pass = args->pass;
  key.groups = args->groups;
  key.has_bias = args->pass == LP_CONV_FORWARD && args->bias.data != NULL;
  key.n = n;
  memcpy (key.x, args->x.dims + 1, sizeof key.x);
  memcpy (key.w, args->w.dims, sizeof key.w);
  memcpy (key.y, args->y.dims + 1, sizeof key.y);
  memcpy (key.x_strides, args->x.strides, sizeof key.x_strides);
  memcpy (key.w_strides, args->w.strides, sizeof key.w_strides);
  memcpy (key.y_strides, args->y.strides, sizeof key.y_strides);
  memcpy (key.stride, args->stride, sizeof key.stride);
  memcpy (key.padding, args->padding, sizeof key.padding);
  memcpy (key.dilation, args->dilation, sizeof key.dilation);
  return key;
}

/* float32, channels last and dense. */
static gboolean
is_plain_image (const LpArray *image)
{
  const gint64 *d = image->dims, *s = image->strides;

  return image->scalar == LP_SCALAR_F32 && (s[1] == 1 || d[1] == 1) && (s[3] == d[1] || d[3] == 1) && (s[2] == d[3] * d[1] || d[2] == 1)
         && (s[0] == d[2] * d[3] * d[1] || d[0] == 1);
}

static void
add_parts (float *sum, const float *part, gsize n)
{
  const void *in[] = { sum, part };

  _lp_cpu_isa->map->binary[LP_COMPUTE_F32][LP_BINARY_ADD] (in, sum, n, 0);
}

gboolean
_lp_cpu_onednn_conv2d (const LpConvArgs *args)
{
  const gint64 n = MAX (args->x.dims[0], 1);
  const gint64 step = (n + CONV_PARTS - 1) / CONV_PARTS, parts = (n + step - 1) / step, rest = n - (parts - 1) * step;
  const gboolean to_weights = args->pass == LP_CONV_WEIGHT_GRAD;
  const gboolean bias_fits = args->bias.data == NULL || (args->bias.scalar == LP_SCALAR_F32 && args->bias.strides[0] == 1);
  const gint64 work = _lp_cpu_n_elements (&args->y) * args->w.dims[1] * args->w.dims[2] * args->w.dims[3];
  const int threads = work < (1 << 19) || omp_in_parallel () ? 1 : omp_get_max_threads ();
  const int before = omp_get_max_threads ();
  const Conv *whole, *last;
  ConvKey key;
  gsize w_size;
  guint8 *w;

  if (args->x.dims[0] == 0 || !is_plain_image (&args->x) || !is_plain_image (&args->y) || args->w.scalar != LP_SCALAR_F32 || !bias_fits)
    return FALSE;
  key = make_key (args, step);
  whole = look_up (&key);
  key.n = rest;
  last = look_up (&key);
  /* the parts share one copy of the weights */
  if (whole == NULL || last == NULL || !dnnl_memory_desc_equal (&whole->w, &last->w))
    return FALSE;
  w_size = (dnnl_memory_desc_get_size (&whole->w) + 63) / 64 * 64;
  w = _lp_cpu_scratch (LP_SCRATCH_PARTIAL, w_size * (gsize) (to_weights ? parts : 1));
  omp_set_num_threads (1);
  if (!to_weights)
    run_reorder (whole, args->w.data, w);
#pragma omp parallel num_threads(threads) if (threads > 1)
  {
    omp_set_num_threads (1);
#pragma omp for schedule(static)
    for (gint64 i = 0; i < parts; i++)
      run_conv_part (i == parts - 1 ? last : whole, args, i * step, w + (to_weights ? (gsize) i * w_size : 0));
  }
  for (gint64 i = 1; i < parts && to_weights; i++)
    add_parts ((float *) w, (const float *) (w + (gsize) i * w_size), w_size / sizeof (float));
  if (to_weights)
    run_reorder (whole, w, args->w.data);
  omp_set_num_threads (before);
  return TRUE;
}

#else /* the descriptors of oneDNN 3 are others */

gboolean
_lp_cpu_onednn_conv2d (const LpConvArgs *args)
{
  return FALSE;
}

#endif

gboolean
_lp_cpu_onednn_has_bf16 (void)
{
  return FALSE;
}

#else /* !HAVE_ONEDNN */

gboolean
_lp_cpu_onednn_gemm (const LpCpuProduct *product)
{
  return FALSE;
}

gboolean
_lp_cpu_onednn_conv2d (const LpConvArgs *args)
{
  return FALSE;
}

gboolean
_lp_cpu_onednn_has_bf16 (void)
{
  return FALSE;
}

#endif
