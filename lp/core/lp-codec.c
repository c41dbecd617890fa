#include <lp/core/lp-codec-private.h>

#define LP_CODEC_TABLE _lp_codec_portable
#include <lp/core/lp-codec-template.h>

const LpCodecLoops *_lp_codec_loops = &_lp_codec_portable;

const LpElementFormat _lp_element_formats[LP_N_ELEMENTS] = { LP_ELEMENT_FORMATS };

/* T. Dettmers et al., "QLoRA: Efficient Finetuning of Quantized LLMs" (2023), appendix E, and the 4-bit floats of bitsandbytes. */
LpNibbleCode _lp_nibble_codes[LP_N_NIBBLES] = {
  [LP_NIBBLE_NF4] = {
    .name = "nf4",
    .values = { -1.0f, -0.6961928009986877f, -0.5250730514526367f, -0.39491748809814453f, -0.28444138169288635f, -0.18477343022823334f,
                -0.09105003625154495f, 0.0f, 0.07958029955625534f, 0.16093020141124725f, 0.24611230194568634f, 0.33791524171829224f,
                0.44070982933044434f, 0.5626170039176941f, 0.7229568362236023f, 1.0f },
    .thresholds = { -0.8480964004993439f, -0.6106329262256622f, -0.4599952697753906f, -0.33967943489551544f, -0.23460740596055984f,
                    -0.13791173323988914f, -0.045525018125772476f, 0.03979014977812767f, 0.12025525048375130f, 0.20352125167846680f,
                    0.2920137718319893f, 0.3893125355243683f, 0.5016634166240692f, 0.6427869200706482f, 0.8614784181118011f },
  },
  [LP_NIBBLE_FP4] = {
    .name = "fp4",
    .sign_magnitude = TRUE,
    .values = { 0, 1 / 192.0f, 2 / 3.0f, 1, 1 / 3.0f, 0.5f, 1 / 6.0f, 0.25f,
                -0.0f, -1 / 192.0f, -2 / 3.0f, -1, -1 / 3.0f, -0.5f, -1 / 6.0f, -0.25f },
    .thresholds = { 0.00260417f, 0.0859375f, 0.20833333f, 0.29166667f, 0.4166667f, 0.583333f, 0.8333333f },
    .codes = { 0, 1, 6, 7, 4, 5, 2, 3 },
  },
};

/* Halves between two integers stay away from the thresholds by more than the error of a float32 product. */
static gboolean
suits (const LpNibbleCode *code,
       int                 n,
       int                 factor)
{
  for (int i = 0; i < n; i++)
    {
      const double scaled = (double) code->thresholds[i] * factor;

      if (fabs (scaled - floor (scaled) - 0.5) < 0.05)
        return FALSE;
    }

  return TRUE;
}

static void
fill_buckets (LpNibbleCode *code)
{
  const int n = code->sign_magnitude ? 7 : 15;
  int factor = G_MAXINT16 - 1;

  while (!suits (code, n, factor))
    factor--;
  code->factor = (float) factor;
  for (int i = 0; i < 16; i++)
    {
      const int edge = i < n ? (int) nearbyint ((double) code->thresholds[i] * factor) : G_MAXINT16;

      code->edges[0][i] = (guint8) (edge & 0xFF);
      code->edges[1][i] = (guint8) (edge >> 8 & 0xFF);
      for (int bucket = (edge >> 11) + 1; i < n && bucket < 16; bucket++)
        code->counts[bucket < 0][bucket & 15]++;
    }
}

static void __attribute__ ((constructor))
init_nibble_codes (void)
{
  for (int i = 0; i < LP_N_NIBBLES; i++)
    fill_buckets (&_lp_nibble_codes[i]);
}

float _lp_dynamic_values[256];
float _lp_dynamic_thresholds[255];

LpElement
_lp_element_from_name (const char *name)
{
  LpElement i = 0;

  while (i < LP_N_ELEMENTS && g_strcmp0 (_lp_element_formats[i].name, name) != 0)
    i++;

  return i;
}

static int
compare_floats (gconstpointer a,
                gconstpointer b)
{
  const float x = *(const float *) a, y = *(const float *) b;

  return (x > y) - (x < y);
}

static void
fill_dynamic_values (void)
{
  int n = 0;

  for (int i = 0; i < 7; i++)
    {
      const double power = i < 6 ? 1 / pow (10, 6 - i) : 1;

      for (int j = 0; j < 1 << i; j++)
        {
          const float value = (float) ((0.1 + 0.9 * (j + 0.5) / (1 << i)) * power);

          _lp_dynamic_values[n++] = value;
          _lp_dynamic_values[n++] = -value;
        }
    }
  _lp_dynamic_values[n++] = 0;
  _lp_dynamic_values[n++] = 1;
  qsort (_lp_dynamic_values, 256, sizeof (float), compare_floats);
  for (int i = 0; i < 255; i++)
    _lp_dynamic_thresholds[i] = (float) (((double) _lp_dynamic_values[i] + _lp_dynamic_values[i + 1]) / 2);
}

/* T. Dettmers et al., "8-bit Optimizers via Block-wise Quantization" (2021): seven decades, each with twice the steps of the one below. */
void
_lp_dynamic_init (void)
{
  static gsize initialized;

  if (!g_once_init_enter (&initialized))
    return;
  fill_dynamic_values ();
  g_once_init_leave (&initialized, 1);
}

guint8
_lp_dynamic_encode (float value)
{
  int low = 0, high = 255;

  while (low < high)
    {
      const int middle = (low + high) / 2;

      if (value > _lp_dynamic_thresholds[middle])
        low = middle + 1;
      else
        high = middle;
    }

  return (guint8) low;
}

guint8
_lp_e8m0_from_float_ceil (float value)
{
  const guint32 bits = codec_bits (value) & 0x7FFFFFFF;

  if (bits >= 0x7F000000)
    return bits > 0x7F800000 ? 0xFF : 0xFE;
  if (bits <= 0x00400000)       /* 2^-127 */
    return 0;

  return (guint8) ((bits >> 23) + ((bits & 0x7FFFFF) != 0));
}

float
_lp_e8m0_to_float (guint8 code)
{
  if (code == 0xFF)
    return NAN;

  return codec_float (code == 0 ? 0x00400000 : (guint32) code << 23);
}
