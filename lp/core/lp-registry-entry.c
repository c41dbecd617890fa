#include <lp/core/lp-registry-private.h>

#include <lp/core/lp-error.h>

/**
 * LpRegistryEntry:
 *
 * What a [class@Registry] knows about one name: how to make the object, a description and where it comes from.
 */
struct _LpRegistryEntry
{
  GObject            parent_instance;

  char              *name;
  GPtrArray         *aliases;
  GType              gtype;
  GVariant          *values;
  LpRegistryFactory  factory;
  gpointer           user_data;
  GDestroyNotify     destroy;
  char              *description;
  char              *origin;
  char              *problem;
  int                rank;
};

G_DEFINE_FINAL_TYPE (LpRegistryEntry, lp_registry_entry, G_TYPE_OBJECT)

enum
{
  PROP_0,
  PROP_NAME,
  PROP_ALIASES,
  PROP_DESCRIPTION,
  PROP_ORIGIN,
  PROP_PROBLEM,
  PROP_RANK,
  PROP_GTYPE,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];

static void
lp_registry_entry_get_property (GObject    *object,
                                guint       prop_id,
                                GValue     *value,
                                GParamSpec *pspec)
{
  LpRegistryEntry *self = LP_REGISTRY_ENTRY (object);

  switch (prop_id)
    {
    case PROP_NAME:
      g_value_set_string (value, self->name);
      break;
    case PROP_ALIASES:
      g_value_take_boxed (value, lp_registry_entry_dup_aliases (self));
      break;
    case PROP_DESCRIPTION:
      g_value_set_string (value, self->description);
      break;
    case PROP_ORIGIN:
      g_value_set_string (value, self->origin);
      break;
    case PROP_PROBLEM:
      g_value_set_string (value, self->problem);
      break;
    case PROP_RANK:
      g_value_set_int (value, self->rank);
      break;
    case PROP_GTYPE:
      g_value_set_gtype (value, self->gtype);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_registry_entry_finalize (GObject *object)
{
  LpRegistryEntry *self = LP_REGISTRY_ENTRY (object);

  if (self->destroy != NULL)
    self->destroy (self->user_data);
  g_clear_pointer (&self->values, g_variant_unref);
  g_ptr_array_unref (self->aliases);
  g_free (self->name);
  g_free (self->description);
  g_free (self->origin);
  g_free (self->problem);

  G_OBJECT_CLASS (lp_registry_entry_parent_class)->finalize (object);
}

static void
lp_registry_entry_class_init (LpRegistryEntryClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);

  object_class->get_property = lp_registry_entry_get_property;
  object_class->finalize = lp_registry_entry_finalize;

  /**
   * LpRegistryEntry:name: (getter get_name)
   *
   * The canonical name.
   */
  properties[PROP_NAME] = g_param_spec_string ("name", NULL, NULL, NULL, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);

  /**
   * LpRegistryEntry:aliases: (getter dup_aliases)
   *
   * Other names for the same.
   */
  properties[PROP_ALIASES] =
    g_param_spec_boxed ("aliases", NULL, NULL, G_TYPE_STRV, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);

  /**
   * LpRegistryEntry:description: (getter get_description)
   *
   * One line for people.
   */
  properties[PROP_DESCRIPTION] =
    g_param_spec_string ("description", NULL, NULL, NULL, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);

  /**
   * LpRegistryEntry:origin: (getter get_origin)
   *
   * Where the entry comes from: `built-in`, `program` or the file of a module.
   */
  properties[PROP_ORIGIN] = g_param_spec_string ("origin", NULL, NULL, NULL, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);

  /**
   * LpRegistryEntry:problem: (getter get_problem)
   *
   * Why the entry can't be used, if so.
   */
  properties[PROP_PROBLEM] =
    g_param_spec_string ("problem", NULL, NULL, NULL, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);

  /**
   * LpRegistryEntry:rank: (getter get_rank)
   *
   * Among entries of the same name the highest rank is used. A registry may use it to choose among names, too.
   */
  properties[PROP_RANK] =
    g_param_spec_int ("rank", NULL, NULL, G_MININT, G_MAXINT, 0, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);

  /**
   * LpRegistryEntry:gtype: (getter get_gtype)
   *
   * The type of the object, or %G_TYPE_NONE when a function makes it.
   */
  properties[PROP_GTYPE] =
    g_param_spec_gtype ("gtype", NULL, NULL, G_TYPE_NONE, G_PARAM_READABLE | G_PARAM_STATIC_STRINGS);

  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
lp_registry_entry_init (LpRegistryEntry *self)
{
  self->aliases = g_ptr_array_new_with_free_func (g_free);
  self->gtype = G_TYPE_NONE;
}

/**
 * lp_registry_entry_new:
 * @name: the canonical name
 * @gtype: the type of the object
 * @values: (nullable): an `a{sv}` of property values for it
 * @description: (nullable): one line for people
 *
 * Creates the entry of a type. A floating @values is taken.
 *
 * Returns: (transfer full): the entry
 */
LpRegistryEntry *
lp_registry_entry_new (const char *name,
                       GType       gtype,
                       GVariant   *values,
                       const char *description)
{
  LpRegistryEntry *self;

  g_return_val_if_fail (name != NULL, NULL);
  g_return_val_if_fail (values == NULL || g_variant_is_of_type (values, G_VARIANT_TYPE_VARDICT), NULL);

  self = g_object_new (LP_TYPE_REGISTRY_ENTRY, NULL);
  self->name = g_strdup (name);
  self->gtype = gtype;
  self->values = values != NULL ? g_variant_ref_sink (values) : NULL;
  self->description = g_strdup (description);

  return self;
}

/**
 * lp_registry_entry_new_factory:
 * @name: the canonical name
 * @description: (nullable): one line for people
 * @factory: (scope notified) (closure user_data) (destroy destroy): makes the object
 * @user_data: user data of @factory
 * @destroy: (nullable): frees @user_data
 *
 * Creates an entry whose object a function makes.
 *
 * Returns: (transfer full): the entry
 */
LpRegistryEntry *
lp_registry_entry_new_factory (const char        *name,
                               const char        *description,
                               LpRegistryFactory  factory,
                               gpointer           user_data,
                               GDestroyNotify     destroy)
{
  LpRegistryEntry *self;

  g_return_val_if_fail (name != NULL, NULL);
  g_return_val_if_fail (factory != NULL, NULL);

  self = g_object_new (LP_TYPE_REGISTRY_ENTRY, NULL);
  self->name = g_strdup (name);
  self->factory = factory;
  self->user_data = user_data;
  self->destroy = destroy;
  self->description = g_strdup (description);

  return self;
}

LpRegistryEntry *
_lp_registry_entry_new_broken (const char *name,
                               const char *origin,
                               const char *problem)
{
  LpRegistryEntry *self = g_object_new (LP_TYPE_REGISTRY_ENTRY, NULL);

  self->name = g_strdup (name);
  self->origin = g_strdup (origin);
  self->problem = g_strdup (problem);

  return self;
}

void
_lp_registry_entry_set_origin (LpRegistryEntry *self,
                               const char      *origin)
{
  g_free (self->origin);
  self->origin = g_strdup (origin);
}

/**
 * lp_registry_entry_get_name:
 * @self: an entry
 *
 * Gets the canonical name.
 *
 * Returns: (transfer none): the name
 */
const char *
lp_registry_entry_get_name (LpRegistryEntry *self)
{
  g_return_val_if_fail (LP_IS_REGISTRY_ENTRY (self), NULL);

  return self->name;
}

/**
 * lp_registry_entry_dup_aliases:
 * @self: an entry
 *
 * Gets the other names.
 *
 * Returns: (transfer full) (array zero-terminated=1): the aliases
 */
char **
lp_registry_entry_dup_aliases (LpRegistryEntry *self)
{
  char **aliases;

  g_return_val_if_fail (LP_IS_REGISTRY_ENTRY (self), NULL);

  aliases = g_new0 (char *, self->aliases->len + 1);
  for (guint i = 0; i < self->aliases->len; i++)
    aliases[i] = g_strdup (g_ptr_array_index (self->aliases, i));

  return aliases;
}

/**
 * lp_registry_entry_add_alias:
 * @self: an entry
 * @alias: another name
 *
 * Adds another name. To be called before the entry is added to a registry.
 */
void
lp_registry_entry_add_alias (LpRegistryEntry *self,
                             const char      *alias)
{
  g_return_if_fail (LP_IS_REGISTRY_ENTRY (self));
  g_return_if_fail (alias != NULL);

  g_ptr_array_add (self->aliases, g_strdup (alias));
}

gboolean
_lp_registry_entry_matches (LpRegistryEntry *self,
                            const char      *alias)
{
  for (guint i = 0; i < self->aliases->len; i++)
    if (g_str_equal (g_ptr_array_index (self->aliases, i), alias))
      return TRUE;

  return FALSE;
}

/**
 * lp_registry_entry_get_description:
 * @self: an entry
 *
 * Gets the description, one line for people.
 *
 * Returns: (transfer none) (nullable): the description
 */
const char *
lp_registry_entry_get_description (LpRegistryEntry *self)
{
  g_return_val_if_fail (LP_IS_REGISTRY_ENTRY (self), NULL);

  return self->description;
}

/**
 * lp_registry_entry_get_origin:
 * @self: an entry
 *
 * Gets where the entry comes from: `built-in`, `program` or the file of a module.
 *
 * Returns: (transfer none) (nullable): the origin; %NULL before the entry is in a registry
 */
const char *
lp_registry_entry_get_origin (LpRegistryEntry *self)
{
  g_return_val_if_fail (LP_IS_REGISTRY_ENTRY (self), NULL);

  return self->origin;
}

/**
 * lp_registry_entry_get_rank:
 * @self: an entry
 *
 * Gets the rank. Among entries of the same name the highest rank is used.
 *
 * Returns: the rank
 */
int
lp_registry_entry_get_rank (LpRegistryEntry *self)
{
  g_return_val_if_fail (LP_IS_REGISTRY_ENTRY (self), 0);

  return self->rank;
}

/**
 * lp_registry_entry_set_rank:
 * @self: an entry
 * @rank: the rank
 *
 * Sets the rank. To be called before the entry is added to a registry.
 */
void
lp_registry_entry_set_rank (LpRegistryEntry *self,
                            int              rank)
{
  g_return_if_fail (LP_IS_REGISTRY_ENTRY (self));

  self->rank = rank;
}

/**
 * lp_registry_entry_get_gtype:
 * @self: an entry
 *
 * Gets the type of the object.
 *
 * Returns: the type, or %G_TYPE_NONE when a function makes the object
 */
GType
lp_registry_entry_get_gtype (LpRegistryEntry *self)
{
  g_return_val_if_fail (LP_IS_REGISTRY_ENTRY (self), G_TYPE_NONE);

  return self->gtype;
}

/**
 * lp_registry_entry_dup_values:
 * @self: an entry
 *
 * Gets the property values that the object is made with.
 *
 * Returns: (transfer full) (nullable): an `a{sv}`
 */
GVariant *
lp_registry_entry_dup_values (LpRegistryEntry *self)
{
  g_return_val_if_fail (LP_IS_REGISTRY_ENTRY (self), NULL);

  return self->values != NULL ? g_variant_ref (self->values) : NULL;
}

/**
 * lp_registry_entry_get_problem:
 * @self: an entry
 *
 * Gets why the entry can't be used.
 *
 * Returns: (transfer none) (nullable): the problem, or %NULL when there is none
 */
const char *
lp_registry_entry_get_problem (LpRegistryEntry *self)
{
  g_return_val_if_fail (LP_IS_REGISTRY_ENTRY (self), NULL);

  return self->problem;
}

static gboolean
convert_enum (GVariant   *variant,
              GParamSpec *pspec,
              GValue     *value)
{
  GEnumClass *klass = G_PARAM_SPEC_ENUM (pspec)->enum_class;
  GEnumValue *found = g_enum_get_value_by_nick (klass, g_variant_get_string (variant, NULL));

  if (found != NULL)
    g_value_set_enum (value, found->value);

  return found != NULL;
}

/* @value is initialised to the type of @pspec. */
static gboolean
convert_value (GVariant   *variant,
               GParamSpec *pspec,
               GValue     *value)
{
  g_auto (GValue) plain = G_VALUE_INIT;

  if (G_IS_PARAM_SPEC_ENUM (pspec) && g_variant_is_of_type (variant, G_VARIANT_TYPE_STRING))
    return convert_enum (variant, pspec, value);

  g_dbus_gvariant_to_gvalue (variant, &plain);

  return g_value_type_transformable (G_VALUE_TYPE (&plain), pspec->value_type) &&
         g_value_transform (&plain, value) &&
         !g_param_value_validate (pspec, value);
}

typedef struct
{
  GObjectClass *klass;
  GPtrArray    *names;
  GArray       *values;
} Construction;

static void
construction_clear (Construction *self)
{
  g_type_class_unref (self->klass);
  g_ptr_array_unref (self->names);
  g_array_unref (self->values);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Construction, construction_clear)

static gboolean
construction_set (Construction  *self,
                  const char    *name,
                  GVariant      *variant,
                  GError       **error)
{
  const char *type_name = G_OBJECT_CLASS_NAME (self->klass);
  GParamSpec *pspec = g_object_class_find_property (self->klass, name);
  g_auto (GValue) value = G_VALUE_INIT;
  g_autofree char *text = NULL;

  if (pspec == NULL || (pspec->flags & G_PARAM_WRITABLE) == 0)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT, "%s has no property “%s” that can be set", type_name, name);
      return FALSE;
    }

  g_value_init (&value, pspec->value_type);
  if (!convert_value (variant, pspec, &value))
    {
      text = g_variant_print (variant, FALSE);
      g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT, "%s can't have %s as its “%s”", type_name, text, name);
      return FALSE;
    }

  for (guint i = 0; i < self->names->len; i++)
    {
      if (!g_str_equal (g_ptr_array_index (self->names, i), pspec->name))
        continue;

      g_value_copy (&value, &g_array_index (self->values, GValue, i));
      return TRUE;
    }

  g_ptr_array_add (self->names, (gpointer) pspec->name);
  g_array_append_val (self->values, value);
  memset (&value, 0, sizeof value);

  return TRUE;
}

static gboolean
construction_set_all (Construction  *self,
                      GVariant      *values,
                      GError       **error)
{
  GVariantIter iter;
  const char *name;
  GVariant *child;

  if (values == NULL)
    return TRUE;

  g_variant_iter_init (&iter, values);
  while (g_variant_iter_next (&iter, "{&sv}", &name, &child))
    {
      gboolean ok = construction_set (self, name, child, error);

      g_variant_unref (child);
      if (!ok)
        return FALSE;
    }

  return TRUE;
}

static gboolean
construction_set_name (Construction  *self,
                       const char    *name_property,
                       const char    *name,
                       GError       **error)
{
  g_autoptr (GVariant) variant = g_variant_ref_sink (g_variant_new_string (name));
  GParamSpec *pspec = g_object_class_find_property (self->klass, name_property);

  if (pspec == NULL || (pspec->flags & G_PARAM_WRITABLE) == 0)
    return TRUE;

  return construction_set (self, name_property, variant, error);
}

static GObject *
create_from_type (LpRegistryEntry  *self,
                  const char       *name_property,
                  GVariant         *config,
                  GError          **error)
{
  g_auto (Construction) construction = { NULL };

  construction.klass = g_type_class_ref (self->gtype);
  construction.names = g_ptr_array_new ();
  construction.values = g_array_new (FALSE, FALSE, sizeof (GValue));
  g_array_set_clear_func (construction.values, (GDestroyNotify) g_value_unset);

  if (name_property != NULL && !construction_set_name (&construction, name_property, self->name, error))
    return NULL;
  if (!construction_set_all (&construction, self->values, error) ||
      !construction_set_all (&construction, config, error))
    return NULL;

  return g_object_new_with_properties (self->gtype, construction.names->len,
                                       (const char **) construction.names->pdata,
                                       (const GValue *) construction.values->data);
}

GObject *
_lp_registry_entry_create (LpRegistryEntry  *self,
                           const char       *name_property,
                           GVariant         *config,
                           GError          **error)
{
  if (self->factory != NULL)
    return self->factory (self->name, config, self->user_data, error);

  return create_from_type (self, name_property, config, error);
}
