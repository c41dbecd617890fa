/* Weights that are frozen and adapters, in checkpoints that don't fit: what is said names the file, what is missing and what would
 * work. */

#include <string.h>

#include <glib/gstdio.h>

#include "trainer-fixture.h"
#include "../../test-folder.h"

typedef enum { PLAIN, ADAPTED, MERGED, FROZEN } Kind;

static void
merge (TestNet *net)
{
  const char *const names[] = { "first", "second" };

  for (gsize i = 0; i < G_N_ELEMENTS (names); i++)
    g_assert_true (lp_lora_linear_merge (LP_LORA_LINEAR (lp_module_lookup_child (LP_MODULE (net), names[i])), NULL));
}

static TestNet *
net_new (Kind kind)
{
  TestNet *net = test_net_new (1);

  if (kind == ADAPTED || kind == MERGED)
    g_assert_true (lp_lora_linear_adapt (LP_MODULE (net), NULL, 2, 4, 0, NULL));
  if (kind == MERGED)
    merge (net);
  if (kind == FROZEN)
    lp_module_set_requires_grad (LP_MODULE (net), FALSE);

  return net;
}

static GError *
fit (Kind        kind,
     const char *precision,
     int         epochs,
     const char *from,
     const char *to)
{
  g_autoptr (TestNet) net = net_new (kind);
  g_autoptr (LpDataLoader) loader = test_loader_new (16, 4, FALSE);
  g_autoptr (LpTrainer) trainer = test_trainer_new (precision, epochs);
  GError *error = NULL;

  if (lp_trainer_fit (trainer, LP_MODEL (net), loader, NULL, from, NULL, &error) && to != NULL)
    lp_trainer_save_checkpoint (trainer, to, FALSE, &error);

  return error;
}

static void
assert_says (const GError *error,
             LpError       code,
             const char   *file,
             const char   *what)
{
  g_assert_error (error, LP_ERROR, (int) code);
  g_test_message ("%s", error->message);
  g_assert_true (file == NULL || g_str_has_prefix (error->message, file));
  g_assert_nonnull (strstr (error->message, what));
}

static void
test_resume (void)
{
  static const struct { Kind from; const char *was; Kind to; const char *is; LpError code; const char *what; } rows[] = {
    { ADAPTED, "nf4", PLAIN, "32-true", LP_ERROR_FORMAT, "with adapters, of which it holds 4" },
    { ADAPTED, "32-true", PLAIN, "16-mixed", LP_ERROR_FORMAT, "lp_lora_linear_adapt() first" },
    { PLAIN, "32-true", ADAPTED, "nf4", LP_ERROR_FORMAT, "load it before lp_lora_linear_adapt()" },
    { PLAIN, "bf16-true", ADAPTED, "bf16-true", LP_ERROR_FORMAT, "holds no adapters" },
    { PLAIN, "nf4", PLAIN, "32-true", LP_ERROR_FORMAT, "of 2 parameters in group 0, and this one has 4" },
    { PLAIN, "nf4", PLAIN, "32-true", LP_ERROR_FORMAT, "it was saved under nf4, and this is 32-true" },
    { PLAIN, "32-true", PLAIN, "int8", LP_ERROR_FORMAT, "of 4 parameters in group 0, and this one has 2" },
    { ADAPTED, "32-true", MERGED, "32-true", LP_ERROR_STATE, "unmerge them first" },
  };
  char *folder = test_folder_new ();
  g_autofree char *path = g_build_filename (folder, "saved", NULL);

  for (gsize i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      g_autoptr (GError) none = fit (rows[i].from, rows[i].was, 1, NULL, path);
      g_autoptr (GError) error = NULL;

      g_assert_no_error (none);
      error = fit (rows[i].to, rows[i].is, 2, path, NULL);
      assert_says (error, rows[i].code, path, rows[i].what);
    }
  g_remove (path);
  test_folder_free (folder);
}

static void
test_nothing_trained (void)
{
  g_autoptr (GError) frozen = fit (FROZEN, "32-true", 1, NULL, NULL);
  g_autoptr (GError) merged = fit (MERGED, "16-mixed", 1, NULL, NULL);
  g_autoptr (LpFabric) fabric = lp_fabric_new ("32-true", NULL);
  g_autoptr (TestNet) net = net_new (FROZEN);
  g_autoptr (LpTensor) loss = lp_tensor_scalar (1, lp_dtype_f32 (), NULL, NULL);
  g_autoptr (GError) error = NULL;

  assert_says (frozen, LP_ERROR_STATE, NULL, "all parameters are frozen");
  assert_says (merged, LP_ERROR_STATE, NULL, "“first” are merged");
  g_assert_true (lp_fabric_setup_module (fabric, LP_MODULE (net), NULL));
  g_assert_false (lp_fabric_backward (fabric, loss, &error));
  assert_says (error, LP_ERROR_STATE, NULL, "all parameters are frozen");
  g_clear_error (&error);
  lp_module_set_requires_grad (LP_MODULE (net), TRUE);
  g_assert_false (lp_fabric_backward (fabric, loss, &error));
  assert_says (error, LP_ERROR_STATE, NULL, "gradients off");
}

/* A file that would hold the product twice is not written. */
static void
test_merged_files (void)
{
  char *folder = test_folder_new ();
  g_autofree char *path = g_build_filename (folder, "saved", NULL);
  g_autoptr (LpTrainer) trainer = test_trainer_new ("32-true", 1);
  g_autoptr (LpFabric) fabric = lp_fabric_new ("32-true", NULL);
  g_autoptr (TestNet) net = net_new (ADAPTED);
  g_autoptr (LpDataLoader) loader = test_loader_new (16, 4, FALSE);
  g_autoptr (LpTensorDict) adapters = lp_lora_linear_dup_state (LP_MODULE (net));
  g_autoptr (TestNet) plain = net_new (PLAIN);
  g_autoptr (GError) error = NULL;

  g_assert_true (lp_trainer_fit (trainer, LP_MODEL (net), loader, NULL, NULL, NULL, &error));
  merge (net);
  g_assert_false (lp_trainer_save_checkpoint (trainer, path, TRUE, &error));
  assert_says (error, LP_ERROR_STATE, NULL, "would hold them twice");
  g_clear_error (&error);
  g_assert_true (lp_fabric_setup_module (fabric, LP_MODULE (net), NULL));
  g_assert_false (lp_fabric_save (fabric, path, NULL, &error));
  assert_says (error, LP_ERROR_STATE, NULL, "would hold them twice");
  g_clear_error (&error);
  g_assert_false (g_file_test (path, G_FILE_TEST_EXISTS));

  g_assert_false (lp_lora_linear_load_state (LP_MODULE (net), adapters, &error));
  assert_says (error, LP_ERROR_STATE, NULL, "unmerge them first");
  g_clear_error (&error);
  g_assert_false (lp_lora_linear_load_state (LP_MODULE (plain), adapters, &error));
  assert_says (error, LP_ERROR_STATE, NULL, "lp_lora_linear_adapt()");
  g_clear_error (&error);
  g_assert_false (lp_module_load_state_dict (LP_MODULE (plain), adapters, TRUE, &error));
  assert_says (error, LP_ERROR_FORMAT, NULL, "lp_lora_linear_load_state()");
  test_folder_free (folder);
}

static void
test_packed (void)
{
  g_autoptr (TestNet) net = net_new (PLAIN);
  g_autoptr (LpTensorDict) state = lp_module_dup_state_dict (LP_MODULE (net));
  g_autoptr (LpTensor) absmax = lp_tensor_ones ((gint64[]) { 2 }, 1, lp_dtype_f32 (), NULL, NULL);
  g_autoptr (GError) error = NULL;

  lp_tensor_dict_set (state, "first.weight.absmax", absmax);
  g_assert_false (lp_module_load_state_dict (LP_MODULE (net), state, TRUE, &error));
  assert_says (error, LP_ERROR_FORMAT, NULL, "lp_bitsandbytes_unpack()");
}

static void
test_fabric (void)
{
  char *folder = test_folder_new ();
  g_autofree char *path = g_build_filename (folder, "saved", NULL);
  g_autoptr (LpFabric) fabric = lp_fabric_new ("32-true", NULL);
  g_autoptr (LpFabric) other = lp_fabric_new ("32-true", NULL);
  g_autoptr (TestNet) net = net_new (ADAPTED);
  g_autoptr (TestNet) plain = net_new (PLAIN);
  g_autoptr (GError) error = NULL;

  g_assert_true (lp_fabric_setup_module (fabric, LP_MODULE (net), NULL));
  g_assert_true (lp_fabric_save (fabric, path, NULL, &error));
  g_assert_no_error (error);
  g_assert_true (lp_fabric_setup_module (other, LP_MODULE (plain), NULL));
  g_assert_null (lp_fabric_load (other, path, &error));
  assert_says (error, LP_ERROR_FORMAT, path, "with adapters");
  g_remove (path);
  test_folder_free (folder);
}

int
main (int   argc,
      char *argv[])
{
  g_test_init (&argc, &argv, NULL);

  g_test_add_func ("/frozen/resume", test_resume);
  g_test_add_func ("/frozen/nothing-trained", test_nothing_trained);
  g_test_add_func ("/frozen/merged-files", test_merged_files);
  g_test_add_func ("/frozen/packed", test_packed);
  g_test_add_func ("/frozen/fabric", test_fabric);

  return g_test_run ();
}
