#pragma once

#include <lp/trainer/lp-model.h>

G_BEGIN_DECLS

void _lp_model_class_init_hooks (LpModelClass *klass);
void _lp_model_class_init_returning_hooks (LpModelClass *klass);

G_END_DECLS
