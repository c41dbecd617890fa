#include <lp/nn/lp-sequential.h>

#include <lp/nn/lp-module-private.h>

/**
 * LpSequential:
 *
 * Modules one after the other, called `0`, `1` and so on.
 */

G_DEFINE_TYPE (LpSequential, lp_sequential, LP_TYPE_MODULE)

static LpTensor *
lp_sequential_forward (LpModule  *module,
                       LpTensor  *input,
                       GError   **error)
{
  GArray *children = _lp_module_get_data (module)->children;
  LpTensor *value = g_object_ref (input);

  for (guint i = 0; i < children->len && value != NULL; i++)
    {
      LpTensor *next = lp_module_forward (g_array_index (children, LpChild, i).module, value, error);

      g_object_unref (value);
      value = next;
    }

  return value;
}

static void
lp_sequential_class_init (LpSequentialClass *klass)
{
  LP_MODULE_CLASS (klass)->forward = lp_sequential_forward;
}

static void
lp_sequential_init (LpSequential *self)
{
}

/**
 * lp_sequential_new:
 *
 * Creates an empty sequence.
 *
 * Returns: (transfer full) (type LpSequential): the module
 */
LpModule *
lp_sequential_new (void)
{
  return g_object_new (LP_TYPE_SEQUENTIAL, NULL);
}

/**
 * lp_sequential_new_from:
 * @layers: (element-type LpModule): modules
 *
 * Creates a sequence.
 *
 * Returns: (transfer full) (type LpSequential): the module
 */
LpModule *
lp_sequential_new_from (GPtrArray *layers)
{
  LpModule *self;

  g_return_val_if_fail (layers != NULL, NULL);

  self = lp_sequential_new ();
  for (guint i = 0; i < layers->len; i++)
    lp_sequential_append (LP_SEQUENTIAL (self), g_object_ref (g_ptr_array_index (layers, i)));

  return self;
}

/**
 * lp_sequential_append:
 * @self: a sequence
 * @layer: (transfer full): a module
 *
 * Adds a module at the end. A sequence that would be inside itself is reported by [method@Module.check] and by forward.
 */
void
lp_sequential_append (LpSequential *self,
                      LpModule     *layer)
{
  g_autofree char *name = NULL;
  GError *error = NULL;

  g_return_if_fail (LP_IS_SEQUENTIAL (self));
  g_return_if_fail (LP_IS_MODULE (layer));

  name = g_strdup_printf ("%u", lp_sequential_get_n_layers (self));
  if (!lp_module_register_child (LP_MODULE (self), name, layer, &error))
    _lp_module_take_problem (LP_MODULE (self), error);
  g_object_unref (layer);
}

/**
 * lp_sequential_get_n_layers:
 * @self: a sequence
 *
 * Counts the modules.
 *
 * Returns: their number
 */
guint
lp_sequential_get_n_layers (LpSequential *self)
{
  g_return_val_if_fail (LP_IS_SEQUENTIAL (self), 0);

  return _lp_module_get_data (LP_MODULE (self))->children->len;
}

/**
 * lp_sequential_get_layer:
 * @self: a sequence
 * @index: a position
 *
 * Gets a module.
 *
 * Returns: (transfer none) (nullable): the module, or %NULL past the end
 */
LpModule *
lp_sequential_get_layer (LpSequential *self,
                         guint         index)
{
  GArray *children;

  g_return_val_if_fail (LP_IS_SEQUENTIAL (self), NULL);

  children = _lp_module_get_data (LP_MODULE (self))->children;

  return index < children->len ? g_array_index (children, LpChild, index).module : NULL;
}
