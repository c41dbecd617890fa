#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <lp/trainer/lp-monitor-callback.h>

G_BEGIN_DECLS

#define LP_TYPE_MODEL_CHECKPOINT (lp_model_checkpoint_get_type ())

LP_AVAILABLE_IN_ALL
G_DECLARE_FINAL_TYPE (LpModelCheckpoint, lp_model_checkpoint, LP, MODEL_CHECKPOINT, LpMonitorCallback)

LP_AVAILABLE_IN_ALL
LpCallback *lp_model_checkpoint_new (const char *dirpath,
                                     const char *monitor,
                                     LpMonitorMode mode);
LP_AVAILABLE_IN_ALL
char *lp_model_checkpoint_dup_dirpath (LpModelCheckpoint *self);
LP_AVAILABLE_IN_ALL
void lp_model_checkpoint_set_dirpath (LpModelCheckpoint *self,
                                      const char *dirpath);
LP_AVAILABLE_IN_ALL
char *lp_model_checkpoint_dup_filename (LpModelCheckpoint *self);
LP_AVAILABLE_IN_ALL
void lp_model_checkpoint_set_filename (LpModelCheckpoint *self,
                                       const char *filename);
LP_AVAILABLE_IN_ALL
gint lp_model_checkpoint_get_save_top_k (LpModelCheckpoint *self);
LP_AVAILABLE_IN_ALL
void lp_model_checkpoint_set_save_top_k (LpModelCheckpoint *self,
                                         gint save_top_k);
LP_AVAILABLE_IN_ALL
gboolean lp_model_checkpoint_get_save_last (LpModelCheckpoint *self);
LP_AVAILABLE_IN_ALL
void lp_model_checkpoint_set_save_last (LpModelCheckpoint *self,
                                        gboolean save_last);
LP_AVAILABLE_IN_ALL
gboolean lp_model_checkpoint_get_save_weights_only (LpModelCheckpoint *self);
LP_AVAILABLE_IN_ALL
void lp_model_checkpoint_set_save_weights_only (LpModelCheckpoint *self,
                                                gboolean save_weights_only);
LP_AVAILABLE_IN_ALL
gint64 lp_model_checkpoint_get_every_n_train_steps (LpModelCheckpoint *self);
LP_AVAILABLE_IN_ALL
void lp_model_checkpoint_set_every_n_train_steps (LpModelCheckpoint *self,
                                                  gint64 every_n_train_steps);
LP_AVAILABLE_IN_ALL
gint64 lp_model_checkpoint_get_every_n_epochs (LpModelCheckpoint *self);
LP_AVAILABLE_IN_ALL
void lp_model_checkpoint_set_every_n_epochs (LpModelCheckpoint *self,
                                             gint64 every_n_epochs);
LP_AVAILABLE_IN_ALL
char *lp_model_checkpoint_dup_best_model_path (LpModelCheckpoint *self);
LP_AVAILABLE_IN_ALL
double lp_model_checkpoint_get_best_model_score (LpModelCheckpoint *self);
LP_AVAILABLE_IN_ALL
char *lp_model_checkpoint_dup_last_model_path (LpModelCheckpoint *self);

G_END_DECLS
