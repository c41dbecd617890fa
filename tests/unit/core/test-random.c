#include <lp/lp.h>
#include <lp/core/lp-random-private.h>

/* The known answers of the authors' Random123 library. */
static void
test_philox (void)
{
  static const struct { guint64 seed, stream, offset; guint32 expected[4]; } vectors[] = {
    { 0, 0, 0, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
    { G_MAXUINT64, G_MAXUINT64, G_MAXUINT64, { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
    { 0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88, { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
  };

  for (gsize v = 0; v < G_N_ELEMENTS (vectors); v++)
    {
      guint32 out[4];

      _lp_philox (vectors[v].seed, vectors[v].stream, vectors[v].offset, out);
      for (int i = 0; i < 4; i++)
        g_assert_cmphex (out[i], ==, vectors[v].expected[i]);
    }
}

static void
test_state (void)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (LpGenerator) a = lp_generator_new (3, 1);
  g_autoptr (LpGenerator) b = lp_generator_new (0, 0);
  g_autoptr (GVariant) state = NULL;
  g_autoptr (GVariant) wrong = g_variant_ref_sink (g_variant_new_string ("no"));

  for (int i = 0; i < 5; i++)
    lp_generator_next (a);
  state = lp_generator_dup_state (a);
  lp_generator_set_state (b, state, &error);
  g_assert_no_error (error);
  for (int i = 0; i < 9; i++)
    g_assert_cmpuint (lp_generator_next (a), ==, lp_generator_next (b));

  g_assert_false (lp_generator_set_state (b, wrong, &error));
  g_assert_error (error, LP_ERROR, LP_ERROR_FORMAT);
}

static void
test_seed (void)
{
  guint32 first;

  lp_seed_everything (11);
  first = lp_generator_next (lp_generator_get_default ());
  lp_generator_next (lp_generator_get_default ());
  lp_seed_everything (11);
  g_assert_cmpuint (lp_generator_next (lp_generator_get_default ()), ==, first);
}

static void
test_push (void)
{
  g_autoptr (LpGenerator) fork = NULL;
  LpGenerator *outer = lp_generator_get_default ();

  fork = lp_generator_fork (outer, 9);
  lp_generator_push (fork);
  g_assert_true (lp_generator_get_default () == fork);
  lp_generator_pop ();
  g_assert_true (lp_generator_get_default () == outer);
}

static void
test_moments (void)
{
  g_autoptr (GError) error = NULL;
  const gint64 n = 100000;
  g_autoptr (LpTensor) uniform = NULL;
  g_autoptr (LpTensor) normal = NULL;
  g_autoptr (LpTensor) uniform_mean = NULL;
  g_autoptr (LpTensor) normal_mean = NULL;
  g_autoptr (LpTensor) square = NULL;
  g_autoptr (LpTensor) variance = NULL;

  lp_seed_everything (2);
  uniform = lp_tensor_uniform (&n, 1, 2, 4, NULL, NULL, &error);
  normal = lp_tensor_normal (&n, 1, 1, 3, NULL, NULL, &error);
  uniform_mean = lp_tensor_mean (uniform, NULL, 0, FALSE, &error);
  normal_mean = lp_tensor_mean (normal, NULL, 0, FALSE, &error);
  square = lp_tensor_square (normal, &error);
  variance = lp_tensor_mean (square, NULL, 0, FALSE, &error);
  g_assert_no_error (error);
  /* five standard errors */
  g_assert_cmpfloat_with_epsilon (lp_tensor_get_item (uniform_mean, NULL), 3, 0.01);
  g_assert_cmpfloat_with_epsilon (lp_tensor_get_item (normal_mean, NULL), 1, 0.05);
  g_assert_cmpfloat_with_epsilon (lp_tensor_get_item (variance, NULL), 10, 0.25);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/random/philox", test_philox);
  g_test_add_func ("/random/state", test_state);
  g_test_add_func ("/random/seed", test_seed);
  g_test_add_func ("/random/push", test_push);
  g_test_add_func ("/random/moments", test_moments);

  return g_test_run ();
}
