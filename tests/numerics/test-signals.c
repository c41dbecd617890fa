#include <signal.h>
#include <string.h>
#include <sys/time.h>

#include <lp/lp.h>

/* A signal in the middle of a product is none of its business. */

static volatile sig_atomic_t n_signals;

static void
count (int number)
{
  n_signals++;
}

static void
set_timer (int microseconds)
{
  struct itimerval every = { { 0, microseconds }, { 0, microseconds } };

  g_assert_cmpint (setitimer (ITIMER_REAL, &every, NULL), ==, 0);
}

static LpTensor *
multiply (LpTensor *a,
          LpTensor *b)
{
  g_autoptr (GError) error = NULL;
  LpTensor *product = lp_tensor_matmul (a, b, &error);

  g_assert_no_error (error);

  return product;
}

static void
test_products (void)
{
  struct sigaction action = { .sa_handler = count, .sa_flags = SA_RESTART };
  g_autoptr (LpTensor) a = NULL, b = NULL, expected = NULL;
  g_autoptr (GBytes) bytes = NULL;

  lp_seed_everything (1);
  a = lp_tensor_normal ((gint64[]) { 144, 512 }, 2, 0, 1, NULL, NULL, NULL);
  b = lp_tensor_normal ((gint64[]) { 512, 1024 }, 2, 0, 1, NULL, NULL, NULL);
  expected = multiply (a, b);
  bytes = lp_tensor_dup_bytes (expected, NULL);

  g_assert_cmpint (sigaction (SIGALRM, &action, NULL), ==, 0);
  set_timer (3000);
  for (int i = 0; i < 400; i++)
    {
      g_autoptr (LpTensor) product = multiply (a, b);
      g_autoptr (GBytes) got = lp_tensor_dup_bytes (product, NULL);

      g_assert_true (g_bytes_equal (got, bytes));
    }
  set_timer (0);
  g_assert_cmpint (n_signals, >, 10);
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/signals/products", test_products);

  return g_test_run ();
}
