#pragma once

#include <lp/nn/lp-module.h>
#include <lp/precision/lp-precision-plugin.h>

G_BEGIN_DECLS

/* A scale of the loss sinks for some steps in a row; after this many without one that was applied there is little to hope
 * for: 65536 halves this often before it is far below 1. */
#define LP_MANY_SKIPPED_STEPS 100

/* The name of a weight that holds Inf or NaN, or NULL; of those that are trained only, or of all. */
char *_lp_find_not_finite       (LpModule *module, gboolean trained_only);
/* What is known about @n steps in a row that weren't applied, and what would help: one sentence for a message.
 * @modules: what was trained; @bad_loss: the losses weren't finite. */
char *_lp_describe_skipped_steps (gint64 n, LpPrecisionPlugin *plugin, GPtrArray *modules, gboolean bad_loss);

G_END_DECLS
