#pragma once

#include <lp/core/lp-blockwise-dtype.h>

G_BEGIN_DECLS

/* Absmax that are encoded together where they are quantized, too. */
#define LP_BLOCKWISE_NESTED_BLOCK 256

/* Where what follows @bytes bytes of codes begins. */
static inline gint64
_lp_blockwise_absmax_offset (gint64 bytes)
{
  return (bytes + 3) / 4 * 4;
}

static inline gint64
_lp_blockwise_count_blocks (gint64 n,
                            gint64 block)
{
  return n / block + (n % block != 0);
}

G_END_DECLS
