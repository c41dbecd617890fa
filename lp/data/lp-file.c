#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include <lp/core/lp-error.h>
#include <lp/core/lp-text-private.h>
#include <lp/data/lp-data-private.h>

GBytes *
_lp_map_file (const char  *path,
              GError     **error)
{
  g_autoptr (GError) local = NULL;
  g_autoptr (GMappedFile) file = NULL;

  if (!g_file_test (path, G_FILE_TEST_IS_REGULAR))
    {
      g_set_error (error, LP_ERROR, LP_ERROR_IO, "%s: %s", path,
                   g_file_test (path, G_FILE_TEST_EXISTS) ? "not a regular file" : "there is no such file");
      return NULL;
    }

  file = g_mapped_file_new (path, FALSE, &local);
  if (file == NULL)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_IO, "%s: can't be read: %s", path, local->message);
      return NULL;
    }

  return g_mapped_file_get_bytes (file);
}

void
_lp_set_format_error (GError     **error,
                      const char  *path,
                      const char  *format,
                      ...)
{
  g_autofree char *message = NULL;
  g_autofree char *shortened = NULL;
  va_list args;

  va_start (args, format);
  message = g_strdup_vprintf (format, args);
  va_end (args);

  shortened = _lp_shorten (message);
  g_set_error (error, LP_ERROR, LP_ERROR_FORMAT, "%s: %s", path, shortened);
}

static gboolean
write_all (int     fd,
           GBytes *bytes)
{
  gsize size;
  const guint8 *data = g_bytes_get_data (bytes, &size);

  while (size > 0)
    {
      gssize written = write (fd, data, MIN (size, (gsize) 1 << 30));

      if (written < 0 && errno == EINTR)
        continue;
      if (written <= 0)
        return FALSE;
      data += written;
      size -= written;
    }

  return TRUE;
}

void
_lp_sync_parent (const char *path)
{
  g_autofree char *folder = g_path_get_dirname (path);
  int fd = open (folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

  if (fd < 0)
    return;
  fsync (fd);
  close (fd);
}

static gboolean
fill_and_sync (int        fd,
               GPtrArray *parts)
{
  for (guint i = 0; i < parts->len; i++)
    if (!write_all (fd, g_ptr_array_index (parts, i)))
      return FALSE;

  return fsync (fd) == 0;
}

gboolean
_lp_write_file (const char  *path,
                GPtrArray   *parts,
                GError     **error)
{
  g_autofree char *temporary = g_strdup_printf ("%s.XXXXXX", path);
  gboolean ok;
  int fd, saved_errno;

  fd = g_mkstemp_full (temporary, O_RDWR | O_CLOEXEC, 0666);
  if (fd < 0)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_IO, "%s: can't be created: %s", path, g_strerror (errno));
      return FALSE;
    }

  ok = fill_and_sync (fd, parts);
  saved_errno = errno;
  if (close (fd) != 0 && ok)
    {
      ok = FALSE;
      saved_errno = errno;
    }
  if (ok && g_rename (temporary, path) != 0)
    {
      ok = FALSE;
      saved_errno = errno;
    }
  if (!ok)
    {
      g_unlink (temporary);
      g_set_error (error, LP_ERROR, LP_ERROR_IO, "%s: can't be written: %s", path, g_strerror (saved_errno));
      return FALSE;
    }

  _lp_sync_parent (path);
  return TRUE;
}
