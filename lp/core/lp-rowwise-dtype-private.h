#pragma once

#include <lp/core/lp-rowwise-dtype.h>

G_BEGIN_DECLS

/* Where the scales begin behind @n integers. */
static inline gint64
_lp_rowwise_scales_offset (gint64 n)
{
  return (n + 3) / 4 * 4;
}

G_END_DECLS
