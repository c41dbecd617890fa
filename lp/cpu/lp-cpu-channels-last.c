#include "lp-cpu-private.h"

/* Images as the tuned library reads them: channels last and dense. */

gboolean
_lp_cpu_is_channels_last (const LpArray *image)
{
  const gint64 *d = image->dims, *s = image->strides;

  return (s[1] == 1 || d[1] == 1) && (s[3] == d[1] || d[3] == 1) && (s[2] == d[3] * d[1] || d[2] == 1)
         && (s[0] == d[2] * d[3] * d[1] || d[0] == 1);
}

/* Along the rows, which are what is contiguous in an image that comes from a file. */
#define DEFINE_SPREAD(T) \
  static void \
  spread_##T (const LpArray *image, gint64 n, gint64 h, T *dst) \
  { \
    const gint64 *d = image->dims, *s = image->strides; \
    const T *src = (const T *) image->data + n * s[0] + h * s[2]; \
    for (gint64 c = 0; c < d[1]; c++) \
      for (gint64 w = 0; w < d[3]; w++) \
        dst[w * d[1] + c] = src[c * s[1] + w * s[3]]; \
  }

DEFINE_SPREAD (guint16)
DEFINE_SPREAD (guint32)

gconstpointer
_lp_cpu_channels_last (const LpArray *image, gint64 first, gint64 n, LpScratch slot)
{
  const gint64 *d = image->dims;
  const gsize size = _lp_scalar_sizes[image->scalar], row = (gsize) (d[3] * d[1]) * size;
  guint8 *copy;

  if (_lp_cpu_is_channels_last (image))
    return image->data + first * image->strides[0] * (gint64) size;
  copy = _lp_cpu_scratch (slot, MAX ((gsize) (n * d[2]) * row, 1));
  for (gint64 i = 0; i < n * d[2]; i++)
    if (size == sizeof (guint16))
      spread_guint16 (image, first + i / d[2], i % d[2], (guint16 *) (copy + (gsize) i * row));
    else
      spread_guint32 (image, first + i / d[2], i % d[2], (guint32 *) (copy + (gsize) i * row));
  return copy;
}
