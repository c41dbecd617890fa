#include <lp/autograd/lp-dispatch-private.h>

#include <lp/core/lp-error.h>

guint64 _lp_n_weight_casts;

static gboolean
is_castable (LpTensor *tensor)
{
  LpScalar scalar = tensor->array.scalar;

  return scalar == LP_SCALAR_F32 || scalar == LP_SCALAR_F16 || scalar == LP_SCALAR_BF16;
}

/* The values in 16 bits. Of a parameter the copy is kept until the parameter changes; the fused optimizers refresh it. */
static LpTensor *
cast_low (LpTensor  *tensor,
          LpDType   *dtype,
          GError   **error)
{
  gint version = g_atomic_int_get (&tensor->storage->version);
  LpTensor *copy;

  if (!tensor->requires_grad || tensor->node != NULL)
    return _lp_tensor_cast (tensor, dtype, error);
  if (tensor->low != NULL && tensor->low->array.dtype == dtype && tensor->low_version == version)
    return g_object_ref (tensor->low);

  copy = _lp_tensor_cast (tensor, dtype, error);
  if (copy == NULL || copy == tensor)
    return copy;

  __atomic_add_fetch (&_lp_n_weight_casts, 1, __ATOMIC_RELAXED);
  g_set_object (&tensor->low, copy);
  tensor->low_version = version;

  return copy;
}

static LpDType *
widest (LpTensor **inputs,
        int        n_inputs)
{
  static const guint8 widths[LP_N_SCALARS] = { [LP_SCALAR_F64] = 4, [LP_SCALAR_F32] = 3, [LP_SCALAR_F16] = 2, [LP_SCALAR_BF16] = 2 };
  LpScalar best = LP_SCALAR_ENCODED;

  for (int i = 0; i < n_inputs; i++)
    {
      LpScalar scalar;

      if (inputs[i] == NULL)
        continue;
      scalar = inputs[i]->array.scalar;
      /* f16 and bf16 have no common 16-bit format */
      if (widths[scalar] == 2 && widths[best] == 2 && scalar != best)
        best = LP_SCALAR_F32;
      else if (widths[scalar] > widths[best])
        best = scalar;
    }

  return best != LP_SCALAR_ENCODED ? _lp_dtype_from_scalar (best) : NULL;
}

/* What the policy makes of the inputs, or NULL to leave them. */
static LpDType *
get_cast_dtype (const LpOp      *op,
                LpComputeScope  *scope,
                LpTensor       **inputs,
                int              n_inputs)
{
  LpCastPolicy *policy = lp_compute_scope_get_policy (scope);

  if (policy == NULL)
    return NULL;

  switch (lp_cast_policy_lookup_class (policy, op->name, op->autocast))
    {
    case LP_AUTOCAST_LOW_PRECISION:
      return lp_cast_policy_get_low_dtype (policy);
    case LP_AUTOCAST_FLOAT32:
      return lp_dtype_f32 ();
    case LP_AUTOCAST_PROMOTE:
      return widest (inputs, n_inputs);
    default:
      return NULL;
    }
}

static gboolean
check_inputs (const LpOp  *op,
              LpTensor   **inputs,
              int          n_inputs,
              GError     **error)
{
  LpDevice *device = NULL;

  for (int i = 0; i < n_inputs; i++)
    {
      if (inputs[i] == NULL)
        continue;
      if (device == NULL)
        device = inputs[i]->storage->device;
      if (inputs[i]->storage->device == device)
        continue;
      g_set_error (error, LP_ERROR, LP_ERROR_DEVICE, "%s got tensors on %s and %s: move them to one device", op->name,
                   lp_device_get_name (device), lp_device_get_name (inputs[i]->storage->device));
      return FALSE;
    }

  return TRUE;
}

static void
record (LpOpCall *call,
        LpTensor *result)
{
  LpNode *node = _lp_node_new (call->originals, call->n_inputs);

  node->op = call->op;
  node->args = call->args;
  node->site = call->site;
  if (call->scope != NULL)
    node->scope = g_object_ref (call->scope);
  for (int i = 0; i < call->n_inputs; i++)
    if (call->inputs[i] != NULL && (call->op->keeps >> MIN (i, 31) & 1))
      {
        node->edges[i].value = g_object_ref (call->inputs[i]);
        node->edges[i].version = g_atomic_int_get (&call->inputs[i]->storage->version);
      }
  for (int i = 0; i < LP_MAX_SAVED; i++)
    node->saved[i] = g_steal_pointer (&call->saved[i]);
  if (call->op->keeps_output)
    node->saved[LP_MAX_SAVED - 1] = _lp_tensor_detach (result);
  _lp_node_attach (node, result);
}

/* Fills @cast with what the operation computes with; each is a new reference. */
static gboolean
cast_inputs (LpOpCall  *call,
             LpTensor **cast,
             GError   **error)
{
  LpDType *dtype = call->scope != NULL ? get_cast_dtype (call->op, call->scope, call->originals, call->n_inputs) : NULL;

  for (int i = 0; i < call->n_inputs; i++)
    {
      LpTensor *input = call->originals[i];

      if (input == NULL)
        continue;
      if (dtype == NULL || input->array.dtype == dtype || !is_castable (input))
        cast[i] = g_object_ref (input);
      else
        cast[i] = cast_low (input, dtype, error);
      if (cast[i] == NULL)
        return FALSE;
    }

  return TRUE;
}

LpTensor *
_lp_dispatch (const LpOp      *op,
              LpTensor       **inputs,
              int              n_inputs,
              const LpOpArgs  *args,
              GError         **error)
{
  LpTensor *on_stack[LP_MAX_STACK_INPUTS] = { NULL, };
  LpTensor **cast = n_inputs <= LP_MAX_STACK_INPUTS ? on_stack : g_new0 (LpTensor *, n_inputs);
  LpOpCall call = { op, cast, inputs, n_inputs };
  LpTensor *result = NULL;

  if (args != NULL)
    call.args = *args;
  call.scope = _lp_compute_scope_peek ();
  call.site = _lp_site_peek ();
  if (op->backward != NULL && lp_grad_mode_is_enabled ())
    for (int i = 0; i < n_inputs; i++)
      call.recording |= inputs[i] != NULL && inputs[i]->requires_grad;

  if (check_inputs (op, inputs, n_inputs, error) && cast_inputs (&call, cast, error))
    result = op->forward (&call, error);
  if (result != NULL && call.recording)
    record (&call, result);

  for (int i = 0; i < LP_MAX_SAVED; i++)
    g_clear_object (&call.saved[i]);
  for (int i = 0; i < n_inputs; i++)
    g_clear_object (&cast[i]);
  if (cast != on_stack)
    g_free (cast);

  return result;
}
