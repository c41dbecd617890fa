#include <lp/tensor/lp-tensor-private.h>

LpStorage *
_lp_storage_new (LpDevice  *device,
                 gsize      size,
                 GError   **error)
{
  gpointer data = _lp_device_allocate (device, MAX (size, 1), error);
  LpStorage *self;

  if (data == NULL)
    return NULL;

  self = g_new0 (LpStorage, 1);
  g_atomic_ref_count_init (&self->ref_count);
  self->data = data;
  self->size = size;
  self->device = g_object_ref (device);

  return self;
}

LpStorage *
_lp_storage_new_wrap (LpDevice       *device,
                      gpointer        data,
                      gsize           size,
                      gboolean        read_only,
                      gpointer        owner,
                      GDestroyNotify  release)
{
  LpStorage *self = g_new0 (LpStorage, 1);

  g_atomic_ref_count_init (&self->ref_count);
  self->data = data;
  self->size = size;
  self->device = g_object_ref (device);
  self->read_only = read_only;
  self->owner = owner;
  self->release = release;

  return self;
}

LpStorage *
_lp_storage_ref (LpStorage *self)
{
  g_atomic_ref_count_inc (&self->ref_count);
  return self;
}

gboolean
_lp_storage_is_shared (LpStorage *self)
{
  return !g_atomic_ref_count_compare (&self->ref_count, 1);
}

void
_lp_storage_unref (LpStorage *self)
{
  if (!g_atomic_ref_count_dec (&self->ref_count))
    return;

  if (self->release != NULL)
    self->release (self->owner);
  else
    _lp_device_release (self->device, self->data, MAX (self->size, 1));
  g_clear_pointer (&self->encoded, lp_shape_unref);
  g_object_unref (self->device);
  g_free (self);
}
