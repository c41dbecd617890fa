#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <glib-object.h>

#include <lp/core/lp-version-macros.h>

G_BEGIN_DECLS

/**
 * LpError:
 * @LP_ERROR_SHAPE: shapes that don't fit each other or the operation
 * @LP_ERROR_DTYPE: a dtype that the operation can't use
 * @LP_ERROR_DEVICE: a device that is missing, or tensors on different ones
 * @LP_ERROR_IO: a file that can't be read or written
 * @LP_ERROR_FORMAT: a file or buffer whose contents break its format
 * @LP_ERROR_STATE: the call is not possible now
 * @LP_ERROR_ARGUMENT: a value outside its range
 * @LP_ERROR_UNKNOWN: a name that no registry knows
 * @LP_ERROR_EXISTS: a name that is taken
 * @LP_ERROR_SUBCLASS: a subclass broke the contract of a virtual function
 * @LP_ERROR_NOT_SUPPORTED: a subclass or device doesn't implement this
 * @LP_ERROR_NOT_FINITE: a loss or gradient that is not a finite number
 * @LP_ERROR_MEMORY: memory ran out
 * @LP_ERROR_CONFLICT: two values that exclude each other
 *
 * The kinds of fault that LP reports.
 */
typedef enum {
  LP_ERROR_SHAPE,
  LP_ERROR_DTYPE,
  LP_ERROR_DEVICE,
  LP_ERROR_IO,
  LP_ERROR_FORMAT,
  LP_ERROR_STATE,
  LP_ERROR_ARGUMENT,
  LP_ERROR_UNKNOWN,
  LP_ERROR_EXISTS,
  LP_ERROR_SUBCLASS,
  LP_ERROR_NOT_SUPPORTED,
  LP_ERROR_NOT_FINITE,
  LP_ERROR_MEMORY,
  LP_ERROR_CONFLICT
} LpError;

#define LP_ERROR (lp_error_quark ())
#define LP_TYPE_ERROR (lp_error_get_type ())

LP_AVAILABLE_IN_ALL
GQuark lp_error_quark (void);
LP_AVAILABLE_IN_ALL
GType  lp_error_get_type (void) G_GNUC_CONST;

G_END_DECLS
