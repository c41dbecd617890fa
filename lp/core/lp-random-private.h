#pragma once

#include <lp/core/lp-random.h>

G_BEGIN_DECLS

/* Where a run of random numbers starts: the Philox key is the seed, the counter is (offset, stream).
 * One offset gives four 32-bit numbers. */
typedef struct
{
  guint64 seed;
  guint64 stream;
  guint64 offset;
} LpRandomPoint;

/* Takes @n_blocks offsets (four numbers each) out of the generator. */
LpRandomPoint _lp_generator_take (LpGenerator *self,
                                  guint64      n_blocks);

/* Philox4x32-10, J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC'11. */
static inline void
_lp_philox (guint64 seed,
            guint64 stream,
            guint64 offset,
            guint32 out[4])
{
  guint32 c0 = (guint32) offset, c1 = (guint32) (offset >> 32);
  guint32 c2 = (guint32) stream, c3 = (guint32) (stream >> 32);
  guint32 k0 = (guint32) seed, k1 = (guint32) (seed >> 32);

  for (int round = 0; round < 10; round++)
    {
      guint64 p0 = (guint64) 0xD2511F53u * c0;
      guint64 p1 = (guint64) 0xCD9E8D57u * c2;
      guint32 n0 = (guint32) (p1 >> 32) ^ c1 ^ k0;
      guint32 n2 = (guint32) (p0 >> 32) ^ c3 ^ k1;

      c1 = (guint32) p1;
      c3 = (guint32) p0;
      c0 = n0;
      c2 = n2;
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
  out[0] = c0;
  out[1] = c1;
  out[2] = c2;
  out[3] = c3;
}

G_END_DECLS
