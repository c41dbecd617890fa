/* A whole checkpoint: a safetensors file with JSON in its metadata, from which a run goes on. */

#include "fuzz-run.h"

int
LLVMFuzzerTestOneInput (const guint8 *data,
                        gsize         size)
{
  fuzz_resume (data, size);

  return 0;
}
