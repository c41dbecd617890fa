#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <glib.h>

#include <lp/core/lp-version-macros.h>

G_BEGIN_DECLS

LP_AVAILABLE_IN_ALL
void      lp_report_exception  (const char  *message);
LP_AVAILABLE_IN_ALL
gboolean  lp_check_exceptions  (GError     **error);

G_END_DECLS
