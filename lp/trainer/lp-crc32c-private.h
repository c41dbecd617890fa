#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* The checksum of event files, polynomial 0x1EDC6F41 (Castagnoli). */
guint32 _lp_crc32c (gconstpointer data, gsize size);

static inline guint32
_lp_crc32c_mask (guint32 crc)
{
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8u;
}

G_END_DECLS
