#include <lp/core/lp-registry-private.h>

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include <gmodule.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include <lp/core/lp-error.h>

typedef gboolean (* RegisterFunc) (LpRegistry  *registry,
                                   GError     **error);
typedef guint    (* AbiFunc)      (void);

/* Files that were tried, and whether that is over. A thread that finds another one at it waits; the lock is not
 * held while the module's code runs. */
static GMutex lock;
static GCond cond;
static GHashTable *files;   /* path → GThread that loads it, or NULL */

static GPrivate current;

const char *
_lp_modules_get_current (void)
{
  return g_private_get (&current);
}

static gboolean
begin_file (const char *path)
{
  gboolean known;
  gpointer thread;

  g_mutex_lock (&lock);
  if (files == NULL)
    files = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  known = g_hash_table_lookup_extended (files, path, NULL, &thread);
  if (!known)
    g_hash_table_insert (files, g_strdup (path), g_thread_self ());
  while (known && thread != NULL && thread != g_thread_self ())
    {
      g_cond_wait (&cond, &lock);
      thread = g_hash_table_lookup (files, path);
    }
  g_mutex_unlock (&lock);

  return !known;
}

static void
end_file (const char *path)
{
  g_mutex_lock (&lock);
  g_hash_table_insert (files, g_strdup (path), NULL);
  g_cond_broadcast (&cond);
  g_mutex_unlock (&lock);
}

static gboolean
check_abi (GModule  *module,
           GError  **error)
{
  gpointer symbol = NULL;
  guint abi;

  if (g_module_symbol (module, "lp_module_abi", &symbol) && symbol != NULL)
    abi = ((AbiFunc) symbol) ();
  else if (g_module_symbol (module, "lp_module_abi_version", &symbol) && symbol != NULL)
    abi = *(const guint *) symbol;
  else
    {
      g_set_error (error, LP_ERROR, LP_ERROR_FORMAT, "it exports no lp_module_abi");
      return FALSE;
    }
  if (abi == LP_MODULE_ABI)
    return TRUE;

  g_set_error (error, LP_ERROR, LP_ERROR_FORMAT, "it was built for module ABI %u and this is %u; build it again", abi,
               (guint) LP_MODULE_ABI);
  return FALSE;
}

static char *
get_symbol_name (const char *kind,
                 const char *name)
{
  g_autofree char *plain = g_strdup_printf ("%s_%s", kind, name);

  for (char *p = plain; *p != '\0'; p++)
    if (!g_ascii_isalnum (*p))
      *p = '_';

  return g_strdup_printf ("lp_module_%s_register", plain);
}

#ifdef __ELF__
static gboolean
ends_within (guint64 start,
             guint64 size,
             guint64 end)
{
  return start <= end && size <= end - start;
}

/* Whether what the header of an ELF file speaks of is there. The loader maps segments without asking, and who then reads behind
 * the end of a file that is half copied gets SIGBUS. Files that are no ELF of this machine the loader refuses itself. */
static gboolean
is_whole (int     fd,
          guint64 size)
{
  ElfW(Ehdr) header;
  const unsigned char own_class = sizeof (gpointer) == 8 ? ELFCLASS64 : ELFCLASS32;

  if (pread (fd, &header, sizeof header, 0) != (gssize) sizeof header)
    return FALSE;
  if (memcmp (header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != own_class || header.e_phentsize != sizeof (ElfW(Phdr)))
    return TRUE;
  if (!ends_within (header.e_phoff, (guint64) header.e_phnum * header.e_phentsize, size) ||
      !ends_within (header.e_shoff, (guint64) header.e_shnum * header.e_shentsize, size))
    return FALSE;

  for (guint i = 0; i < header.e_phnum; i++)
    {
      ElfW(Phdr) segment;

      if (pread (fd, &segment, sizeof segment, (off_t) (header.e_phoff + i * sizeof segment)) != (gssize) sizeof segment)
        return FALSE;
      if (segment.p_type == PT_LOAD && !ends_within (segment.p_offset, segment.p_filesz, size))
        return FALSE;
    }

  return TRUE;
}
#endif

static gboolean
check_file (const char  *path,
            GError     **error)
{
  int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat info;

  if (fd < 0)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_IO, "it can't be read: %s", g_strerror (errno));
      return FALSE;
    }
  if (fstat (fd, &info) != 0 || !S_ISREG (info.st_mode))
    g_set_error (error, LP_ERROR, LP_ERROR_IO, "it is not a regular file");
#ifdef __ELF__
  else if (!is_whole (fd, (guint64) info.st_size))
    g_set_error (error, LP_ERROR, LP_ERROR_FORMAT, "it is cut short, at %" G_GINT64_FORMAT " bytes: copy or build it again",
                 (gint64) info.st_size);
#endif
  else
    {
      close (fd);
      return TRUE;
    }
  close (fd);

  return FALSE;
}

static gboolean
open_module (LpRegistry  *registry,
             const char  *path,
             const char  *name,
             GError     **error)
{
  g_autofree char *symbol_name = get_symbol_name (lp_registry_get_kind (registry), name);
  GModule *module;
  gpointer symbol = NULL;
  gpointer outer;
  gboolean ok;

  if (!check_file (path, error))
    return FALSE;
  module = g_module_open (path, G_MODULE_BIND_LOCAL);
  if (module == NULL)
    {
      g_set_error_literal (error, LP_ERROR, LP_ERROR_IO, g_module_error ());
      return FALSE;
    }

  /* types can't be unloaded */
  g_module_make_resident (module);
  if (!check_abi (module, error))
    return FALSE;
  if (!g_module_symbol (module, symbol_name, &symbol) || symbol == NULL)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_FORMAT, "it exports no %s", symbol_name);
      return FALSE;
    }

  outer = g_private_get (&current);
  g_private_set (&current, (gpointer) path);
  ok = ((RegisterFunc) symbol) (registry, error);
  g_private_set (&current, outer);

  return ok;
}

static void
load_file (LpRegistry *registry,
           const char *path,
           const char *name)
{
  g_autoptr (GError) error = NULL;

  if (!begin_file (path))
    return;

  if (!open_module (registry, path, name, &error))
    {
      g_autoptr (LpRegistryEntry) entry =
        _lp_registry_entry_new_broken (name, path, error != NULL ? error->message : "it failed without saying why");

      lp_registry_add (registry, entry, NULL);
    }
  end_file (path);
}

static int
compare_names (gconstpointer a,
               gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

static void
load_folder (LpRegistry *registry,
             const char *folder)
{
  g_autofree char *prefix = g_strdup_printf ("lp-%s-", lp_registry_get_kind (registry));
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  const char *file;

  if (dir == NULL)
    return;

  while ((file = g_dir_read_name (dir)) != NULL)
    if (g_str_has_prefix (file, prefix) && g_str_has_suffix (file, ".so") && strlen (file) > strlen (prefix) + 3)
      g_ptr_array_add (names, g_strdup (file));
  g_ptr_array_sort (names, compare_names);

  for (guint i = 0; i < names->len; i++)
    {
      const char *base = g_ptr_array_index (names, i);
      g_autofree char *path = g_build_filename (folder, base, NULL);
      g_autofree char *name = g_strndup (base + strlen (prefix), strlen (base) - strlen (prefix) - 3);

      load_file (registry, path, name);
    }
}

static void
load_named (LpRegistry *registry,
            const char *folder,
            const char *name)
{
  g_autofree char *base = g_strdup_printf ("lp-%s-%s.so", lp_registry_get_kind (registry), name);
  g_autofree char *path = g_build_filename (folder, base, NULL);

  if (g_file_test (path, G_FILE_TEST_EXISTS))
    load_file (registry, path, name);
}

static char **
dup_folders (void)
{
  const char *path = getauxval (AT_SECURE) ? NULL : g_getenv ("LP_MODULE_PATH");
  g_autofree char *joined = NULL;

  if (path == NULL || path[0] == '\0')
    joined = g_strdup (LP_MODULE_DIR);
  else
    joined = g_strconcat (path, G_SEARCHPATH_SEPARATOR_S, LP_MODULE_DIR, NULL);

  return g_strsplit (joined, G_SEARCHPATH_SEPARATOR_S, -1);
}

void
_lp_modules_load (LpRegistry *registry,
                  const char *name)
{
  g_auto (GStrv) folders = dup_folders ();

  if (lp_registry_get_kind (registry) == NULL || (name != NULL && (strchr (name, '/') != NULL || name[0] == '\0')))
    return;

  for (guint i = 0; folders[i] != NULL; i++)
    {
      if (folders[i][0] == '\0')
        continue;
      if (name != NULL)
        load_named (registry, folders[i], name);
      else
        load_folder (registry, folders[i]);
    }
}
