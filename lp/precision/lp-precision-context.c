#include <lp/precision/lp-precision-context.h>

/**
 * LpPrecisionContext:
 *
 * What is known of a run when a precision plugin is asked whether it can take part. What is not known yet is %NULL or
 * its default, and a plugin passes over it: it is asked again when more is known.
 */
struct _LpPrecisionContext
{
  GObject          parent_instance;

  LpDevice        *device;
  LpStrategy      *strategy;
  LpModule        *module;
  GPtrArray       *optimizers;
  double           clip_value;
  LpClipAlgorithm  clip_algorithm;
};

G_DEFINE_FINAL_TYPE (LpPrecisionContext, lp_precision_context, G_TYPE_OBJECT)

enum
{
  PROP_0,
  PROP_DEVICE,
  PROP_STRATEGY,
  PROP_MODULE,
  PROP_CLIP_VALUE,
  PROP_CLIP_ALGORITHM,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];

static void
lp_precision_context_get_property (GObject    *object,
                                   guint       prop_id,
                                   GValue     *value,
                                   GParamSpec *pspec)
{
  LpPrecisionContext *self = LP_PRECISION_CONTEXT (object);

  switch (prop_id)
    {
    case PROP_DEVICE:
      g_value_set_object (value, self->device);
      break;
    case PROP_STRATEGY:
      g_value_set_object (value, self->strategy);
      break;
    case PROP_MODULE:
      g_value_set_object (value, self->module);
      break;
    case PROP_CLIP_VALUE:
      g_value_set_double (value, self->clip_value);
      break;
    case PROP_CLIP_ALGORITHM:
      g_value_set_enum (value, self->clip_algorithm);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_precision_context_set_property (GObject      *object,
                                   guint         prop_id,
                                   const GValue *value,
                                   GParamSpec   *pspec)
{
  LpPrecisionContext *self = LP_PRECISION_CONTEXT (object);

  switch (prop_id)
    {
    case PROP_DEVICE:
      lp_precision_context_set_device (self, g_value_get_object (value));
      break;
    case PROP_STRATEGY:
      lp_precision_context_set_strategy (self, g_value_get_object (value));
      break;
    case PROP_MODULE:
      lp_precision_context_set_module (self, g_value_get_object (value));
      break;
    case PROP_CLIP_VALUE:
      lp_precision_context_set_clip_value (self, g_value_get_double (value));
      break;
    case PROP_CLIP_ALGORITHM:
      lp_precision_context_set_clip_algorithm (self, g_value_get_enum (value));
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_precision_context_finalize (GObject *object)
{
  LpPrecisionContext *self = LP_PRECISION_CONTEXT (object);

  g_clear_object (&self->device);
  g_clear_object (&self->strategy);
  g_clear_object (&self->module);
  g_ptr_array_unref (self->optimizers);

  G_OBJECT_CLASS (lp_precision_context_parent_class)->finalize (object);
}

static void
lp_precision_context_class_init (LpPrecisionContextClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GParamFlags flags = G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY;

  object_class->get_property = lp_precision_context_get_property;
  object_class->set_property = lp_precision_context_set_property;
  object_class->finalize = lp_precision_context_finalize;

  /**
   * LpPrecisionContext:device: (getter get_device) (setter set_device)
   *
   * The device that the run is on.
   */
  properties[PROP_DEVICE] = g_param_spec_object ("device", NULL, NULL, LP_TYPE_DEVICE, flags);

  /**
   * LpPrecisionContext:strategy: (getter get_strategy) (setter set_strategy)
   *
   * How processes work together.
   */
  properties[PROP_STRATEGY] = g_param_spec_object ("strategy", NULL, NULL, LP_TYPE_STRATEGY, flags);

  /**
   * LpPrecisionContext:module: (getter get_module) (setter set_module)
   *
   * The module that is run.
   */
  properties[PROP_MODULE] = g_param_spec_object ("module", NULL, NULL, LP_TYPE_MODULE, flags);

  /**
   * LpPrecisionContext:clip-value: (getter get_clip_value) (setter set_clip_value)
   *
   * What gradients are clipped to; 0 for no clipping.
   */
  properties[PROP_CLIP_VALUE] = g_param_spec_double ("clip-value", NULL, NULL, -G_MAXDOUBLE, G_MAXDOUBLE, 0, flags);

  /**
   * LpPrecisionContext:clip-algorithm: (getter get_clip_algorithm) (setter set_clip_algorithm)
   *
   * How gradients are clipped.
   */
  properties[PROP_CLIP_ALGORITHM] =
    g_param_spec_enum ("clip-algorithm", NULL, NULL, LP_TYPE_CLIP_ALGORITHM, LP_CLIP_NORM, flags);

  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
lp_precision_context_init (LpPrecisionContext *self)
{
  self->optimizers = g_ptr_array_new_with_free_func (g_object_unref);
}

/**
 * lp_precision_context_new:
 *
 * Creates a context of which nothing is known.
 *
 * Returns: (transfer full): the context
 */
LpPrecisionContext *
lp_precision_context_new (void)
{
  return g_object_new (LP_TYPE_PRECISION_CONTEXT, NULL);
}

/**
 * lp_precision_context_get_device:
 * @self: a context
 *
 * Gets the device that the run is on.
 *
 * Returns: (transfer none) (nullable): the device, if it is known
 */
LpDevice *
lp_precision_context_get_device (LpPrecisionContext *self)
{
  g_return_val_if_fail (LP_IS_PRECISION_CONTEXT (self), NULL);

  return self->device;
}

/**
 * lp_precision_context_set_device:
 * @self: a context
 * @device: (nullable): the device
 *
 * Sets the device that the run is on.
 */
void
lp_precision_context_set_device (LpPrecisionContext *self,
                                 LpDevice           *device)
{
  g_return_if_fail (LP_IS_PRECISION_CONTEXT (self));
  g_return_if_fail (device == NULL || LP_IS_DEVICE (device));

  if (g_set_object (&self->device, device))
    g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_DEVICE]);
}

/**
 * lp_precision_context_get_strategy:
 * @self: a context
 *
 * Gets how processes work together.
 *
 * Returns: (transfer none) (nullable): the strategy, if it is known
 */
LpStrategy *
lp_precision_context_get_strategy (LpPrecisionContext *self)
{
  g_return_val_if_fail (LP_IS_PRECISION_CONTEXT (self), NULL);

  return self->strategy;
}

/**
 * lp_precision_context_set_strategy:
 * @self: a context
 * @strategy: (nullable): the strategy
 *
 * Sets how processes work together.
 */
void
lp_precision_context_set_strategy (LpPrecisionContext *self,
                                   LpStrategy         *strategy)
{
  g_return_if_fail (LP_IS_PRECISION_CONTEXT (self));
  g_return_if_fail (strategy == NULL || LP_IS_STRATEGY (strategy));

  if (g_set_object (&self->strategy, strategy))
    g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_STRATEGY]);
}

/**
 * lp_precision_context_get_module:
 * @self: a context
 *
 * Gets the module that is run.
 *
 * Returns: (transfer none) (nullable): the module, if it is known
 */
LpModule *
lp_precision_context_get_module (LpPrecisionContext *self)
{
  g_return_val_if_fail (LP_IS_PRECISION_CONTEXT (self), NULL);

  return self->module;
}

/**
 * lp_precision_context_set_module:
 * @self: a context
 * @module: (nullable): the module
 *
 * Sets the module that is run.
 */
void
lp_precision_context_set_module (LpPrecisionContext *self,
                                 LpModule           *module)
{
  g_return_if_fail (LP_IS_PRECISION_CONTEXT (self));
  g_return_if_fail (module == NULL || LP_IS_MODULE (module));

  if (g_set_object (&self->module, module))
    g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_MODULE]);
}

/**
 * lp_precision_context_dup_optimizers:
 * @self: a context
 *
 * Gets the optimizers that are known.
 *
 * Returns: (transfer container) (element-type LpOptimizer): the optimizers
 */
GPtrArray *
lp_precision_context_dup_optimizers (LpPrecisionContext *self)
{
  GPtrArray *optimizers;

  g_return_val_if_fail (LP_IS_PRECISION_CONTEXT (self), NULL);

  optimizers = g_ptr_array_new_full (self->optimizers->len, g_object_unref);
  for (guint i = 0; i < self->optimizers->len; i++)
    g_ptr_array_add (optimizers, g_object_ref (g_ptr_array_index (self->optimizers, i)));

  return optimizers;
}

/**
 * lp_precision_context_add_optimizer:
 * @self: a context
 * @optimizer: an optimizer
 *
 * Adds an optimizer.
 */
void
lp_precision_context_add_optimizer (LpPrecisionContext *self,
                                    LpOptimizer        *optimizer)
{
  g_return_if_fail (LP_IS_PRECISION_CONTEXT (self));
  g_return_if_fail (LP_IS_OPTIMIZER (optimizer));

  g_ptr_array_add (self->optimizers, g_object_ref (optimizer));
}

/**
 * lp_precision_context_get_clip_value:
 * @self: a context
 *
 * Gets what gradients are clipped to.
 *
 * Returns: the value, or 0 for no clipping
 */
double
lp_precision_context_get_clip_value (LpPrecisionContext *self)
{
  g_return_val_if_fail (LP_IS_PRECISION_CONTEXT (self), 0);

  return self->clip_value;
}

/**
 * lp_precision_context_set_clip_value:
 * @self: a context
 * @clip_value: the value, or 0 for no clipping
 *
 * Sets what gradients are clipped to.
 */
void
lp_precision_context_set_clip_value (LpPrecisionContext *self,
                                     double              clip_value)
{
  g_return_if_fail (LP_IS_PRECISION_CONTEXT (self));

  if (self->clip_value == clip_value)
    return;

  self->clip_value = clip_value;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_CLIP_VALUE]);
}

/**
 * lp_precision_context_get_clip_algorithm:
 * @self: a context
 *
 * Gets how gradients are clipped.
 *
 * Returns: the algorithm
 */
LpClipAlgorithm
lp_precision_context_get_clip_algorithm (LpPrecisionContext *self)
{
  g_return_val_if_fail (LP_IS_PRECISION_CONTEXT (self), LP_CLIP_NORM);

  return self->clip_algorithm;
}

/**
 * lp_precision_context_set_clip_algorithm:
 * @self: a context
 * @clip_algorithm: the algorithm
 *
 * Sets how gradients are clipped.
 */
void
lp_precision_context_set_clip_algorithm (LpPrecisionContext *self,
                                         LpClipAlgorithm     clip_algorithm)
{
  g_return_if_fail (LP_IS_PRECISION_CONTEXT (self));

  if (self->clip_algorithm == clip_algorithm)
    return;

  self->clip_algorithm = clip_algorithm;
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_CLIP_ALGORITHM]);
}
