#include <lp/parallel/lp-strategy-registry.h>

#include <lp/core/lp-registry-private.h>
#include <lp/parallel/lp-single-strategy.h>

/**
 * LpStrategyRegistry:
 *
 * The strategies that are known by name.
 */
struct _LpStrategyRegistry
{
  LpRegistry parent_instance;
};

G_DEFINE_FINAL_TYPE (LpStrategyRegistry, lp_strategy_registry, LP_TYPE_REGISTRY)

static void
lp_strategy_registry_class_init (LpStrategyRegistryClass *klass)
{
}

static void
lp_strategy_registry_init (LpStrategyRegistry *self)
{
}

/**
 * lp_strategy_registry_get_default:
 *
 * Gets the registry of strategies.
 *
 * Returns: (transfer none): the registry
 */
LpStrategyRegistry *
lp_strategy_registry_get_default (void)
{
  static gsize instance;

  if (g_once_init_enter (&instance))
    {
      LpStrategyRegistry *self =
        g_object_new (LP_TYPE_STRATEGY_REGISTRY, "kind", "strategy", "object-type", LP_TYPE_STRATEGY, NULL);
      g_autoptr (LpRegistryEntry) entry =
        lp_registry_entry_new ("single", LP_TYPE_SINGLE_STRATEGY, NULL, "One process on one device");

      _lp_registry_add_builtin (LP_REGISTRY (self), entry);
      g_once_init_leave (&instance, (gsize) self);
    }

  return (LpStrategyRegistry *) instance;
}
