#pragma once

#include <math.h>
#include <string.h>

#include <lp/lp.h>

/* Files of named sections that golden/make-golden.py makes, and the numbers that it makes blocks of. */

static inline GBytes *
golden_read (const char *file)
{
  g_autofree char *path = g_test_build_filename (G_TEST_DIST, "golden", file, NULL);
  g_autoptr (GError) error = NULL;
  char *data;
  gsize size;

  if (!g_file_get_contents (path, &data, &size, &error))
    g_error ("%s", error->message);

  return g_bytes_new_take (data, size);
}

static inline GBytes *
golden_lookup (GBytes     *file,
               const char *name)
{
  gsize size;
  const guint8 *data = g_bytes_get_data (file, &size);

  for (gsize at = 0; at + 28 <= size;)
    {
      guint32 length;

      memcpy (&length, data + at + 24, 4);
      if (strncmp ((const char *) data + at, name, 24) == 0)
        return g_bytes_new (data + at + 28, length);   /* aligned */
      at += 28 + length;
    }
  g_error ("no section %s", name);
}

static inline LpTensor *
golden_numbers (const gint64 *dims,
                gsize         n_dims)
{
  g_autoptr (GError) error = NULL;
  LpTensor *tensor = lp_tensor_empty (dims, n_dims, lp_dtype_f32 (), NULL, &error);
  float *values = (float *) (gsize) lp_tensor_get_address (tensor);
  const gint64 n = lp_tensor_get_n_elements (tensor);
  guint32 state = 12345;

  for (gint64 i = 0; i < n; i++)
    {
      state = state * 1664525u + 1013904223u;
      values[i] = ldexpf ((float) ((gint32) (state >> 8) - (1 << 23)) / (1 << 23), (int) (state & 7) - 4);
    }

  return tensor;
}
