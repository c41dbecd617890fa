#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/tensor/lp-tensor-dict.h>

G_BEGIN_DECLS

#define LP_TYPE_MODULE (lp_module_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_DERIVABLE_TYPE (LpModule, lp_module, LP, MODULE, GObject)

/**
 * LpModuleClass:
 * @forward: computes the output for an input
 */
struct _LpModuleClass
{
  GObjectClass parent_class;

  LpTensor *(* forward) (LpModule  *self,
                         LpTensor  *input,
                         GError   **error);

  /*< private >*/
  gpointer padding[16];
};

LP_AVAILABLE_IN_ALL
LpTensor     *lp_module_forward             (LpModule      *self,
                                             LpTensor      *input,
                                             GError       **error);
LP_AVAILABLE_IN_ALL
gboolean      lp_module_check               (LpModule      *self,
                                             GError       **error);

/* What it is made of. */
LP_AVAILABLE_IN_ALL
gboolean      lp_module_register_parameter  (LpModule      *self,
                                             const char    *name,
                                             LpTensor      *tensor,
                                             GError       **error);
LP_AVAILABLE_IN_ALL
gboolean      lp_module_register_buffer     (LpModule      *self,
                                             const char    *name,
                                             LpTensor      *tensor,
                                             GError       **error);
LP_AVAILABLE_IN_ALL
gboolean      lp_module_register_child      (LpModule      *self,
                                             const char    *name,
                                             LpModule      *child,
                                             GError       **error);
LP_AVAILABLE_IN_ALL
GPtrArray    *lp_module_dup_parameters      (LpModule      *self);
LP_AVAILABLE_IN_ALL
char        **lp_module_dup_parameter_names (LpModule      *self);
LP_AVAILABLE_IN_ALL
GPtrArray    *lp_module_dup_buffers         (LpModule      *self);
LP_AVAILABLE_IN_ALL
char        **lp_module_dup_buffer_names    (LpModule      *self);
LP_AVAILABLE_IN_ALL
GPtrArray    *lp_module_dup_children        (LpModule      *self);
LP_AVAILABLE_IN_ALL
char        **lp_module_dup_child_names     (LpModule      *self);
LP_AVAILABLE_IN_ALL
GPtrArray    *lp_module_dup_modules         (LpModule      *self);
LP_AVAILABLE_IN_ALL
char        **lp_module_dup_module_names    (LpModule      *self);

/* By path: "features.0.weight". */
LP_AVAILABLE_IN_ALL
LpTensor     *lp_module_lookup_parameter    (LpModule      *self,
                                             const char    *path);
LP_AVAILABLE_IN_ALL
gboolean      lp_module_set_parameter       (LpModule      *self,
                                             const char    *path,
                                             LpTensor      *tensor,
                                             GError       **error);
LP_AVAILABLE_IN_ALL
LpTensor     *lp_module_lookup_buffer       (LpModule      *self,
                                             const char    *path);
LP_AVAILABLE_IN_ALL
gboolean      lp_module_set_buffer          (LpModule      *self,
                                             const char    *path,
                                             LpTensor      *tensor,
                                             GError       **error);
LP_AVAILABLE_IN_ALL
LpModule     *lp_module_lookup_child        (LpModule      *self,
                                             const char    *path);
LP_AVAILABLE_IN_ALL
gboolean      lp_module_set_child           (LpModule      *self,
                                             const char    *path,
                                             LpModule      *child,
                                             GError       **error);
LP_AVAILABLE_IN_ALL
const char   *lp_module_get_path            (LpModule      *self);

LP_AVAILABLE_IN_ALL
gboolean      lp_module_get_training        (LpModule      *self);
LP_AVAILABLE_IN_ALL
void          lp_module_set_training        (LpModule      *self,
                                             gboolean       training);
LP_AVAILABLE_IN_ALL
void          lp_module_set_requires_grad   (LpModule      *self,
                                             gboolean       requires_grad);
LP_AVAILABLE_IN_ALL
void          lp_module_zero_grad           (LpModule      *self);

LP_AVAILABLE_IN_ALL
gint64        lp_module_get_n_parameters    (LpModule      *self);
LP_AVAILABLE_IN_ALL
gint64        lp_module_get_n_bytes         (LpModule      *self);

LP_AVAILABLE_IN_ALL
gboolean      lp_module_to_dtype            (LpModule      *self,
                                             LpDType       *dtype,
                                             GError       **error);
LP_AVAILABLE_IN_ALL
gboolean      lp_module_to_device           (LpModule      *self,
                                             LpDevice      *device,
                                             GError       **error);

LP_AVAILABLE_IN_ALL
LpTensorDict *lp_module_dup_state_dict      (LpModule      *self);
LP_AVAILABLE_IN_ALL
gboolean      lp_module_load_state_dict     (LpModule      *self,
                                             LpTensorDict  *state,
                                             gboolean       strict,
                                             GError       **error);

G_END_DECLS
