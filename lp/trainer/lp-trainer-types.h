#pragma once

#if !defined (LP_INSIDE) && !defined (LP_COMPILATION)
#error "Only <lp/lp.h> can be included directly."
#endif

#include <glib-object.h>
#include <lp/core/lp-version-macros.h>

G_BEGIN_DECLS

typedef struct _LpTrainer LpTrainer;
typedef struct _LpModel LpModel;

/**
 * LpStage:
 * @LP_STAGE_IDLE: no run is on
 * @LP_STAGE_FIT: fit
 * @LP_STAGE_VALIDATE: validate
 * @LP_STAGE_TEST: test
 * @LP_STAGE_PREDICT: predict
 *
 * The entry point of a trainer that is running.
 */
typedef enum { LP_STAGE_IDLE, LP_STAGE_FIT, LP_STAGE_VALIDATE, LP_STAGE_TEST, LP_STAGE_PREDICT } LpStage;

/**
 * LpLogFlags:
 * @LP_LOG_DEFAULT: on step in training steps, on epoch elsewhere
 * @LP_LOG_ON_STEP: log each value
 * @LP_LOG_ON_EPOCH: log the values of an epoch as one
 * @LP_LOG_PROG_BAR: show it in the progress bar
 * @LP_LOG_NO_LOGGER: don't give it to the loggers
 * @LP_LOG_SUM: the epoch's value is the sum; without one of these three it is the mean, weighted by batch size
 * @LP_LOG_MIN: the epoch's value is the smallest
 * @LP_LOG_MAX: the epoch's value is the largest
 *
 * What becomes of a logged value.
 */
typedef enum /*< flags >*/ {
  LP_LOG_DEFAULT = 0,
  LP_LOG_ON_STEP = 1 << 0,
  LP_LOG_ON_EPOCH = 1 << 1,
  LP_LOG_PROG_BAR = 1 << 2,
  LP_LOG_NO_LOGGER = 1 << 3,
  LP_LOG_SUM = 1 << 4,
  LP_LOG_MIN = 1 << 5,
  LP_LOG_MAX = 1 << 6
} LpLogFlags;

/**
 * LpMonitorMode:
 * @LP_MONITOR_MIN: smaller is better
 * @LP_MONITOR_MAX: larger is better
 *
 * Which of two values of a monitored metric is the better one.
 */
typedef enum { LP_MONITOR_MIN, LP_MONITOR_MAX } LpMonitorMode;

#define LP_TYPE_STAGE (lp_stage_get_type ())
#define LP_TYPE_LOG_FLAGS (lp_log_flags_get_type ())
#define LP_TYPE_MONITOR_MODE (lp_monitor_mode_get_type ())

LP_AVAILABLE_IN_ALL
GType lp_stage_get_type (void) G_GNUC_CONST;
LP_AVAILABLE_IN_ALL
GType lp_log_flags_get_type (void) G_GNUC_CONST;
LP_AVAILABLE_IN_ALL
GType lp_monitor_mode_get_type (void) G_GNUC_CONST;

G_END_DECLS
