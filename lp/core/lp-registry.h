#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <gio/gio.h>

#include <lp/core/lp-version-macros.h>

G_BEGIN_DECLS

/**
 * LP_MODULE_ABI:
 *
 * The number that a run-time module gives back from `lp_module_abi ()`, so that one that was built for another LP is
 * refused. It changes when class structures do.
 */
#define LP_MODULE_ABI 3

#define LP_TYPE_REGISTRY_ENTRY (lp_registry_entry_get_type ())
#define LP_TYPE_REGISTRY (lp_registry_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_FINAL_TYPE (LpRegistryEntry, lp_registry_entry, LP, REGISTRY_ENTRY, GObject)

LP_AVAILABLE_IN_ALL
G_DECLARE_DERIVABLE_TYPE (LpRegistry, lp_registry, LP, REGISTRY, GObject)

/**
 * LpRegistryFactory:
 * @name: the canonical name that was asked for
 * @config: (nullable): an `a{sv}` of property values
 * @user_data: user data
 * @error: return location for an error
 *
 * Makes the object behind a name.
 *
 * Returns: (transfer full) (nullable): the new object
 */
typedef GObject *(* LpRegistryFactory) (const char  *name,
                                        GVariant    *config,
                                        gpointer     user_data,
                                        GError     **error);

struct _LpRegistryClass
{
  GObjectClass parent_class;

  /*< private >*/
  gpointer padding[8];
};

LP_AVAILABLE_IN_ALL
LpRegistryEntry *lp_registry_entry_new             (const char           *name,
                                                    GType                 gtype,
                                                    GVariant             *values,
                                                    const char           *description);
LP_AVAILABLE_IN_ALL
LpRegistryEntry *lp_registry_entry_new_factory     (const char           *name,
                                                    const char           *description,
                                                    LpRegistryFactory     factory,
                                                    gpointer              user_data,
                                                    GDestroyNotify        destroy);
LP_AVAILABLE_IN_ALL
const char      *lp_registry_entry_get_name        (LpRegistryEntry      *self);
LP_AVAILABLE_IN_ALL
char           **lp_registry_entry_dup_aliases     (LpRegistryEntry      *self);
LP_AVAILABLE_IN_ALL
void             lp_registry_entry_add_alias       (LpRegistryEntry      *self,
                                                    const char           *alias);
LP_AVAILABLE_IN_ALL
const char      *lp_registry_entry_get_description (LpRegistryEntry      *self);
LP_AVAILABLE_IN_ALL
const char      *lp_registry_entry_get_origin      (LpRegistryEntry      *self);
LP_AVAILABLE_IN_ALL
int              lp_registry_entry_get_rank        (LpRegistryEntry      *self);
LP_AVAILABLE_IN_ALL
void             lp_registry_entry_set_rank        (LpRegistryEntry      *self,
                                                    int                   rank);
LP_AVAILABLE_IN_ALL
GType            lp_registry_entry_get_gtype       (LpRegistryEntry      *self);
LP_AVAILABLE_IN_ALL
GVariant        *lp_registry_entry_dup_values      (LpRegistryEntry      *self);
LP_AVAILABLE_IN_ALL
const char      *lp_registry_entry_get_problem     (LpRegistryEntry      *self);

LP_AVAILABLE_IN_ALL
const char      *lp_registry_get_kind              (LpRegistry           *self);
LP_AVAILABLE_IN_ALL
GType            lp_registry_get_object_type       (LpRegistry           *self);
LP_AVAILABLE_IN_ALL
gboolean         lp_registry_add                   (LpRegistry           *self,
                                                    LpRegistryEntry      *entry,
                                                    GError              **error);
LP_AVAILABLE_IN_ALL
gboolean         lp_registry_remove                (LpRegistry           *self,
                                                    const char           *name);
LP_AVAILABLE_IN_ALL
LpRegistryEntry *lp_registry_lookup                (LpRegistry           *self,
                                                    const char           *name,
                                                    GError              **error);
LP_AVAILABLE_IN_ALL
GObject         *lp_registry_create                (LpRegistry           *self,
                                                    const char           *name,
                                                    GVariant             *config,
                                                    GError              **error);
LP_AVAILABLE_IN_ALL
void             lp_registry_load_modules          (LpRegistry           *self);

G_END_DECLS
