#include <lp/trainer/lp-optimizer-config.h>

/**
 * LpOptimizerConfig:
 *
 * The optimizers of a model, and the schedules of their learning rates.
 */
struct _LpOptimizerConfig
{
  GObject    parent_instance;

  GPtrArray *optimizers;
  GPtrArray *schedulers;
  GArray    *frequencies;
};

G_DEFINE_FINAL_TYPE (LpOptimizerConfig, lp_optimizer_config, G_TYPE_OBJECT)

static void
lp_optimizer_config_finalize (GObject *object)
{
  LpOptimizerConfig *self = LP_OPTIMIZER_CONFIG (object);

  g_ptr_array_unref (self->optimizers);
  g_ptr_array_unref (self->schedulers);
  g_array_unref (self->frequencies);

  G_OBJECT_CLASS (lp_optimizer_config_parent_class)->finalize (object);
}

static void
lp_optimizer_config_class_init (LpOptimizerConfigClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = lp_optimizer_config_finalize;
}

static void
lp_optimizer_config_init (LpOptimizerConfig *self)
{
  self->optimizers = g_ptr_array_new_with_free_func (g_object_unref);
  self->schedulers = g_ptr_array_new_with_free_func (g_object_unref);
  self->frequencies = g_array_new (FALSE, FALSE, sizeof (guint));
}

/**
 * lp_optimizer_config_new:
 *
 * Creates a configuration without optimizers, which trains nothing.
 *
 * Returns: (transfer full): the configuration
 */
LpOptimizerConfig *
lp_optimizer_config_new (void)
{
  return g_object_new (LP_TYPE_OPTIMIZER_CONFIG, NULL);
}

/**
 * lp_optimizer_config_add_optimizer:
 * @self: a configuration
 * @optimizer: an optimizer
 *
 * Adds an optimizer. More than one takes manual optimization.
 */
void
lp_optimizer_config_add_optimizer (LpOptimizerConfig *self,
                                   LpOptimizer       *optimizer)
{
  g_return_if_fail (LP_IS_OPTIMIZER_CONFIG (self));
  g_return_if_fail (LP_IS_OPTIMIZER (optimizer));

  if (!g_ptr_array_find (self->optimizers, optimizer, NULL))
    g_ptr_array_add (self->optimizers, g_object_ref (optimizer));
}

/**
 * lp_optimizer_config_add_scheduler:
 * @self: a configuration
 * @scheduler: a schedule; its optimizer is added as well
 * @frequency: it moves on every this many steps or epochs, as its interval says; at least 1
 *
 * Adds a schedule.
 */
void
lp_optimizer_config_add_scheduler (LpOptimizerConfig *self,
                                   LpLrScheduler     *scheduler,
                                   guint              frequency)
{
  g_return_if_fail (LP_IS_OPTIMIZER_CONFIG (self));
  g_return_if_fail (LP_IS_LR_SCHEDULER (scheduler));
  g_return_if_fail (frequency > 0);

  if (lp_lr_scheduler_get_optimizer (scheduler) != NULL)
    lp_optimizer_config_add_optimizer (self, lp_lr_scheduler_get_optimizer (scheduler));
  g_ptr_array_add (self->schedulers, g_object_ref (scheduler));
  g_array_append_val (self->frequencies, frequency);
}

/**
 * lp_optimizer_config_get_n_optimizers:
 * @self: a configuration
 *
 * Gets the number of optimizers.
 *
 * Returns: how many there are
 */
guint
lp_optimizer_config_get_n_optimizers (LpOptimizerConfig *self)
{
  g_return_val_if_fail (LP_IS_OPTIMIZER_CONFIG (self), 0);

  return self->optimizers->len;
}

/**
 * lp_optimizer_config_get_optimizer:
 * @self: a configuration
 * @index: the number of an optimizer
 *
 * Gets an optimizer.
 *
 * Returns: (transfer none) (nullable): the optimizer
 */
LpOptimizer *
lp_optimizer_config_get_optimizer (LpOptimizerConfig *self,
                                   guint              index)
{
  g_return_val_if_fail (LP_IS_OPTIMIZER_CONFIG (self), NULL);

  return index < self->optimizers->len ? g_ptr_array_index (self->optimizers, index) : NULL;
}

/**
 * lp_optimizer_config_get_n_schedulers:
 * @self: a configuration
 *
 * Gets the number of schedules.
 *
 * Returns: how many there are
 */
guint
lp_optimizer_config_get_n_schedulers (LpOptimizerConfig *self)
{
  g_return_val_if_fail (LP_IS_OPTIMIZER_CONFIG (self), 0);

  return self->schedulers->len;
}

/**
 * lp_optimizer_config_get_scheduler:
 * @self: a configuration
 * @index: the number of a schedule
 *
 * Gets a schedule.
 *
 * Returns: (transfer none) (nullable): the schedule
 */
LpLrScheduler *
lp_optimizer_config_get_scheduler (LpOptimizerConfig *self,
                                   guint              index)
{
  g_return_val_if_fail (LP_IS_OPTIMIZER_CONFIG (self), NULL);

  return index < self->schedulers->len ? g_ptr_array_index (self->schedulers, index) : NULL;
}

/**
 * lp_optimizer_config_get_frequency:
 * @self: a configuration
 * @index: the number of a schedule
 *
 * Gets how often a schedule moves on.
 *
 * Returns: every how many steps or epochs; 0 if there is no such schedule
 */
guint
lp_optimizer_config_get_frequency (LpOptimizerConfig *self,
                                   guint              index)
{
  g_return_val_if_fail (LP_IS_OPTIMIZER_CONFIG (self), 0);

  return index < self->frequencies->len ? g_array_index (self->frequencies, guint, index) : 0;
}
