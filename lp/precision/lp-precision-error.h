#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <glib-object.h>
#include <lp/core/lp-version-macros.h>

G_BEGIN_DECLS

/**
 * LpPrecisionError:
 * @LP_PRECISION_ERROR_UNKNOWN: no precision of that name
 * @LP_PRECISION_ERROR_UNSUPPORTED: a value or configuration that the plugin can't work with
 * @LP_PRECISION_ERROR_CONFLICT: two requests that exclude each other, or a plugin that is in use elsewhere
 * @LP_PRECISION_ERROR_MISSING_DEPENDENCY: a library or device that the plugin needs is missing
 * @LP_PRECISION_ERROR_BAD_LEVEL: an amp level that the backend doesn't have
 * @LP_PRECISION_ERROR_BAD_SCALER: a gradient scaler that can't be used, or used out of order
 * @LP_PRECISION_ERROR_BAD_STATE: saved state that doesn't fit
 *
 * What can be wrong with a precision.
 */
typedef enum {
  LP_PRECISION_ERROR_UNKNOWN,
  LP_PRECISION_ERROR_UNSUPPORTED,
  LP_PRECISION_ERROR_CONFLICT,
  LP_PRECISION_ERROR_MISSING_DEPENDENCY,
  LP_PRECISION_ERROR_BAD_LEVEL,
  LP_PRECISION_ERROR_BAD_SCALER,
  LP_PRECISION_ERROR_BAD_STATE
} LpPrecisionError;

#define LP_PRECISION_ERROR (lp_precision_error_quark ())
#define LP_TYPE_PRECISION_ERROR (lp_precision_error_get_type ())

LP_AVAILABLE_IN_ALL
GQuark lp_precision_error_quark (void);
LP_AVAILABLE_IN_ALL
GType  lp_precision_error_get_type (void) G_GNUC_CONST;

G_END_DECLS
