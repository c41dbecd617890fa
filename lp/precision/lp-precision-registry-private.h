#pragma once

#include <lp/precision/lp-precision-registry.h>

G_BEGIN_DECLS

/* An LpRegistryFactory: what lp_precision_registry_choose() gives for the default device. */
GObject *_lp_precision_create_auto (const char *name, GVariant *config, gpointer user_data, GError **error);

G_END_DECLS
