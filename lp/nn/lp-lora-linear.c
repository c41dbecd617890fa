#include <lp/nn/lp-lora-linear.h>

#include <math.h>

#include <lp/autograd/lp-grad-mode.h>
#include <lp/core/lp-error.h>
#include <lp/nn/lp-init.h>
#include <lp/nn/lp-module-private.h>
#include <lp/ops/lp-ops.h>

/**
 * LpLoraLinear:
 *
 * A linear layer whose weight stays as it is, and a product of two small matrices beside it that is trained: `[..., in]` to
 * `[..., out]`, y = base (x) + alpha / rank · B A dropout (x).
 *
 * Its child is `base`, a [class@Linear] whose parameters are frozen and whose weight may be stored in 4 or 8 bits. Its parameters are
 * `lora_a`, `[rank, in]`, drawn uniformly from plus or minus 1 / sqrt (in), and `lora_b`, `[out, rank]`, which starts at 0, so that the
 * layer begins as its base.
 *
 * The method is that of E. Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models" (2021).
 */
struct _LpLoraLinear
{
  LpModule  parent_instance;

  LpLinear *given;       /* until it is registered */
  LpTensor *original;    /* the weight of the base while the adapters are merged into it */
  guint     rank;
  double    alpha;
  double    dropout;
};

G_DEFINE_FINAL_TYPE (LpLoraLinear, lp_lora_linear, LP_TYPE_MODULE)

enum { PROP_0, PROP_BASE, PROP_RANK, PROP_ALPHA, PROP_DROPOUT, PROP_MERGED, N_PROPS };

static GParamSpec *properties[N_PROPS];

enum { LORA_A, LORA_B };

static gboolean
check_properties (LpLoraLinear *self)
{
  if (!_lp_module_check_at_least (LP_MODULE (self), "rank", self->rank, 1))
    return FALSE;
  if (self->given != NULL && self->dropout >= 0 && self->dropout < 1 && isfinite (self->alpha))
    return TRUE;

  _lp_module_take_problem (LP_MODULE (self),
                           self->given == NULL
                             ? g_error_new_literal (LP_ERROR, LP_ERROR_ARGUMENT, "An LpLoraLinear needs a base: an LpLinear")
                             : g_error_new (LP_ERROR, LP_ERROR_ARGUMENT, "An LpLoraLinear needs a dropout from 0 to less than 1 and a "
                                            "finite alpha, not %g and %g", self->dropout, self->alpha));
  return FALSE;
}

static void
lp_lora_linear_constructed (GObject *object)
{
  LpLoraLinear *self = LP_LORA_LINEAR (object);
  LpModule *module = LP_MODULE (self);
  gint64 in, out;
  LpTensor *a, *b;
  GError *error = NULL;

  G_OBJECT_CLASS (lp_lora_linear_parent_class)->constructed (object);

  if (!check_properties (self))
    return;
  in = lp_linear_get_in_features (self->given);
  out = lp_linear_get_out_features (self->given);
  lp_module_set_requires_grad (LP_MODULE (self->given), FALSE);
  if (!lp_module_register_child (module, "base", LP_MODULE (self->given), &error))
    {
      _lp_module_take_problem (module, error);
      return;
    }
  a = _lp_module_add_parameter (module, "lora_a", (gint64[]) { self->rank, in }, 2);
  b = _lp_module_add_parameter (module, "lora_b", (gint64[]) { out, self->rank }, 2);
  if (a != NULL && b != NULL
      && (!lp_init_uniform (a, -1 / sqrt ((double) in), 1 / sqrt ((double) in), &error) || !lp_tensor_fill (b, 0, &error)))
    _lp_module_take_problem (module, error);
}

static LpTensor *
lp_lora_linear_forward (LpModule  *module,
                        LpTensor  *input,
                        GError   **error)
{
  LpLoraLinear *self = LP_LORA_LINEAR (module);
  g_autoptr (LpTensor) y = lp_module_forward (lp_lora_linear_get_base (self), input, error);
  g_autoptr (LpTensor) kept = NULL;
  g_autoptr (LpTensor) low = NULL;
  g_autoptr (LpTensor) wide = NULL;
  g_autoptr (LpTensor) scaled = NULL;

  if (y == NULL || self->original != NULL)
    return g_steal_pointer (&y);

  kept = self->dropout > 0 && lp_module_get_training (module) ? lp_tensor_dropout (input, self->dropout, TRUE, error) : g_object_ref (input);
  low = lp_tensor_linear (kept, _lp_module_peek_parameter (module, LORA_A), NULL, error);
  scaled = lp_tensor_scale (low, self->alpha / self->rank, error);
  wide = lp_tensor_linear (scaled, _lp_module_peek_parameter (module, LORA_B), NULL, error);

  return lp_tensor_add (y, wide, error);
}

static void
lp_lora_linear_dispose (GObject *object)
{
  LpLoraLinear *self = LP_LORA_LINEAR (object);

  g_clear_object (&self->given);
  g_clear_object (&self->original);

  G_OBJECT_CLASS (lp_lora_linear_parent_class)->dispose (object);
}

static void
lp_lora_linear_get_property (GObject    *object,
                             guint       prop_id,
                             GValue     *value,
                             GParamSpec *pspec)
{
  LpLoraLinear *self = LP_LORA_LINEAR (object);

  switch (prop_id)
    {
    case PROP_BASE:
      g_value_set_object (value, lp_lora_linear_get_base (self));
      break;
    case PROP_RANK:
      g_value_set_uint (value, self->rank);
      break;
    case PROP_ALPHA:
      g_value_set_double (value, self->alpha);
      break;
    case PROP_DROPOUT:
      g_value_set_double (value, self->dropout);
      break;
    case PROP_MERGED:
      g_value_set_boolean (value, self->original != NULL);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_lora_linear_set_property (GObject      *object,
                             guint         prop_id,
                             const GValue *value,
                             GParamSpec   *pspec)
{
  LpLoraLinear *self = LP_LORA_LINEAR (object);

  switch (prop_id)
    {
    case PROP_BASE:
      self->given = g_value_dup_object (value);
      break;
    case PROP_RANK:
      self->rank = g_value_get_uint (value);
      break;
    case PROP_ALPHA:
      self->alpha = g_value_get_double (value);
      break;
    case PROP_DROPOUT:
      self->dropout = g_value_get_double (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_lora_linear_class_init (LpLoraLinearClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GParamFlags flags = G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS;

  object_class->constructed = lp_lora_linear_constructed;
  object_class->dispose = lp_lora_linear_dispose;
  object_class->get_property = lp_lora_linear_get_property;
  object_class->set_property = lp_lora_linear_set_property;
  LP_MODULE_CLASS (klass)->forward = lp_lora_linear_forward;

  /**
   * LpLoraLinear:base: (getter get_base)
   *
   * The layer that is adapted.
   */
  properties[PROP_BASE] = g_param_spec_object ("base", NULL, NULL, LP_TYPE_LINEAR, flags);

  /**
   * LpLoraLinear:rank: (getter get_rank)
   *
   * The inner extent of the two matrices.
   */
  properties[PROP_RANK] = g_param_spec_uint ("rank", NULL, NULL, 0, G_MAXINT, 8, flags);

  /**
   * LpLoraLinear:alpha: (getter get_alpha)
   *
   * The product of the matrices counts alpha / rank times.
   */
  properties[PROP_ALPHA] = g_param_spec_double ("alpha", NULL, NULL, -G_MAXDOUBLE, G_MAXDOUBLE, 16, flags);

  /**
   * LpLoraLinear:dropout: (getter get_dropout)
   *
   * The probability with which an input of the matrices is dropped in training.
   */
  properties[PROP_DROPOUT] = g_param_spec_double ("dropout", NULL, NULL, -G_MAXDOUBLE, G_MAXDOUBLE, 0, flags);

  /**
   * LpLoraLinear:merged: (getter get_merged)
   *
   * Whether the weight of the base contains the product now.
   */
  properties[PROP_MERGED] = g_param_spec_boolean ("merged", NULL, NULL, FALSE,
                                                  G_PARAM_READABLE | G_PARAM_STATIC_STRINGS | G_PARAM_EXPLICIT_NOTIFY);

  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
lp_lora_linear_init (LpLoraLinear *self)
{
}

/**
 * lp_lora_linear_new:
 * @base: the layer to adapt, which is frozen
 * @rank: the inner extent of the two matrices, such as 8
 * @alpha: their product counts alpha / rank times
 * @dropout: the probability with which their inputs are dropped in training
 *
 * Creates a layer. A rank of 0 or a dropout outside `[0, 1)` are reported by [method@Module.check] and by forward.
 *
 * Returns: (transfer full) (type LpLoraLinear): the layer
 */
LpModule *
lp_lora_linear_new (LpLinear *base,
                    guint     rank,
                    double    alpha,
                    double    dropout)
{
  return g_object_new (LP_TYPE_LORA_LINEAR, "base", base, "rank", rank, "alpha", alpha, "dropout", dropout, NULL);
}

/**
 * lp_lora_linear_get_base:
 * @self: a layer
 *
 * Gets the layer that is adapted.
 *
 * Returns: (transfer none) (nullable): the layer
 */
LpModule *
lp_lora_linear_get_base (LpLoraLinear *self)
{
  g_return_val_if_fail (LP_IS_LORA_LINEAR (self), NULL);

  return lp_module_lookup_child (LP_MODULE (self), "base");
}

/**
 * lp_lora_linear_get_rank:
 * @self: a layer
 *
 * Gets the inner extent of the two matrices.
 *
 * Returns: the rank
 */
guint
lp_lora_linear_get_rank (LpLoraLinear *self)
{
  g_return_val_if_fail (LP_IS_LORA_LINEAR (self), 0);

  return self->rank;
}

/**
 * lp_lora_linear_get_alpha:
 * @self: a layer
 *
 * Gets how much the product of the matrices counts, times the rank.
 *
 * Returns: the value
 */
double
lp_lora_linear_get_alpha (LpLoraLinear *self)
{
  g_return_val_if_fail (LP_IS_LORA_LINEAR (self), 0);

  return self->alpha;
}

/**
 * lp_lora_linear_get_dropout:
 * @self: a layer
 *
 * Gets the probability with which an input of the matrices is dropped.
 *
 * Returns: the probability
 */
double
lp_lora_linear_get_dropout (LpLoraLinear *self)
{
  g_return_val_if_fail (LP_IS_LORA_LINEAR (self), 0);

  return self->dropout;
}

/**
 * lp_lora_linear_get_merged:
 * @self: a layer
 *
 * Gets whether the weight of the base contains the product now.
 *
 * Returns: whether it does
 */
gboolean
lp_lora_linear_get_merged (LpLoraLinear *self)
{
  g_return_val_if_fail (LP_IS_LORA_LINEAR (self), FALSE);

  return self->original != NULL;
}

static gboolean
set_base_weight (LpLoraLinear  *self,
                 LpTensor      *weight,
                 GError       **error)
{
  return lp_module_set_parameter (lp_lora_linear_get_base (self), "weight", weight, error);
}

/* The weight with the product in it: in its own dtype, or in f32 when that is encoded. */
static LpTensor *
compute_merged (LpLoraLinear  *self,
                LpTensor      *weight,
                GError       **error)
{
  LpDType *dtype = lp_tensor_get_dtype (weight);
  g_autoptr (LpTensor) a = lp_tensor_detach (_lp_module_peek_parameter (LP_MODULE (self), LORA_A));
  g_autoptr (LpTensor) b = lp_tensor_detach (_lp_module_peek_parameter (LP_MODULE (self), LORA_B));
  g_autoptr (LpTensor) product = lp_tensor_matmul (b, a, error);
  g_autoptr (LpTensor) scaled = lp_tensor_scale (product, self->alpha / self->rank, error);
  g_autoptr (LpTensor) wide = scaled != NULL ? lp_tensor_to_dtype (weight, lp_dtype_is_native (dtype) ? dtype : lp_dtype_f32 (), error) : NULL;
  g_autoptr (LpTensor) sum = lp_tensor_add (wide, scaled, error);

  return sum != NULL ? lp_tensor_to_dtype (sum, lp_tensor_get_dtype (wide), error) : NULL;
}

/**
 * lp_lora_linear_merge:
 * @self: a layer
 * @error: return location for an error
 *
 * Adds the product of the matrices to the weight of the base, so that forward costs what the base costs. The weight keeps its dtype;
 * an encoded one becomes float32. The former weight is kept for [method@LoraLinear.unmerge]. Nothing happens if it is done already.
 *
 * Meanwhile the network can't be trained, saved in checkpoints or loaded, and [method@Module.dup_state_dict] gives the former weight,
 * beside the matrices. To save the weights with the product in them, under the names of a network that has no adapters, use
 * [func@LoraLinear.merge_and_unload].
 *
 * Returns: whether it could. Errors: %LP_ERROR_MEMORY, and the problem of a layer that could not be built
 */
gboolean
lp_lora_linear_merge (LpLoraLinear  *self,
                      GError       **error)
{
  g_autoptr (LpTensor) weight = NULL;
  g_autoptr (LpTensor) merged = NULL;

  g_return_val_if_fail (LP_IS_LORA_LINEAR (self), FALSE);

  if (self->original != NULL)
    return TRUE;
  if (!lp_module_check (LP_MODULE (self), error))
    return FALSE;

  weight = g_object_ref (lp_linear_get_weight (LP_LINEAR (lp_lora_linear_get_base (self))));
  lp_grad_mode_push (FALSE);
  merged = compute_merged (self, weight, error);
  lp_grad_mode_pop ();
  if (merged == NULL || !set_base_weight (self, merged, error))
    return FALSE;

  self->original = g_steal_pointer (&weight);
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_MERGED]);

  return TRUE;
}

/**
 * lp_lora_linear_unmerge:
 * @self: a layer
 * @error: return location for an error
 *
 * Gives the base the very weight back that it had before [method@LoraLinear.merge]. Nothing happens if nothing is merged.
 *
 * Returns: whether it could
 */
gboolean
lp_lora_linear_unmerge (LpLoraLinear  *self,
                        GError       **error)
{
  g_return_val_if_fail (LP_IS_LORA_LINEAR (self), FALSE);

  if (self->original == NULL)
    return TRUE;
  if (!set_base_weight (self, self->original, error))
    return FALSE;

  g_clear_object (&self->original);
  g_object_notify_by_pspec (G_OBJECT (self), properties[PROP_MERGED]);

  return TRUE;
}

/* The path of the first layer whose adapters are merged into its weight. */
char *
_lp_module_dup_merged_path (LpModule *self)
{
  g_autoptr (GPtrArray) modules = lp_module_dup_modules (self);
  g_auto (GStrv) names = lp_module_dup_module_names (self);

  for (guint i = 0; i < modules->len; i++)
    if (LP_IS_LORA_LINEAR (modules->pdata[i]) && lp_lora_linear_get_merged (modules->pdata[i]))
      return g_strdup (names[i][0] != '\0' ? names[i] : G_OBJECT_TYPE_NAME (self));

  return NULL;
}

/* In @dict the weights of merged layers become the former ones: beside the matrices the product would count twice. */
void
_lp_module_separate_state (LpModule     *self,
                           LpTensorDict *dict)
{
  g_autoptr (GPtrArray) modules = lp_module_dup_modules (self);
  g_auto (GStrv) names = lp_module_dup_module_names (self);

  for (guint i = 0; i < modules->len; i++)
    {
      LpTensor *original = LP_IS_LORA_LINEAR (modules->pdata[i]) ? LP_LORA_LINEAR (modules->pdata[i])->original : NULL;
      g_autoptr (LpTensor) plain = original != NULL ? lp_tensor_detach (original) : NULL;
      g_autofree char *path = g_strconcat (names[i], names[i][0] != '\0' ? "." : "", "base.weight", NULL);

      if (plain != NULL)
        lp_tensor_dict_set (dict, path, plain);
    }
}

static gboolean
matches (const char         *path,
         const char * const *patterns)
{
  if (patterns == NULL)
    return TRUE;
  for (guint i = 0; patterns[i] != NULL; i++)
    if (g_pattern_match_simple (patterns[i], path))
      return TRUE;

  return FALSE;
}

/* The paths of linear layers that match and have no adapters yet. */
static GPtrArray *
find_layers (LpModule           *module,
             const char * const *patterns)
{
  GPtrArray *paths = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GPtrArray) modules = lp_module_dup_modules (module);
  g_auto (GStrv) names = lp_module_dup_module_names (module);

  for (guint i = 1; i < modules->len; i++)
    {
      const char *dot = strrchr (names[i], '.');
      g_autofree char *outer = g_strndup (names[i], dot != NULL ? dot - names[i] : 0);

      if (LP_IS_LINEAR (modules->pdata[i]) && !LP_IS_LORA_LINEAR (lp_module_lookup_child (module, outer)) && matches (names[i], patterns))
        g_ptr_array_add (paths, g_strdup (names[i]));
    }

  return paths;
}

/**
 * lp_lora_linear_adapt:
 * @module: a network
 * @patterns: (array zero-terminated=1) (nullable): paths of linear layers, in which `*` and `?` stand for anything, or %NULL for all
 * @rank: as for [ctor@LoraLinear.new]
 * @alpha: as for [ctor@LoraLinear.new]
 * @dropout: as for [ctor@LoraLinear.new]
 * @error: return location for an error
 *
 * Puts adapters on the linear layers whose path matches, each in the place of the layer, and freezes every other parameter of the
 * network. Layers that have adapters keep them.
 *
 * An optimizer should get what [func@LoraLinear.dup_adapters] gives.
 *
 * Returns: whether it could. Errors: %LP_ERROR_ARGUMENT if no layer matches, for a rank of 0 and a dropout outside `[0, 1)`;
 *   %LP_ERROR_MEMORY
 */
gboolean
lp_lora_linear_adapt (LpModule            *module,
                      const char * const  *patterns,
                      guint                rank,
                      double               alpha,
                      double               dropout,
                      GError             **error)
{
  g_autoptr (GPtrArray) paths = NULL;
  g_autoptr (GPtrArray) layers = g_ptr_array_new_with_free_func (g_object_unref);
  g_autoptr (GPtrArray) adapters = NULL;

  g_return_val_if_fail (LP_IS_MODULE (module), FALSE);

  paths = find_layers (module, patterns);
  if (paths->len == 0)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT, "No LpLinear inside the %s matches: name some by their paths, as in “features.*”, "
                   "or give no patterns for all", G_OBJECT_TYPE_NAME (module));
      return FALSE;
    }
  for (guint i = 0; i < paths->len; i++)
    {
      LpModule *layer = lp_lora_linear_new (LP_LINEAR (lp_module_lookup_child (module, paths->pdata[i])), rank, alpha, dropout);

      g_ptr_array_add (layers, layer);
      if (!lp_module_check (layer, error))
        return FALSE;
    }
  for (guint i = 0; i < paths->len; i++)
    if (!lp_module_set_child (module, paths->pdata[i], layers->pdata[i], error))
      return FALSE;

  lp_module_set_requires_grad (module, FALSE);
  adapters = lp_lora_linear_dup_adapters (module);
  for (guint i = 0; i < adapters->len; i++)
    lp_tensor_set_requires_grad (adapters->pdata[i], TRUE);

  return TRUE;
}

/* Merges the layers of @modules that have adapters, all or none. */
static gboolean
merge_all (GPtrArray  *modules,
           GError    **error)
{
  g_autoptr (GPtrArray) merged = g_ptr_array_new ();

  for (guint i = 0; i < modules->len; i++)
    {
      LpLoraLinear *layer = LP_IS_LORA_LINEAR (modules->pdata[i]) ? modules->pdata[i] : NULL;

      if (layer == NULL || layer->original != NULL)
        continue;
      if (!lp_lora_linear_merge (layer, error))
        {
          for (guint j = 0; j < merged->len; j++)
            lp_lora_linear_unmerge (merged->pdata[j], NULL);
          return FALSE;
        }
      g_ptr_array_add (merged, layer);
    }

  return TRUE;
}

/* The path of a layer that has adapters, or NULL. */
static char *
dup_adapted_path (LpModule *module)
{
  g_autoptr (GPtrArray) modules = lp_module_dup_modules (module);
  g_auto (GStrv) names = lp_module_dup_module_names (module);

  for (guint i = 0; i < modules->len; i++)
    if (LP_IS_LORA_LINEAR (modules->pdata[i]))
      return g_strdup (names[i]);

  return NULL;
}

/**
 * lp_lora_linear_merge_and_unload:
 * @module: a network
 * @error: return location for an error
 *
 * Undoes [func@LoraLinear.adapt], but keeps what the adapters have learnt: merges each layer, see [method@LoraLinear.merge], and puts
 * its base in its place. What is left is a network without adapters that computes the same; its state has the names that it had before
 * there were adapters, such as `0.weight` rather than `0.base.weight`, `0.lora_a` and `0.lora_b`.
 *
 * Weights that were encoded are float32 from then on. All parameters that were frozen stay so:
 * [method@Module.set_requires_grad] makes them trainable. Without adapters nothing happens.
 *
 * Returns: whether it could; if not, nothing has changed. Errors: %LP_ERROR_ARGUMENT if @module itself is an [class@LoraLinear], which
 *   can't be replaced from within; those of [method@LoraLinear.merge]
 */
gboolean
lp_lora_linear_merge_and_unload (LpModule  *module,
                                 GError   **error)
{
  g_autoptr (GPtrArray) modules = NULL;
  char *path;

  g_return_val_if_fail (LP_IS_MODULE (module), FALSE);

  if (LP_IS_LORA_LINEAR (module))
    {
      g_set_error_literal (error, LP_ERROR, LP_ERROR_ARGUMENT, "An LpLoraLinear can't be replaced from within: merge it, and take its base");
      return FALSE;
    }
  modules = lp_module_dup_modules (module);
  if (!merge_all (modules, error))
    return FALSE;

  /* one by one: a layer may be in several places */
  while ((path = dup_adapted_path (module)) != NULL)
    {
      g_autofree char *place = path;

      if (!lp_module_set_child (module, place, lp_lora_linear_get_base (LP_LORA_LINEAR (lp_module_lookup_child (module, place))), error))
        return FALSE;
    }

  return TRUE;
}

typedef void (* AdapterFunc) (const char *path, LpTensor *tensor, gpointer data);

static void
foreach_adapter (LpModule    *module,
                 AdapterFunc  func,
                 gpointer     data)
{
  g_autoptr (GPtrArray) modules = lp_module_dup_modules (module);
  g_auto (GStrv) names = lp_module_dup_module_names (module);

  for (guint i = 0; i < modules->len; i++)
    for (guint p = LORA_A; LP_IS_LORA_LINEAR (modules->pdata[i]) && p <= LORA_B; p++)
      {
        g_autofree char *path = g_strconcat (names[i], names[i][0] != '\0' ? "." : "", p == LORA_A ? "lora_a" : "lora_b", NULL);
        LpTensor *tensor = _lp_module_peek_parameter (modules->pdata[i], p);

        if (tensor != NULL)
          func (path, tensor, data);
      }
}

static void
collect_adapter (const char *path,
                 LpTensor   *tensor,
                 gpointer    data)
{
  g_ptr_array_add (data, g_object_ref (tensor));
}

/**
 * lp_lora_linear_dup_adapters:
 * @module: a network
 *
 * Gets the matrices of all adapters, for an optimizer.
 *
 * Returns: (transfer container) (element-type LpTensor): the parameters
 */
GPtrArray *
lp_lora_linear_dup_adapters (LpModule *module)
{
  GPtrArray *adapters;

  g_return_val_if_fail (LP_IS_MODULE (module), NULL);

  adapters = g_ptr_array_new_with_free_func (g_object_unref);
  foreach_adapter (module, collect_adapter, adapters);

  return adapters;
}

static void
store_adapter (const char *path,
               LpTensor   *tensor,
               gpointer    data)
{
  lp_tensor_dict_set (data, path, tensor);
}

/**
 * lp_lora_linear_dup_state:
 * @module: a network
 *
 * Gets the state of the adapters alone, under the names that they have in the state of the whole network. The tensors are the
 * parameters themselves.
 *
 * Returns: (transfer full): the state
 */
LpTensorDict *
lp_lora_linear_dup_state (LpModule *module)
{
  LpTensorDict *state;

  g_return_val_if_fail (LP_IS_MODULE (module), NULL);

  state = lp_tensor_dict_new ();
  foreach_adapter (module, store_adapter, state);

  return state;
}

static gboolean
check_state (LpTensorDict  *own,
             LpTensorDict  *state,
             GError       **error)
{
  g_auto (GStrv) names = lp_tensor_dict_dup_names (own);

  if (g_strv_length (names) != lp_tensor_dict_get_size (state))
    {
      g_set_error (error, LP_ERROR, LP_ERROR_STATE, "The state has %u tensors, and the network %u of adapters%s",
                   lp_tensor_dict_get_size (state), g_strv_length (names),
                   g_strv_length (names) == 0 ? ": put them on it with lp_lora_linear_adapt() first" : "");
      return FALSE;
    }
  for (guint i = 0; names[i] != NULL; i++)
    {
      LpTensor *saved = lp_tensor_dict_lookup (state, names[i]);
      g_autoptr (LpShape) expected = lp_tensor_dup_shape (lp_tensor_dict_lookup (own, names[i]));
      g_autoptr (LpShape) shape = saved != NULL ? lp_tensor_dup_shape (saved) : NULL;

      if (shape != NULL && lp_shape_equal (shape, expected))
        continue;
      g_set_error (error, LP_ERROR, LP_ERROR_STATE, "The state has no “%s” of the shape of the network's", names[i]);
      return FALSE;
    }

  return TRUE;
}

/**
 * lp_lora_linear_load_state:
 * @module: a network with the same adapters
 * @state: what [func@LoraLinear.dup_state] gave
 * @error: return location for an error
 *
 * Copies the state of adapters into those of @module. Merged layers have to be unmerged before.
 *
 * Returns: whether it could; if not, nothing has changed. Errors: %LP_ERROR_STATE for other names or shapes, and
 *   while adapters are merged
 */
gboolean
lp_lora_linear_load_state (LpModule      *module,
                           LpTensorDict  *state,
                           GError       **error)
{
  g_autoptr (LpTensorDict) own = NULL;
  g_auto (GStrv) names = NULL;
  g_autofree char *merged = NULL;

  g_return_val_if_fail (LP_IS_MODULE (module), FALSE);
  g_return_val_if_fail (LP_IS_TENSOR_DICT (state), FALSE);

  merged = _lp_module_dup_merged_path (module);
  if (merged != NULL)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_STATE, "The adapters of “%s” are merged into its weight: unmerge them first", merged);
      return FALSE;
    }
  own = lp_lora_linear_dup_state (module);
  if (!check_state (own, state, error))
    return FALSE;
  names = lp_tensor_dict_dup_names (own);
  for (guint i = 0; names[i] != NULL; i++)
    if (!lp_tensor_assign (lp_tensor_dict_lookup (own, names[i]), lp_tensor_dict_lookup (state, names[i]), error))
      return FALSE;

  return TRUE;
}
