#include "lp-cpu-device-private.h"

#include "lp-cpu-gemm-private.h"

/* The host's processor, of which there is one: "cpu". */
struct _LpCpuDevice
{
  LpDevice parent_instance;
};

G_DEFINE_FINAL_TYPE (LpCpuDevice, lp_cpu_device, lp_device_get_type ())

const LpKernelTable _lp_cpu_kernels = {
  .fill = _lp_cpu_fill,
  .copy = _lp_cpu_copy,
  .absmax = _lp_cpu_absmax,
  .quantize = _lp_cpu_quantize,
  .unary = _lp_cpu_unary,
  .unary_grad = _lp_cpu_unary_grad,
  .binary = _lp_cpu_binary,
  .where = _lp_cpu_where,
  .loss = _lp_cpu_loss,
  .loss_grad = _lp_cpu_loss_grad,
  .reduce = _lp_cpu_reduce,
  .argmax = _lp_cpu_argmax,
  .cumsum = _lp_cpu_cumsum,
  .softmax = _lp_cpu_softmax,
  .softmax_grad = _lp_cpu_softmax_grad,
  .cross_entropy = _lp_cpu_cross_entropy,
  .dropout = _lp_cpu_dropout,
  .uniform = _lp_cpu_uniform,
  .normal = _lp_cpu_normal,
  .gemm = _lp_cpu_gemm,
  .conv2d = _lp_cpu_conv2d,
  .pool2d = _lp_cpu_pool2d,
  .pool2d_grad = _lp_cpu_pool2d_grad,
  .batch_norm = _lp_cpu_batch_norm,
  .batch_norm_grad = _lp_cpu_batch_norm_grad,
  .index_select = _lp_cpu_index_select,
  .index_add = _lp_cpu_index_add,
  .gather = _lp_cpu_gather,
  .scatter_add = _lp_cpu_scatter_add,
  .grad_stats = _lp_cpu_grad_stats,
  .sgd = _lp_cpu_sgd,
  .adamw = _lp_cpu_adamw,
};

static gpointer
lp_cpu_device_allocate (LpDevice *self, gsize size, GError **error)
{
  gpointer data = _lp_cpu_allocate (size);

  if (data == NULL)
    g_set_error (error, LP_ERROR, LP_ERROR_MEMORY, "No memory for %" G_GSIZE_FORMAT " bytes on device cpu", size);
  return data;
}

static void
lp_cpu_device_release (LpDevice *self, gpointer data, gsize size)
{
  _lp_cpu_release (data, size);
}

static void
lp_cpu_device_trim (LpDevice *self)
{
  _lp_cpu_trim ();
}

static gboolean
is_native (LpDType *dtype)
{
  const LpScalar scalar = _lp_dtype_get_scalar (dtype);

  return scalar == LP_SCALAR_F64 || scalar == LP_SCALAR_F32 || (scalar == LP_SCALAR_BF16 && _lp_cpu_onednn_has_bf16 ());
}

static gboolean
lp_cpu_device_computes_natively (LpDevice *self, LpDType *a, LpDType *b, LpDType *result)
{
  return a == b && is_native (a) && is_native (result);
}

static char *
lp_cpu_device_dup_description (LpDevice *self)
{
  return g_strdup_printf ("CPU, %s kernels, %d threads", _lp_cpu_isa->name, omp_get_max_threads ());
}

static void
lp_cpu_device_class_init (LpCpuDeviceClass *klass)
{
  LpDeviceClass *device_class = (LpDeviceClass *) klass;

  device_class->allocate = lp_cpu_device_allocate;
  device_class->release = lp_cpu_device_release;
  device_class->trim = lp_cpu_device_trim;
  device_class->computes_natively = lp_cpu_device_computes_natively;
  device_class->dup_description = lp_cpu_device_dup_description;
  device_class->kernels = &_lp_cpu_kernels;
}

static void
lp_cpu_device_init (LpCpuDevice *self)
{
}

static LpDevice *
cpu_device_new (void)
{
  return g_object_new (LP_TYPE_CPU_DEVICE, "name", "cpu", NULL);
}

static void __attribute__ ((constructor))
register_device (void)
{
  _lp_device_add_builtin ("cpu", cpu_device_new, "The host's processor");
}
