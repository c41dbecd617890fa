/* The states in a checkpoint. The input is the JSON text that describes them, put in the place of a good checkpoint's, so that it gets
 * past the formats around it, down to what the objects make of their states. */

#include <string.h>

#include <json-glib/json-glib.h>

#include "fuzz-run.h"

/* A good checkpoint taken apart: the header, and the bytes behind it. */
static JsonNode *header;
static const char *elements;
static gsize elements_size;

static void
take_apart (void)
{
  static char *checkpoint;
  g_autofree char *text = NULL;
  guint64 length;
  gsize size;

  if (checkpoint != NULL)
    return;

  checkpoint = fuzz_dup_checkpoint (&size);
  memcpy (&length, checkpoint, 8);
  length = GUINT64_FROM_LE (length);
  elements = checkpoint + 8 + length;
  elements_size = size - 8 - length;
  text = g_strndup (checkpoint + 8, length);
  header = json_from_string (text, NULL);
  g_assert_nonnull (header);
}

int
LLVMFuzzerTestOneInput (const guint8 *data,
                        gsize         size)
{
  g_autoptr (GByteArray) file = g_byte_array_new ();
  g_autofree char *description = g_strndup ((const char *) data, size);
  g_autofree char *text = NULL;
  JsonObject *metadata;
  guint64 length;

  if (!g_utf8_validate (description, -1, NULL))
    return 0;

  take_apart ();
  metadata = json_object_get_object_member (json_node_get_object (header), "__metadata__");
  json_object_set_string_member (metadata, "lp.checkpoint", description);
  text = json_to_string (header, FALSE);
  length = GUINT64_TO_LE ((guint64) strlen (text));
  g_byte_array_append (file, (const guint8 *) &length, 8);
  g_byte_array_append (file, (const guint8 *) text, strlen (text));
  g_byte_array_append (file, (const guint8 *) elements, elements_size);
  fuzz_resume (file->data, file->len);

  return 0;
}
