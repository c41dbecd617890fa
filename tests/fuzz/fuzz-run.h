#pragma once

#include "../test-folder.h"
#include "../unit/trainer/trainer-fixture.h"

#include "fuzz-input.h"

G_BEGIN_DECLS

/* The run whose checkpoints are fuzzed: two epochs of a small net with dropout, a schedule and a gradient scaler. */

static inline TestNet *
fuzz_net_new (void)
{
  TestNet *net = test_net_new (1);

  net->with_schedule = TRUE;

  return net;
}

static inline LpTrainer *
fuzz_trainer_new (gint max_epochs)
{
  LpTrainer *trainer = test_trainer_new ("16-mixed", max_epochs);

  lp_trainer_set_accumulate_grad_batches (trainer, 2);

  return trainer;
}

/* A checkpoint from the middle of that run. */
static inline char *
fuzz_dup_checkpoint (gsize *size)
{
  g_autoptr (TestNet) net = fuzz_net_new ();
  g_autoptr (LpTrainer) trainer = fuzz_trainer_new (1);
  g_autoptr (LpDataLoader) loader = test_loader_new (12, 3, TRUE);
  char *folder = test_folder_new ();
  g_autofree char *path = g_build_filename (folder, "checkpoint", NULL);
  char *data;

  fuzz_be_quiet ();
  lp_data_loader_set_prefetch (loader, 0);
  g_assert_true (lp_trainer_fit (trainer, LP_MODEL (net), loader, NULL, NULL, NULL, NULL));
  g_assert_true (lp_trainer_save_checkpoint (trainer, path, FALSE, NULL));
  g_assert_true (g_file_get_contents (path, &data, size, NULL));
  test_folder_free (folder);

  return data;
}

/* Goes on from @checkpoint, to the end or to an error. */
static inline void
fuzz_resume (gconstpointer checkpoint,
             gsize         size)
{
  g_autoptr (TestNet) net = fuzz_net_new ();
  g_autoptr (LpTrainer) trainer = fuzz_trainer_new (2);
  g_autoptr (LpDataLoader) loader = test_loader_new (12, 3, TRUE);
  GError *error = NULL;
  gboolean ok;

  fuzz_be_quiet ();
  lp_data_loader_set_prefetch (loader, 0);
  fuzz_set_input (checkpoint, size);
  ok = lp_trainer_fit (trainer, LP_MODEL (net), loader, NULL, FUZZ_PATH, NULL, &error);
  fuzz_check (ok, error);
}

G_END_DECLS
