#include <string.h>

#include "lp-cpu-gemm-private.h"

#ifdef HAVE_ONEDNN

#include <oneapi/dnnl/dnnl.h>

/* Everything that LP asks of oneDNN, 2.6 or 3. A result of the library may depend on the number of threads, so it only ever
 * sees one: LP cuts the data by shape and runs the parts itself. */

static dnnl_engine_t engine;
static dnnl_stream_t stream;

static const dnnl_data_type_t data_types[LP_N_SCALARS] = {
  [LP_SCALAR_F32] = dnnl_f32,
  [LP_SCALAR_BF16] = dnnl_bf16,
  [LP_SCALAR_I32] = dnnl_s32,
  [LP_SCALAR_I8] = dnnl_s8,
};

#include "lp-cpu-onednn-version-private.h"

/* Primitives are kept per shape, as long as the process lives. Each begins with its key, and the key with its size. */
static guint
key_hash (gconstpointer key)
{
  const guint8 *bytes = key;
  guint hash = 5381;

  for (gsize i = 0; i < *(const gsize *) key; i++)
    hash = hash * 33 + bytes[i];
  return hash;
}

static gboolean
key_equal (gconstpointer a, gconstpointer b)
{
  return *(const gsize *) a == *(const gsize *) b && memcmp (a, b, *(const gsize *) a) == 0;
}

/* @make gives what belongs to the key. */
static gpointer
look_up (gconstpointer key, gpointer (* make) (gconstpointer key))
{
  static GMutex lock;
  static GHashTable *cache;
  gpointer found;
  int before;

  g_mutex_lock (&lock);
  if (cache == NULL)
    {
      cache = g_hash_table_new (key_hash, key_equal);
      dnnl_engine_create (&engine, dnnl_cpu, 0);
      dnnl_stream_create (&stream, engine, dnnl_stream_default_flags);
    }
  found = g_hash_table_lookup (cache, key);
  if (found == NULL)
    {
      before = omp_get_max_threads ();
      omp_set_num_threads (1);
      found = make (key);
      omp_set_num_threads (before);
      g_hash_table_add (cache, found);
    }
  g_mutex_unlock (&lock);
  return found;
}

static dnnl_primitive_attr_t
new_attr (void)
{
  dnnl_primitive_attr_t attr = NULL;

  dnnl_primitive_attr_create (&attr);
  dnnl_primitive_attr_set_scratchpad_mode (attr, dnnl_scratchpad_mode_user);
  return attr;
}

/* Whether the library has tuned code for it. */
static gboolean
is_tuned (const_dnnl_primitive_desc_t plan)
{
  const char *name = NULL;

  return dnnl_primitive_desc_query (plan, dnnl_query_impl_info_str, 0, &name) == dnnl_success && strstr (name, "ref") == NULL;
}

static void
execute (const_dnnl_primitive_t primitive, const int *names, const Desc *descs, void *const *data, int n)
{
  const sigset_t before = _lp_cpu_hold_signals ();
  dnnl_exec_arg_t args[5];

  for (int i = 0; i < n; i++)
    {
      args[i].arg = names[i];
      dnnl_memory_create (&args[i].memory, descs[i], engine, data[i]);
    }
  dnnl_primitive_execute (primitive, stream, n, args);
  _lp_cpu_release_signals (before);
  for (int i = 0; i < n; i++)
    dnnl_memory_destroy (args[i].memory);
}

/* Matrix products */

/* A product cut into tiles of [m, n], of which those at the ends may be smaller. */
typedef struct
{
  gint64 m, n, rows, columns;
} Tiles;

typedef void (* TileFunc) (gconstpointer self, gint64 m0, gint64 m, gint64 n0, gint64 n);

static gint64
divide_up (gint64 extent, gint64 parts)
{
  return (extent + parts - 1) / parts;
}

static Tiles
cut (const LpCpuProduct *p, gint64 rows, gint64 columns, gint64 unit)
{
  Tiles self = { .m = p->m, .n = p->n };

  if (rows > 1)
    self.m = divide_up (divide_up (p->m, rows), unit) * unit;
  if (columns > 1)
    self.n = divide_up (divide_up (p->n, columns), unit) * unit;
  self.rows = divide_up (p->m, self.m);
  self.columns = divide_up (p->n, self.n);
  return self;
}

static void
run_tile (const Tiles *self, const LpCpuProduct *p, gint64 i, TileFunc run, gconstpointer data)
{
  const gint64 m0 = i / self->columns * self->m, n0 = i % self->columns * self->n;

  run (data, m0, MIN (self->m, p->m - m0), n0, MIN (self->n, p->n - n0));
}

static void
run_tiles (const Tiles *self, const LpCpuProduct *p, TileFunc run, gconstpointer data)
{
  const gint64 n_tiles = self->rows * self->columns;
  const int before = omp_get_max_threads ();

  if (n_tiles == 1 || omp_in_parallel ())
    {
      omp_set_num_threads (1);
      for (gint64 i = 0; i < n_tiles; i++)
        run_tile (self, p, i, run, data);
      omp_set_num_threads (before);
      return;
    }
#pragma omp parallel
  {
    omp_set_num_threads (1);
#pragma omp for schedule(static)
    for (gint64 i = 0; i < n_tiles; i++)
      run_tile (self, p, i, run, data);
  }
}

/* Multiply-adds of one part in float32, about 50 microseconds. */
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
run_sgemm (gconstpointer data, gint64 m0, gint64 m, gint64 n0, gint64 n)
{
  const Sgemm *self = data;
  const LpCpuProduct *p = self->product;
  const float *a = (const float *) p->a.data + m0 * p->a.row_stride;
  const float *b = (const float *) p->b.data + n0 * p->b.row_stride;
  float *d = (float *) p->d + m0 * p->d_row_stride + n0;
  const sigset_t before = _lp_cpu_hold_signals ();

  dnnl_sgemm (self->ta, self->tb, m, n, p->k, (float) p->alpha, a, self->lda, b, self->ldb, (float) p->beta, d, p->d_row_stride);
  _lp_cpu_release_signals (before);
  _lp_cpu_product_finish (p, m0, m, n0, n);
}

/* Where the library wins, as measured: it reads operands without packing them when few rows share them. */
static gboolean
is_better (const LpCpuProduct *p, char tb)
{
  return p->m <= 256 || p->n <= 32 || p->k <= 16 || tb == 'T';
}

static gboolean
f32_gemm (const LpCpuProduct *p)
{
  const gint64 work = p->m * p->n * p->k;
  const gint64 n_parts = CLAMP (MAX (work / PART_WORK, p->m * p->n / PART_OUTPUT), 1, MAX_PARTS);
  const Tiles tiles = p->n >= p->m ? cut (p, 1, n_parts, 48) : cut (p, n_parts, 1, 48);
  Sgemm self = { .product = p };

  if (p->compute != LP_COMPUTE_F32 || p->d_scalar != LP_SCALAR_F32)
    return FALSE;
  self.ta = transposition (p->a.row_stride, p->a.k_stride, p->m, p->k);
  self.tb = transposition (p->b.k_stride, p->b.row_stride, p->k, p->n);
  if (self.ta == 0 || self.tb == 0 || !is_better (p, self.tb))
    return FALSE;
  self.lda = MAX (1, self.ta == 'N' ? p->a.row_stride : p->a.k_stride);
  self.ldb = MAX (1, self.tb == 'N' ? p->b.k_stride : p->b.row_stride);
  run_tiles (&tiles, p, run_sgemm, &self);
  return TRUE;
}

typedef struct
{
  gsize    size;
  gint64   m, n, k;
  gint64   a_strides[2], b_strides[2], d_stride;
  LpScalar scalar, d_scalar;       /* of A and B, of D */
  gboolean accumulate;             /* D += A B */
} MatmulKey;

typedef struct
{
  MatmulKey        key;
  dnnl_primitive_t primitive;      /* NULL: not worth it */
  Desc             a, b, d, scratchpad;
} Matmul;

static gpointer
make_matmul (gconstpointer data)
{
  const MatmulKey *key = data;
  Matmul *self = g_new0 (Matmul, 1);
  dnnl_primitive_attr_t attr = new_attr ();
  dnnl_primitive_desc_t plan;
  dnnl_post_ops_t ops = NULL;

  self->key = *key;
  self->a = make_desc (2, (dnnl_dim_t[]) { key->m, key->k }, key->scalar, (dnnl_dim_t[]) { key->a_strides[0], key->a_strides[1] });
  self->b = make_desc (2, (dnnl_dim_t[]) { key->k, key->n }, key->scalar, (dnnl_dim_t[]) { key->b_strides[0], key->b_strides[1] });
  self->d = make_desc (2, (dnnl_dim_t[]) { key->m, key->n }, key->d_scalar, (dnnl_dim_t[]) { key->d_stride, 1 });
  dnnl_post_ops_create (&ops);
  if (key->accumulate)
    append_sum (ops);
  dnnl_primitive_attr_set_post_ops (attr, ops);
  if (plan_matmul (&plan, self->a, self->b, self->d, attr) == dnnl_success)
    {
      self->scratchpad = query_desc (plan, dnnl_query_scratchpad_md);
      if (is_tuned (plan))
        dnnl_primitive_create (&self->primitive, plan);
      dnnl_primitive_desc_destroy (plan);
    }
  dnnl_post_ops_destroy (ops);
  dnnl_primitive_attr_destroy (attr);
  return self;
}

/* A product of bf16 operands. D is written by the primitive, or, where more is to be done to it than the primitive does, tile by tile
 * from float32. */
typedef struct
{
  const LpCpuProduct *product;
  gboolean            buffered;
  const Matmul       *tiles[2][2];  /* of the usual size, and at the ends */
} Bf16Gemm;

static const Matmul *
look_up_matmul (const Bf16Gemm *self, gint64 m, gint64 n)
{
  const LpCpuProduct *p = self->product;
  const Matmul *matmul;
  MatmulKey key;

  memset (&key, 0, sizeof key);  /* holes are hashed too */
  key.size = sizeof key;
  key.m = m;
  key.n = n;
  key.k = p->k;
  key.a_strides[0] = p->a.row_stride;
  key.a_strides[1] = p->a.k_stride;
  key.b_strides[0] = p->b.k_stride;
  key.b_strides[1] = p->b.row_stride;
  key.d_stride = self->buffered ? n : p->d_row_stride;
  key.scalar = LP_SCALAR_BF16;
  key.d_scalar = self->buffered ? LP_SCALAR_F32 : p->d_scalar;
  key.accumulate = !self->buffered && p->beta != 0;
  matmul = look_up (&key, make_matmul);
  return matmul->primitive != NULL ? matmul : NULL;
}

static void
run_matmul (const Matmul *self, const void *a, const void *b, void *d)
{
  static const int names[] = { DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST, DNNL_ARG_SCRATCHPAD };
  void *scratchpad = _lp_cpu_scratch (LP_SCRATCH_LIBRARY, MAX (dnnl_memory_desc_get_size (self->scratchpad), 1));

  execute (self->primitive, names, (Desc[]) { self->a, self->b, self->d, self->scratchpad },
           (void *const[]) { (void *) a, (void *) b, d, scratchpad }, G_N_ELEMENTS (names));
}

static void
run_bf16 (gconstpointer data, gint64 m0, gint64 m, gint64 n0, gint64 n)
{
  const Bf16Gemm *self = data;
  const LpCpuProduct *p = self->product;
  const Matmul *matmul = self->tiles[m != self->tiles[0][0]->key.m][n != self->tiles[0][0]->key.n];
  const guint8 *a = p->a.data + m0 * p->a.row_stride * (gint64) sizeof (guint16);
  const guint8 *b = p->b.data + n0 * p->b.row_stride * (gint64) sizeof (guint16);
  guint8 *d = self->buffered ? _lp_cpu_scratch (LP_SCRATCH_TILE, (gsize) (m * n) * sizeof (float))
                             : p->d + (m0 * p->d_row_stride + n0) * (gint64) _lp_scalar_sizes[p->d_scalar];

  run_matmul (matmul, a, b, d);
  if (self->buffered)
    {
      _lp_cpu_product_combine (p, m0, m, n0, n, d);
      _lp_cpu_product_store (p, m0, m, n0, n, d);
    }
  else
    _lp_cpu_product_finish (p, m0, m, n0, n);
}

/* Rows and columns of a tile below which packing its operands costs more than it gives. */
#define MIN_TILE_ROWS 512
#define MIN_TILE_COLUMNS 128
#define TILE_UNIT 64

/* The library packs the second operand for each tile, and the first one, too, where it is transposed: then tiles are square. Tiles must
 * be few enough for packing to pay, and many enough for all threads. */
static Tiles
cut_bf16 (const LpCpuProduct *p)
{
  const gint64 work = p->m * p->n * p->k, most = CLAMP (MAX (MIN (work >> 22, 8), work >> 27), 1, MAX_PARTS);
  gint64 columns, rows;

  if (p->a.k_stride == 1)
    {
      columns = CLAMP (p->n / MIN_TILE_COLUMNS, 1, most);
      return cut (p, CLAMP (p->m / MIN_TILE_ROWS, 1, most / columns), columns, TILE_UNIT);
    }
  columns = divide_up (p->n, MIN_TILE_ROWS);
  rows = divide_up (p->m, MIN_TILE_ROWS);
  while (rows * columns > most)
    *(columns > rows ? &columns : &rows) -= 1;
  while (rows * columns < MIN (most, 8))
    *(p->n * rows > p->m * columns ? &columns : &rows) += 1;
  return cut (p, rows, columns, TILE_UNIT);
}

static gboolean
bf16_gemm (const LpCpuProduct *p)
{
  const Tiles tiles = cut_bf16 (p);
  const gint64 last_m = p->m - (tiles.rows - 1) * tiles.m, last_n = p->n - (tiles.columns - 1) * tiles.n;
  const gboolean has_epilogue = p->bias != NULL || p->activation != LP_ACTIVATION_NONE;
  Bf16Gemm self = { .product = p };

  if (p->compute != LP_COMPUTE_F32 || !_lp_cpu_onednn_has_bf16 () || MIN (p->m, p->n) < 4)
    return FALSE;
  self.buffered = p->alpha != 1 || (p->beta != 0 && p->beta != 1)
                  || (p->d_scalar != LP_SCALAR_F32 && (p->d_scalar != LP_SCALAR_BF16 || has_epilogue || p->beta != 0));
  for (int i = 0; i < 4; i++)
    {
      self.tiles[i / 2][i % 2] = look_up_matmul (&self, i / 2 == 0 ? tiles.m : last_m, i % 2 == 0 ? tiles.n : last_n);
      if (self.tiles[i / 2][i % 2] == NULL)
        return FALSE;
    }
  run_tiles (&tiles, p, run_bf16, &self);
  return TRUE;
}

/* Without instructions for dot products of 8-bit integers, the library's sums may saturate. */
static gboolean
has_exact_int8 (void)
{
  static gsize answer;

  if (g_once_init_enter (&answer))
    {
      const int isa = dnnl_get_effective_cpu_isa ();

      g_once_init_leave (&answer, (isa & dnnl_cpu_isa_avx512_core_vnni) == dnnl_cpu_isa_avx512_core_vnni ? 1 : 2);
    }
  return answer == 1;
}

/* Rows of @k integers; @sums is [m, n]. */
gboolean
_lp_cpu_onednn_sum_int8 (const gint8 *a, gint64 a_stride, const gint8 *b, gint64 b_stride, gint64 m, gint64 n, gint64 k, gint32 *sums)
{
  const int before = omp_get_max_threads ();
  const Matmul *matmul;
  MatmulKey key;

  if (!has_exact_int8 () || MIN (m, n) < 4 || MIN (a_stride, b_stride) < k)
    return FALSE;
  memset (&key, 0, sizeof key);  /* holes are hashed too */
  key.size = sizeof key;
  key.m = m;
  key.n = n;
  key.k = k;
  key.a_strides[0] = a_stride;
  key.a_strides[1] = key.b_strides[0] = 1;
  key.b_strides[1] = b_stride;
  key.d_stride = n;
  key.scalar = LP_SCALAR_I8;
  key.d_scalar = LP_SCALAR_I32;
  matmul = look_up (&key, make_matmul);
  if (matmul->primitive == NULL)
    return FALSE;
  omp_set_num_threads (1);
  run_matmul (matmul, a, b, sums);
  omp_set_num_threads (before);
  return TRUE;
}

gboolean
_lp_cpu_onednn_gemm (const LpCpuProduct *p)
{
  if (p->d_column_stride != 1 || p->d_row_stride < p->n || p->k == 0 || p->a.scalar != p->b.scalar)
    return FALSE;
  if (p->a.scalar == LP_SCALAR_F32)
    return f32_gemm (p);
  return p->a.scalar == LP_SCALAR_BF16 && bf16_gemm (p);
}

/* bf16 is only worth it with instructions for it: the library does without from AVX-512 on, more slowly than LP. */
gboolean
_lp_cpu_onednn_has_bf16 (void)
{
  static gsize answer;

  if (g_once_init_enter (&answer))
    {
      const int isa = dnnl_get_effective_cpu_isa ();

      g_once_init_leave (&answer, (isa & dnnl_cpu_isa_avx512_core_bf16) == dnnl_cpu_isa_avx512_core_bf16 ? 1 : 2);
    }
  return answer == 1;
}

/* Convolution */

/* Parts of a batch, at most: each is run on one thread. */
#define CONV_PARTS 16
/* Bytes of weights in the library's layout, and of the scratch memory of a thread; beyond them LP's own convolution takes less. */
#define CONV_WEIGHT_BYTES (4 << 20)
#define CONV_SCRATCH_BYTES (3 << 20)
/* Bytes of a part of an image that is not channels last. */
#define CONV_COPY_BYTES (1 << 19)

typedef struct
{
  gsize      size;
  LpConvPass pass;
  LpScalar   image, weights, bias;
  int        groups, has_bias;
  gint64     n, x[3], w[4], y[3];         /* extents but for the batch */
  gint64     w_strides[4];
  int        stride[2], padding[2], dilation[2];
} ConvKey;

/* A convolution over a part of the batch, weights in the layout that the library likes best. */
typedef struct
{
  ConvKey          key;
  dnnl_primitive_t primitive;             /* NULL: not worth it */
  dnnl_primitive_t reorder;               /* weights to or from the library's layout and dtype */
  Desc             x, y, w, bias, plain_w, scratchpad;
} Conv;

static Desc
describe_image (const ConvKey *key, const gint64 *extents)
{
  const gint64 c = extents[0], w = extents[2];

  return make_desc (4, (dnnl_dim_t[]) { key->n, c, extents[1], w }, key->image, (dnnl_dim_t[]) { extents[1] * w * c, 1, w * c, c });
}

/* As they are stored, or as the library wants them. Gradients of weights are summed in float32. */
static Desc
describe_weights (const ConvKey *key, gboolean plain)
{
  const gint64 *s = key->w_strides;
  const gint64 oc = key->w[0] / key->groups;
  const dnnl_dim_t dims[] = { key->groups, oc, key->w[1], key->w[2], key->w[3] };
  const dnnl_dim_t steps[] = { oc * s[0], s[0], s[1], s[2], s[3] };
  const int first = key->groups == 1;
  const LpScalar computed = key->pass == LP_CONV_WEIGHT_GRAD ? LP_SCALAR_F32 : key->image;

  return make_desc (5 - first, dims + first, plain ? key->weights : computed, plain ? steps + first : NULL);
}

static dnnl_primitive_desc_t
plan_pass (Conv *self, LpConvPass pass, const_dnnl_primitive_desc_t hint)
{
  const ConvKey *key = &self->key;
  Geometry geometry = { 0 };
  dnnl_primitive_attr_t attr = new_attr ();
  dnnl_primitive_desc_t plan = NULL;
  Desc any;
  ConvKey forward = *key;

  forward.pass = pass;
  any = describe_weights (&forward, FALSE);
  for (int i = 0; i < 2; i++)
    {
      geometry.strides[i] = key->stride[i];
      geometry.dilates[i] = key->dilation[i] - 1;
      geometry.before[i] = key->padding[i];
      geometry.after[i] = (key->y[1 + i] - 1) * key->stride[i] + (key->w[2 + i] - 1) * key->dilation[i] + 1 - key->x[1 + i] - key->padding[i];
    }
  if (plan_convolution (&plan, pass, self->x, any, key->has_bias ? self->bias : NULL, self->y, &geometry, hint, attr) != dnnl_success)
    plan = NULL;
  free_desc (any);
  dnnl_primitive_attr_destroy (attr);
  return plan;
}

static void
make_reorder (Conv *self)
{
  const gboolean out = self->key.pass == LP_CONV_WEIGHT_GRAD;
  dnnl_primitive_desc_t plan;

  if (dnnl_reorder_primitive_desc_create (&plan, out ? self->w : self->plain_w, engine, out ? self->plain_w : self->w, engine, NULL)
      != dnnl_success)
    return;
  dnnl_primitive_create (&self->reorder, plan);
  dnnl_primitive_desc_destroy (plan);
}

static gpointer
make_conv (gconstpointer data)
{
  Conv *self = g_new0 (Conv, 1);
  const ConvKey *key = &self->key;
  dnnl_primitive_desc_t forward, plan;

  self->key = *(const ConvKey *) data;
  self->x = describe_image (key, key->x);
  self->y = describe_image (key, key->y);
  self->bias = make_desc (1, (dnnl_dim_t[]) { key->w[0] }, key->bias, (dnnl_dim_t[]) { 1 });
  self->plain_w = describe_weights (key, TRUE);
  forward = plan_pass (self, LP_CONV_FORWARD, NULL);
  plan = key->pass == LP_CONV_FORWARD ? forward : (forward != NULL ? plan_pass (self, key->pass, forward) : NULL);
  if (plan != NULL && is_tuned (plan))
    {
      self->w = query_desc (plan, key->pass == LP_CONV_WEIGHT_GRAD ? dnnl_query_diff_weights_md : dnnl_query_weights_md);
      self->scratchpad = query_desc (plan, dnnl_query_scratchpad_md);
      make_reorder (self);
      if (self->reorder != NULL)
        dnnl_primitive_create (&self->primitive, plan);
    }
  if (plan != NULL && plan != forward)
    dnnl_primitive_desc_destroy (plan);
  if (forward != NULL)
    dnnl_primitive_desc_destroy (forward);
  return self;
}

static const Conv *
look_up_conv (const ConvKey *key)
{
  const Conv *self = look_up (key, make_conv);

  if (self->primitive == NULL || dnnl_memory_desc_get_size (self->w) > CONV_WEIGHT_BYTES
      || dnnl_memory_desc_get_size (self->scratchpad) > CONV_SCRATCH_BYTES)
    return NULL;
  return self;
}

/* Gradients of weights are summed from one copy per part. */
static gint64
count_conv_parts (const LpConvArgs *args)
{
  const gint64 bytes = _lp_cpu_n_elements (&args->w) * (gint64) sizeof (float);

  return args->pass == LP_CONV_WEIGHT_GRAD ? CLAMP (CONV_WEIGHT_BYTES / MAX (bytes, 1), 1, CONV_PARTS) : CONV_PARTS;
}

static void
run_reorder (const Conv *self, const void *from, void *to)
{
  const gboolean out = self->key.pass == LP_CONV_WEIGHT_GRAD;

  execute (self->reorder, (const int[]) { DNNL_ARG_FROM, DNNL_ARG_TO },
           (Desc[]) { out ? self->w : self->plain_w, out ? self->plain_w : self->w }, (void *const[]) { (void *) from, to }, 2);
}

static void
run_conv_part (const Conv *self, const LpConvArgs *args, gint64 first, void *w)
{
  static const int names[][5] = {
    { DNNL_ARG_SRC, DNNL_ARG_DST, DNNL_ARG_WEIGHTS, DNNL_ARG_SCRATCHPAD, DNNL_ARG_BIAS },
    { DNNL_ARG_DIFF_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS, DNNL_ARG_SCRATCHPAD },
    { DNNL_ARG_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_SCRATCHPAD },
  };
  void *scratchpad = _lp_cpu_scratch (LP_SCRATCH_LIBRARY, MAX (dnnl_memory_desc_get_size (self->scratchpad), 1));

  execute (self->primitive, names[args->pass], (Desc[]) { self->x, self->y, self->w, self->scratchpad, self->bias },
           (void *const[]) { (void *) _lp_cpu_channels_last (&args->x, first, self->key.n, LP_SCRATCH_IMAGE),
                             (void *) _lp_cpu_channels_last (&args->y, first, self->key.n, LP_SCRATCH_IMAGE_GRAD), w, scratchpad,
                             args->bias.data },
           self->key.has_bias ? 5 : 4);
}

static ConvKey
make_key (const LpConvArgs *args, gint64 n)
{
  ConvKey key;

  memset (&key, 0, sizeof key);  /* holes are hashed too */
  key.size = sizeof key;
  key.pass = args->pass;
  key.image = args->x.scalar;
  key.weights = args->w.scalar;
  key.has_bias = args->pass == LP_CONV_FORWARD && args->bias.data != NULL;
  key.bias = key.has_bias ? args->bias.scalar : LP_SCALAR_F32;
  key.groups = args->groups;
  key.n = n;
  memcpy (key.x, args->x.dims + 1, sizeof key.x);
  memcpy (key.w, args->w.dims, sizeof key.w);
  memcpy (key.y, args->y.dims + 1, sizeof key.y);
  memcpy (key.w_strides, args->w.strides, sizeof key.w_strides);
  memcpy (key.stride, args->stride, sizeof key.stride);
  memcpy (key.padding, args->padding, sizeof key.padding);
  memcpy (key.dilation, args->dilation, sizeof key.dilation);
  return key;
}

static gboolean
is_usable (LpScalar scalar)
{
  return scalar == LP_SCALAR_F32 || (scalar == LP_SCALAR_BF16 && _lp_cpu_onednn_has_bf16 ());
}

/* An image that is read may be copied part by part where that costs little next to the arithmetic. */
static gboolean
is_readable (const LpArray *image, gint64 step)
{
  const gint64 bytes = step * image->dims[1] * image->dims[2] * image->dims[3] * (gint64) _lp_scalar_sizes[image->scalar];

  return _lp_cpu_is_channels_last (image) || (bytes <= CONV_COPY_BYTES && (image->scalar == LP_SCALAR_BF16 || image->dims[1] >= 16));
}

static gboolean
can_convolve (const LpConvArgs *args, gint64 step)
{
  const gboolean x = args->pass == LP_CONV_INPUT_GRAD ? _lp_cpu_is_channels_last (&args->x) : is_readable (&args->x, step);
  const gboolean y = args->pass == LP_CONV_FORWARD ? _lp_cpu_is_channels_last (&args->y) : is_readable (&args->y, step);

  return x && y && args->x.dims[0] > 0 && args->x.scalar == args->y.scalar && is_usable (args->x.scalar) && is_usable (args->w.scalar)
         && (args->bias.data == NULL || (is_usable (args->bias.scalar) && args->bias.strides[0] == 1));
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
  const gint64 most = count_conv_parts (args), step = (n + most - 1) / most, parts = (n + step - 1) / step, rest = n - (parts - 1) * step;
  const gboolean to_weights = args->pass == LP_CONV_WEIGHT_GRAD;
  const gint64 work = _lp_cpu_n_elements (&args->y) * args->w.dims[1] * args->w.dims[2] * args->w.dims[3];
  const int threads = work < (1 << 19) || omp_in_parallel () ? 1 : omp_get_max_threads ();
  const int before = omp_get_max_threads ();
  const Conv *whole, *last;
  ConvKey key;
  gsize w_size;
  guint8 *w;

  if (!can_convolve (args, step))
    return FALSE;
  key = make_key (args, step);
  whole = look_up_conv (&key);
  key.n = rest;
  last = look_up_conv (&key);
  /* the parts share one copy of the weights */
  if (whole == NULL || last == NULL || !dnnl_memory_desc_equal (whole->w, last->w))
    return FALSE;
  w_size = (dnnl_memory_desc_get_size (whole->w) + 63) / 64 * 64;
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

#else /* !HAVE_ONEDNN */

gboolean
_lp_cpu_onednn_gemm (const LpCpuProduct *product)
{
  return FALSE;
}

gboolean
_lp_cpu_onednn_sum_int8 (const gint8 *a, gint64 a_stride, const gint8 *b, gint64 b_stride, gint64 m, gint64 n, gint64 k, gint32 *sums)
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
