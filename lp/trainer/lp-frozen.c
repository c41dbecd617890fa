/* Losses from which no gradient can come. */

#include <lp/trainer/lp-trainer-private.h>

#include <lp/core/lp-error.h>
#include <lp/nn/lp-lora-linear.h>
#include <lp/nn/lp-module-private.h>

static guint
count_trained (GPtrArray *modules)
{
  guint n = 0;

  for (guint i = 0; i < modules->len; i++)
    {
      g_autoptr (GPtrArray) parameters = lp_module_dup_parameters (g_ptr_array_index (modules, i));

      for (guint j = 0; j < parameters->len; j++)
        n += lp_tensor_get_requires_grad (g_ptr_array_index (parameters, j));
    }

  return n;
}

static char *
find_merged (GPtrArray *modules)
{
  char *path = NULL;

  for (guint i = 0; i < modules->len && path == NULL; i++)
    path = _lp_module_dup_merged_path (g_ptr_array_index (modules, i));

  return path;
}

gboolean
_lp_check_recorded (LpTensor           *loss,
                    GPtrArray          *modules,
                    LpPrecisionPlugin  *plugin,
                    GError            **error)
{
  g_autofree char *merged = NULL;
  g_autofree char *precision = NULL;

  if (lp_tensor_get_requires_grad (loss))
    return TRUE;

  merged = find_merged (modules);
  precision = lp_precision_plugin_dup_precision (plugin);
  if (merged != NULL)
    g_set_error (error, LP_ERROR, LP_ERROR_STATE, "The loss depends on nothing that is trained: the adapters of “%s” are merged into its "
                 "weight; unmerge them to train", merged);
  else if (count_trained (modules) == 0)
    g_set_error (error, LP_ERROR, LP_ERROR_STATE, "The loss depends on nothing that is trained: all parameters are frozen, by the program or "
                 "by %s; release some with lp_module_set_requires_grad(), put adapters on them with lp_lora_linear_adapt(), or take a "
                 "precision that trains its weights", precision);
  else
    g_set_error (error, LP_ERROR, LP_ERROR_STATE, "The loss depends on nothing that is trained: no parameter that requires a gradient "
                 "took part in it, or it was computed with gradients off");

  return FALSE;
}
