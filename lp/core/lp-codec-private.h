#pragma once

#include <glib.h>

G_BEGIN_DECLS

/* The small floating formats: a sign, an exponent and a mantissa, which is all that differs between them. Codes are right-aligned in a
 * byte. OCP Microscaling Formats 1.0 and OCP 8-bit Floating Point 1.0. */
typedef enum {
  LP_ELEMENT_E4M3,
  LP_ELEMENT_E5M2,
  LP_ELEMENT_E2M3,
  LP_ELEMENT_E3M2,
  LP_ELEMENT_E2M1,
  LP_N_ELEMENTS
} LpElement;

typedef struct
{
  const char *name;
  int         exponent_bits, mantissa_bits, bias;
  int         emax;           /* exponent of the largest finite value */
  guint8      max_code;       /* the largest finite value */
  guint8      overflow_code;  /* what is beyond it when conversions don't saturate */
  guint8      nan_code;
  float       max;
} LpElementFormat;

/* Properties in constants, so that each loop is compiled for its format. */
#define LP_ELEMENT_FORMATS \
  [LP_ELEMENT_E4M3] = { "e4m3", 4, 3, 7, 8, 0x7E, 0x7F, 0x7F, 448 }, \
  [LP_ELEMENT_E5M2] = { "e5m2", 5, 2, 15, 15, 0x7B, 0x7C, 0x7F, 57344 }, \
  [LP_ELEMENT_E2M3] = { "e2m3", 2, 3, 1, 2, 0x1F, 0x1F, 0x1F, 7.5f }, \
  [LP_ELEMENT_E3M2] = { "e3m2", 3, 2, 3, 4, 0x1F, 0x1F, 0x1F, 28 }, \
  [LP_ELEMENT_E2M1] = { "e2m1", 2, 1, 1, 2, 0x07, 0x07, 0x07, 6 }

extern const LpElementFormat _lp_element_formats[LP_N_ELEMENTS];

static inline int
_lp_element_get_bits (LpElement element)
{
  return 1 + _lp_element_formats[element].exponent_bits + _lp_element_formats[element].mantissa_bits;
}

/* The element called @name, or LP_N_ELEMENTS. */
LpElement _lp_element_from_name (const char *name);

/* A code of 4 bits for values in [-1, 1]. Either 15 rising thresholds, the code being how many of them a value exceeds; or 7 for the
 * magnitude, whose count @codes turns into a code, and bit 3 for the sign. */
typedef struct
{
  const char *name;
  gboolean    sign_magnitude;
  float       values[16];
  float       thresholds[15];
  guint8      codes[8];
  /* For vectors: values in [-1, 1] times @factor are rounded to 16 bits, of which the upper 5 are a bucket with at most one threshold.
   * How many thresholds lie in the buckets below, from bucket 0 on and from bucket -16 on; and, by that count, the low and the high byte
   * of the next threshold. What is rounded to just that is on either side of it. */
  float       factor;
  gint8       counts[2][16];
  guint8      edges[2][16];
} LpNibbleCode;

typedef enum { LP_NIBBLE_NF4, LP_NIBBLE_FP4, LP_N_NIBBLES } LpNibble;

extern LpNibbleCode _lp_nibble_codes[LP_N_NIBBLES];

/* The signed 8-bit dynamic map, rising; thresholds are the midpoints of neighbours. */
extern float _lp_dynamic_values[256];
extern float _lp_dynamic_thresholds[255];
void   _lp_dynamic_init   (void);
guint8 _lp_dynamic_encode (float value);

/* The inner loops, built once more per instruction set by the CPU device, which exchanges the pointer when it is loaded. */
typedef struct
{
  /* codes of x / divisor */
  void  (* encode[LP_N_ELEMENTS][2]) (const float *x, gsize n, float divisor, guint8 *codes);   /* index: saturate */
  /* (value of the code) * scale */
  void  (* decode[LP_N_ELEMENTS])    (const guint8 *codes, gsize n, float scale, float *y);
  /* The largest magnitude. NaN counts as larger than Inf, so that either is seen. */
  float (* absmax)                   (const float *x, gsize n);
  /* codes of x / absmax, the first of two in the high half of a byte; an odd one leaves the low half 0 */
  void  (* encode_nibbles)           (const LpNibbleCode *code, const float *x, gsize n, float absmax, guint8 *bytes);
  /* encode_nibbles for whole blocks, each by its own absmax, which is written to @absmaxes */
  void  (* encode_nibble_blocks)     (const LpNibbleCode *code, const float *x, gsize n_blocks, gsize block, float *absmaxes, guint8 *bytes);
  /* the largest magnitude of each block */
  void  (* block_absmax)             (const float *x, gsize n_blocks, gsize block, float *absmaxes);
  /* codes of x / divisor, saturating, a divisor for each block of 16 or 32; 0 where that is not finite or not above 0 */
  void  (* encode_blocks[LP_N_ELEMENTS]) (const float *x, gsize n_blocks, gsize block, const float *divisors, guint8 *codes);
  /* (value of the code) * scale, a scale for each block */
  void  (* decode_blocks[LP_N_ELEMENTS]) (const guint8 *codes, gsize n_blocks, gsize block, const float *scales, float *y);
  /* Codes of @bits bits each, packed from the low end of each byte on. 4, 6 and 8 bits; n codes take (n * bits + 7) / 8 bytes. */
  void  (* pack)                     (const guint8 *codes, gsize n, int bits, guint8 *bytes);
  void  (* unpack)                   (const guint8 *bytes, gsize n, int bits, guint8 *codes);
  void  (* decode_nibbles)           (const LpNibbleCode *code, const guint8 *bytes, gsize n, float absmax, float *y);
  /* round (127 x / absmax), ties to even; and q * absmax / 127 */
  void  (* encode_int8)              (const float *x, gsize n, float absmax, gint8 *q);
  void  (* decode_int8)              (const gint8 *q, gsize n, float absmax, float *y);
} LpCodecLoops;

extern const LpCodecLoops *_lp_codec_loops;
extern const LpCodecLoops  _lp_codec_portable;

/* E8M0: powers of two from 2^-127 to 2^127, 0xFF is NaN. */
guint8 _lp_e8m0_from_float_ceil  (float value);   /* the next power of two that is not less */
float  _lp_e8m0_to_float         (guint8 code);

G_END_DECLS
