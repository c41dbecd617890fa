#include "fuzz-input.h"

int
LLVMFuzzerTestOneInput (const guint8 *data,
                        gsize         size)
{
  g_autoptr (LpTensor) tensor = NULL;
  GError *error = NULL;

  fuzz_be_quiet ();
  fuzz_set_input (data, size);
  tensor = lp_load_idx (FUZZ_PATH, &error);
  fuzz_check (tensor != NULL, error);

  return 0;
}
