#pragma once

#include <lp/precision/lp-precision-run-private.h>
#include <lp/trainer/lp-log-private.h>
#include <lp/trainer/lp-trainer.h>

G_BEGIN_DECLS

/* The precision of a trainer or fabric: its plugin, and what makes the owner's read-only properties follow it. */
typedef struct
{
  GObject           *owner;
  GParamSpec        *pspecs[3];      /* the owner's precision, amp-backend and amp-level */
  GThread           *home;           /* where the plugin is read by property */
  GMutex             lock;           /* guards @plugin only */
  LpPrecisionPlugin *plugin;
  GObject           *conduit;
  GBinding          *bindings[3];
  char              *request;
  char              *reason;         /* why "auto" took what it took; NULL if it wasn't asked */
} LpPrecisionSlot;

void               _lp_precision_slot_init          (LpPrecisionSlot *slot, GObject *owner, GParamSpec **pspecs);
void               _lp_precision_slot_clear         (LpPrecisionSlot *slot);
LpPrecisionPlugin *_lp_precision_slot_dup_plugin    (LpPrecisionSlot *slot);
void               _lp_precision_slot_exchange      (LpPrecisionSlot *slot, LpPrecisionPlugin *plugin);
/* From the request or the plugin that construction left: 32-true without either. */
gboolean           _lp_precision_slot_resolve       (LpPrecisionSlot *slot, LpStrategy *strategy, GError **error);
/* "precision", "amp-backend" or "amp-level" of the plugin, now. */
char              *_lp_precision_slot_dup_value     (LpPrecisionSlot *slot, guint index);
LpPrecisionState  *_lp_precision_slot_dup_state     (LpPrecisionSlot *slot);

/* Converts the floating tensors of a batch. */
LpBatch           *_lp_precision_convert_batch      (LpPrecisionPlugin *plugin, LpBatch *batch, GError **error);

typedef struct
{
  gint             max_epochs, min_epochs;
  gint64           max_steps, min_steps;
  double           max_time;
  double           limit_train_batches, limit_val_batches, limit_test_batches, limit_predict_batches;
  double           val_check_interval;
  gint             check_val_every_n_epoch;
  gint             accumulate_grad_batches;
  double           gradient_clip_val;
  LpClipAlgorithm  gradient_clip_algorithm;
  gint             fast_dev_run;
  gint             num_sanity_val_steps;
  double           overfit_batches;
  gint             log_every_n_steps;
  gboolean         enable_progress_bar, enable_checkpointing, enable_model_summary;
  gboolean         handle_signals;
  char            *default_root_dir;
} LpTrainerSettings;

/* What the run does next; one of these per call of _lp_trainer_advance(). The numbers are written to checkpoints. */
typedef enum
{
  LP_RUN_SANITY = 1,
  LP_RUN_TRAIN_START = 2,
  LP_RUN_EPOCH_START = 3,
  LP_RUN_BATCH = 4,
  LP_RUN_AFTER_BATCH = 5,
  LP_RUN_VALIDATE = 6,
  LP_RUN_AFTER_VALIDATION = 7,
  LP_RUN_EPOCH_END = 8,
  LP_RUN_NEXT_EPOCH = 9,
  LP_RUN_TRAIN_END = 10,
  LP_RUN_EVALUATE = 11,
  LP_RUN_DONE = 12
} LpRunState;

typedef enum { LP_EVAL_VALIDATION, LP_EVAL_TEST, LP_EVAL_PREDICT } LpEvalKind;

/* A pass of evaluation over a loader. */
typedef struct
{
  gboolean      active;
  LpEvalKind    kind;
  gboolean      sanity;
  LpDataLoader *loader;
  gint64        n_batches, batch_idx;
  GPtrArray    *modules;       /* and the mode each had before */
  GArray       *modes;
  GPtrArray    *predictions;
  GVariant     *random;        /* of the default generator, put back after the check before training */
} LpEval;

/* One run: everything between an entry point and its end. What is read per step lies together. */
typedef struct
{
  LpStage            stage;
  LpRunState         state;
  gboolean           active;         /* an entry point is on */
  gboolean           training;

  LpPrecisionPlugin *plugin;
  LpModel           *model;
  LpDevice          *device;
  gboolean           reads_are_free; /* the host sees values at once */
  LpCallback       **callbacks;      /* the first @n_plain are no checkpoints */
  guint              n_plain, n_callbacks;
  GPtrArray         *callback_array;
  LpPrecisionContext *context;
  gboolean           attached;
  GCancellable      *cancellable;

  LpDataLoader      *train_loader, *val_loader;
  GPtrArray         *optimizers;
  GPtrArray         *unscaled;       /* optimizers whose gradients have true values; not owned */
  GPtrArray         *stepped;        /* optimizers stepped by hand since the last end of a step; not owned */
  LpOptimizerConfig *config;

  gint64             n_train, n_val;
  gint64             accumulate;
  gint64             val_every;      /* batches between validations; 0 for none */
  gint64             sanity_steps;
  gint64             max_epochs, max_steps;
  gint64             log_every;

  gint64             batch_idx;      /* of the batch that is on; after it, how many are done minus 1 */
  gint64             n_done;         /* batches done in this epoch */
  gint64             total_batches;  /* in all epochs: for intervals across epochs */
  gint64             applied_windows; /* windows in which an optimizer changed parameters: what schedules count */
  gint64             window_done, window_losses;
  gboolean           window_not_finite;
  gint64             epoch_losses;
  gint64             bad_in_a_row;
  gint64             skipped_in_a_row;
  gboolean           epoch_applied;  /* a step was applied in this epoch, */
  gboolean           epoch_finite, epoch_not_finite; /* a loss was so */
  gboolean           val_due;
  LpRunState         resume_point;   /* what a checkpoint written now says comes next */
  gboolean           resumed;
  gboolean           set_up;
  GVariant          *random;         /* of the default generator, put back when a resumed run starts */
  gboolean           is_last_batch;
  gboolean           skip_epoch;
  gint64             batch_samples;
  gint64             last_logged_step;
  LpTensor          *last_loss;      /* undivided and unscaled */
  gint64             start_time;     /* monotonic, µs */
  double             earlier_time;   /* seconds of the runs before a resume */

  LpEval             eval;
  LpLog              log;
} LpRun;

struct _LpTrainer
{
  GObject            parent_instance;

  LpTrainerSettings  settings;
  LpPrecisionSlot    precision;
  gboolean           initialized;
  GError            *init_error;

  GPtrArray         *callbacks;
  GPtrArray         *loggers;
  LpStrategy        *strategy;

  gint64             current_epoch;
  gint64             global_step;
  gint64             n_skipped_steps;
  gboolean           should_stop;
  gboolean           interrupted;
  gint               received_signal;

  LpRun              run;
};

enum
{
  LP_TRAINER_SIGNAL_FIT_START,
  LP_TRAINER_SIGNAL_FIT_END,
  LP_TRAINER_SIGNAL_TRAIN_EPOCH_START,
  LP_TRAINER_SIGNAL_TRAIN_EPOCH_END,
  LP_TRAINER_SIGNAL_TRAIN_BATCH_START,
  LP_TRAINER_SIGNAL_TRAIN_BATCH_END,
  LP_TRAINER_SIGNAL_VALIDATION_START,
  LP_TRAINER_SIGNAL_VALIDATION_END,
  LP_TRAINER_SIGNAL_EVAL_BATCH_END,
  LP_TRAINER_SIGNAL_CHECKPOINT_SAVED,
  LP_TRAINER_N_SIGNALS
};

extern guint _lp_trainer_signals[LP_TRAINER_N_SIGNALS];

/* Costs next to nothing when nobody listens. */
#define _lp_trainer_emit(self, which, ...) \
  G_STMT_START { \
    if (g_signal_has_handler_pending (self, _lp_trainer_signals[which], 0, FALSE)) \
      g_signal_emit (self, _lp_trainer_signals[which], 0, ##__VA_ARGS__); \
  } G_STMT_END

/* Calls a hook: of the callbacks in their order, of the model, of the callbacks that write checkpoints. FALSE with an error. */
#define _LP_CALL_CALLBACKS(self, hook, from, to, local, ...) \
  for (guint i_ = (from); i_ < (to) && (local) == NULL; i_++) \
    LP_CALLBACK_GET_CLASS ((self)->run.callbacks[i_])->hook ((self)->run.callbacks[i_], (self), (self)->run.model, \
                                                           ##__VA_ARGS__, &(local))
#define _lp_trainer_call_plain_hook(self, hook, error, ...) \
  ({ GError *local_ = NULL; \
     _LP_CALL_CALLBACKS (self, hook, 0, (self)->run.n_plain, local_, ##__VA_ARGS__); \
     if (local_ == NULL) \
       LP_MODEL_GET_CLASS ((self)->run.model)->hook ((self)->run.model, ##__VA_ARGS__, &local_); \
     if (local_ != NULL) \
       g_propagate_error (error, local_); \
     local_ == NULL; })
#define _lp_trainer_call_checkpoint_hook(self, hook, error, ...) \
  ({ GError *local_ = NULL; \
     _LP_CALL_CALLBACKS (self, hook, (self)->run.n_plain, (self)->run.n_callbacks, local_, ##__VA_ARGS__); \
     if (local_ != NULL) \
       g_propagate_error (error, local_); \
     local_ == NULL; })
#define _lp_trainer_call_hook(self, hook, error, ...) \
  (_lp_trainer_call_plain_hook (self, hook, error, ##__VA_ARGS__) && \
   _lp_trainer_call_checkpoint_hook (self, hook, error, ##__VA_ARGS__))
/* For hooks that models don't have. */
#define _lp_trainer_call_callbacks(self, hook, error, ...) \
  ({ GError *local_ = NULL; \
     _LP_CALL_CALLBACKS (self, hook, 0, (self)->run.n_callbacks, local_, ##__VA_ARGS__); \
     if (local_ != NULL) \
       g_propagate_error (error, local_); \
     local_ == NULL; })

/* lp-trainer.c */
gboolean    _lp_trainer_ensure_initialized (LpTrainer *self, GError **error);
const char *_lp_trainer_get_root_dir       (LpTrainer *self);

/* lp-trainer-setup.c */
gboolean    _lp_trainer_begin              (LpTrainer *self, LpStage stage, LpModel *model, LpDataLoader *loader,
                                            LpDataLoader *val_loader, const char *ckpt_path, GCancellable *cancellable,
                                            GError **error);

/* lp-trainer-end.c */
/* Ends the run; @failure may be NULL. Takes no ownership; FALSE with an error of its own. */
gboolean    _lp_trainer_end                (LpTrainer *self, const GError *failure, GError **error);

/* lp-trainer-fit.c: the state machine; TRUE while there is more to do, FALSE at the end or with an error */
gboolean    _lp_trainer_advance            (LpTrainer *self, GError **error);

/* lp-trainer-step.c */
gboolean    _lp_trainer_training_step      (LpTrainer *self, LpBatch *batch, LpTensor **outputs, GError **error);
gboolean    _lp_trainer_finish_window      (LpTrainer *self, GError **error);
LpBatch    *_lp_trainer_prepare_batch      (LpTrainer *self, LpBatch *batch, GError **error);
gboolean    _lp_trainer_manual_backward    (LpTrainer *self, LpTensor *loss, GError **error);
LpStepResult _lp_trainer_manual_step       (LpTrainer *self, LpOptimizer *optimizer, GError **error);
gboolean    _lp_trainer_unscale            (LpTrainer *self, LpOptimizer *optimizer, GError **error);
gboolean    _lp_trainer_step_schedulers    (LpTrainer *self, LpLrInterval interval, GError **error);

/* lp-frozen.c: LP_ERROR_STATE, with the reason, if no gradient can come from @loss. */
gboolean    _lp_check_recorded             (LpTensor *loss, GPtrArray *modules, LpPrecisionPlugin *plugin, GError **error);

/* lp-trainer-skipped.c: losses that are not finite, and steps that are not applied */
void        _lp_trainer_note_loss          (LpTrainer *self, gboolean is_finite);
gboolean    _lp_trainer_judge_step         (LpTrainer *self, gboolean applied, GError **error);
gboolean    _lp_trainer_judge_epoch        (LpTrainer *self, GError **error);
/* A fit in which nothing was applied is told. */
void        _lp_trainer_judge_fit          (LpTrainer *self);

/* lp-trainer-eval.c */
gboolean    _lp_trainer_eval_start         (LpTrainer *self, LpEvalKind kind, gboolean sanity, LpDataLoader *loader,
                                            gint64 n_batches, GError **error);
/* One batch; @more says whether there are others. */
gboolean    _lp_trainer_eval_batch         (LpTrainer *self, gboolean *more, GError **error);
gboolean    _lp_trainer_eval_end           (LpTrainer *self, GError **error);
void        _lp_trainer_eval_abort         (LpTrainer *self);

/* lp-trainer-log.c: epoch values and loggers */
gboolean    _lp_trainer_flush_step         (LpTrainer *self, GError **error);
/* Makes the epoch's values known, */
gboolean    _lp_trainer_settle_epoch       (LpTrainer *self, LpLogPhase phase, GError **error);
/* and gives them to the loggers. */
gboolean    _lp_trainer_flush_epoch        (LpTrainer *self, LpLogPhase phase, GError **error);

/* lp-trainer-checkpoint.c */
gboolean    _lp_trainer_restore_weights    (LpTrainer *self, const char *path, GError **error);
gboolean    _lp_trainer_restore_state      (LpTrainer *self, const char *path, GError **error);
/* "last", "best" or a path; NULL without an error: start fresh. */
char       *_lp_trainer_resolve_ckpt_path  (LpTrainer *self, const char *ckpt_path, GError **error);
char       *_lp_trainer_dup_checkpoint_dir (LpTrainer *self);
gboolean    _lp_trainer_save_last          (LpTrainer *self, GError **error);

/* lp-trainer-loops.c: where in the loops a run is */
LpState    *_lp_trainer_save_loops         (LpTrainer *self, GError **error);
/* After the state of the loader of batches. */
gboolean    _lp_trainer_load_loops         (LpTrainer *self, LpState *state, GError **error);

/* lp-trainer-signals.c */
gboolean    _lp_signals_install            (void);
void        _lp_signals_restore            (void);
gint        _lp_signals_get_received       (void);

/* lp-model.c */
void        _lp_model_set_trainer          (LpModel *self, LpTrainer *trainer);
gboolean    _lp_model_needs_configure      (LpModel *self);

/* lp-model-checkpoint.c */
char       *_lp_model_checkpoint_dup_last  (LpCallback *self, LpTrainer *trainer);

G_END_DECLS
