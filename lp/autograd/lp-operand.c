#include <lp/autograd/lp-operand-private.h>

G_DEFINE_ENUM_TYPE (LpOperandRole, lp_operand_role,
                    G_DEFINE_ENUM_VALUE (LP_OPERAND_INPUT, "input"),
                    G_DEFINE_ENUM_VALUE (LP_OPERAND_WEIGHT, "weight"),
                    G_DEFINE_ENUM_VALUE (LP_OPERAND_GRAD_OUTPUT, "grad-output"))

G_DEFINE_ENUM_TYPE (LpGemmKind, lp_gemm_kind,
                    G_DEFINE_ENUM_VALUE (LP_GEMM_FORWARD, "forward"),
                    G_DEFINE_ENUM_VALUE (LP_GEMM_INPUT_GRAD, "input-grad"),
                    G_DEFINE_ENUM_VALUE (LP_GEMM_WEIGHT_GRAD, "weight-grad"))

/**
 * LpOperand:
 *
 * One operand of a matrix product: its values, what it is, and where the product stands.
 */
struct _LpOperand
{
  GObject       parent_instance;

  LpOperandInfo info;
  LpGemmKind    gemm;
  char         *site;
};

G_DEFINE_FINAL_TYPE (LpOperand, lp_operand, G_TYPE_OBJECT)

static void
lp_operand_finalize (GObject *object)
{
  LpOperand *self = LP_OPERAND (object);

  g_clear_object (&self->info.tensor);
  g_clear_object (&self->info.parameter);
  g_free (self->site);

  G_OBJECT_CLASS (lp_operand_parent_class)->finalize (object);
}

static void
lp_operand_class_init (LpOperandClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = lp_operand_finalize;
}

static void
lp_operand_init (LpOperand *self)
{
}

LpOperand *
_lp_operand_new (const LpOperandInfo *info,
                 LpGemmKind           gemm,
                 const char          *site)
{
  LpOperand *self = g_object_new (LP_TYPE_OPERAND, NULL);

  self->info = *info;
  g_object_ref (info->tensor);
  if (info->parameter != NULL)
    g_object_ref (info->parameter);
  self->gemm = gemm;
  self->site = g_strconcat (site != NULL ? site : "", ":", info->slot, NULL);

  return self;
}

/**
 * lp_operand_get_tensor:
 * @self: an operand
 *
 * Gets the values.
 *
 * Returns: (transfer none): the tensor
 */
LpTensor *
lp_operand_get_tensor (LpOperand *self)
{
  g_return_val_if_fail (LP_IS_OPERAND (self), NULL);

  return self->info.tensor;
}

/**
 * lp_operand_get_role:
 * @self: an operand
 *
 * Gets what the operand is.
 *
 * Returns: the role
 */
LpOperandRole
lp_operand_get_role (LpOperand *self)
{
  g_return_val_if_fail (LP_IS_OPERAND (self), LP_OPERAND_INPUT);

  return self->info.role;
}

/**
 * lp_operand_get_gemm:
 * @self: an operand
 *
 * Gets which of the three products it is for.
 *
 * Returns: the product
 */
LpGemmKind
lp_operand_get_gemm (LpOperand *self)
{
  g_return_val_if_fail (LP_IS_OPERAND (self), LP_GEMM_FORWARD);

  return self->gemm;
}

/**
 * lp_operand_get_axis:
 * @self: an operand
 *
 * Gets the axis of the tensor along which the product sums.
 *
 * Returns: the axis
 */
gint
lp_operand_get_axis (LpOperand *self)
{
  g_return_val_if_fail (LP_IS_OPERAND (self), 0);

  return self->info.axis;
}

/**
 * lp_operand_get_site:
 * @self: an operand
 *
 * Gets a name that is the same in every step: the path of the module and the operand, such as `0.linear:weight`.
 *
 * Returns: (transfer none): the name
 */
const char *
lp_operand_get_site (LpOperand *self)
{
  g_return_val_if_fail (LP_IS_OPERAND (self), NULL);

  return self->site;
}

/**
 * lp_operand_get_parameter:
 * @self: an operand
 *
 * Gets the parameter whose values these are.
 *
 * Returns: (transfer none) (nullable): the parameter, or %NULL for other values
 */
LpTensor *
lp_operand_get_parameter (LpOperand *self)
{
  g_return_val_if_fail (LP_IS_OPERAND (self), NULL);

  return self->info.parameter;
}

/**
 * lp_operand_get_version:
 * @self: an operand
 *
 * Gets how often the parameter has changed, so that what was made of it can be kept until it changes again.
 *
 * Returns: the version, 0 if there is no parameter
 */
guint
lp_operand_get_version (LpOperand *self)
{
  g_return_val_if_fail (LP_IS_OPERAND (self), 0);

  return self->info.parameter != NULL ? lp_tensor_get_version (self->info.parameter) : 0;
}
