#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* The stacks that each thread has: what holds for its operations until it is popped. While user code runs between a push and a
 * pop of the library's, a floor keeps it from popping what it has not pushed. */
typedef enum
{
  LP_THREAD_DTYPES,
  LP_THREAD_GENERATORS,
  LP_THREAD_GRAD_MODES,
  LP_THREAD_SCOPES,
  LP_N_THREAD_STACKS
} LpThreadStack;

typedef guint (*LpThreadDepthFunc) (void);
typedef void (*LpThreadDropFunc) (void);

typedef struct
{
  guint depths[LP_N_THREAD_STACKS];
} LpThreadDepths;

typedef struct
{
  LpThreadDepths start;
  guint          floors[LP_N_THREAD_STACKS];
  guint          fouls;
} LpThreadRegion;

/* Before the first push: how many entries there are on this thread, and what drops the last one. */
void     _lp_thread_stack_register  (LpThreadStack which, LpThreadDepthFunc depth, LpThreadDropFunc drop);

/* FALSE for a pop that must not be: inside a region its end will tell, outside it is a critical. */
gboolean _lp_thread_stack_may_pop   (LpThreadStack which, guint depth);
/* The same with LP_ERROR_STATE, which the region then needn't tell. */
gboolean _lp_thread_stack_check_pop (LpThreadStack which, guint depth, GError **error);

void     _lp_thread_get_depths      (LpThreadDepths *depths);
/* Drops what was pushed since; the stacks of which something was dropped, as bits. */
guint    _lp_thread_restore         (const LpThreadDepths *depths);
/* LP_ERROR_STATE that names @type, @method and one of the stacks; always FALSE. */
gboolean _lp_thread_refuse_leftover (guint stacks, const char *type, const char *method, GError **error);

void     _lp_thread_region_enter    (LpThreadRegion *region);
/* The stacks are as they were on entry, whatever it returns. LP_ERROR_STATE when they had to be put right. */
gboolean _lp_thread_region_leave    (LpThreadRegion *region, const char *type, const char *method, GError **error);

G_END_DECLS
