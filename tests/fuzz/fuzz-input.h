#pragma once

#include <lp/lp.h>

G_BEGIN_DECLS

/* The name under which the loaders get the input of a harness, without a file. */
#define FUZZ_PATH "input"

/* One run of a harness; libFuzzer's name for it. */
int  LLVMFuzzerTestOneInput (const guint8  *data,
                             gsize          size);

void fuzz_set_input         (gconstpointer  data,
                             gsize          size);
void fuzz_be_quiet          (void);
void fuzz_check             (gboolean       ok,
                             GError        *error);

G_END_DECLS
