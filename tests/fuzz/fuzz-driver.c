/* Runs a harness without libFuzzer: over the files of its corpus, and over mutations of them that are the same each time.
 *   fuzz-NAME [--mutations N] [FILE…]
 * With files it runs just these: what a real fuzzer found. */

#include <stdlib.h>
#include <string.h>

#include "fuzz-input.h"

#define MAX_GROWTH 4096

static gint n_mutations = 100;
static char **files;

static const GOptionEntry options[] = {
  { "mutations", 0, 0, G_OPTION_ARG_INT, &n_mutations, "How many mutations to run", "N" },
  { G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &files, NULL, "[FILE…]" },
  { NULL }
};

static guint32
below (LpGenerator *generator,
       guint32      n)
{
  return lp_generator_next (generator) % MAX (n, 1);
}

static void
flip_bit (GByteArray  *input,
          LpGenerator *generator)
{
  if (input->len > 0)
    input->data[below (generator, input->len)] ^= 1 << below (generator, 8);
}

/* The bytes that formats make much of: ends of ranges, quotes, brackets, signs. */
static void
put_telling_byte (GByteArray  *input,
                  LpGenerator *generator)
{
  static const char bytes[] = "\0\x01\x7f\x80\xff\"'{}[]()<>,:-+.019eE@ \\\n";

  if (input->len > 0)
    input->data[below (generator, input->len)] = bytes[below (generator, sizeof bytes - 1)];
}

static void
truncate_input (GByteArray  *input,
                LpGenerator *generator)
{
  g_byte_array_set_size (input, below (generator, input->len));
}

static void
remove_range (GByteArray  *input,
              LpGenerator *generator)
{
  guint start = below (generator, input->len), length = 1 + below (generator, 16);

  if (start < input->len)
    g_byte_array_remove_range (input, start, MIN (length, input->len - start));
}

static void
repeat_range (GByteArray  *input,
              LpGenerator *generator)
{
  guint start = below (generator, input->len), length = 1 + below (generator, 64);
  g_autofree guint8 *copy = NULL;

  if (start >= input->len || input->len > MAX_GROWTH)
    return;
  length = MIN (length, input->len - start);
  copy = g_memdup2 (input->data + start, length);
  g_byte_array_append (input, copy, length);
  memmove (input->data + start + length, input->data + start, input->len - start - length);
}

/* A number in a text becomes another, of the kind that overflows. */
static void
replace_number (GByteArray  *input,
                LpGenerator *generator)
{
  static const char *const numbers[] = { "-1", "0", "2147483648", "4294967296", "9223372036854775807", "-9223372036854775808",
                                         "99999999999999999999", "1e999", "nan", "-0.0" };
  const char *number = numbers[below (generator, G_N_ELEMENTS (numbers))];
  guint start = below (generator, input->len), end, tail;

  while (start < input->len && !g_ascii_isdigit (input->data[start]))
    start++;
  for (end = start; end < input->len && g_ascii_isdigit (input->data[end]); )
    end++;
  if (start == input->len)
    return;

  tail = input->len - end;
  g_byte_array_set_size (input, start + strlen (number) + tail + (end - start));
  memmove (input->data + start + strlen (number), input->data + end, tail);
  memcpy (input->data + start, number, strlen (number));
  g_byte_array_set_size (input, start + strlen (number) + tail);
}

static gboolean
is_one_of (guint8      byte,
           const char *bytes)
{
  return byte != '\0' && strchr (bytes, byte) != NULL;
}

/* Where the bracket or quote at @start closes; the end of the input if it doesn't. */
static guint
find_close (GByteArray *input,
            guint       start)
{
  int depth = 0;

  for (guint i = start; i < input->len; i++)
    {
      const gboolean opens = is_one_of (input->data[i], "[{("), closes = is_one_of (input->data[i], "]})");

      if (input->data[start] == '"' ? i > start && input->data[i] == '"' : closes && --depth == 0)
        return i;
      depth += opens;
    }

  return input->len;
}

/* What stands between brackets or quotes becomes something of another type. Spaces keep the length, which headers tell. */
static void
replace_group (GByteArray  *input,
               LpGenerator *generator)
{
  static const char *const values[] = { "7", "-1.5", "null", "true", "[]", "{}", "\"\"", "()", "" };
  const char *value = values[below (generator, G_N_ELEMENTS (values))];
  guint start = below (generator, input->len), close;

  while (start < input->len && !is_one_of (input->data[start], "[{(\""))
    start++;
  close = start < input->len ? find_close (input, start) : input->len;
  if (close == input->len || close + 1 - start < strlen (value))
    return;

  memset (input->data + start, ' ', close + 1 - start);
  memcpy (input->data + start, value, strlen (value));
}

typedef void (* Mutate) (GByteArray *input, LpGenerator *generator);

static const Mutate mutations[] = { flip_bit, put_telling_byte, truncate_input, remove_range, repeat_range, replace_number,
                                      replace_group };

static void
run (gconstpointer data,
     gsize         size)
{
  /* memory of its own, so that a read too far is one for the sanitizers too */
  g_autofree guint8 *copy = g_memdup2 (data, size);

  LLVMFuzzerTestOneInput (copy, size);
}

static int
compare_names (gconstpointer a,
               gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

static GPtrArray *
list_corpus (const char *name)
{
  g_autofree char *folder = g_test_build_filename (G_TEST_DIST, "corpus", name, NULL);
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  GPtrArray *paths = g_ptr_array_new_with_free_func (g_free);
  const char *entry;

  g_assert_nonnull (dir);
  while ((entry = g_dir_read_name (dir)) != NULL)
    g_ptr_array_add (paths, g_build_filename (folder, entry, NULL));
  g_ptr_array_sort (paths, compare_names);
  g_assert_cmpuint (paths->len, >, 0);

  return paths;
}

static GBytes *
read_file (const char *path)
{
  char *data;
  gsize size;

  if (!g_file_get_contents (path, &data, &size, NULL))
    g_error ("%s can't be read", path);

  return g_bytes_new_take (data, size);
}

static void
test_corpus (gconstpointer name)
{
  g_autoptr (GPtrArray) paths = list_corpus (name);

  for (guint i = 0; i < paths->len; i++)
    {
      g_autoptr (GBytes) input = read_file (g_ptr_array_index (paths, i));

      run (g_bytes_get_data (input, NULL), g_bytes_get_size (input));
    }
}

static void
test_mutations (gconstpointer name)
{
  g_autoptr (GPtrArray) paths = list_corpus (name);
  g_autoptr (LpGenerator) generator = lp_generator_new (2024, 0);

  for (gint i = 0; i < n_mutations; i++)
    {
      g_autoptr (GBytes) seed = read_file (g_ptr_array_index (paths, below (generator, paths->len)));
      g_autoptr (GByteArray) input = g_byte_array_new ();
      guint n = 1 + below (generator, 3);

      g_byte_array_append (input, g_bytes_get_data (seed, NULL), g_bytes_get_size (seed));
      for (guint j = 0; j < n; j++)
        mutations[below (generator, G_N_ELEMENTS (mutations))] (input, generator);
      run (input->data, input->len);
    }
}

int
main (int   argc,
      char *argv[])
{
  g_autoptr (GOptionContext) context = g_option_context_new (NULL);
  g_autofree char *program = g_path_get_basename (argv[0]);
  const char *name = g_str_has_prefix (program, "fuzz-") ? program + strlen ("fuzz-") : program;

  g_test_init (&argc, &argv, NULL);
  g_option_context_add_main_entries (context, options, NULL);
  if (!g_option_context_parse (context, &argc, &argv, NULL))
    return 2;

  for (char **path = files; path != NULL && *path != NULL; path++)
    {
      g_autoptr (GBytes) input = read_file (*path);

      run (g_bytes_get_data (input, NULL), g_bytes_get_size (input));
    }
  if (files != NULL)
    return 0;

  g_test_add_data_func ("/fuzz/corpus", name, test_corpus);
  g_test_add_data_func ("/fuzz/mutations", name, test_mutations);

  return g_test_run ();
}
