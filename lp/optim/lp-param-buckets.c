#include <lp/optim/lp-param-group-private.h>

#include <lp/core/lp-error.h>

/* Slices start at multiples of 64 bytes, whatever the dtype. */
#define LP_SLICE_ALIGNMENT 64

static void
clear_slot (gpointer data)
{
  LpParamSlot *slot = data;

  g_clear_object (&slot->parameter);
  g_clear_object (&slot->master);
  g_clear_object (&slot->grad);
}

static void
clear_bucket (gpointer data)
{
  LpParamBucket *bucket = data;

  g_clear_object (&bucket->grad_dtype);
  g_clear_object (&bucket->moment_dtype);
  g_clear_object (&bucket->device);
  g_clear_object (&bucket->grad);
  for (guint i = 0; i < LP_N_MOMENTS; i++)
    g_clear_object (&bucket->moments[i]);
}

void
_lp_param_group_clear (LpParamGroup *self)
{
  g_clear_pointer (&self->slots, g_array_unref);
  g_clear_pointer (&self->buckets, g_array_unref);
}

/* A tensor of the shape of @like over @n elements of @flat from @offset, with a version of its own. */
static LpTensor *
new_slice (LpTensor *flat,
           gsize     offset,
           LpTensor *like)
{
  gsize size = _lp_scalar_sizes[flat->array.scalar];
  LpArray array = flat->array;
  LpStorage *storage;
  LpTensor *slice;
  gint64 stride = 1;

  array.data += offset * size;
  array.n_dims = like->array.n_dims;
  for (int i = array.n_dims - 1; i >= 0; i--)
    {
      array.dims[i] = like->array.dims[i];
      array.strides[i] = stride;
      stride *= MAX (array.dims[i], 1);
    }

  storage = _lp_storage_new_wrap (flat->storage->device, array.data, _lp_array_get_n_elements (&array) * size, FALSE,
                                  _lp_storage_ref (flat->storage), (GDestroyNotify) _lp_storage_unref);
  slice = _lp_tensor_new_view (storage, &array);
  _lp_storage_unref (storage);

  return slice;
}

static LpTensor *
new_flat (gsize      n,
          LpDType   *dtype,
          LpDevice  *device,
          GError   **error)
{
  gint64 dims[1] = { n };

  return lp_tensor_zeros (dims, 1, dtype, device, error);
}

static guint
find_bucket (GArray   *buckets,
             LpDType  *grad_dtype,
             LpDType  *moment_dtype,
             LpDevice *device)
{
  LpParamBucket bucket = { NULL };

  for (guint i = 0; i < buckets->len; i++)
    {
      LpParamBucket *other = &g_array_index (buckets, LpParamBucket, i);

      if (other->grad_dtype == grad_dtype && other->moment_dtype == moment_dtype && other->device == device)
        return i;
    }

  bucket.grad_dtype = g_object_ref (grad_dtype);
  bucket.moment_dtype = g_object_ref (moment_dtype);
  bucket.device = g_object_ref (device);
  g_array_append_val (buckets, bucket);

  return buckets->len - 1;
}

static gboolean
needs_master (LpParamGroup *self,
              LpTensor     *parameter)
{
  LpScalar scalar = parameter->array.scalar;
  gboolean half = scalar == LP_SCALAR_F16 || scalar == LP_SCALAR_BF16;

  return scalar == LP_SCALAR_ENCODED || !_lp_array_is_contiguous (&parameter->array) ||
         (half && self->master_dtype != NULL);
}

/* Where f32 masters were asked for, gradients are f32 as well: unscaled and clipped there, nothing of them is lost. */
static LpDType *
get_gradient_dtype (LpParamGroup *self,
                    LpTensor     *parameter)
{
  LpScalar scalar = parameter->array.scalar;
  gboolean half = scalar == LP_SCALAR_F16 || scalar == LP_SCALAR_BF16;

  return half && self->master_dtype != NULL ? self->master_dtype : _lp_dtype_get_gradient_dtype (parameter->array.dtype);
}

static LpDType *
get_master_dtype (LpTensor *parameter)
{
  return parameter->array.scalar == LP_SCALAR_F64 ? lp_dtype_f64 () : lp_dtype_f32 ();
}

static LpDType *
get_moment_dtype (LpParamGroup *self,
                  LpTensor     *parameter)
{
  return _lp_dtype_get_moment_dtype (needs_master (self, parameter) ? get_master_dtype (parameter) : parameter->array.dtype);
}

/* A copy, never the parameter's own memory. */
static LpTensor *
new_master (LpTensor  *parameter,
            GError   **error)
{
  LpTensor *master = _lp_tensor_new (parameter->array.dims, parameter->array.n_dims, get_master_dtype (parameter),
                                     parameter->storage->device, error);

  if (master != NULL && !lp_tensor_assign (master, parameter, error))
    g_clear_object (&master);

  return master;
}

static gboolean
add_slot (LpParamGroup  *self,
          LpTensor      *parameter,
          GArray        *slots,
          GArray        *buckets,
          GError       **error)
{
  LpDType *grad_dtype = get_gradient_dtype (self, parameter);
  LpParamSlot slot = { g_object_ref (parameter) };
  LpParamBucket *bucket;
  gsize alignment = LP_SLICE_ALIGNMENT / _lp_scalar_sizes[_lp_dtype_get_scalar (grad_dtype)];

  slot.dtype = parameter->array.dtype;
  slot.bucket = find_bucket (buckets, grad_dtype, get_moment_dtype (self, parameter), parameter->storage->device);
  bucket = &g_array_index (buckets, LpParamBucket, slot.bucket);
  slot.offset = bucket->n;
  slot.n = _lp_array_get_n_elements (&parameter->array);
  bucket->n += (slot.n + alignment - 1) / alignment * alignment;
  g_array_append_val (slots, slot);

  if (!needs_master (self, parameter))
    return TRUE;

  g_array_index (slots, LpParamSlot, slots->len - 1).master = new_master (parameter, error);

  return g_array_index (slots, LpParamSlot, slots->len - 1).master != NULL;
}

static gboolean
build (LpParamGroup  *self,
       GArray        *slots,
       GArray        *buckets,
       GError       **error)
{
  for (guint i = 0; i < self->parameters->len; i++)
    if (!add_slot (self, g_ptr_array_index (self->parameters, i), slots, buckets, error))
      return FALSE;

  for (guint i = 0; i < buckets->len; i++)
    {
      LpParamBucket *bucket = &g_array_index (buckets, LpParamBucket, i);

      bucket->grad = new_flat (bucket->n, bucket->grad_dtype, bucket->device, error);
      if (bucket->grad == NULL)
        return FALSE;
    }

  for (guint i = 0; i < slots->len; i++)
    {
      LpParamSlot *slot = &g_array_index (slots, LpParamSlot, i);

      slot->grad = new_slice (g_array_index (buckets, LpParamBucket, slot->bucket).grad, slot->offset, slot->parameter);
      slot->clean_version = slot->grad->storage->version;
    }

  return TRUE;
}

static gboolean
check_unchanged (LpParamGroup  *self,
                 GError       **error)
{
  for (guint i = 0; i < self->slots->len; i++)
    {
      LpParamSlot *slot = _lp_param_group_get_slot (self, i);
      LpParamBucket *bucket = _lp_param_group_get_bucket (self, slot->bucket);

      if (G_LIKELY (slot->parameter->array.dtype == slot->dtype && slot->parameter->storage->device == bucket->device))
        continue;

      g_set_error (error, LP_ERROR, LP_ERROR_STATE,
                   "Parameter %u has become %s on %s since the optimizer got it: convert a module before its optimizer is "
                   "made", i, lp_dtype_get_name (slot->parameter->array.dtype),
                   lp_device_get_name (slot->parameter->storage->device));
      return FALSE;
    }

  return TRUE;
}

/* A group that has not taken a step yet may follow its parameters. */
static gboolean
is_fresh (LpParamGroup *self)
{
  for (guint i = 0; i < self->slots->len; i++)
    if (_lp_param_group_get_slot (self, i)->step > 0)
      return FALSE;

  return TRUE;
}

gboolean
_lp_param_group_prepare (LpParamGroup  *self,
                         GError       **error)
{
  g_autoptr (GArray) slots = NULL;
  g_autoptr (GArray) buckets = NULL;

  if (self->slots != NULL)
    {
      if (G_LIKELY (check_unchanged (self, NULL)))
        return TRUE;
      if (!is_fresh (self))
        return check_unchanged (self, error);
      _lp_param_group_clear (self);
    }

  slots = g_array_new (FALSE, FALSE, sizeof (LpParamSlot));
  g_array_set_clear_func (slots, clear_slot);
  buckets = g_array_new (FALSE, FALSE, sizeof (LpParamBucket));
  g_array_set_clear_func (buckets, clear_bucket);
  if (!build (self, slots, buckets, error))
    return FALSE;

  self->slots = g_steal_pointer (&slots);
  self->buckets = g_steal_pointer (&buckets);

  return TRUE;
}

static gboolean
zero (LpParamSlot  *slot,
      GError      **error)
{
  g_clear_object (&slot->grad->factor);
  if (slot->grad->storage->version == slot->clean_version)
    return TRUE;
  if (!_lp_tensor_get_kernels (slot->grad)->fill (&slot->grad->array, 0, error))
    return FALSE;

  slot->clean_version = slot->grad->storage->version;

  return TRUE;
}

gboolean
_lp_param_group_zero_grad (LpParamGroup  *self,
                           GError       **error)
{
  if (!_lp_param_group_prepare (self, error))
    return FALSE;

  for (guint i = 0; i < self->slots->len; i++)
    {
      LpParamSlot *slot = _lp_param_group_get_slot (self, i);

      if (!zero (slot, error))
        return FALSE;
      g_set_object (&slot->parameter->grad, (slot->parameter->requires_grad ? slot->grad : NULL));
    }

  return TRUE;
}

static gboolean
take_gradient (LpParamSlot  *slot,
               LpTensor     *given,
               GError      **error)
{
  g_clear_object (&slot->grad->factor);

  return lp_tensor_assign (slot->grad, given, error);
}

static gboolean
gather_slot (LpParamSlot  *slot,
             GError      **error)
{
  LpTensor *given = slot->parameter->grad;

  slot->present = given != NULL;
  if (given == slot->grad)
    slot->present = slot->grad->storage->version != slot->clean_version;
  else if (given != NULL && !take_gradient (slot, given, error))
    return FALSE;
  else if (given == NULL && !zero (slot, error))
    return FALSE;

  /* what backward did not reach has no gradient */
  g_set_object (&slot->parameter->grad, (slot->present ? slot->grad : NULL));
  if (slot->master != NULL)
    g_set_object (&slot->master->grad, slot->parameter->grad);

  return TRUE;
}

gboolean
_lp_param_group_gather (LpParamGroup  *self,
                        GError       **error)
{
  if (!_lp_param_group_prepare (self, error))
    return FALSE;

  for (guint i = 0; i < self->slots->len; i++)
    if (!gather_slot (_lp_param_group_get_slot (self, i), error))
      return FALSE;

  return TRUE;
}

guint64
_lp_param_group_get_mark (LpParamGroup *self)
{
  guint64 mark = 0;

  for (guint i = 0; i < self->slots->len; i++)
    mark = mark * 31 + (guint) _lp_param_group_get_slot (self, i)->grad->storage->version;

  return mark;
}

LpTensor *
_lp_param_group_get_moment (LpParamGroup  *self,
                            guint          bucket_index,
                            guint          i,
                            GError       **error)
{
  LpParamBucket *bucket = _lp_param_group_get_bucket (self, bucket_index);

  if (bucket->moments[i] == NULL)
    bucket->moments[i] = new_flat (bucket->n, bucket->moment_dtype, bucket->device, error);

  return bucket->moments[i];
}

LpTensor *
_lp_param_slot_view_moment (LpParamSlot *slot,
                            LpTensor    *flat)
{
  return new_slice (flat, slot->offset, slot->parameter);
}

LpRandomPoint
_lp_param_group_get_random (LpParamGroup *self,
                            LpParamSlot  *slot,
                            guint         index)
{
  LpRandomPoint random = { 0 };

  random.seed = lp_generator_get_seed (lp_generator_get_default ());
  random.stream = ((guint64) 1 << 63) | ((guint64) self->stream << 48) | ((guint64) (self->index & 0xffff) << 32) | index;
  random.offset = (guint64) slot->step * ((slot->n + 3) / 4);

  return random;
}

LpRandomPoint
_lp_param_group_get_moment_random (LpParamGroup *self,
                                   LpParamSlot  *slot,
                                   guint         index)
{
  LpRandomPoint random = _lp_param_group_get_random (self, slot, index);

  random.offset |= (guint64) 1 << 63;

  return random;
}

/* A step of length 0 over the master: the fused kernel knows how to round by chance. */
static gboolean
store_stochastic (LpParamGroup  *self,
                  LpParamSlot   *slot,
                  guint          index,
                  GError       **error)
{
  LpSgdArgs args = { { .n = slot->n } };
  LpFusedStepArgs *common = &args.common;

  common->weight = slot->parameter->array.data;
  common->weight_scalar = slot->parameter->array.scalar;
  common->master = slot->master->array.data;
  common->grad = slot->grad->array.data;
  common->grad_scalar = slot->grad->array.scalar;
  common->stochastic = TRUE;
  common->random = _lp_param_group_get_random (self, slot, index);

  return _lp_tensor_get_kernels (slot->parameter)->sgd (&args, error);
}

gboolean
_lp_param_group_store (LpParamGroup  *self,
                       LpParamSlot   *slot,
                       guint          index,
                       GError       **error)
{
  gboolean half = slot->parameter->array.scalar == LP_SCALAR_F16 || slot->parameter->array.scalar == LP_SCALAR_BF16;

  if (slot->master == NULL)
    return TRUE;
  if (!half || !self->stochastic_rounding || !_lp_array_is_contiguous (&slot->parameter->array))
    return lp_tensor_assign (slot->parameter, slot->master, error);
  if (!store_stochastic (self, slot, index, error))
    return FALSE;

  _lp_tensor_changed (slot->parameter);

  return TRUE;
}
