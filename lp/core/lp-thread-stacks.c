#include <lp/core/lp-thread-stacks-private.h>

#include <lp/core/lp-error.h>

static const char *const names[LP_N_THREAD_STACKS] = { "default dtype", "generator", "grad mode", "compute scope" };

/* Set before the first push of each, and the same from then on. */
static LpThreadDepthFunc depth_funcs[LP_N_THREAD_STACKS];
static LpThreadDropFunc drop_funcs[LP_N_THREAD_STACKS];

static _Thread_local guint floors[LP_N_THREAD_STACKS];
static _Thread_local guint n_regions;
static _Thread_local guint fouls;

void
_lp_thread_stack_register (LpThreadStack      which,
                           LpThreadDepthFunc  depth,
                           LpThreadDropFunc   drop)
{
  g_atomic_pointer_set (&drop_funcs[which], drop);
  g_atomic_pointer_set (&depth_funcs[which], depth);
}

static guint
get_depth (LpThreadStack which)
{
  LpThreadDepthFunc depth = g_atomic_pointer_get (&depth_funcs[which]);

  return depth != NULL ? depth () : 0;
}

gboolean
_lp_thread_stack_may_pop (LpThreadStack which,
                          guint         depth)
{
  if (depth > floors[which])
    return TRUE;

  g_return_val_if_fail (n_regions > 0, FALSE);

  fouls |= 1u << which;

  return FALSE;
}

gboolean
_lp_thread_stack_check_pop (LpThreadStack   which,
                            guint           depth,
                            GError        **error)
{
  if (depth > floors[which])
    return TRUE;

  g_set_error (error, LP_ERROR, LP_ERROR_STATE, "There is no %s to pop: %s", names[which],
               n_regions > 0 && depth > 0 ? "the one around this is not the caller's, and ends by itself" : "none was pushed");
  return FALSE;
}

void
_lp_thread_get_depths (LpThreadDepths *depths)
{
  for (guint i = 0; i < LP_N_THREAD_STACKS; i++)
    depths->depths[i] = get_depth (i);
}

guint
_lp_thread_restore (const LpThreadDepths *depths)
{
  guint dropped = 0;

  for (guint i = 0; i < LP_N_THREAD_STACKS; i++)
    for (guint n = get_depth (i); n > depths->depths[i]; n--)
      {
        drop_funcs[i] ();
        dropped |= 1u << i;
      }

  return dropped;
}

static const char *
name_first (guint stacks)
{
  return names[g_bit_nth_lsf (stacks, -1)];
}

gboolean
_lp_thread_refuse_leftover (guint        stacks,
                            const char  *type,
                            const char  *method,
                            GError     **error)
{
  g_set_error (error, LP_ERROR, LP_ERROR_STATE, "%s.%s left a %s on this thread, which was taken off: what is pushed has to be popped, "
               "on every way out", type, method, name_first (stacks));
  return FALSE;
}

void
_lp_thread_region_enter (LpThreadRegion *region)
{
  _lp_thread_get_depths (&region->start);
  for (guint i = 0; i < LP_N_THREAD_STACKS; i++)
    {
      region->floors[i] = floors[i];
      floors[i] = region->start.depths[i];
    }
  region->fouls = fouls;
  fouls = 0;
  n_regions++;
}

gboolean
_lp_thread_region_leave (LpThreadRegion  *region,
                         const char      *type,
                         const char      *method,
                         GError         **error)
{
  guint dropped = _lp_thread_restore (&region->start);
  guint popped = fouls;

  for (guint i = 0; i < LP_N_THREAD_STACKS; i++)
    floors[i] = region->floors[i];
  fouls = region->fouls;
  n_regions--;

  if (popped == 0)
    return dropped == 0 || _lp_thread_refuse_leftover (dropped, type, method, error);

  g_set_error (error, LP_ERROR, LP_ERROR_STATE, "%s.%s popped a %s that it had not pushed; it was left in place", type, method,
               name_first (popped));
  return FALSE;
}
