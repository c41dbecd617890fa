#include "lp-cpu-private.h"

typedef struct
{
  gpointer data[LP_N_SCRATCH];
  gsize    sizes[LP_N_SCRATCH];
} Scratch;

static void
scratch_free (gpointer data)
{
  Scratch *self = data;

  for (int i = 0; i < LP_N_SCRATCH; i++)
    g_aligned_free (self->data[i]);
  g_free (self);
}

static GPrivate scratch_key = G_PRIVATE_INIT (scratch_free);

gpointer
_lp_cpu_scratch (LpScratch slot, gsize size)
{
  Scratch *self = g_private_get (&scratch_key);

  if (G_UNLIKELY (self == NULL))
    {
      self = g_new0 (Scratch, 1);
      g_private_set (&scratch_key, self);
    }
  if (size > self->sizes[slot])
    {
      g_aligned_free (self->data[slot]);
      self->sizes[slot] = MAX (size, 2 * self->sizes[slot]);
      self->data[slot] = g_aligned_alloc (self->sizes[slot], 1, 64);
    }
  return self->data[slot];
}
