#include "fuzz-input.h"

static void
load (gboolean has_header)
{
  g_autoptr (LpTensor) tensor = NULL;
  GError *error = NULL;

  tensor = lp_load_csv (FUZZ_PATH, has_header, NULL, &error);
  fuzz_check (tensor != NULL, error);
}

int
LLVMFuzzerTestOneInput (const guint8 *data,
                        gsize         size)
{
  g_autoptr (LpBatch) columns = NULL;
  GError *error = NULL;

  fuzz_be_quiet ();
  fuzz_set_input (data, size);
  load (FALSE);
  load (TRUE);
  columns = lp_load_csv_columns (FUZZ_PATH, NULL, &error);
  fuzz_check (columns != NULL, error);

  return 0;
}
