#include <lp/precision/lp-precision-state.h>

/**
 * LpPrecisionState:
 *
 * The three values that a precision plugin reports, as they were at one moment. It never changes.
 */
struct _LpPrecisionState
{
  const char *precision;
  const char *amp_backend;
  const char *amp_level;
};

G_DEFINE_BOXED_TYPE (LpPrecisionState, lp_precision_state, lp_precision_state_ref, lp_precision_state_unref)

/**
 * lp_precision_state_new:
 * @precision: (nullable): a precision
 * @amp_backend: (nullable): a backend
 * @amp_level: (nullable): a level
 *
 * Creates a state.
 *
 * Returns: (transfer full): the state
 */
LpPrecisionState *
lp_precision_state_new (const char *precision,
                        const char *amp_backend,
                        const char *amp_level)
{
  LpPrecisionState *self = g_atomic_rc_box_new0 (LpPrecisionState);

  self->precision = g_intern_string (precision);
  self->amp_backend = g_intern_string (amp_backend);
  self->amp_level = g_intern_string (amp_level);

  return self;
}

/**
 * lp_precision_state_ref:
 * @self: a state
 *
 * Takes a reference.
 *
 * Returns: (transfer full): @self
 */
LpPrecisionState *
lp_precision_state_ref (LpPrecisionState *self)
{
  g_return_val_if_fail (self != NULL, NULL);

  return g_atomic_rc_box_acquire (self);
}

/**
 * lp_precision_state_unref:
 * @self: (transfer full): a state
 *
 * Drops a reference.
 */
void
lp_precision_state_unref (LpPrecisionState *self)
{
  g_return_if_fail (self != NULL);

  g_atomic_rc_box_release (self);
}

/**
 * lp_precision_state_get_precision:
 * @self: a state
 *
 * Gets the precision.
 *
 * Returns: (transfer none) (nullable): the precision, such as `16-mixed`
 */
const char *
lp_precision_state_get_precision (const LpPrecisionState *self)
{
  g_return_val_if_fail (self != NULL, NULL);

  return self->precision;
}

/**
 * lp_precision_state_get_amp_backend:
 * @self: a state
 *
 * Gets the backend of mixed precision.
 *
 * Returns: (transfer none) (nullable): the backend, such as `native`
 */
const char *
lp_precision_state_get_amp_backend (const LpPrecisionState *self)
{
  g_return_val_if_fail (self != NULL, NULL);

  return self->amp_backend;
}

/**
 * lp_precision_state_get_amp_level:
 * @self: a state
 *
 * Gets the level of the backend.
 *
 * Returns: (transfer none) (nullable): the level, such as `O2`
 */
const char *
lp_precision_state_get_amp_level (const LpPrecisionState *self)
{
  g_return_val_if_fail (self != NULL, NULL);

  return self->amp_level;
}

/**
 * lp_precision_state_equal:
 * @self: a state
 * @other: a state
 *
 * Compares two states.
 *
 * Returns: whether all three values are the same
 */
gboolean
lp_precision_state_equal (const LpPrecisionState *self,
                          const LpPrecisionState *other)
{
  g_return_val_if_fail (self != NULL, FALSE);
  g_return_val_if_fail (other != NULL, FALSE);

  return self->precision == other->precision && self->amp_backend == other->amp_backend &&
         self->amp_level == other->amp_level;
}
