#include <lp/core/lp-dtype-living-private.h>

static GMutex lock;
static GHashTable *living;   /* name to GWeakRef */

static void
free_weak_ref (gpointer data)
{
  g_weak_ref_clear (data);
  g_free (data);
}

LpDType *
_lp_dtype_find_living (const char *name)
{
  LpDType *dtype = NULL;
  GWeakRef *ref;

  g_mutex_lock (&lock);
  ref = living != NULL ? g_hash_table_lookup (living, name) : NULL;
  if (ref != NULL)
    dtype = g_weak_ref_get (ref);
  g_mutex_unlock (&lock);

  return dtype;
}

void
_lp_dtype_remember (LpDType    *self,
                    const char *name)
{
  g_autoptr (LpDType) first = _lp_dtype_find_living (name);
  GWeakRef *ref;

  if (first != NULL)
    return;

  ref = g_new0 (GWeakRef, 1);
  g_weak_ref_init (ref, self);
  g_mutex_lock (&lock);
  if (living == NULL)
    living = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, free_weak_ref);
  g_hash_table_replace (living, g_strdup (name), ref);
  g_mutex_unlock (&lock);
}
