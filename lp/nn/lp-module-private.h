#pragma once

#include <lp/nn/lp-module.h>
#include <lp/tensor/lp-tensor-private.h>

G_BEGIN_DECLS

/* A parameter or buffer under an interned name. */
typedef struct
{
  const char *name;
  LpTensor   *tensor;
} LpSlot;

typedef struct
{
  const char *name;
  LpModule   *module;
} LpChild;

typedef struct
{
  GArray     *parameters;   /* LpSlot */
  GArray     *buffers;      /* LpSlot */
  GArray     *children;     /* LpChild */
  const char *path;         /* interned */
  GError     *problem;      /* of construction */
  gboolean    training;
} LpModuleData;

LpModuleData *_lp_module_get_data     (LpModule *self);

/* Makes every forward and lp_module_check() fail with @problem, which is taken. */
void          _lp_module_take_problem (LpModule *self, GError *problem);

/* In the order of registration; NULL past the end. Borrowed. */
static inline LpTensor *
_lp_module_peek_parameter (LpModule *self, guint i)
{
  GArray *slots = _lp_module_get_data (self)->parameters;

  return i < slots->len ? g_array_index (slots, LpSlot, i).tensor : NULL;
}

static inline LpTensor *
_lp_module_peek_buffer (LpModule *self, guint i)
{
  GArray *slots = _lp_module_get_data (self)->buffers;

  return i < slots->len ? g_array_index (slots, LpSlot, i).tensor : NULL;
}

/* A new parameter, not yet filled, in the default dtype; NULL with the problem recorded. Borrowed. */
LpTensor     *_lp_module_add_parameter (LpModule *self, const char *name, const gint64 *dims, int n_dims);
LpTensor     *_lp_module_add_buffer    (LpModule *self, const char *name, const gint64 *dims, int n_dims, double value);
/* Draws @tensor uniformly from plus or minus 1 / sqrt (@fan_in); NULL is ignored, and a problem recorded. */
void          _lp_module_fill          (LpModule *self, LpTensor *tensor, gint64 fan_in);
/* Records LP_ERROR_ARGUMENT unless @value is at least @least. */
gboolean      _lp_module_check_at_least (LpModule *self, const char *what, gint64 value, gint64 least);

/* lp_module_to_dtype(), but the tensors in @kept stay as they are. */
gboolean      _lp_module_to_dtype_except (LpModule *self, LpDType *dtype, GPtrArray *kept, GError **error);

/* All modules, depth first, each once; the path is relative to @self. Stops at FALSE. */
typedef gboolean (* LpModuleVisitor) (LpModule *module, const char *path, gpointer data);
void          _lp_module_walk          (LpModule *self, LpModuleVisitor visitor, gpointer data);

/* The path of a layer whose adapters are merged, or NULL. */
char         *_lp_module_dup_merged_path      (LpModule *self);
void          _lp_module_separate_state       (LpModule *self, LpTensorDict *dict);

G_END_DECLS
