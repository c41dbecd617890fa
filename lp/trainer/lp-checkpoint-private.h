#pragma once

#include <lp/nn/lp-module.h>
#include <lp/precision/lp-precision-plugin.h>
#include <lp/tensor/lp-state.h>

G_BEGIN_DECLS

/* A checkpoint is one safetensors file: weights under their own names, the tensors of states under "lp:SECTION.NAME", and in
 * the metadata, under "lp.checkpoint", a JSON object: "format", "sections" (name to the text form of an a{sv}), and a few
 * plain members for people. One file, renamed into place: there is no moment at which half of it is there. */
typedef struct
{
  LpTensorDict *weights;
  GHashTable   *sections;   /* name to LpState */
} LpCheckpoint;

void      _lp_checkpoint_init        (LpCheckpoint *self);
void      _lp_checkpoint_clear       (LpCheckpoint *self);
/* Takes @state. */
void      _lp_checkpoint_add         (LpCheckpoint *self, const char *section, LpState *state);
LpState  *_lp_checkpoint_lookup      (LpCheckpoint *self, const char *section);
gboolean  _lp_checkpoint_write       (LpCheckpoint *self, const char *path, GError **error);
gboolean  _lp_checkpoint_read        (LpCheckpoint *self, const char *path, GError **error);

/* LP_ERROR_STATE while adapters are merged: the file would hold their product twice. */
gboolean  _lp_checkpoint_check_module   (LpModule *module, GError **error);
gboolean  _lp_checkpoint_add_precision  (LpCheckpoint *self, LpPrecisionPlugin *plugin, GError **error);
/* What would work when the state of an optimizer, loaded into another precision, fails with @error. */
void      _lp_checkpoint_explain_optimizer (LpCheckpoint *self, LpPrecisionPlugin *plugin, GError **error);
/* Tells what is another than when it was saved; @path is for that. */
gboolean  _lp_checkpoint_load_precision (LpCheckpoint *self, LpPrecisionPlugin *plugin, const char *path, GError **error);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (LpCheckpoint, _lp_checkpoint_clear)

G_END_DECLS
