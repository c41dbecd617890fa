#include <lp/trainer/lp-trainer-types.h>

G_DEFINE_ENUM_TYPE (LpStage, lp_stage,
                    G_DEFINE_ENUM_VALUE (LP_STAGE_IDLE, "idle"),
                    G_DEFINE_ENUM_VALUE (LP_STAGE_FIT, "fit"),
                    G_DEFINE_ENUM_VALUE (LP_STAGE_VALIDATE, "validate"),
                    G_DEFINE_ENUM_VALUE (LP_STAGE_TEST, "test"),
                    G_DEFINE_ENUM_VALUE (LP_STAGE_PREDICT, "predict"))

G_DEFINE_FLAGS_TYPE (LpLogFlags, lp_log_flags,
                     G_DEFINE_ENUM_VALUE (LP_LOG_DEFAULT, "default"),
                     G_DEFINE_ENUM_VALUE (LP_LOG_ON_STEP, "on-step"),
                     G_DEFINE_ENUM_VALUE (LP_LOG_ON_EPOCH, "on-epoch"),
                     G_DEFINE_ENUM_VALUE (LP_LOG_PROG_BAR, "prog-bar"),
                     G_DEFINE_ENUM_VALUE (LP_LOG_NO_LOGGER, "no-logger"),
                     G_DEFINE_ENUM_VALUE (LP_LOG_SUM, "sum"),
                     G_DEFINE_ENUM_VALUE (LP_LOG_MIN, "min"),
                     G_DEFINE_ENUM_VALUE (LP_LOG_MAX, "max"))

G_DEFINE_ENUM_TYPE (LpMonitorMode, lp_monitor_mode,
                    G_DEFINE_ENUM_VALUE (LP_MONITOR_MIN, "min"),
                    G_DEFINE_ENUM_VALUE (LP_MONITOR_MAX, "max"))
