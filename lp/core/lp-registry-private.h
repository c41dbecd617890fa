#pragma once

#include <lp/core/lp-registry.h>

G_BEGIN_DECLS

/* The entry of something that is part of the library. */
void             _lp_registry_add_builtin      (LpRegistry      *self,
                                                LpRegistryEntry *entry);
/* Which errors tell of an unknown name and of a broken module, in place of %LP_ERROR_UNKNOWN and %LP_ERROR_IO. */
void             _lp_registry_set_errors       (LpRegistry      *self,
                                                GQuark           domain,
                                                int              unknown_code,
                                                int              broken_code);

LpRegistryEntry *_lp_registry_entry_new_broken (const char      *name,
                                                const char      *origin,
                                                const char      *problem);
void             _lp_registry_entry_set_origin (LpRegistryEntry *self,
                                                const char      *origin);
gboolean         _lp_registry_entry_matches    (LpRegistryEntry *self,
                                                const char      *alias);
/* The object of @entry, not yet checked. @name_property may be NULL. */
GObject         *_lp_registry_entry_create     (LpRegistryEntry *self,
                                                const char      *name_property,
                                                GVariant        *config,
                                                GError         **error);

/* How many letters it takes to get from @a to @b; letter case counts for nothing. */
guint            _lp_edit_distance             (const char      *a,
                                                const char      *b);

/* Loads the modules of the kind of @self: the one called @name, or all when it is NULL. The broken ones become
 * entries. Nothing is loaded twice. */
void             _lp_modules_load              (LpRegistry      *self,
                                                const char      *name);
/* The file of the module that is registering itself on this thread, or NULL. */
const char      *_lp_modules_get_current       (void);

G_END_DECLS
