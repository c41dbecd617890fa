#pragma once

/* A part of lp-cpu-onednn.c, for its engine and data types: one face for both versions of the library. */

/* The library reads all of each. */
typedef struct
{
  dnnl_dims_t strides, dilates, before, after;
} Geometry;

/* What differs between the versions: descriptors of memory are structures in 2.6 and opaque in 3, and 3 has no descriptors
 * of operations. */
#if DNNL_VERSION_MAJOR == 2

typedef dnnl_memory_desc_t *Desc;

/* Without strides, the layout is the library's to choose. */
static Desc
make_desc (int n_dims, const dnnl_dim_t *dims, LpScalar scalar, const dnnl_dim_t *strides)
{
  Desc desc = g_new0 (dnnl_memory_desc_t, 1);
  dnnl_dims_t padded = { 0 }, steps = { 0 };

  for (int i = 0; i < n_dims; i++)
    {
      padded[i] = dims[i];
      steps[i] = strides != NULL ? strides[i] : 0;
    }
  if (strides != NULL)
    dnnl_memory_desc_init_by_strides (desc, n_dims, padded, data_types[scalar], steps);
  else
    dnnl_memory_desc_init_by_tag (desc, n_dims, padded, data_types[scalar], dnnl_format_tag_any);
  return desc;
}

static void
free_desc (Desc desc)
{
  g_free (desc);
}

static Desc
query_desc (const_dnnl_primitive_desc_t plan, dnnl_query_t what)
{
  return g_memdup2 (dnnl_primitive_desc_query_md (plan, what, 0), sizeof (dnnl_memory_desc_t));
}

static dnnl_status_t
append_sum (dnnl_post_ops_t ops)
{
  return dnnl_post_ops_append_sum (ops, 1);
}

static dnnl_status_t
plan_matmul (dnnl_primitive_desc_t *plan, Desc a, Desc b, Desc d, dnnl_primitive_attr_t attr)
{
  dnnl_matmul_desc_t desc;
  const dnnl_status_t status = dnnl_matmul_desc_init (&desc, a, b, NULL, d);

  return status == dnnl_success ? dnnl_primitive_desc_create (plan, &desc, attr, engine, NULL) : status;
}

static dnnl_status_t
plan_convolution (dnnl_primitive_desc_t *plan, LpConvPass pass, Desc x, Desc w, Desc bias, Desc y, const Geometry *g,
                  const_dnnl_primitive_desc_t hint, dnnl_primitive_attr_t attr)
{
  dnnl_convolution_desc_t desc;
  dnnl_status_t status;

  if (pass == LP_CONV_INPUT_GRAD)
    status = dnnl_dilated_convolution_backward_data_desc_init (&desc, dnnl_convolution_direct, x, w, y, g->strides, g->dilates,
                                                                g->before, g->after);
  else if (pass == LP_CONV_WEIGHT_GRAD)
    status = dnnl_dilated_convolution_backward_weights_desc_init (&desc, dnnl_convolution_direct, x, w, NULL, y, g->strides, g->dilates,
                                                                g->before, g->after);
  else
    status = dnnl_dilated_convolution_forward_desc_init (&desc, dnnl_forward_training, dnnl_convolution_direct, x, w, bias, y, g->strides, g->dilates,
                                                                g->before, g->after);
  return status == dnnl_success ? dnnl_primitive_desc_create (plan, &desc, attr, engine, hint) : status;
}

#else

typedef dnnl_memory_desc_t Desc;

/* Without strides, the layout is the library's to choose. */
static Desc
make_desc (int n_dims, const dnnl_dim_t *dims, LpScalar scalar, const dnnl_dim_t *strides)
{
  dnnl_dims_t padded = { 0 }, steps = { 0 };
  Desc desc = NULL;

  for (int i = 0; i < n_dims; i++)
    {
      padded[i] = dims[i];
      steps[i] = strides != NULL ? strides[i] : 0;
    }
  if (strides != NULL)
    dnnl_memory_desc_create_with_strides (&desc, n_dims, padded, data_types[scalar], steps);
  else
    dnnl_memory_desc_create_with_tag (&desc, n_dims, padded, data_types[scalar], dnnl_format_tag_any);
  return desc;
}

static void
free_desc (Desc desc)
{
  dnnl_memory_desc_destroy (desc);
}

static Desc
query_desc (const_dnnl_primitive_desc_t plan, dnnl_query_t what)
{
  Desc desc = NULL;

  dnnl_memory_desc_clone (&desc, dnnl_primitive_desc_query_md (plan, what, 0));
  return desc;
}

static dnnl_status_t
append_sum (dnnl_post_ops_t ops)
{
  return dnnl_post_ops_append_sum (ops, 1, 0, dnnl_data_type_undef);
}

static dnnl_status_t
plan_matmul (dnnl_primitive_desc_t *plan, Desc a, Desc b, Desc d, dnnl_primitive_attr_t attr)
{
  return dnnl_matmul_primitive_desc_create (plan, engine, a, b, NULL, d, attr);
}

static dnnl_status_t
plan_convolution (dnnl_primitive_desc_t *plan, LpConvPass pass, Desc x, Desc w, Desc bias, Desc y, const Geometry *g,
                  const_dnnl_primitive_desc_t hint, dnnl_primitive_attr_t attr)
{
  if (pass == LP_CONV_INPUT_GRAD)
    return dnnl_convolution_backward_data_primitive_desc_create (plan, engine, dnnl_convolution_direct, x, w, y, g->strides,
                                                                 g->dilates, g->before, g->after, hint, attr);
  if (pass == LP_CONV_WEIGHT_GRAD)
    return dnnl_convolution_backward_weights_primitive_desc_create (plan, engine, dnnl_convolution_direct, x, w, NULL, y, g->strides,
                                                                    g->dilates, g->before, g->after, hint, attr);
  return dnnl_convolution_forward_primitive_desc_create (plan, engine, dnnl_forward_training, dnnl_convolution_direct, x, w, bias, y,
                                                         g->strides, g->dilates, g->before, g->after, attr);
}

#endif
