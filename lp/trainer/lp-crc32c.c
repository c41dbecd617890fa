#include <lp/trainer/lp-crc32c-private.h>

#define POLYNOMIAL 0x82F63B78u

static guint32 table[256];

static void
make_table (void)
{
  static gsize made;

  if (!g_once_init_enter (&made))
    return;

  for (guint32 i = 0; i < 256; i++)
    {
      guint32 crc = i;

      for (int bit = 0; bit < 8; bit++)
        crc = (crc >> 1) ^ ((crc & 1) != 0 ? POLYNOMIAL : 0);
      table[i] = crc;
    }
  g_once_init_leave (&made, 1);
}

guint32
_lp_crc32c (gconstpointer data,
            gsize         size)
{
  const guint8 *bytes = data;
  guint32 crc = ~0u;

  make_table ();
  for (gsize i = 0; i < size; i++)
    crc = (crc >> 8) ^ table[(crc ^ bytes[i]) & 0xff];

  return ~crc;
}
