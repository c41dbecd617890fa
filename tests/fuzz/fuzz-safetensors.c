#include "fuzz-input.h"

/* Reads every byte that the file gave. */
static void
read_all (LpTensorDict *tensors)
{
  g_auto (GStrv) names = lp_tensor_dict_dup_names (tensors);

  for (guint i = 0; names[i] != NULL; i++)
    {
      g_autoptr (GBytes) bytes = lp_tensor_dup_bytes (lp_tensor_dict_lookup (tensors, names[i]), NULL);
    }
}

int
LLVMFuzzerTestOneInput (const guint8 *data,
                        gsize         size)
{
  g_autoptr (LpTensorDict) tensors = NULL;
  g_autoptr (GVariant) metadata = NULL;
  GError *error = NULL;

  fuzz_be_quiet ();
  fuzz_set_input (data, size);
  tensors = lp_load_safetensors (FUZZ_PATH, &error);
  fuzz_check (tensors != NULL, error);
  if (tensors != NULL)
    read_all (tensors);

  error = NULL;
  metadata = lp_load_safetensors_metadata (FUZZ_PATH, &error);
  fuzz_check (metadata != NULL, error);

  return 0;
}
