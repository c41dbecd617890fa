/* Steps that a precision didn't apply, since gradients were not finite. A scale that still sinks needs a few of them; a net or
 * data that hold NaN get no others, and somebody has to be told. */

#include <lp/trainer/lp-skipped-steps-private.h>

#include <math.h>

#include <lp/autograd/lp-grad-mode.h>
#include <lp/ops/lp-ops.h>
#include <lp/precision/lp-grad-scaler.h>

/* Nought times Inf or NaN is NaN, and a sum of noughts can't overflow. */
static gboolean
is_finite (LpTensor *tensor)
{
  g_autoptr (LpTensor) decoded = lp_tensor_to_dtype (tensor, lp_dtype_f32 (), NULL);
  g_autoptr (LpTensor) noughts = decoded != NULL ? lp_tensor_scale (decoded, 0, NULL) : NULL;
  g_autoptr (LpTensor) sum = noughts != NULL ? lp_tensor_sum (noughts, NULL, 0, FALSE, NULL) : NULL;

  return sum == NULL || isfinite (lp_tensor_get_item (sum, NULL));
}

char *
_lp_find_not_finite (LpModule *module,
                     gboolean  trained_only)
{
  g_autoptr (GPtrArray) parameters = lp_module_dup_parameters (module);
  g_auto (GStrv) names = lp_module_dup_parameter_names (module);
  char *found = NULL;

  lp_grad_mode_push (FALSE);
  for (guint i = 0; i < parameters->len && found == NULL; i++)
    {
      LpTensor *parameter = g_ptr_array_index (parameters, i);

      if (!lp_dtype_is_floating (lp_tensor_get_dtype (parameter)) ||
          (trained_only && !lp_tensor_get_requires_grad (parameter)))
        continue;
      if (!is_finite (parameter))
        found = g_strdup (names[i]);
    }
  lp_grad_mode_pop ();

  return found;
}

static char *
describe_cause (GPtrArray *modules,
                gboolean   bad_loss)
{
  for (guint i = 0; i < modules->len; i++)
    {
      g_autofree char *name = _lp_find_not_finite (g_ptr_array_index (modules, i), FALSE);

      if (name != NULL)
        return g_strdup_printf ("The weight “%s” holds Inf or NaN, which no step mends: start from finite weights, such as those of "
                                "an earlier checkpoint", name);
    }
  if (bad_loss)
    return g_strdup ("The weights are finite, but the loss is not: look for Inf and NaN in the data, or take a precision with a "
                     "wider range, such as bf16-mixed or 32-true");

  return g_strdup ("The weights are finite: look for Inf and NaN in the data and for an operation whose gradient is so at every scale, "
                   "or take a precision with a wider range, such as bf16-mixed or 32-true");
}

/* By convention a plugin shows the scaler that it has as its property "scaler". */
static char *
describe_scale (LpPrecisionPlugin *plugin)
{
  GParamSpec *pspec = g_object_class_find_property (G_OBJECT_GET_CLASS (plugin), "scaler");
  g_autoptr (LpGradScaler) scaler = NULL;

  if (pspec == NULL || !g_type_is_a (pspec->value_type, LP_TYPE_GRAD_SCALER))
    return NULL;
  g_object_get (plugin, "scaler", &scaler, NULL);

  return scaler != NULL ? g_strdup_printf ("; the scale of the loss is %g now", lp_grad_scaler_get_scale (scaler)) : NULL;
}

char *
_lp_describe_skipped_steps (gint64             n,
                            LpPrecisionPlugin *plugin,
                            GPtrArray         *modules,
                            gboolean           bad_loss)
{
  g_autofree char *cause = describe_cause (modules, bad_loss);
  g_autofree char *scale = describe_scale (plugin);
  g_autofree char *steps = n == 1 ? g_strdup ("The last step was") : g_strdup_printf ("%" G_GINT64_FORMAT " steps in a row were", n);

  return g_strdup_printf ("%s skipped, as gradients were not finite%s. %s", steps, scale != NULL ? scale : "", cause);
}
