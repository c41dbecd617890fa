#include <lp/core/lp-registry-private.h>

#include <lp/core/lp-error.h>

/**
 * LpRegistry:
 *
 * Names of one kind, such as precisions or devices, and how to make what is behind them.
 *
 * A registry is an open set: programs add to it in any language, and run-time modules do. A module of the kind `KIND`
 * that offers `NAME` is a file `lp-KIND-NAME.so` in a folder of the environment variable `LP_MODULE_PATH` or in the
 * module folder of the library. It exports
 *
 * - `guint lp_module_abi (void)`, which returns %LP_MODULE_ABI, or a constant `lp_module_abi_version` of that value;
 * - `gboolean lp_module_KIND_NAME_register (LpRegistry *registry, GError **error)`, which adds to the registry. What is
 *   no letter or digit in the two names becomes `_`.
 *
 * Modules are loaded when a name is looked up that is not known, and stay for the life of the process.
 *
 * A registry is a [iface@Gio.ListModel] of [class@RegistryEntry]. It can be used from any thread; its lock is never
 * held while other people's code runs.
 */
typedef struct
{
  GMutex     lock;
  GPtrArray *entries;
  char      *kind;
  GType      object_type;
  char      *name_property;
  GQuark     error_domain;
  int        unknown_code;
  int        broken_code;
} LpRegistryPrivate;

static void list_model_init (GListModelInterface *iface);

G_DEFINE_ABSTRACT_TYPE_WITH_CODE (LpRegistry, lp_registry, G_TYPE_OBJECT,
                                  G_ADD_PRIVATE (LpRegistry)
                                  G_IMPLEMENT_INTERFACE (G_TYPE_LIST_MODEL, list_model_init))

enum
{
  PROP_0,
  PROP_KIND,
  PROP_OBJECT_TYPE,
  PROP_NAME_PROPERTY,
  N_PROPS
};

static GParamSpec *properties[N_PROPS];

static inline LpRegistryPrivate *
get_private (LpRegistry *self)
{
  return lp_registry_get_instance_private (self);
}

static GType
lp_registry_get_item_type (GListModel *model)
{
  return LP_TYPE_REGISTRY_ENTRY;
}

static guint
lp_registry_get_n_items (GListModel *model)
{
  LpRegistryPrivate *priv = get_private (LP_REGISTRY (model));
  guint n;

  g_mutex_lock (&priv->lock);
  n = priv->entries->len;
  g_mutex_unlock (&priv->lock);

  return n;
}

static gpointer
lp_registry_get_item (GListModel *model,
                      guint       position)
{
  LpRegistryPrivate *priv = get_private (LP_REGISTRY (model));
  gpointer item = NULL;

  g_mutex_lock (&priv->lock);
  if (position < priv->entries->len)
    item = g_object_ref (g_ptr_array_index (priv->entries, position));
  g_mutex_unlock (&priv->lock);

  return item;
}

static void
list_model_init (GListModelInterface *iface)
{
  iface->get_item_type = lp_registry_get_item_type;
  iface->get_n_items = lp_registry_get_n_items;
  iface->get_item = lp_registry_get_item;
}

static void
lp_registry_get_property (GObject    *object,
                          guint       prop_id,
                          GValue     *value,
                          GParamSpec *pspec)
{
  LpRegistryPrivate *priv = get_private (LP_REGISTRY (object));

  switch (prop_id)
    {
    case PROP_KIND:
      g_value_set_string (value, priv->kind);
      break;
    case PROP_OBJECT_TYPE:
      g_value_set_gtype (value, priv->object_type);
      break;
    case PROP_NAME_PROPERTY:
      g_value_set_string (value, priv->name_property);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_registry_set_property (GObject      *object,
                          guint         prop_id,
                          const GValue *value,
                          GParamSpec   *pspec)
{
  LpRegistryPrivate *priv = get_private (LP_REGISTRY (object));

  switch (prop_id)
    {
    case PROP_KIND:
      priv->kind = g_value_dup_string (value);
      break;
    case PROP_OBJECT_TYPE:
      priv->object_type = g_value_get_gtype (value);
      break;
    case PROP_NAME_PROPERTY:
      priv->name_property = g_value_dup_string (value);
      break;
    default:
      G_OBJECT_WARN_INVALID_PROPERTY_ID (object, prop_id, pspec);
    }
}

static void
lp_registry_finalize (GObject *object)
{
  LpRegistryPrivate *priv = get_private (LP_REGISTRY (object));

  g_ptr_array_unref (priv->entries);
  g_free (priv->kind);
  g_free (priv->name_property);
  g_mutex_clear (&priv->lock);

  G_OBJECT_CLASS (lp_registry_parent_class)->finalize (object);
}

static void
lp_registry_class_init (LpRegistryClass *klass)
{
  GObjectClass *object_class = G_OBJECT_CLASS (klass);
  GParamFlags flags = G_PARAM_READWRITE | G_PARAM_CONSTRUCT_ONLY | G_PARAM_STATIC_STRINGS;

  object_class->get_property = lp_registry_get_property;
  object_class->set_property = lp_registry_set_property;
  object_class->finalize = lp_registry_finalize;

  /**
   * LpRegistry:kind: (getter get_kind)
   *
   * What the names are names of, in one word that is part of the names of module files, such as `precision`.
   */
  properties[PROP_KIND] = g_param_spec_string ("kind", NULL, NULL, NULL, flags);

  /**
   * LpRegistry:object-type: (getter get_object_type)
   *
   * The type that everything in the registry is of.
   */
  properties[PROP_OBJECT_TYPE] = g_param_spec_gtype ("object-type", NULL, NULL, G_TYPE_OBJECT, flags);

  /**
   * LpRegistry:name-property:
   *
   * The property of the objects that gets the canonical name, if the type of an entry has it.
   */
  properties[PROP_NAME_PROPERTY] = g_param_spec_string ("name-property", NULL, NULL, NULL, flags);

  g_object_class_install_properties (object_class, N_PROPS, properties);
}

static void
lp_registry_init (LpRegistry *self)
{
  LpRegistryPrivate *priv = get_private (self);

  g_mutex_init (&priv->lock);
  priv->entries = g_ptr_array_new_with_free_func (g_object_unref);
  priv->error_domain = LP_ERROR;
  priv->unknown_code = LP_ERROR_UNKNOWN;
  priv->broken_code = LP_ERROR_IO;
}

void
_lp_registry_set_errors (LpRegistry *self,
                         GQuark      domain,
                         int         unknown_code,
                         int         broken_code)
{
  LpRegistryPrivate *priv = get_private (self);

  priv->error_domain = domain;
  priv->unknown_code = unknown_code;
  priv->broken_code = broken_code;
}

/**
 * lp_registry_get_kind:
 * @self: a registry
 *
 * Gets what the names are names of, such as `precision`.
 *
 * Returns: (transfer none): the kind
 */
const char *
lp_registry_get_kind (LpRegistry *self)
{
  g_return_val_if_fail (LP_IS_REGISTRY (self), NULL);

  return get_private (self)->kind;
}

/**
 * lp_registry_get_object_type:
 * @self: a registry
 *
 * Gets the type that everything in the registry is of.
 *
 * Returns: the type
 */
GType
lp_registry_get_object_type (LpRegistry *self)
{
  g_return_val_if_fail (LP_IS_REGISTRY (self), G_TYPE_INVALID);

  return get_private (self)->object_type;
}

/* The lock is held. A usable entry goes before a broken one, a name before an alias, then rank decides. */
static LpRegistryEntry *
find (LpRegistryPrivate *priv,
      const char        *name,
      gboolean           broken,
      gboolean           aliases)
{
  LpRegistryEntry *best = NULL;

  for (guint i = 0; i < priv->entries->len; i++)
    {
      LpRegistryEntry *entry = g_ptr_array_index (priv->entries, i);
      gboolean matches = aliases ? _lp_registry_entry_matches (entry, name)
                                 : g_str_equal (lp_registry_entry_get_name (entry), name);

      if (matches && broken == (lp_registry_entry_get_problem (entry) != NULL) &&
          (best == NULL || lp_registry_entry_get_rank (entry) > lp_registry_entry_get_rank (best)))
        best = entry;
    }

  return best;
}

static LpRegistryEntry *
lookup_loaded (LpRegistry *self,
               const char *name,
               gboolean    broken)
{
  LpRegistryPrivate *priv = get_private (self);
  LpRegistryEntry *entry;

  g_mutex_lock (&priv->lock);
  entry = find (priv, name, broken, FALSE);
  if (entry == NULL)
    entry = find (priv, name, broken, TRUE);
  if (entry != NULL)
    g_object_ref (entry);
  g_mutex_unlock (&priv->lock);

  return entry;
}

static gboolean
is_name (const char *name)
{
  if (name[0] == '\0' || !g_utf8_validate (name, -1, NULL))
    return FALSE;

  for (const char *p = name; *p != '\0'; p = g_utf8_next_char (p))
    if (!g_unichar_isgraph (g_utf8_get_char (p)))
      return FALSE;

  return TRUE;
}

static gboolean
check_name (LpRegistry  *self,
            const char  *name,
            GError     **error)
{
  g_autofree char *shown = NULL;

  if (is_name (name))
    return TRUE;

  shown = g_strescape (name, NULL);
  g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT,
               "“%s” is no name for a %s: one has letters, digits and signs, no spaces or control characters", shown,
               get_private (self)->kind);
  return FALSE;
}

static gboolean
check_names (LpRegistry       *self,
             LpRegistryEntry  *entry,
             GError          **error)
{
  g_auto (GStrv) aliases = lp_registry_entry_dup_aliases (entry);

  if (!check_name (self, lp_registry_entry_get_name (entry), error))
    return FALSE;

  for (guint i = 0; aliases[i] != NULL; i++)
    if (!check_name (self, aliases[i], error))
      return FALSE;

  return TRUE;
}

static gboolean
check_entry (LpRegistry       *self,
             LpRegistryEntry  *entry,
             GError          **error)
{
  LpRegistryPrivate *priv = get_private (self);
  GType gtype = lp_registry_entry_get_gtype (entry);

  if (!check_names (self, entry, error))
    return FALSE;
  if (gtype == G_TYPE_NONE)
    return TRUE;

  if (!g_type_is_a (gtype, priv->object_type))
    {
      g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT, "The type %s of the %s “%s” is no %s",
                   g_type_name (gtype) ? g_type_name (gtype) : "(invalid)", priv->kind,
                   lp_registry_entry_get_name (entry), g_type_name (priv->object_type));
      return FALSE;
    }
  if (G_TYPE_IS_ABSTRACT (gtype))
    {
      g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT, "The type %s of the %s “%s” is abstract", g_type_name (gtype),
                   priv->kind, lp_registry_entry_get_name (entry));
      return FALSE;
    }

  return TRUE;
}

static gboolean
answers_to (LpRegistryEntry *entry,
            const char      *name)
{
  return g_str_equal (lp_registry_entry_get_name (entry), name) || _lp_registry_entry_matches (entry, name);
}

/* A usable entry of another name that answers to a name or an alias of @entry already, and to which. The lock is held. */
static LpRegistryEntry *
find_taken (LpRegistryPrivate  *priv,
            LpRegistryEntry    *entry,
            char              **taken)
{
  const char *name = lp_registry_entry_get_name (entry);
  g_auto (GStrv) aliases = lp_registry_entry_dup_aliases (entry);

  for (guint i = 0; i < priv->entries->len; i++)
    {
      LpRegistryEntry *other = g_ptr_array_index (priv->entries, i);

      if (lp_registry_entry_get_problem (other) != NULL || g_str_equal (lp_registry_entry_get_name (other), name))
        continue;

      if (answers_to (other, name))
        {
          *taken = g_strdup (name);
          return other;
        }
      for (guint j = 0; aliases[j] != NULL; j++)
        if (answers_to (other, aliases[j]))
          {
            *taken = g_strdup (aliases[j]);
            return other;
          }
    }

  return NULL;
}

/* Adds or replaces a broken entry; -1 when a good one of that name is there that goes first, and its @rank. The lock is held. */
static int
insert (LpRegistryPrivate *priv,
        LpRegistryEntry   *entry,
        gboolean          *replaced,
        int               *rank)
{
  for (guint i = 0; i < priv->entries->len; i++)
    {
      LpRegistryEntry *other = g_ptr_array_index (priv->entries, i);

      if (!g_str_equal (lp_registry_entry_get_name (other), lp_registry_entry_get_name (entry)))
        continue;

      if (lp_registry_entry_get_problem (other) != NULL)
        {
          g_object_unref (other);
          g_ptr_array_index (priv->entries, i) = g_object_ref (entry);
          *replaced = TRUE;
          return i;
        }
      if (lp_registry_entry_get_problem (entry) == NULL &&
          lp_registry_entry_get_rank (other) >= lp_registry_entry_get_rank (entry))
        {
          *rank = lp_registry_entry_get_rank (other);
          return -1;
        }
    }

  g_ptr_array_add (priv->entries, g_object_ref (entry));
  *replaced = FALSE;

  return priv->entries->len - 1;
}

/**
 * lp_registry_add:
 * @self: a registry
 * @entry: an entry
 * @error: return location for an error
 *
 * Adds a name. A second entry of the same name must have a higher rank, and goes first then. No name or alias may be one of an entry of
 * another name.
 *
 * Returns: %TRUE on success. Errors: %LP_ERROR_EXISTS for a name that is taken; %LP_ERROR_ARGUMENT for a type that is
 *   abstract or not of the registry's kind, and for names that are empty or have spaces or control characters
 */
gboolean
lp_registry_add (LpRegistry       *self,
                 LpRegistryEntry  *entry,
                 GError          **error)
{
  LpRegistryPrivate *priv;
  LpRegistryEntry *owner = NULL;
  g_autofree char *owner_name = NULL;
  g_autofree char *taken = NULL;
  gboolean replaced = FALSE;
  int position = -1;
  int rank = 0;

  g_return_val_if_fail (LP_IS_REGISTRY (self), FALSE);
  g_return_val_if_fail (LP_IS_REGISTRY_ENTRY (entry), FALSE);

  priv = get_private (self);
  if (!check_entry (self, entry, error))
    return FALSE;

  if (lp_registry_entry_get_origin (entry) == NULL)
    _lp_registry_entry_set_origin (entry, _lp_modules_get_current () ? _lp_modules_get_current () : "program");

  g_mutex_lock (&priv->lock);
  if (lp_registry_entry_get_problem (entry) == NULL)
    owner = find_taken (priv, entry, &taken);
  if (owner != NULL)
    owner_name = g_strdup (lp_registry_entry_get_name (owner));
  else
    position = insert (priv, entry, &replaced, &rank);
  g_mutex_unlock (&priv->lock);

  if (owner_name != NULL)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_EXISTS, "“%s” is a name of the %s “%s” already; give “%s” another one", taken,
                   priv->kind, owner_name, lp_registry_entry_get_name (entry));
      return FALSE;
    }
  if (position < 0)
    {
      g_set_error (error, LP_ERROR, LP_ERROR_EXISTS, "There is a %s “%s” of rank %d already; take another name, remove it or give a higher rank",
                   priv->kind, lp_registry_entry_get_name (entry), rank);
      return FALSE;
    }
  g_list_model_items_changed (G_LIST_MODEL (self), position, replaced ? 1 : 0, 1);

  return TRUE;
}

void
_lp_registry_add_builtin (LpRegistry      *self,
                          LpRegistryEntry *entry)
{
  g_autoptr (GError) error = NULL;

  _lp_registry_entry_set_origin (entry, "built-in");
  if (!lp_registry_add (self, entry, &error))
    g_error ("%s", error->message);
}

/**
 * lp_registry_remove:
 * @self: a registry
 * @name: a canonical name
 *
 * Removes the entry that @name stands for. Objects that were made from it stay.
 *
 * Returns: whether there was one
 */
gboolean
lp_registry_remove (LpRegistry *self,
                    const char *name)
{
  LpRegistryPrivate *priv;
  LpRegistryEntry *entry;
  guint position = 0;

  g_return_val_if_fail (LP_IS_REGISTRY (self), FALSE);
  g_return_val_if_fail (name != NULL, FALSE);

  priv = get_private (self);
  g_mutex_lock (&priv->lock);
  entry = find (priv, name, FALSE, FALSE);
  if (entry == NULL)
    entry = find (priv, name, TRUE, FALSE);
  if (entry != NULL)
    {
      g_ptr_array_find (priv->entries, entry, &position);
      g_object_ref (entry);
      g_ptr_array_remove_index (priv->entries, position);
    }
  g_mutex_unlock (&priv->lock);

  if (entry == NULL)
    return FALSE;

  g_object_unref (entry);
  g_list_model_items_changed (G_LIST_MODEL (self), position, 1, 0);

  return TRUE;
}

guint
_lp_edit_distance (const char *a,
                   const char *b)
{
  gsize n = strlen (a), m = strlen (b);
  g_autofree guint *row = g_new (guint, m + 1);

  for (gsize j = 0; j <= m; j++)
    row[j] = j;

  for (gsize i = 1; i <= n; i++)
    {
      guint diagonal = row[0];

      row[0] = i;
      for (gsize j = 1; j <= m; j++)
        {
          guint cost = diagonal + (g_ascii_tolower (a[i - 1]) != g_ascii_tolower (b[j - 1]));

          diagonal = row[j];
          row[j] = MIN (cost, MIN (row[j], row[j - 1]) + 1);
        }
    }

  return row[m];
}

static gboolean
is_near (const char *name,
         const char *other)
{
  gsize length = MAX (strlen (name), strlen (other));

  return _lp_edit_distance (name, other) <= MAX (1, MIN (3, length / 3));
}

static void
append_name (GString    *list,
             const char *name)
{
  g_string_append_printf (list, "%s“%s”", list->len > 0 ? ", " : "", name);
}

static void
set_unknown (LpRegistry  *self,
             const char  *name,
             GError     **error)
{
  LpRegistryPrivate *priv = get_private (self);
  g_autoptr (GString) near = g_string_new (NULL);
  g_autoptr (GString) known = g_string_new (NULL);
  g_autofree char *printable = g_utf8_make_valid (strlen (name) <= 64 ? name : "(a name of more than 64 bytes)", -1);

  g_mutex_lock (&priv->lock);
  for (guint i = 0; i < priv->entries->len; i++)
    {
      LpRegistryEntry *entry = g_ptr_array_index (priv->entries, i);
      g_auto (GStrv) aliases = lp_registry_entry_dup_aliases (entry);

      if (lp_registry_entry_get_problem (entry) != NULL)
        continue;

      append_name (known, lp_registry_entry_get_name (entry));
      if (is_near (printable, lp_registry_entry_get_name (entry)))
        append_name (near, lp_registry_entry_get_name (entry));
      for (guint j = 0; aliases[j] != NULL; j++)
        if (is_near (printable, aliases[j]))
          append_name (near, aliases[j]);
    }
  g_mutex_unlock (&priv->lock);

  if (near->len > 0)
    g_set_error (error, priv->error_domain, priv->unknown_code, "There is no %s “%s”; did you mean %s? Known are %s",
                 priv->kind, printable, near->str, known->str);
  else
    g_set_error (error, priv->error_domain, priv->unknown_code, "There is no %s “%s”; known are %s", priv->kind,
                 printable, known->len > 0 ? known->str : "none");
}

/**
 * lp_registry_lookup:
 * @self: a registry
 * @name: a name or an alias
 * @error: return location for an error
 *
 * Looks a name up, in modules too. Letter case counts.
 *
 * Returns: (transfer full): the entry. Errors: one for an unknown name, which lists near ones, and one for a module
 *   that is broken; %LP_ERROR_UNKNOWN and %LP_ERROR_IO, unless the registry has a domain of its own
 */
LpRegistryEntry *
lp_registry_lookup (LpRegistry  *self,
                    const char  *name,
                    GError     **error)
{
  LpRegistryPrivate *priv;
  LpRegistryEntry *entry;

  g_return_val_if_fail (LP_IS_REGISTRY (self), NULL);
  g_return_val_if_fail (name != NULL, NULL);

  priv = get_private (self);
  entry = lookup_loaded (self, name, FALSE);
  if (entry != NULL)
    return entry;

  _lp_modules_load (self, name);
  entry = lookup_loaded (self, name, FALSE);
  if (entry != NULL)
    return entry;

  _lp_modules_load (self, NULL);
  entry = lookup_loaded (self, name, FALSE);
  if (entry != NULL)
    return entry;

  entry = lookup_loaded (self, name, TRUE);
  if (entry != NULL)
    g_set_error (error, priv->error_domain, priv->broken_code, "The %s “%s” can't be used: %s (%s)", priv->kind, name,
                 lp_registry_entry_get_problem (entry), lp_registry_entry_get_origin (entry));
  else
    set_unknown (self, name, error);
  g_clear_object (&entry);

  return NULL;
}

static GObject *
check_object (LpRegistry       *self,
              LpRegistryEntry  *entry,
              GObject          *object,
              GError          **error)
{
  LpRegistryPrivate *priv = get_private (self);

  if (!G_TYPE_CHECK_INSTANCE_TYPE (object, priv->object_type))
    {
      g_set_error (error, LP_ERROR, LP_ERROR_SUBCLASS, "What makes the %s “%s” gave a %s, not a %s", priv->kind,
                   lp_registry_entry_get_name (entry), G_OBJECT_TYPE_NAME (object), g_type_name (priv->object_type));
      g_object_unref (object);
      return NULL;
    }
  if (G_IS_INITABLE (object) && !g_initable_init (G_INITABLE (object), NULL, error))
    {
      g_object_unref (object);
      return NULL;
    }

  return object;
}

/**
 * lp_registry_create:
 * @self: a registry
 * @name: a name or an alias
 * @config: (nullable): an `a{sv}` of property values, which go before those of the entry
 * @error: return location for an error
 *
 * Makes the object behind a name and initialises it. A floating @config is taken.
 *
 * Returns: (transfer full): the object. Errors: those of [method@Registry.lookup]; %LP_ERROR_ARGUMENT for a property
 *   that doesn't exist or a value that it can't have; %LP_ERROR_SUBCLASS for a factory that gives nothing or something
 *   else; and the object's own
 */
GObject *
lp_registry_create (LpRegistry  *self,
                    const char  *name,
                    GVariant    *config,
                    GError     **error)
{
  g_autoptr (LpRegistryEntry) entry = NULL;
  g_autoptr (GVariant) values = NULL;
  g_autoptr (GError) local = NULL;
  GObject *object;

  g_return_val_if_fail (LP_IS_REGISTRY (self), NULL);
  g_return_val_if_fail (name != NULL, NULL);

  if (config != NULL)
    values = g_variant_ref_sink (config);
  if (values != NULL && !g_variant_is_of_type (values, G_VARIANT_TYPE_VARDICT))
    {
      g_set_error (error, LP_ERROR, LP_ERROR_ARGUMENT, "The configuration of a %s is an a{sv}, not a %s",
                   get_private (self)->kind, g_variant_get_type_string (values));
      return NULL;
    }

  entry = lp_registry_lookup (self, name, error);
  if (entry == NULL)
    return NULL;

  object = _lp_registry_entry_create (entry, get_private (self)->name_property, values, &local);
  if (object != NULL && local == NULL)
    return check_object (self, entry, object, error);

  if (local == NULL)
    g_set_error (&local, LP_ERROR, LP_ERROR_SUBCLASS, "What makes the %s “%s” gave nothing and no error",
                 get_private (self)->kind, lp_registry_entry_get_name (entry));
  g_clear_object (&object);
  g_propagate_error (error, g_steal_pointer (&local));

  return NULL;
}

/**
 * lp_registry_load_modules:
 * @self: a registry
 *
 * Loads all modules of the registry's kind, so that a list is complete. A module that can't be loaded becomes an entry
 * with a [property@RegistryEntry:problem].
 */
void
lp_registry_load_modules (LpRegistry *self)
{
  g_return_if_fail (LP_IS_REGISTRY (self));

  _lp_modules_load (self, NULL);
}
