#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <glib-object.h>

#include <lp/core/lp-version-macros.h>

G_BEGIN_DECLS

/**
 * LP_MAX_DIMS:
 *
 * The largest number of dimensions of a tensor.
 */
#define LP_MAX_DIMS 8

#define LP_TYPE_SHAPE (lp_shape_get_type ())

typedef struct _LpShape LpShape;

/**
 * LP_SHAPE: (skip)
 * @...: the extents, outermost first
 *
 * A new [struct@Shape], for C.
 */
#define LP_SHAPE(...) \
  lp_shape_new ((const gint64[]) { __VA_ARGS__ }, \
                sizeof ((const gint64[]) { __VA_ARGS__ }) / sizeof (gint64))

LP_AVAILABLE_IN_ALL
GType    lp_shape_get_type     (void) G_GNUC_CONST;
LP_AVAILABLE_IN_ALL
LpShape *lp_shape_new          (const gint64  *dims,
                                gsize          n_dims);
LP_AVAILABLE_IN_ALL
LpShape *lp_shape_ref          (LpShape       *self);
LP_AVAILABLE_IN_ALL
void     lp_shape_unref        (LpShape       *self);
LP_AVAILABLE_IN_ALL
guint    lp_shape_get_n_dims   (const LpShape *self);
LP_AVAILABLE_IN_ALL
gint64   lp_shape_get_dim      (const LpShape *self,
                                gint           axis);
LP_AVAILABLE_IN_ALL
gint64  *lp_shape_dup_dims     (const LpShape *self,
                                gsize         *n_dims);
LP_AVAILABLE_IN_ALL
gint64   lp_shape_get_n_elements (const LpShape *self);
LP_AVAILABLE_IN_ALL
gboolean lp_shape_equal        (const LpShape *self,
                                const LpShape *other);
LP_AVAILABLE_IN_ALL
char    *lp_shape_to_string    (const LpShape *self);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (LpShape, lp_shape_unref)

G_END_DECLS
