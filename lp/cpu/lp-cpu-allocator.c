#include <stdlib.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "lp-cpu-device-private.h"

/* Freed blocks wait in a list per size class, four classes to an octave, so at most a quarter is wasted. The first
 * bytes of a waiting block hold the link and its size. */
#define N_CLASSES (4 * 48)
#define SMALLEST 64

/* As many bytes may wait, all classes together, as were ever in use at once since the last trim; and always these. Past that all are
 * given back, so that what a former phase of a program left behind makes room for what the present one needs. */
#define CACHE_LIMIT ((gsize) 64 << 20)

typedef struct _Block Block;
struct _Block
{
  Block *next;
  gsize  size;
};

static struct
{
  GMutex lock;
  Block *first;
} classes[N_CLASSES];

static gsize cached_bytes, used_bytes, peak_bytes; /* atomic */

static guint
class_of (gsize size, gsize *rounded)
{
  const gsize n = MAX (size, SMALLEST);
  const guint octave = 63 - (guint) __builtin_clzl (n - 1 + (n == 1));
  const gsize step = MAX ((gsize) 1 << octave >> 2, SMALLEST);

  *rounded = (n + step - 1) / step * step;
  return 4 * octave + (guint) ((*rounded - 1 - ((gsize) 1 << octave)) >> (octave - 2));
}

static void
count_used (gsize size)
{
  const gsize used = __atomic_add_fetch (&used_bytes, size, __ATOMIC_RELAXED);
  gsize peak = __atomic_load_n (&peak_bytes, __ATOMIC_RELAXED);

  while (used > peak && !__atomic_compare_exchange_n (&peak_bytes, &peak, used, TRUE, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    ;
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
  if (block != NULL)
    __atomic_sub_fetch (&cached_bytes, rounded, __ATOMIC_RELAXED);
  else
    block = aligned_alloc (64, rounded);
  if (block != NULL)
    count_used (rounded);
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
  __atomic_sub_fetch (&used_bytes, rounded, __ATOMIC_RELAXED);
  if (__atomic_load_n (&cached_bytes, __ATOMIC_RELAXED) + rounded > MAX (__atomic_load_n (&peak_bytes, __ATOMIC_RELAXED), CACHE_LIMIT))
    _lp_cpu_trim ();
  __atomic_add_fetch (&cached_bytes, rounded, __ATOMIC_RELAXED);
  block->size = rounded;
  g_mutex_lock (&classes[index].lock);
  block->next = classes[index].first;
  classes[index].first = block;
  g_mutex_unlock (&classes[index].lock);
}

gsize
_lp_cpu_get_waiting (void)
{
  return __atomic_load_n (&cached_bytes, __ATOMIC_RELAXED);
}

static gsize
free_all (Block *block)
{
  gsize freed = 0;

  while (block != NULL)
    {
      Block *next = block->next;

      freed += block->size;
      free (block);
      block = next;
    }
  return freed;
}

void
_lp_cpu_trim (void)
{
  for (guint i = 0; i < N_CLASSES; i++)
    {
      Block *first;

      g_mutex_lock (&classes[i].lock);
      first = classes[i].first;
      classes[i].first = NULL;
      g_mutex_unlock (&classes[i].lock);
      __atomic_sub_fetch (&cached_bytes, free_all (first), __ATOMIC_RELAXED);
    }
  __atomic_store_n (&peak_bytes, __atomic_load_n (&used_bytes, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
#ifdef __GLIBC__
  malloc_trim (0);
#endif
}
