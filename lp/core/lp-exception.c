#include <lp/core/lp-exception.h>

#include <lp/core/lp-error.h>

/* The first that nobody has heard of. */
static GPrivate reported = G_PRIVATE_INIT (g_free);
static _Thread_local gboolean any;

/**
 * lp_report_exception:
 * @message: what was raised, and by what
 *
 * For bindings: tells of an exception in an override of a virtual function that can't give an error itself. What LP does next on this
 * thread and can fail, does, with this message: a step of a run, a function of a plugin, an optimizer's step, a batch.
 *
 * The first one counts until it was heard.
 */
void
lp_report_exception (const char *message)
{
  g_return_if_fail (message != NULL);

  if (any)
    return;

  g_private_replace (&reported, g_strdup (message));
  any = TRUE;
}

/**
 * lp_check_exceptions:
 * @error: return location for an error
 *
 * Finds out whether an exception was reported on this thread, and forgets it. With nobody to tell, as @error is %NULL, it is kept.
 *
 * Returns: %TRUE if there was none. Errors: %LP_ERROR_SUBCLASS with its message
 */
gboolean
lp_check_exceptions (GError **error)
{
  if (G_LIKELY (!any))
    return TRUE;
  if (error == NULL)
    return FALSE;

  any = FALSE;
  g_set_error_literal (error, LP_ERROR, LP_ERROR_SUBCLASS, g_private_get (&reported));
  g_private_replace (&reported, NULL);

  return FALSE;
}
