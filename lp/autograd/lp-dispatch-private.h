#pragma once

#include <lp/autograd/lp-compute-scope-private.h>
#include <lp/autograd/lp-function.h>
#include <lp/autograd/lp-grad-mode.h>
#include <lp/tensor/lp-tensor-private.h>

G_BEGIN_DECLS

#define LP_MAX_SAVED 5

/* Inputs up to which nothing is allocated for an array of them. */
#define LP_MAX_STACK_INPUTS 8

typedef struct _LpOp LpOp;

/* The plain arguments of an operation; each family says what they mean. */
typedef struct
{
  double numbers[3];
  gint64 ints[2 * LP_MAX_DIMS];
} LpOpArgs;

/* One running operation. Inputs are as the operation computes with them: cast, on one device. */
typedef struct
{
  const LpOp      *op;
  LpTensor       **inputs;
  LpTensor       **originals;      /* the same before casts; leaves are parameters */
  int              n_inputs;
  LpOpArgs         args;
  gboolean         recording;
  LpComputeScope  *scope;
  const char      *site;
  LpTensor        *saved[LP_MAX_SAVED];   /* owned: what backward needs beside the inputs */
} LpOpCall;

/* An entry of the table of operations. */
struct _LpOp
{
  const char       *name;
  LpAutocastClass   autocast;
  /* checks shapes, allocates and computes */
  LpTensor       *(* forward)  (LpOpCall *call, GError **error);
  /* fills grads[i] (owned) of the inputs that need one; NULL when there is no gradient at all */
  gboolean        (* backward) (LpNode *node, LpTensor *grad_output, LpTensor **grads, GError **error);
  guint             keeps;         /* bit i: backward reads input i */
  gboolean          keeps_output;  /* backward reads the output, as saved[LP_MAX_SAVED - 1] */
};

/* Where a gradient goes: to the node that made the input, or to a leaf. */
typedef struct
{
  LpNode   *node;
  LpTensor *leaf;
  LpTensor *value;      /* the input as computed with, when the operation keeps it */
  gint      version;
  LpDType  *dtype;      /* of the gradient */
} LpEdge;

struct _LpNode
{
  gatomicrefcount  ref_count;
  const LpOp      *op;
  LpFunction      *function;
  guint64          sequence;
  LpComputeScope  *scope;
  const char      *site;
  LpOpArgs         args;
  LpTensor        *saved[LP_MAX_SAVED];
  LpTensor        *grad;           /* summed up while backward runs */
  gboolean         consumed;
  int              n_inputs;
  LpEdge           edges[];
};

/* The one way in: casts, computes and records. Chains errors: returns NULL when an input is NULL. */
LpTensor *_lp_dispatch (const LpOp *op, LpTensor **inputs, int n_inputs, const LpOpArgs *args, GError **error);

/* How often a parameter was cast to 16 bits, for tests. */
extern guint64 _lp_n_weight_casts;

/* Makes @result the output of a node over @inputs. */
LpNode   *_lp_node_new    (LpTensor **inputs, int n_inputs);
void      _lp_node_attach (LpNode *node, LpTensor *result);

static inline gboolean
_lp_node_needs (LpNode *self, int input)
{
  return self->edges[input].node != NULL || self->edges[input].leaf != NULL;
}

/* A gradient buffer of input @input that backward may add to itself, instead of returning a gradient; or NULL. */
LpTensor *_lp_node_get_accumulator (LpNode *self, int input);

G_END_DECLS
