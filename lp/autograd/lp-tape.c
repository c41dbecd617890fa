#include <lp/autograd/lp-dispatch-private.h>

#include <lp/core/lp-error.h>

/* Results hold their node, nodes hold the nodes of their inputs: the tape is this graph, kept alive by its results.
 * Nodes are numbered as they are made, so going through them by falling number is a topological order. */

static guint64 last_sequence;

/* Chains may be long: nodes are freed from a list, not by recursion. */
static _Thread_local GPtrArray *dying;

static LpNode *
node_ref (LpNode *self)
{
  g_atomic_ref_count_inc (&self->ref_count);
  return self;
}

static void node_unref (LpNode *self);

static void
clear_edges (LpNode *self)
{
  for (int i = 0; i < self->n_inputs; i++)
    {
      LpEdge *edge = &self->edges[i];

      g_clear_pointer (&edge->node, node_unref);
      g_clear_object (&edge->leaf);
      g_clear_object (&edge->value);
      if (edge->dtype != NULL)
        g_clear_object (&edge->dtype);
    }
}

static void
clear_saved (LpNode *self)
{
  for (int i = 0; i < LP_MAX_SAVED; i++)
    g_clear_object (&self->saved[i]);
  for (int i = 0; i < self->n_inputs; i++)
    g_clear_object (&self->edges[i].value);
  g_clear_object (&self->scope);
  g_clear_object (&self->function);
}

static void
free_node (LpNode *self)
{
  clear_saved (self);
  clear_edges (self);
  g_clear_object (&self->grad);
  g_free (self);
}

static void
node_unref (LpNode *self)
{
  GPtrArray *list;

  if (!g_atomic_ref_count_dec (&self->ref_count))
    return;

  if (dying != NULL)
    {
      g_ptr_array_add (dying, self);
      return;
    }

  list = dying = g_ptr_array_new ();
  g_ptr_array_add (list, self);
  while (list->len > 0)
    free_node (g_ptr_array_steal_index_fast (list, list->len - 1));
  dying = NULL;
  g_ptr_array_unref (list);
}

LpNode *
_lp_node_new (LpTensor **inputs,
              int        n_inputs)
{
  LpNode *self = g_malloc0 (sizeof (LpNode) + n_inputs * sizeof (LpEdge));

  g_atomic_ref_count_init (&self->ref_count);
  self->sequence = __atomic_add_fetch (&last_sequence, 1, __ATOMIC_RELAXED);
  self->n_inputs = n_inputs;
  for (int i = 0; i < n_inputs; i++)
    {
      LpEdge *edge = &self->edges[i];

      if (inputs[i] == NULL || !inputs[i]->requires_grad)
        continue;
      if (inputs[i]->node != NULL)
        edge->node = node_ref (inputs[i]->node);
      else
        edge->leaf = g_object_ref (inputs[i]);
      edge->dtype = g_object_ref (_lp_dtype_get_gradient_dtype (inputs[i]->array.dtype));
    }

  return self;
}

void
_lp_node_attach (LpNode   *node,
                 LpTensor *result)
{
  result->node = node;
  result->node_release = (GDestroyNotify) node_unref;
  result->requires_grad = TRUE;
}

LpTensor *
_lp_node_get_accumulator (LpNode *self,
                          int     input)
{
  LpTensor *leaf = self->edges[input].leaf;

  if (leaf == NULL || leaf->grad == NULL || leaf->grad->array.dtype != self->edges[input].dtype
      || !_lp_array_is_contiguous (&leaf->grad->array) || !_lp_tensor_settle (leaf->grad, NULL))
    return NULL;

  return leaf->grad;
}

static gboolean
add_in_place (LpTensor  *sum,
              LpTensor  *term,
              GError   **error)
{
  return _lp_tensor_get_kernels (sum)->binary (LP_BINARY_ADD, &sum->array, &term->array, &sum->array, error);
}

/* Whether nobody else sees the memory of @self. */
static gboolean
is_private (LpTensor *self)
{
  return G_OBJECT (self)->ref_count == 1 && !_lp_storage_is_shared (self->storage) && !self->storage->read_only
         && _lp_tensor_is_dense (self);
}

/* Adds @grad, which is taken, to @sum. */
static gboolean
accumulate (LpTensor **sum,
            LpTensor  *grad,
            GError   **error)
{
  g_autoptr (LpTensor) term = grad;
  g_autoptr (LpTensor) total = NULL;

  if (*sum == NULL)
    {
      *sum = g_steal_pointer (&term);
      return TRUE;
    }
  if (is_private (*sum))
    return add_in_place (*sum, term, error);

  total = _lp_tensor_new_like (*sum, (*sum)->array.dtype, error);
  if (total == NULL || !_lp_tensor_get_kernels (total)->binary (LP_BINARY_ADD, &(*sum)->array, &term->array, &total->array,
                                                                error))
    return FALSE;

  g_set_object (sum, total);
  return TRUE;
}

static gboolean
accumulate_leaf (LpTensor  *leaf,
                 LpTensor  *grad,
                 GError   **error)
{
  g_autoptr (LpTensor) term = grad;

  if (leaf->grad != NULL)
    {
      gboolean done = _lp_tensor_settle (leaf->grad, error) && add_in_place (leaf->grad, term, error);

      _lp_tensor_changed (leaf->grad);
      return done;
    }

  if (!is_private (term))
    {
      LpTensor *own = _lp_tensor_new_like (term, term->array.dtype, error);

      if (own == NULL || !_lp_tensor_get_kernels (own)->copy (&term->array, &own->array, error))
        {
          g_clear_object (&own);
          return FALSE;
        }
      g_object_unref (term);
      term = own;
    }
  leaf->grad = g_steal_pointer (&term);

  return TRUE;
}

static gboolean
check_saved (LpNode  *self,
             GError **error)
{
  if (self->consumed)
    {
      g_set_error_literal (error, LP_ERROR, LP_ERROR_STATE,
                           "The graph was already used by backward: run the forward pass again");
      return FALSE;
    }

  for (int i = 0; i < self->n_inputs; i++)
    {
      LpEdge *edge = &self->edges[i];

      if (edge->value == NULL || g_atomic_int_get (&edge->value->storage->version) == edge->version)
        continue;
      g_set_error (error, LP_ERROR, LP_ERROR_STATE,
                   "Input %d of %s was changed in place after the forward pass, which its gradient needs", i,
                   self->op != NULL ? self->op->name : "a function");
      return FALSE;
    }

  return TRUE;
}

static void
clear_gradient (gpointer gradient)
{
  if (gradient != NULL)
    g_object_unref (gradient);
}

static gboolean
call_function (LpNode    *self,
               LpTensor  *grad_output,
               LpTensor **grads,
               GError   **error)
{
  g_autoptr (GPtrArray) results = lp_function_backward (self->function, grad_output, error);

  if (results == NULL)
    return FALSE;
  g_ptr_array_set_free_func (results, clear_gradient);
  if ((int) results->len != self->n_inputs)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_SUBCLASS, "%s.backward returned %u gradients for %d inputs",
                   G_OBJECT_TYPE_NAME (self->function), results->len, self->n_inputs);
      return FALSE;
    }

  for (int i = 0; i < self->n_inputs; i++)
    {
      LpTensor *grad = g_ptr_array_index (results, i);
      LpTensor *input = self->edges[i].value;

      if (grad == NULL || !_lp_node_needs (self, i))
        continue;
      if (!LP_IS_TENSOR (grad) || _lp_array_get_n_elements (&grad->array) != _lp_array_get_n_elements (&input->array))
        {
          g_set_error (error, LP_ERROR, LP_ERROR_SUBCLASS, "%s.backward returned a gradient for input %d that has not its shape",
                       G_OBJECT_TYPE_NAME (self->function), i);
          return FALSE;
        }
      grads[i] = g_object_ref (grad);
    }

  return TRUE;
}

/* A leaf in 16 bits whose gradient an optimizer keeps in f32 gets it in f32, be it the first or one that is added to. */
static void
follow_gradient (LpEdge *edge)
{
  LpTensor *leaf = edge->leaf;
  LpScalar scalar;

  if (leaf == NULL || (leaf->grad != NULL ? leaf->grad->array.scalar != LP_SCALAR_F32 : leaf->n_wide == 0))
    return;

  scalar = _lp_dtype_get_scalar (edge->dtype);
  if (scalar == LP_SCALAR_F16 || scalar == LP_SCALAR_BF16)
    g_set_object (&edge->dtype, lp_dtype_f32 ());
}

static gboolean
run_backward (LpNode    *self,
              LpTensor  *grad_output,
              LpTensor **grads,
              GError   **error)
{
  const char *site = _lp_site_push (self->site);
  gboolean done;

  for (int i = 0; i < self->n_inputs; i++)
    follow_gradient (&self->edges[i]);
  if (self->scope != NULL)
    lp_compute_scope_push (self->scope);
  if (self->function != NULL)
    done = call_function (self, grad_output, grads, error);
  else
    done = self->op->backward (self, grad_output, grads, error);
  if (self->scope != NULL)
    lp_compute_scope_pop ();
  _lp_site_pop (site);

  return done;
}

/* A binary heap of nodes, the latest first. */
static void
heap_push (GPtrArray *heap,
           LpNode    *node)
{
  guint i = heap->len;

  g_ptr_array_add (heap, node);
  while (i > 0 && ((LpNode *) heap->pdata[(i - 1) / 2])->sequence < node->sequence)
    {
      heap->pdata[i] = heap->pdata[(i - 1) / 2];
      i = (i - 1) / 2;
    }
  heap->pdata[i] = node;
}

static LpNode *
heap_pop (GPtrArray *heap)
{
  LpNode *top = heap->pdata[0], *last = heap->pdata[heap->len - 1];
  guint n = heap->len - 1, i = 0;

  g_ptr_array_set_size (heap, n);
  while (2 * i + 1 < n)
    {
      guint child = 2 * i + 1;

      if (child + 1 < n && ((LpNode *) heap->pdata[child + 1])->sequence > ((LpNode *) heap->pdata[child])->sequence)
        child++;
      if (((LpNode *) heap->pdata[child])->sequence < last->sequence)
        break;
      heap->pdata[i] = heap->pdata[child];
      i = child;
    }
  if (n > 0)
    heap->pdata[i] = last;

  return top;
}

/* Hands the gradient of one input on; takes @grad. */
static gboolean
deliver (LpEdge     *edge,
         LpTensor   *grad,
         GPtrArray  *heap,
         GError    **error)
{
  g_autoptr (LpTensor) taken = grad;
  LpTensor *cast = _lp_tensor_cast (taken, edge->dtype, error);

  g_clear_object (&taken);
  if (cast == NULL)
    return FALSE;
  if (edge->leaf != NULL)
    return accumulate_leaf (edge->leaf, cast, error);

  if (edge->node->grad == NULL)
    heap_push (heap, node_ref (edge->node));

  return accumulate (&edge->node->grad, cast, error);
}

static gboolean
process (LpNode     *node,
         GPtrArray  *heap,
         GError    **error)
{
  g_autoptr (LpTensor) grad_output = g_steal_pointer (&node->grad);
  LpTensor *on_stack[LP_MAX_STACK_INPUTS] = { NULL, };
  LpTensor **grads = node->n_inputs <= LP_MAX_STACK_INPUTS ? on_stack : g_new0 (LpTensor *, node->n_inputs);
  gboolean done = check_saved (node, error) && run_backward (node, grad_output, grads, error);

  /* the memory goes to what comes next */
  g_clear_object (&grad_output);
  clear_saved (node);
  node->consumed = TRUE;

  for (int i = 0; i < node->n_inputs; i++)
    {
      if (grads[i] == NULL)
        continue;
      if (done && _lp_node_needs (node, i))
        done = deliver (&node->edges[i], g_steal_pointer (&grads[i]), heap, error);
      g_clear_object (&grads[i]);
    }
  if (grads != on_stack)
    g_free (grads);

  return done;
}

static LpTensor *
first_gradient (LpTensor  *self,
                LpTensor  *gradient,
                GError   **error)
{
  LpDType *dtype = _lp_dtype_get_gradient_dtype (self->array.dtype);

  if (gradient != NULL)
    {
      if (_lp_array_get_n_elements (&gradient->array) == _lp_array_get_n_elements (&self->array))
        return _lp_tensor_cast (gradient, dtype, error);
      g_set_error_literal (error, LP_ERROR, LP_ERROR_SHAPE, "The gradient has not the shape of the tensor");
      return NULL;
    }
  if (_lp_array_get_n_elements (&self->array) != 1)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_SHAPE,
                   "Only a tensor of one element has a gradient of its own: reduce the %" G_GINT64_FORMAT
                   " elements first, or give the gradient", _lp_array_get_n_elements (&self->array));
      return NULL;
    }

  return lp_tensor_ones (self->array.dims, self->array.n_dims, dtype, self->storage->device, error);
}

/**
 * lp_tensor_backward:
 * @self: a recorded result, usually a loss
 * @gradient: (nullable): the gradient of @self, or %NULL for 1 if @self has one element
 * @error: return location for an error
 *
 * Computes the gradients of @self with respect to all leaves that require one, and adds them to theirs. The graph is used
 * up.
 *
 * Returns: whether it worked. Errors: %LP_ERROR_STATE if @self was not recorded, the graph was used up or a tensor that is
 *   needed was changed in place; %LP_ERROR_SHAPE; and what a [class@Function] reports
 */
gboolean
lp_tensor_backward (LpTensor  *self,
                    LpTensor  *gradient,
                    GError   **error)
{
  g_autoptr (GPtrArray) heap = NULL;
  LpTensor *grad;
  gboolean done = TRUE;

  g_return_val_if_fail (LP_IS_TENSOR (self), FALSE);

  if (!self->requires_grad)
    {
      g_set_error_literal (error, LP_ERROR, LP_ERROR_STATE,
                           "The tensor was not recorded: nothing it depends on requires a gradient, or gradients were off");
      return FALSE;
    }
  grad = first_gradient (self, gradient, error);
  if (grad == NULL)
    return FALSE;
  if (self->node == NULL)
    return accumulate_leaf (self, grad, error);

  heap = g_ptr_array_new ();
  lp_grad_mode_push (FALSE);
  self->node->grad = grad;
  heap_push (heap, node_ref (self->node));
  while (heap->len > 0)
    {
      LpNode *node = heap_pop (heap);

      if (done)
        done = process (node, heap, error);
      g_clear_object (&node->grad);
      node_unref (node);
    }
  lp_grad_mode_pop ();

  return done;
}

/**
 * lp_tensor_detach:
 * @self: a tensor
 *
 * Gives a tensor on the same memory that is no part of the graph.
 *
 * Returns: (transfer full): the tensor
 */
LpTensor *
lp_tensor_detach (LpTensor *self)
{
  g_return_val_if_fail (LP_IS_TENSOR (self), NULL);

  return _lp_tensor_detach (self);
}
