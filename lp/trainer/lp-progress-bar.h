#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/trainer/lp-callback.h>

G_BEGIN_DECLS

#define LP_TYPE_PROGRESS_BAR (lp_progress_bar_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_FINAL_TYPE (LpProgressBar, lp_progress_bar, LP, PROGRESS_BAR, LpCallback)

LP_AVAILABLE_IN_ALL
LpCallback *lp_progress_bar_new (void);
LP_AVAILABLE_IN_ALL
guint lp_progress_bar_get_refresh_rate (LpProgressBar *self);
LP_AVAILABLE_IN_ALL
void lp_progress_bar_set_refresh_rate (LpProgressBar *self,
                                       guint refresh_rate);

G_END_DECLS
