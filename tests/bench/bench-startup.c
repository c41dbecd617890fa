/* bench-startup LIBRARY prints the milliseconds from dlopen of the library to a first tensor. The program itself links nothing. */

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

typedef void *(*Scalar) (double value, void *dtype, void *device, void **error);

static double
now (void)
{
  struct timespec t;

  clock_gettime (CLOCK_MONOTONIC, &t);
  return (double) t.tv_sec * 1e3 + (double) t.tv_nsec * 1e-6;
}

int
main (int   argc,
      char *argv[])
{
  const double started = now ();
  void *library = argc > 1 ? dlopen (argv[1], RTLD_NOW) : NULL;
  const double opened = now ();
  Scalar scalar;

  if (library == NULL)
    {
      fprintf (stderr, "bench-startup: %s\n", argc > 1 ? dlerror () : "no library given");
      return 1;
    }
  scalar = (Scalar) dlsym (library, "lp_tensor_scalar");
  if (scalar == NULL || scalar (1, NULL, NULL, NULL) == NULL)
    return 1;
  printf ("%.3f %.3f\n", opened - started, now () - started);

  return 0;
}
