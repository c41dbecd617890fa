#pragma once

#include <lp/precision/lp-grad-scaler.h>
#include <lp/precision/lp-precision-run-private.h>

G_BEGIN_DECLS

typedef struct
{
  LpPrecisionState *state;        /* atomic; the records it pointed to are kept in @states */
  GPtrArray        *states;
  GMutex            lock;         /* of @states */

  /* Until the object is constructed. */
  const char       *precision;
  const char       *amp_backend;
  const char       *amp_level;

  gboolean          initialised;
  gboolean          initialising;
  gint              attached;     /* atomic */
  guint             n_optimizers; /* converted since then */
  gboolean          scales;       /* the last loss */

  GArray           *marks;        /* LpInitMark, of each begin_init */
  guint             n_pushed;     /* dtypes, by the default begin_init */
  GArray           *scopes;       /* LpPushedScope */
  guint             floor;        /* so many of them are of steps that are on */
  gboolean          held;         /* whoever attached it detaches it */
  LpComputeScope   *scope;        /* the last one made of a policy alone */
} LpPrecisionPluginData;

/* The scaler of a plugin; NULL while it scales nothing. */
typedef LpGradScaler *(*LpPeekScalerFunc) (LpPrecisionPlugin *self);

typedef struct
{
  LpPeekScalerFunc peek_scaler;
} LpPrecisionPluginClassData;

typedef struct
{
  gboolean       dtype;
  gboolean       scope;
  LpThreadDepths before;
} LpPushedScope;

typedef struct
{
  LpThreadDepths before;
  guint          n_pushed;
} LpInitMark;

LpPrecisionPluginData *_lp_precision_plugin_get_data      (LpPrecisionPlugin *self);

LpPrecisionPluginClassData *_lp_precision_plugin_class_get_data (LpPrecisionPluginClass *klass);
void                   _lp_precision_plugin_class_set_defaults (LpPrecisionPluginClass *klass);
/* Fills the slots from the loss to the state with functions that use what @peek_scaler gives. */
void                   _lp_precision_plugin_class_set_scaler (LpPrecisionPluginClass *klass, LpPeekScalerFunc peek_scaler);

/* To be called before the base class's constructed: values that were not asked for. */
void                   _lp_precision_plugin_set_defaults  (LpPrecisionPlugin *self,
                                                           const char        *precision,
                                                           const char        *amp_backend);
/* The current precision, interned. */
const char            *_lp_precision_plugin_peek_precision (LpPrecisionPlugin *self);
const char            *_lp_precision_plugin_peek_amp_level (LpPrecisionPlugin *self);
gboolean               _lp_precision_plugin_ensure_init   (LpPrecisionPlugin *self, GError **error);

/* LP_PRECISION_ERROR_UNSUPPORTED unless @state says one of @names (NULL-terminated) and @amp_backend, and no level. */
gboolean               _lp_precision_plugin_check_names   (LpPrecisionPlugin *self, LpPrecisionState *state,
                                                           const char *const *names, const char *amp_backend,
                                                           GError **error);

/* The same unless the backend is the one that is @wanted, or NULL. */
gboolean               _lp_precision_plugin_check_backend (LpPrecisionPlugin *self, const char *backend, const char *wanted,
                                                           GError **error);

/* LP_PRECISION_ERROR_UNSUPPORTED when a weight of @module is f16, naming it: its gradients can't be unscaled. */
gboolean               _lp_precision_plugin_check_no_f16  (LpPrecisionPlugin *self, LpModule *module, GError **error);

/* What comes out of a step in @dtype goes on in the dtype of the program. */
LpTensor              *_lp_precision_plugin_give_out      (LpTensor *tensor, LpDType *dtype, GError **error);

/* The default of the slot, for finding out whether a class has one of its own. */
LpTensor              *_lp_precision_plugin_real_quantize_operand (LpPrecisionPlugin *self, LpOperand *operand,
                                                                   GError **error);
LpTensor              *_lp_precision_plugin_real_matmul           (LpPrecisionPlugin *self, LpMatmul *matmul,
                                                                   GError **error);

/* Pops whatever the plugin has pushed. */
void                   _lp_precision_plugin_unwind_all    (LpPrecisionPlugin *self);

/* Checks the result of a virtual function. They take @local. */
gboolean               _lp_precision_plugin_end_boolean   (LpPrecisionPlugin *self, const char *method, gboolean ok,
                                                           GError *local, GError **error);
/* Takes @result, too. */
gpointer               _lp_precision_plugin_end_object    (LpPrecisionPlugin *self, const char *method, gpointer result,
                                                           GType type, gboolean nullable, GError *local,
                                                           GError **error);

G_END_DECLS
