#include <lp/core/lp-error.h>

G_DEFINE_QUARK (lp-error-quark, lp_error)

G_DEFINE_ENUM_TYPE (LpError, lp_error,
                    G_DEFINE_ENUM_VALUE (LP_ERROR_SHAPE, "shape"),
                    G_DEFINE_ENUM_VALUE (LP_ERROR_DTYPE, "dtype"),
                    G_DEFINE_ENUM_VALUE (LP_ERROR_DEVICE, "device"),
                    G_DEFINE_ENUM_VALUE (LP_ERROR_IO, "io"),
                    G_DEFINE_ENUM_VALUE (LP_ERROR_FORMAT, "format"),
                    G_DEFINE_ENUM_VALUE (LP_ERROR_STATE, "state"),
                    G_DEFINE_ENUM_VALUE (LP_ERROR_ARGUMENT, "argument"),
                    G_DEFINE_ENUM_VALUE (LP_ERROR_UNKNOWN, "unknown"),
                    G_DEFINE_ENUM_VALUE (LP_ERROR_EXISTS, "exists"),
                    G_DEFINE_ENUM_VALUE (LP_ERROR_SUBCLASS, "subclass"),
                    G_DEFINE_ENUM_VALUE (LP_ERROR_NOT_SUPPORTED, "not-supported"),
                    G_DEFINE_ENUM_VALUE (LP_ERROR_NOT_FINITE, "not-finite"),
                    G_DEFINE_ENUM_VALUE (LP_ERROR_MEMORY, "memory"),
                    G_DEFINE_ENUM_VALUE (LP_ERROR_CONFLICT, "conflict"))
