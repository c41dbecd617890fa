#pragma once

#include <ftw.h>

#include <glib/gstdio.h>

G_BEGIN_DECLS

/* The one place where tests make temporary folders, and remove them with all that is in them. When a test fails the program is aborted,
 * and the folder stays to be looked at. */

static inline char *
test_folder_new (void)
{
  char *folder = g_dir_make_tmp ("lp-test-XXXXXX", NULL);

  g_assert_nonnull (folder);

  return folder;
}

static inline int
test_folder_remove_entry (const char        *path,
                          const struct stat *status,
                          int                type,
                          struct FTW        *ftw)
{
  return g_remove (path);
}

/* Removes the folder and frees its name. */
static inline void
test_folder_free (char *folder)
{
  g_assert_cmpint (nftw (folder, test_folder_remove_entry, 8, FTW_DEPTH | FTW_PHYS), ==, 0);
  g_free (folder);
}

/* Runs the tests in a folder of their own. */
static inline int
test_run_in_folder (void)
{
  g_autofree char *former = g_get_current_dir ();
  char *folder = test_folder_new ();
  int result;

  g_assert_cmpint (g_chdir (folder), ==, 0);
  result = g_test_run ();
  g_assert_cmpint (g_chdir (former), ==, 0);
  test_folder_free (folder);

  return result;
}

G_END_DECLS
