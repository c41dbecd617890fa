#include <lp/core/lp-text-private.h>

#include <string.h>

/* Bytes of a text that are kept, from both ends. */
#define MAX_MESSAGE 600

static gboolean
is_inside_character (char byte)
{
  return ((guchar) byte & 0xc0) == 0x80;
}

char *
_lp_shorten (const char *text)
{
  const gsize length = strlen (text);
  gsize head = MAX_MESSAGE / 2, tail = length - MAX_MESSAGE / 2;

  if (length <= MAX_MESSAGE)
    return g_strdup (text);

  while (head > 0 && is_inside_character (text[head]))
    head--;
  while (is_inside_character (text[tail]))
    tail++;

  return g_strdup_printf ("%.*s…%s", (int) head, text, text + tail);
}
