#include <stdio.h>
#include <unistd.h>

#include <lp/trainer/lp-progress-bar.h>

#include <lp/trainer/lp-trainer-private.h>

/**
 * LpProgressBar:
 *
 * Shows how a run goes: speed, loss, logged values and precision.
 *
 * On a terminal it is one line that changes; elsewhere it is a plain line per epoch and evaluation, and one when the
 * precision changes within them.
 */
struct _LpProgressBar
{
  LpCallback parent_instance;

  guint refresh_rate;
  gboolean terminal;
  gint64   last_draw, start_time, start_batch;
  const char *last_precision;   /* interned; NULL before the first run */
};

G_DEFINE_FINAL_TYPE (LpProgressBar, lp_progress_bar, LP_TYPE_CALLBACK)

enum
{
  PROP_0,
  PROP_REFRESH_RATE,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];

#define WIDTH 24

static void
start_timing (LpProgressBar *self,
              gint64         batch)
{
  self->start_time = g_get_monotonic_time ();
  self->start_batch = batch;
  self->last_draw = 0;
}

static gboolean
notice_precision (LpProgressBar *self,
                  LpTrainer     *trainer)
{
  g_autofree char *precision = lp_trainer_dup_precision (trainer);
  const char *former = self->last_precision;

  self->last_precision = g_intern_string (precision);

  return former != NULL && former != self->last_precision;
}

static char *
describe_metrics (LpTrainer *trainer)
{
  GString *text = g_string_new (NULL);
  g_autoptr (GVariant) metrics = lp_trainer_dup_progress_bar_metrics (trainer);
  GVariantIter iter;
  const char *name;
  double value;

  if (trainer->run.last_loss != NULL && trainer->run.stage == LP_STAGE_FIT && !g_variant_lookup (metrics, "loss", "d", NULL))
    g_string_append_printf (text, "  loss %.4g", lp_tensor_get_item (trainer->run.last_loss, NULL));
  g_variant_iter_init (&iter, metrics);
  while (g_variant_iter_next (&iter, "{&sd}", &name, &value))
    g_string_append_printf (text, "  %s %.4g", name, value);

  return g_string_free (text, FALSE);
}

static char *
describe (LpProgressBar *self,
          LpTrainer     *trainer,
          const char    *what,
          gint64         n_done,
          gint64         n_total)
{
  g_autofree char *metrics = describe_metrics (trainer);
  g_autofree char *precision = lp_trainer_dup_precision (trainer);
  double seconds = (g_get_monotonic_time () - self->start_time) / 1e6;
  double speed = seconds > 0 ? (n_done - self->start_batch) / seconds : 0;

  return g_strdup_printf ("%s %" G_GINT64_FORMAT "/%" G_GINT64_FORMAT "  %.1f it/s%s  [%s]", what, n_done, n_total, speed,
                          metrics, precision != NULL ? precision : "");
}

static void
draw (LpProgressBar *self,
      LpTrainer     *trainer,
      const char    *what,
      gint64         n_done,
      gint64         n_total,
      gboolean       final)
{
  gint64 now = g_get_monotonic_time ();
  g_autofree char *text = NULL;
  char bar[WIDTH + 1];

  if (!notice_precision (self, trainer) && !final && (!self->terminal || now - self->last_draw < (gint64) self->refresh_rate * 1000))
    return;

  self->last_draw = now;
  text = describe (self, trainer, what, n_done, n_total);
  if (!self->terminal)
    {
      fprintf (stderr, "%s\n", text);
      return;
    }

  for (int i = 0; i < WIDTH; i++)
    bar[i] = n_total > 0 && (gint64) i * n_total < n_done * WIDTH ? '#' : '-';
  bar[WIDTH] = '\0';
  fprintf (stderr, "\r\033[K%s %s%s", bar, text, final ? "\n" : "");
  fflush (stderr);
}

static void
draw_training (LpProgressBar *self,
               LpTrainer     *trainer,
               gboolean       final)
{
  char what[40];

  g_snprintf (what, sizeof what, "epoch %" G_GINT64_FORMAT, trainer->current_epoch);
  draw (self, trainer, what, trainer->run.n_done, trainer->run.n_train, final);
}

static void
lp_progress_bar_on_train_start (LpCallback  *callback,
                                LpTrainer   *trainer,
                                LpModel     *model,
                                GError     **error)
{
  start_timing (LP_PROGRESS_BAR (callback), trainer->run.n_done);
  notice_precision (LP_PROGRESS_BAR (callback), trainer);
}

static void
lp_progress_bar_on_train_epoch_start (LpCallback  *callback,
                                      LpTrainer   *trainer,
                                      LpModel     *model,
                                      GError     **error)
{
  start_timing (LP_PROGRESS_BAR (callback), 0);
}

static void
lp_progress_bar_on_train_batch_end (LpCallback  *callback,
                                    LpTrainer   *trainer,
                                    LpModel     *model,
                                    LpTensor    *outputs,
                                    LpBatch     *batch,
                                    gint64       batch_idx,
                                    GError     **error)
{
  draw_training (LP_PROGRESS_BAR (callback), trainer, FALSE);
}

static void
lp_progress_bar_on_train_epoch_end (LpCallback  *callback,
                                    LpTrainer   *trainer,
                                    LpModel     *model,
                                    GError     **error)
{
  draw_training (LP_PROGRESS_BAR (callback), trainer, TRUE);
}

static void
start_evaluation (LpCallback  *callback,
                  LpTrainer   *trainer,
                  LpModel     *model,
                  GError     **error)
{
  if (trainer->run.stage != LP_STAGE_FIT)
    start_timing (LP_PROGRESS_BAR (callback), 0);
}

static void
draw_evaluation (LpCallback  *callback,
                 LpTrainer   *trainer,
                 LpModel     *model,
                 LpTensor    *outputs,
                 LpBatch     *batch,
                 gint64       batch_idx,
                 GError     **error)
{
  static const char *names[] = { "validation", "test", "prediction" };
  LpProgressBar *self = LP_PROGRESS_BAR (callback);
  LpEval *eval = &trainer->run.eval;

  if (trainer->run.stage != LP_STAGE_FIT)
    draw (self, trainer, names[eval->kind], batch_idx + 1, eval->n_batches, batch_idx + 1 == eval->n_batches);
  else if (self->terminal && !eval->sanity)
    draw (self, trainer, names[eval->kind], batch_idx + 1, eval->n_batches, FALSE);
}

/* Whatever is printed next begins on a line of its own. */
static void
lp_progress_bar_on_exception (LpCallback  *callback,
                              LpTrainer   *trainer,
                              LpModel     *model,
                              const char  *message,
                              GError     **error)
{
  LpProgressBar *self = LP_PROGRESS_BAR (callback);

  if (self->terminal && self->last_draw != 0)
    fprintf (stderr, "\n");
}

static void
lp_progress_bar_get_property (GObject    *object,
                              guint       prop_id,
                              GValue     *value,
                              GParamSpec *pspec)
{
  LpProgressBar *self = LP_PROGRESS_BAR (object);

  switch (prop_id)
    {
    case PROP_REFRESH_RATE:
      g_value_set_uint (value, self->refresh_rate);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_progress_bar_set_property (GObject      *object,
                              guint         prop_id,
                              const GValue *value,
                              GParamSpec   *pspec)
{
  LpProgressBar *self = LP_PROGRESS_BAR (object);

  switch (prop_id)
    {
    case PROP_REFRESH_RATE:
      lp_progress_bar_set_refresh_rate (self, g_value_get_uint (value));
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_progress_bar_class_init (LpProgressBarClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  const GParamFlags readwrite = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY;
  LpCallbackClass *callback_class = LP_CALLBACK_CLASS (klass);

  object_class->get_property = lp_progress_bar_get_property;
  object_class->set_property = lp_progress_bar_set_property;

  callback_class->on_train_start = lp_progress_bar_on_train_start;
  callback_class->on_train_epoch_start = lp_progress_bar_on_train_epoch_start;
  callback_class->on_train_batch_end = lp_progress_bar_on_train_batch_end;
  callback_class->on_train_epoch_end = lp_progress_bar_on_train_epoch_end;
  callback_class->on_validation_start = start_evaluation;
  callback_class->on_test_start = start_evaluation;
  callback_class->on_predict_start = start_evaluation;
  callback_class->on_validation_batch_end = draw_evaluation;
  callback_class->on_test_batch_end = draw_evaluation;
  callback_class->on_predict_batch_end = draw_evaluation;
  callback_class->on_exception = lp_progress_bar_on_exception;

  /**
   * LpProgressBar:refresh-rate:
   *
   * How many milliseconds lie between two changes of the line.
   */
  properties[PROP_REFRESH_RATE] = g_param_spec_uint ("refresh-rate", NULL, NULL, 10, 60000, 100, readwrite);

  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
lp_progress_bar_init (LpProgressBar *self)
{
  self->refresh_rate = 100;
  self->terminal = isatty (STDERR_FILENO) != 0;
}

/**
 * lp_progress_bar_new:
 *
 * Creates a progress bar.
 *
 * Returns: (transfer full): the callback
 */
LpCallback *
lp_progress_bar_new (void)
{
  return g_object_new (LP_TYPE_PROGRESS_BAR, NULL);
}

/**
 * lp_progress_bar_get_refresh_rate:
 * @self: a progress bar
 *
 * Gets how many milliseconds lie between two changes of the line.
 *
 * Returns: the value
 */
guint
lp_progress_bar_get_refresh_rate (LpProgressBar *self)
{
  g_return_val_if_fail (LP_IS_PROGRESS_BAR (self), 0);

  return self->refresh_rate;
}

/**
 * lp_progress_bar_set_refresh_rate:
 * @self: a progress bar
 * @refresh_rate: the value
 *
 * Sets how many milliseconds lie between two changes of the line.
 */
void
lp_progress_bar_set_refresh_rate (LpProgressBar *self,
                                  guint          refresh_rate)
{
  g_return_if_fail (LP_IS_PROGRESS_BAR (self));

  if (self->refresh_rate == refresh_rate)
    return;

  self->refresh_rate = refresh_rate;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_REFRESH_RATE]);
}
