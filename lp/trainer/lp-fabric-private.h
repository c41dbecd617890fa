#pragma once

#include <lp/trainer/lp-fabric.h>
#include <lp/trainer/lp-trainer-private.h>

G_BEGIN_DECLS

struct _LpFabric
{
  GObject             parent_instance;

  LpPrecisionSlot     precision;
  gboolean            initialized;
  GError             *init_error;

  LpStrategy         *strategy;
  LpDevice           *device;
  LpPrecisionContext *context;
  gboolean            attached;
  LpPrecisionPlugin  *plugin;       /* while attached */
  GPtrArray          *modules;
  GPtrArray          *optimizers;
  GPtrArray          *unscaled;     /* not owned */
  gint64              skipped_in_a_row;
};

/* LP_ERROR_STATE before a module was set up. */
gboolean _lp_fabric_require_attached (LpFabric *self, GError **error);

G_END_DECLS
