#include <lp/core/lp-random-private.h>

#include <lp/core/lp-error.h>
#include <lp/core/lp-thread-stacks-private.h>

/**
 * LpGenerator:
 *
 * A source of random numbers whose whole state is three numbers: seed, stream and offset.
 *
 * The numbers are Philox4x32-10 (J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC'11), a function
 * of those three, so they do not depend on the number of threads. Each thread has a stack of generators; the
 * innermost one is used where none is given, and a default one lies below.
 */
struct _LpGenerator
{
  GObject       parent_instance;

  LpRandomPoint point;   /* the offset counts blocks of four numbers */
  guint32       block[4];
  guint         n_left;  /* numbers of the block that next() has not given out */
};

G_DEFINE_FINAL_TYPE (LpGenerator, lp_generator, G_TYPE_OBJECT)

static GPrivate generator_stack = G_PRIVATE_INIT ((GDestroyNotify) g_ptr_array_unref);
static gint default_seed_set;
static guint64 default_seed;

static GPtrArray *
get_stack (void)
{
  GPtrArray *stack = g_private_get (&generator_stack);

  if (stack != NULL)
    return stack;

  stack = g_ptr_array_new_with_free_func (g_object_unref);
  g_ptr_array_add (stack, lp_generator_new (g_atomic_int_get (&default_seed_set) ? default_seed : 0, 0));
  g_private_set (&generator_stack, stack);

  return stack;
}

/* Without the one at the bottom. */
static guint
get_depth (void)
{
  return get_stack ()->len - 1;
}

static void
drop (void)
{
  GPtrArray *stack = get_stack ();

  g_ptr_array_set_size (stack, stack->len - 1);
}

static void
lp_generator_class_init (LpGeneratorClass *klass)
{
}

static void
lp_generator_init (LpGenerator *self)
{
}

/**
 * lp_generator_new:
 * @seed: the seed
 * @stream: the stream; generators with one seed and different streams are independent
 *
 * Creates a generator at its beginning.
 *
 * Returns: (transfer full): the generator
 */
LpGenerator *
lp_generator_new (guint64 seed,
                  guint64 stream)
{
  LpGenerator *self = g_object_new (LP_TYPE_GENERATOR, NULL);

  self->point.seed = seed;
  self->point.stream = stream;

  return self;
}

/**
 * lp_generator_get_default:
 *
 * Gets the innermost generator of the calling thread.
 *
 * Returns: (transfer none): the generator
 */
LpGenerator *
lp_generator_get_default (void)
{
  GPtrArray *stack = get_stack ();

  return g_ptr_array_index (stack, stack->len - 1);
}

/**
 * lp_generator_push:
 * @self: a generator
 *
 * Makes @self the default of this thread until [func@Generator.pop].
 */
void
lp_generator_push (LpGenerator *self)
{
  g_return_if_fail (LP_IS_GENERATOR (self));

  _lp_thread_stack_register (LP_THREAD_GENERATORS, get_depth, drop);
  g_ptr_array_add (get_stack (), g_object_ref (self));
}

/**
 * lp_generator_pop:
 *
 * Undoes the last [method@Generator.push] of this thread.
 */
void
lp_generator_pop (void)
{
  if (_lp_thread_stack_may_pop (LP_THREAD_GENERATORS, get_depth ()))
    drop ();
}

/**
 * lp_generator_leave: (rename-to lp_generator_pop)
 * @error: return location for an error
 *
 * Undoes the last [method@Generator.push] of this thread, if it is the caller's to undo.
 *
 * Returns: whether it could. Errors: %LP_ERROR_STATE if nothing was pushed, or the last push is that of a step that is on
 */
gboolean
lp_generator_leave (GError **error)
{
  if (!_lp_thread_stack_check_pop (LP_THREAD_GENERATORS, get_depth (), error))
    return FALSE;
  drop ();

  return TRUE;
}

/**
 * lp_generator_fork:
 * @self: a generator
 * @stream: the stream of the new one
 *
 * Creates a generator with the seed of @self and another stream; @self does not move.
 *
 * Returns: (transfer full): the new generator
 */
LpGenerator *
lp_generator_fork (LpGenerator *self,
                   guint64      stream)
{
  g_return_val_if_fail (LP_IS_GENERATOR (self), NULL);

  return lp_generator_new (self->point.seed, stream);
}

/**
 * lp_generator_get_seed:
 * @self: a generator
 *
 * Gets the seed.
 *
 * Returns: the seed
 */
guint64
lp_generator_get_seed (LpGenerator *self)
{
  g_return_val_if_fail (LP_IS_GENERATOR (self), 0);

  return self->point.seed;
}

/**
 * lp_generator_set_seed:
 * @self: a generator
 * @seed: the seed
 *
 * Sets the seed and returns to the beginning of the stream.
 */
void
lp_generator_set_seed (LpGenerator *self,
                       guint64      seed)
{
  g_return_if_fail (LP_IS_GENERATOR (self));

  self->point.seed = seed;
  self->point.offset = 0;
  self->n_left = 0;
}

LpRandomPoint
_lp_generator_take (LpGenerator *self,
                    guint64      n_blocks)
{
  LpRandomPoint point = self->point;

  self->point.offset += n_blocks;
  self->n_left = 0;

  return point;
}

/**
 * lp_generator_next:
 * @self: a generator
 *
 * Draws a number of 32 uniform bits.
 *
 * Returns: the number
 */
guint32
lp_generator_next (LpGenerator *self)
{
  g_return_val_if_fail (LP_IS_GENERATOR (self), 0);

  if (self->n_left == 0)
    {
      _lp_philox (self->point.seed, self->point.stream, self->point.offset++, self->block);
      self->n_left = 4;
    }

  return self->block[4 - self->n_left--];
}

/**
 * lp_generator_next_double:
 * @self: a generator
 *
 * Draws a number from [0, 1), in steps of 2⁻³².
 *
 * Returns: the number
 */
double
lp_generator_next_double (LpGenerator *self)
{
  return lp_generator_next (self) * 0x1p-32;
}

/**
 * lp_generator_dup_state:
 * @self: a generator
 *
 * Gets all that is needed to go on from here: `(tttu)`, the seed, stream, offset and numbers left of the last block.
 *
 * Returns: (transfer full): the state
 */
GVariant *
lp_generator_dup_state (LpGenerator *self)
{
  g_return_val_if_fail (LP_IS_GENERATOR (self), NULL);

  return g_variant_ref_sink (g_variant_new ("(tttu)", self->point.seed, self->point.stream, self->point.offset,
                                            self->n_left));
}

/**
 * lp_generator_set_state:
 * @self: a generator
 * @state: what [method@Generator.dup_state] returned
 * @error: return location for an error
 *
 * Goes on from a saved state.
 *
 * Returns: whether it did; else %LP_ERROR_FORMAT is set
 */
gboolean
lp_generator_set_state (LpGenerator  *self,
                        GVariant     *state,
                        GError      **error)
{
  LpRandomPoint point;
  guint n_left;

  g_return_val_if_fail (LP_IS_GENERATOR (self), FALSE);
  g_return_val_if_fail (state != NULL, FALSE);

  if (!g_variant_is_of_type (state, G_VARIANT_TYPE ("(tttu)")))
    {
      g_set_error (error, LP_ERROR, LP_ERROR_FORMAT, "The state of a generator has type (tttu), not %s",
                   g_variant_get_type_string (state));
      return FALSE;
    }

  g_variant_get (state, "(tttu)", &point.seed, &point.stream, &point.offset, &n_left);
  if (n_left > 3 || (n_left > 0 && point.offset == 0))
    {
      g_set_error (error, LP_ERROR, LP_ERROR_FORMAT, "A generator can't have %u numbers left of a block of 4", n_left);
      return FALSE;
    }

  self->point = point;
  self->n_left = n_left;
  if (n_left > 0)
    _lp_philox (point.seed, point.stream, point.offset - 1, self->block);

  return TRUE;
}

/**
 * lp_seed_everything:
 * @seed: the seed
 *
 * Seeds the default generator of this thread, and those of threads that have not drawn yet.
 */
void
lp_seed_everything (guint64 seed)
{
  default_seed = seed;
  g_atomic_int_set (&default_seed_set, 1);
  lp_generator_set_seed (lp_generator_get_default (), seed);
}
