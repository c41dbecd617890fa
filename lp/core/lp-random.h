#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <glib-object.h>

#include <lp/core/lp-version-macros.h>

G_BEGIN_DECLS

#define LP_TYPE_GENERATOR (lp_generator_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_FINAL_TYPE (LpGenerator, lp_generator, LP, GENERATOR, GObject)

LP_AVAILABLE_IN_ALL
LpGenerator *lp_generator_new          (guint64      seed,
                                        guint64      stream);
LP_AVAILABLE_IN_ALL
LpGenerator *lp_generator_get_default  (void);
LP_AVAILABLE_IN_ALL
void         lp_generator_push         (LpGenerator *self);
LP_AVAILABLE_IN_ALL
void         lp_generator_pop          (void);
LP_AVAILABLE_IN_ALL
gboolean     lp_generator_leave        (GError     **error);
LP_AVAILABLE_IN_ALL
LpGenerator *lp_generator_fork         (LpGenerator *self,
                                        guint64      stream);
LP_AVAILABLE_IN_ALL
guint64      lp_generator_get_seed     (LpGenerator *self);
LP_AVAILABLE_IN_ALL
void         lp_generator_set_seed     (LpGenerator *self,
                                        guint64      seed);
LP_AVAILABLE_IN_ALL
guint32      lp_generator_next         (LpGenerator *self);
LP_AVAILABLE_IN_ALL
double       lp_generator_next_double  (LpGenerator *self);
LP_AVAILABLE_IN_ALL
GVariant    *lp_generator_dup_state    (LpGenerator *self);
LP_AVAILABLE_IN_ALL
gboolean     lp_generator_set_state    (LpGenerator *self,
                                        GVariant    *state,
                                        GError     **error);
LP_AVAILABLE_IN_ALL
void         lp_seed_everything        (guint64      seed);

G_END_DECLS
