#include <lp/precision/lp-precision-error.h>

G_DEFINE_QUARK (lp-precision-error-quark, lp_precision_error)

G_DEFINE_ENUM_TYPE (LpPrecisionError, lp_precision_error,
                    G_DEFINE_ENUM_VALUE (LP_PRECISION_ERROR_UNKNOWN, "unknown"),
                    G_DEFINE_ENUM_VALUE (LP_PRECISION_ERROR_UNSUPPORTED, "unsupported"),
                    G_DEFINE_ENUM_VALUE (LP_PRECISION_ERROR_CONFLICT, "conflict"),
                    G_DEFINE_ENUM_VALUE (LP_PRECISION_ERROR_MISSING_DEPENDENCY, "missing-dependency"),
                    G_DEFINE_ENUM_VALUE (LP_PRECISION_ERROR_BAD_LEVEL, "bad-level"),
                    G_DEFINE_ENUM_VALUE (LP_PRECISION_ERROR_BAD_SCALER, "bad-scaler"),
                    G_DEFINE_ENUM_VALUE (LP_PRECISION_ERROR_BAD_STATE, "bad-state"))
