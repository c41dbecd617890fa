#pragma once

#include <lp/optim/lp-param-group.h>
#include <lp/tensor/lp-tensor-private.h>

G_BEGIN_DECLS

#define LP_N_MOMENTS 2

/* One parameter of a group and its places in the flat buckets. */
typedef struct
{
  LpTensor *parameter;
  LpTensor *master;        /* f32, or f64; NULL when the parameter is its own */
  LpTensor *grad;          /* the slice of the bucket, which is the gradient of the parameter */
  gint      clean_version; /* of the slice's storage when it was zeroed */
  gboolean  present;       /* has a gradient in this step */
  LpDType  *dtype;         /* of the parameter when the buckets were made; borrowed from it */
  guint     bucket;
  gsize     offset;        /* in elements */
  gsize     n;
  gint64    step;          /* how often it was updated */
} LpParamSlot;

/* The gradients of all parameters of one gradient dtype, dtype of moments and device, and their moments. */
typedef struct
{
  LpDType  *grad_dtype;
  LpDType  *moment_dtype;
  LpDevice *device;
  gsize     n;
  LpTensor *grad;
  LpTensor *moments[LP_N_MOMENTS];   /* made when first asked for */
} LpParamBucket;

struct _LpParamGroup
{
  GObject    parent_instance;

  GPtrArray *parameters;
  double     lr;
  double     base_lr;
  double     weight_decay;
  LpDType   *master_dtype;
  gboolean   stochastic_rounding;
  guint      index;     /* in its optimizer */
  guint      stream;    /* of its optimizer in the run */

  GArray    *slots;     /* LpParamSlot; NULL until prepared */
  GArray    *buckets;   /* LpParamBucket */
};

/* Makes the buckets. LP_ERROR_STATE when a parameter has changed its dtype or device since. */
gboolean     _lp_param_group_prepare     (LpParamGroup *self, GError **error);
void         _lp_param_group_clear       (LpParamGroup *self);

/* Brings gradients that others set into the buckets and says which parameters have one. */
gboolean     _lp_param_group_gather      (LpParamGroup *self, GError **error);
gboolean     _lp_param_group_zero_grad   (LpParamGroup *self, GError **error);

/* The flat moment @i, zeroed when new. NULL with an error. */
LpTensor    *_lp_param_group_get_moment  (LpParamGroup *self, guint bucket, guint i, GError **error);
/* The part of a parameter in it, as a tensor of the parameter's shape. */
LpTensor    *_lp_param_slot_view_moment (LpParamSlot *slot, LpTensor *flat);

/* Where the random numbers for the next rounding of a parameter are: a stream per optimizer of a run, group and parameter, an
 * offset per step. */
LpRandomPoint _lp_param_group_get_random (LpParamGroup *self, LpParamSlot *slot, guint index);
/* And those for its moments: the same place in the other half of the stream. */
LpRandomPoint _lp_param_group_get_moment_random (LpParamGroup *self, LpParamSlot *slot, guint index);
/* Writes the master of @slot back to the stored weight. */
gboolean     _lp_param_group_store       (LpParamGroup *self, LpParamSlot *slot, guint index, GError **error);
/* A mark that changes whenever a gradient does. */
guint64      _lp_param_group_get_mark    (LpParamGroup *self);

static inline LpParamSlot *
_lp_param_group_get_slot (LpParamGroup *self, guint i)
{
  return &g_array_index (self->slots, LpParamSlot, i);
}

static inline LpParamBucket *
_lp_param_group_get_bucket (LpParamGroup *self, guint i)
{
  return &g_array_index (self->buckets, LpParamBucket, i);
}

G_END_DECLS
