#include <stdlib.h>

#include "lp-cpu-device-private.h"

/* Freed blocks wait in a list per size class, four classes to an octave, so at most a quarter is wasted. The first
 * bytes of a waiting block hold the link. */
#define N_CLASSES (4 * 48)
#define SMALLEST 64

/* Bytes that may wait, all classes together. */
#define CACHE_LIMIT ((gsize) 2 << 30)

typedef struct _Block Block;
struct _Block
{
  Block *next;
};

static struct
{
  GMutex lock;
  Block *first;
} classes[N_CLASSES];

static gsize cached_bytes; /* atomic */

static guint
class_of (gsize size, gsize *rounded)
{
  const gsize n = MAX (size, SMALLEST);
  const guint octave = 63 - (guint) __builtin_clzl (n - 1 + (n == 1));
  const gsize step = MAX ((gsize) 1 << octave >> 2, SMALLEST);

  *rounded = (n + step - 1) / step * step;
  return 4 * octave + (guint) ((*rounded - 1 - ((gsize) 1 << octave)) >> (octave - 2));
}

gpointer
_lp_cpu_allocate (gsize size)
{
  gsize rounded;
  guint index;
  Block *block;

  if (size > G_MAXSIZE >> 17)
    return NULL;
  index = class_of (size, &rounded);
  g_mutex_lock (&classes[index].lock);
  block = classes[index].first;
  if (block != NULL)
    classes[index].first = block->next;
  g_mutex_unlock (&classes[index].lock);
  if (block == NULL)
    return aligned_alloc (64, rounded);
  __atomic_sub_fetch (&cached_bytes, rounded, __ATOMIC_RELAXED);
  return block;
}

void
_lp_cpu_release (gpointer data, gsize size)
{
  Block *block = data;
  gsize rounded;
  guint index;

  if (data == NULL)
    return;
  index = class_of (size, &rounded);
  if (__atomic_add_fetch (&cached_bytes, rounded, __ATOMIC_RELAXED) > CACHE_LIMIT)
    {
      __atomic_sub_fetch (&cached_bytes, rounded, __ATOMIC_RELAXED);
      free (data);
      return;
    }
  g_mutex_lock (&classes[index].lock);
  block->next = classes[index].first;
  classes[index].first = block;
  g_mutex_unlock (&classes[index].lock);
}
