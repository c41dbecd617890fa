#include "fuzz-input.h"

#include <string.h>

#include <lp/data/lp-data-private.h>

static gconstpointer input;
static gsize input_size;

GBytes *__wrap__lp_map_file (const char *path, GError **error);

/* Takes the place of _lp_map_file (), see meson.build: in memory of exactly this size the sanitizers see each byte that is read
 * too far, which they don't in a mapped page. */
GBytes *
__wrap__lp_map_file (const char  *path,
                     GError     **error)
{
  g_assert_cmpstr (path, ==, FUZZ_PATH);

  return g_bytes_new (input, input_size);
}

void
fuzz_set_input (gconstpointer data,
                gsize         size)
{
  input = data;
  input_size = size;
}

static GLogWriterOutput
drop (GLogLevelFlags   level,
      const GLogField *fields,
      gsize            n_fields,
      gpointer         user_data)
{
  if ((level & (G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_ERROR)) == 0)
    return G_LOG_WRITER_HANDLED;

  return g_log_writer_default (level, fields, n_fields, user_data);
}

/* Warnings about what is in a file are fine; a critical one is a bug. */
void
fuzz_be_quiet (void)
{
  static gsize done;

  if (!g_once_init_enter (&done))
    return;
  g_log_set_writer_func (drop, NULL, NULL);
  g_log_set_always_fatal (G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_ERROR);
  g_once_init_leave (&done, 1);
}

/* A loader succeeds, or it says what was wrong. Takes the error. */
void
fuzz_check (gboolean  ok,
            GError   *error)
{
  g_assert_true (ok == (error == NULL));
  g_assert_true (error == NULL || *error->message != '\0');
  g_clear_error (&error);
}
