#pragma once

#include <lp/trainer/lp-model-checkpoint.h>
#include <lp/trainer/lp-monitor-callback-private.h>

G_BEGIN_DECLS

/* A checkpoint among the best. */
typedef struct
{
  char   *path;
  double  score;
} LpKept;

struct _LpModelCheckpoint
{
  LpMonitorCallback parent_instance;

  char *dirpath;
  char *filename;
  gint save_top_k;
  gboolean save_last;
  gboolean save_weights_only;
  gint64 every_n_train_steps;
  gint64 every_n_epochs;
  char *best_model_path;
  double best_model_score;
  char *last_model_path;
  GPtrArray *kept;          /* LpKept, best first */
  gint64   saved_step;      /* the optimizer step of the newest; -1 for none */
};

void     _lp_kept_free               (gpointer data);
/* Writes what has to be written for a value. */
gboolean _lp_model_checkpoint_save   (LpModelCheckpoint *self, LpTrainer *trainer, double score, GError **error);

LpState *_lp_model_checkpoint_save_state (LpCallback *callback, GError **error);
void     _lp_model_checkpoint_load_state (LpCallback *callback, LpState *state, GError **error);

G_END_DECLS
