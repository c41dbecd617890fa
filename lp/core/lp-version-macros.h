#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <glib.h>

#include <lp/core/lp-version.h>

#ifndef _LP_EXTERN
#define _LP_EXTERN extern
#endif

/* LP_VERSION_1_0 and its siblings encode a minor release; a program pins itself with
 * LP_VERSION_MAX_ALLOWED and gets a deprecation warning for anything newer. */
#define LP_VERSION_1_0 (G_ENCODE_VERSION (1, 0))

#ifndef LP_VERSION_MAX_ALLOWED
#define LP_VERSION_MAX_ALLOWED LP_VERSION_1_0
#endif

#define LP_AVAILABLE_IN_ALL _LP_EXTERN
#define LP_AVAILABLE_IN_1_0 _LP_EXTERN
