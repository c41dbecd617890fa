#include <string.h>

#include <lp/lp.h>

/* How threads wait: passively unless the user says otherwise, and the environment is left alone. The program runs itself. */

static const char *self_path;

static void
run_child (const char *name, const char *value, char **settings, char **after)
{
  char *argv[] = { (char *) self_path, (char *) "--print-environment", NULL };
  g_auto (GStrv) env = g_get_environ ();
  g_autoptr (GError) error = NULL;
  int status;

  env = g_environ_unsetenv (env, "OMP_WAIT_POLICY");
  env = g_environ_unsetenv (env, "GOMP_SPINCOUNT");
  env = g_environ_setenv (env, "OMP_DISPLAY_ENV", "verbose", TRUE);
  if (name != NULL)
    env = g_environ_setenv (env, name, value, TRUE);
  g_spawn_sync (NULL, argv, env, G_SPAWN_DEFAULT, NULL, NULL, after, settings, &status, &error);
  g_assert_no_error (error);
  g_assert_true (g_spawn_check_wait_status (status, &error));
}

static void
test_default (void)
{
  g_autofree char *settings = NULL, *after = NULL;

  run_child (NULL, NULL, &settings, &after);
  /* libgomp shows PASSIVE for no policy too; only the count tells them apart */
  g_assert_nonnull (strstr (settings, "GOMP_SPINCOUNT = '0'"));
  g_assert_cmpstr (after, ==, "policy (none)");
}

static void
test_user (void)
{
  g_autofree char *settings = NULL, *after = NULL, *spun = NULL, *after_spun = NULL;

  run_child ("OMP_WAIT_POLICY", "active", &settings, &after);
  g_assert_nonnull (strstr (settings, "OMP_WAIT_POLICY = 'ACTIVE'"));
  g_assert_cmpstr (after, ==, "policy active");
  run_child ("GOMP_SPINCOUNT", "1000", &spun, &after_spun);
  g_assert_cmpstr (after_spun, ==, "policy (none)");
}

int
main (int argc, char **argv)
{
  if (argc > 1 && g_str_equal (argv[1], "--print-environment"))
    {
      const char *policy = g_getenv ("OMP_WAIT_POLICY");

      g_type_ensure (LP_TYPE_DTYPE);
      g_print ("policy %s", policy != NULL ? policy : "(none)");
      return 0;
    }
  self_path = argv[0];
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/waiting/default", test_default);
  g_test_add_func ("/waiting/user", test_user);
  return g_test_run ();
}
