/* SIGINT and SIGTERM during a synchronous run on the main thread: noted, and acted upon after the batch. The second one
 * does what it always did. */

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <lp/trainer/lp-trainer-private.h>

static const int numbers[] = { SIGINT, SIGTERM };
static struct sigaction former[G_N_ELEMENTS (numbers)];
static volatile sig_atomic_t received;
static gboolean installed;

static void
note (int number)
{
  received = number;
  for (guint i = 0; i < G_N_ELEMENTS (numbers); i++)
    if (numbers[i] == number)
      sigaction (number, &former[i], NULL);
}

gboolean
_lp_signals_install (void)
{
  struct sigaction action = { .sa_handler = note };

  if (installed || syscall (SYS_gettid) != getpid ())
    return FALSE;

  received = 0;
  installed = TRUE;
  sigemptyset (&action.sa_mask);
  for (guint i = 0; i < G_N_ELEMENTS (numbers); i++)
    {
      sigaction (numbers[i], NULL, &former[i]);
      /* ignored on purpose, by nohup and the like */
      if (former[i].sa_handler != SIG_IGN)
        sigaction (numbers[i], &action, NULL);
    }

  return TRUE;
}

void
_lp_signals_restore (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (numbers); i++)
    sigaction (numbers[i], &former[i], NULL);
  received = 0;
  installed = FALSE;
}

gint
_lp_signals_get_received (void)
{
  return installed ? received : 0;
}
