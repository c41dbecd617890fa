#include <lp/core/lp-shape.h>

/**
 * LpShape:
 *
 * The extents of a tensor, outermost first. Immutable.
 */
struct _LpShape
{
  guint  n_dims;
  gint64 dims[LP_MAX_DIMS];
};

G_DEFINE_BOXED_TYPE (LpShape, lp_shape, lp_shape_ref, lp_shape_unref)

/**
 * lp_shape_new:
 * @dims: (array length=n_dims): the extents, outermost first
 * @n_dims: how many there are, at most %LP_MAX_DIMS
 *
 * Creates a shape. No extents make the shape of a scalar.
 *
 * Returns: (transfer full) (nullable): the shape, or %NULL with a critical
 *   warning if there are too many dimensions or one is negative
 */
LpShape *
lp_shape_new (const gint64 *dims,
              gsize         n_dims)
{
  LpShape *self;

  g_return_val_if_fail (n_dims <= LP_MAX_DIMS, NULL);
  for (gsize i = 0; i < n_dims; i++)
    g_return_val_if_fail (dims[i] >= 0, NULL);

  self = g_atomic_rc_box_new0 (LpShape);
  self->n_dims = n_dims;
  for (gsize i = 0; i < n_dims; i++)
    self->dims[i] = dims[i];

  return self;
}

/**
 * lp_shape_ref: (skip)
 * @self: a shape
 *
 * Takes a reference.
 *
 * Returns: (transfer full): @self
 */
LpShape *
lp_shape_ref (LpShape *self)
{
  return g_atomic_rc_box_acquire (self);
}

/**
 * lp_shape_unref: (skip)
 * @self: (transfer full): a shape
 *
 * Drops a reference.
 */
void
lp_shape_unref (LpShape *self)
{
  g_atomic_rc_box_release (self);
}

/**
 * lp_shape_get_n_dims:
 * @self: a shape
 *
 * Gets the number of dimensions.
 *
 * Returns: how many there are
 */
guint
lp_shape_get_n_dims (const LpShape *self)
{
  return self->n_dims;
}

/**
 * lp_shape_get_dim:
 * @self: a shape
 * @axis: an axis; -1 is the last one
 *
 * Gets the extent of an axis.
 *
 * Returns: the extent, or -1 if there is no such axis
 */
gint64
lp_shape_get_dim (const LpShape *self,
                  gint           axis)
{
  if (axis < 0)
    axis += self->n_dims;
  if (axis < 0 || axis >= (gint) self->n_dims)
    return -1;

  return self->dims[axis];
}

/**
 * lp_shape_dup_dims:
 * @self: a shape
 * @n_dims: (out): how many there are
 *
 * Gets all extents.
 *
 * Returns: (transfer full) (array length=n_dims): the extents, outermost first
 */
gint64 *
lp_shape_dup_dims (const LpShape *self,
                   gsize         *n_dims)
{
  *n_dims = self->n_dims;

  return g_memdup2 (self->dims, MAX (self->n_dims, 1) * sizeof (gint64));
}

/**
 * lp_shape_get_n_elements:
 * @self: a shape
 *
 * Gets the product of the extents: 1 for a scalar.
 *
 * Returns: the number of elements, or %G_MAXINT64 if there are more
 */
gint64
lp_shape_get_n_elements (const LpShape *self)
{
  gint64 n = 1;
  gboolean too_many = FALSE;

  for (guint i = 0; i < self->n_dims; i++)
    {
      if (self->dims[i] == 0)
        return 0;
      too_many |= __builtin_mul_overflow (n, self->dims[i], &n);
    }

  return too_many ? G_MAXINT64 : n;
}

/**
 * lp_shape_equal:
 * @self: a shape
 * @other: another one
 *
 * Compares two shapes.
 *
 * Returns: whether they have the same extents
 */
gboolean
lp_shape_equal (const LpShape *self,
                const LpShape *other)
{
  if (self->n_dims != other->n_dims)
    return FALSE;

  for (guint i = 0; i < self->n_dims; i++)
    if (self->dims[i] != other->dims[i])
      return FALSE;

  return TRUE;
}

/**
 * lp_shape_to_string:
 * @self: a shape
 *
 * Formats a shape as `[2, 3]`.
 *
 * Returns: (transfer full): the text
 */
char *
lp_shape_to_string (const LpShape *self)
{
  GString *text = g_string_new ("[");

  for (guint i = 0; i < self->n_dims; i++)
    g_string_append_printf (text, "%s%" G_GINT64_FORMAT, i > 0 ? ", " : "", self->dims[i]);

  return g_string_free (g_string_append_c (text, ']'), FALSE);
}
