#!/usr/bin/env python3
"""Makes floats.golden, halves.golden and blocks.golden: what the small dtypes have to give; and packed.safetensors.

    make-golden.py FOLDER

Needs numpy and ml_dtypes. The small floats are those of ml_dtypes, of the 16-bit ones digests are kept; the formats with scales follow the published rules of
OCP (MX 1.0), NVIDIA (NVFP4) and bitsandbytes, with elements rounded in exact arithmetic, and share no code with LP. The
last file has two weights packed as bitsandbytes names their parts.
A file is a list of sections: a name of 24 bytes, the length as 32 bits, the bytes. All numbers are little-endian."""

import hashlib
import json
import struct
import sys
from fractions import Fraction

import ml_dtypes
import numpy as np

FORMATS = {  # dtype of ml_dtypes, exponent bits, mantissa bits, bias, largest finite code
    "e4m3": (ml_dtypes.float8_e4m3fn, 4, 3, 7, 0x7E),
    "e5m2": (ml_dtypes.float8_e5m2, 5, 2, 15, 0x7B),
    "e2m3": (ml_dtypes.float6_e2m3fn, 2, 3, 1, 0x1F),
    "e3m2": (ml_dtypes.float6_e3m2fn, 3, 2, 3, 0x1F),
    "e2m1": (ml_dtypes.float4_e2m1fn, 2, 1, 1, 0x07),
}


def write(path, sections):
    with open(path, "wb") as file:
        for name, data in sections:
            data = bytes(data)
            file.write(struct.pack("<24sI", name.encode(), len(data)) + data)


def numbers(n):
    """The inputs of the blocks: C makes the same ones."""
    state, out = 12345, np.empty(n, np.float32)
    for i in range(n):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        out[i] = np.float32(((state >> 8) - 2**23) / 2**23 * 2.0 ** ((state & 7) - 4))
    return out


# ---- small floats ----

def inputs():
    out = [0, np.inf, np.nan]
    for dtype, e, m, bias, top in FORMATS.values():
        values = np.arange(top + 1, dtype=np.uint8).view(dtype).astype(np.float32).astype(np.float64)
        step = values[-1] - values[-2]
        values = np.append(values, values[-1] + step)
        middles = ((values[:-1] + values[1:]) / 2).astype(np.float32)
        for x in (values.astype(np.float32), middles):
            out += list(x) + list(np.nextafter(x, np.float32(0))) + list(np.nextafter(x, np.float32(np.inf)))
    out += [464, 465, 480, 57344, 61439, 61440, 65504, 65520, 3e38, 2.0**-10, 2.0**-17, 1e-45, 1e-38, 1.1754944e-38]
    rng = np.random.default_rng(7)
    random = rng.integers(0, 2**32, 3000, dtype=np.uint32).view(np.float32)
    near = (rng.standard_normal(3000) * 2.0 ** rng.integers(-20, 17, 3000)).astype(np.float32)
    x = np.concatenate([np.array(out, np.float32), random, near])
    return np.concatenate([x, -x])


def make_floats(path):
    x = inputs()
    sections = [("inputs", x.tobytes())]
    with np.errstate(all="ignore"):
        for name, (dtype, e, m, bias, top) in FORMATS.items():
            values = np.arange(256 if e + m == 7 else 2 ** (e + m + 1), dtype=np.uint8).view(dtype)
            sections.append((name + ".values", values.astype(np.float32).tobytes()))
            sections.append((name + ".codes", x.astype(dtype).view(np.uint8).tobytes()))
    write(path, sections)


# ---- blocks ----

def magnitudes(name):
    _, e, m, bias, top = FORMATS[name]
    out = []
    for code in range(top + 1):
        exponent, mantissa = code >> m, code & (2**m - 1)
        if exponent == 0:
            out.append(Fraction(mantissa, 2**m) * Fraction(2) ** (1 - bias))
        else:
            out.append((1 + Fraction(mantissa, 2**m)) * Fraction(2) ** (exponent - bias))
    return out


MAGNITUDES = {name: magnitudes(name) for name in FORMATS}


def nearest(name, x):
    """The code of a finite value: nearest, ties to the even code, saturating."""
    values, a = MAGNITUDES[name], abs(Fraction(float(x)))
    low, high = 0, len(values) - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if values[middle] <= a else (low, middle - 1)
    if low + 1 < len(values):
        below, above = a - values[low], values[low + 1] - a
        if above < below or (above == below and low % 2 == 1):
            low += 1
    sign = 1 if np.signbit(x) else 0
    return low | sign << (FORMATS[name][1] + FORMATS[name][2])


def value(name, code):
    _, e, m, _, _ = FORMATS[name]
    magnitude = np.float32(float(MAGNITUDES[name][code & (2 ** (e + m) - 1)]))
    return -magnitude if code >> (e + m) else magnitude


def pack(codes, bits):
    value = 0
    for i, code in enumerate(codes):
        value |= int(code) << (i * bits)
    return value.to_bytes((len(codes) * bits + 7) // 8, "little")


def rows_of_blocks(x, block):
    for row in x:
        for start in range(0, len(row), block):
            yield row[start:start + block]


def mx(x, name, rule):
    _, e, m, bias, top = FORMATS[name]
    emax, largest = {"e4m3": 8, "e5m2": 15, "e2m3": 2, "e3m2": 4, "e2m1": 2}[name], MAGNITUDES[name][-1]
    elements, scales, decoded = b"", b"", []
    for part in rows_of_blocks(x, 32):
        amax = Fraction(float(np.max(np.abs(part))))
        exponent = -127
        if amax > 0:
            ratio = amax if rule == "ocp" else amax / largest
            exponent = ratio.numerator.bit_length() - ratio.denominator.bit_length()
            while Fraction(2) ** exponent > ratio:
                exponent -= 1
            while Fraction(2) ** (exponent + 1) <= ratio:
                exponent += 1
            if rule == "ocp":
                exponent -= emax
            elif Fraction(2) ** exponent < ratio:
                exponent += 1
        exponent = max(-127, min(127, exponent))
        codes = [nearest(name, float(Fraction(float(v)) / Fraction(2) ** exponent) if v != 0 else v) for v in part]
        elements += pack(codes + [0] * (32 - len(codes)), 1 + e + m)
        scales += bytes([exponent + 127])
        decoded += [value(name, code) * np.float32(2.0**exponent) for code in codes]
    return elements + scales, decoded


def nvfp4(x):
    f32 = np.float32
    s = f32(np.max(np.abs(x)) / f32(448 * 6))
    elements, scales, decoded = b"", b"", []
    for part in rows_of_blocks(x, 16):
        code = nearest("e4m3", f32(f32(np.max(np.abs(part)) / f32(6)) / s))
        divisor = f32(f32(float(MAGNITUDES["e4m3"][code])) * s)
        codes = [nearest("e2m1", f32(v / divisor)) if divisor > 0 else 0 for v in part]
        elements += pack(codes + [0] * (16 - len(codes)), 4)
        scales += bytes([code])
        decoded += [value("e2m1", c) * divisor for c in codes]
    return elements + scales + s.tobytes(), decoded


NF4 = np.array([-1, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
                -0.09105003625154495, 0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
                0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1], np.float32)
FP4 = np.array([0, 1 / 192, 2 / 3, 1, 1 / 3, 1 / 2, 1 / 6, 1 / 4], np.float32)
FP4 = np.concatenate([FP4, -FP4])
FP4_STEPS = [0.00260417, 0.0859375, 0.20833333, 0.29166667, 0.4166667, 0.583333, 0.8333333]
FP4_ORDER = [0, 1, 6, 7, 4, 5, 2, 3]


def dynamic_map():
    values = [0.0, 1.0]
    for i in range(7):
        edges = np.linspace(0.1, 1, 2**i + 1)
        for middle in (edges[:-1] + edges[1:]) / 2:
            values += [middle * 10.0 ** (i - 6), -middle * 10.0 ** (i - 6)]
    return np.sort(np.array(values, np.float32))


def among(values, x):
    """How many of the midpoints of neighbours a value exceeds."""
    middles = ((values[:-1].astype(np.float64) + values[1:]) / 2).astype(np.float32)
    return int(np.sum(np.float32(x) > middles))


def nf4_code(x):
    return among(NF4, x)


def fp4_code(x):
    return FP4_ORDER[int(np.sum(abs(x) > np.array(FP4_STEPS, np.float32)))] | (8 if x < 0 else 0)


def blockwise(x, block, code):
    x, codes, absmax = x.reshape(-1), [], []
    for start in range(0, len(x), block):
        part = x[start:start + block]
        most = np.max(np.abs(part))
        absmax.append(most)
        codes += [code(v) for v in part / max(most, np.float32(1e-38))]
    return codes, np.array(absmax, np.float32)


def unblock(values, codes, absmax, block):
    return values[np.array(codes)] * np.repeat(absmax, block)[:len(codes)]


def pad(data):
    return data + bytes(-len(data) % 4)


def nibbles(codes):
    codes = codes + [0] * (len(codes) % 2)
    return bytes(codes[i] << 4 | codes[i + 1] for i in range(0, len(codes), 2))


def four_bits(x, table, code, double):
    codes, absmax = blockwise(x, 64, code)
    if not double:
        return pad(nibbles(codes)) + absmax.tobytes(), unblock(table, codes, absmax, 64)
    mean = np.float32(np.sum(absmax.astype(np.float64)) / len(absmax))
    values = dynamic_map()
    nested, nested_absmax = blockwise(absmax - mean, 256, lambda v: among(values, v))
    restored = unblock(values, nested, nested_absmax, 256) + mean
    return pad(nibbles(codes)) + mean.tobytes() + nested_absmax.tobytes() + bytes(nested), unblock(table, codes, restored, 64)


def rowwise(x):
    codes, scales, decoded = b"", b"", []
    for row in x:
        most = np.max(np.abs(row))
        q = np.rint(np.float32(127) * row / most) if most > 0 else np.zeros(len(row))
        codes += q.astype(np.int8).tobytes()
        scales += np.float32(most).tobytes()
        decoded += list(q.astype(np.float32) * (np.float32(most) / np.float32(127)))
    return pad(codes) + scales, decoded


def make_blocks(path):
    long, wide = numbers(17101), numbers(7 * 75).reshape(7, 75)
    wide[2, 32:64] = 0
    values = dynamic_map()
    dynamic, absmax = blockwise(long, 256, lambda v: among(values, v))
    sections = [("map", values.tobytes())]

    def add(name, encoded):
        data, decoded = encoded
        sections.append((name, data))
        sections.append((name + ".decoded", np.array(decoded[:300], np.float32).tobytes()))

    add("i8-dynamic", (pad(bytes(dynamic)) + absmax.tobytes(), unblock(values, dynamic, absmax, 256)))
    add("i8-rowwise", rowwise(wide))
    for name, table, code in (("nf4", NF4, nf4_code), ("fp4", FP4, fp4_code)):
        add(name, four_bits(long, table, code, False))
        add(name + "-dq", four_bits(long, table, code, True))
    for name, lp in (("e4m3", "mxfp8-e4m3"), ("e5m2", "mxfp8-e5m2"), ("e2m3", "mxfp6-e2m3"), ("e3m2", "mxfp6-e3m2"), ("e2m1", "mxfp4")):
        add(lp, mx(wide, name, "ocp"))
        add(lp + ".nvidia", mx(wide, name, "nvidia"))
    add("nvfp4", nvfp4(wide))
    write(path, sections)


# ---- floats of 16 bits ----

HALVES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}


def half_inputs(dtype):
    """Any bits, and the middles between all neighbours with what lies on both sides; without NaN. C makes the same ones."""
    state = np.uint32(12345)
    bits = np.empty(1 << 18, np.uint32)
    for i in range(len(bits)):
        state = np.uint32((int(state) * 1664525 + 1013904223) & 0xFFFFFFFF)
        bits[i] = state
    patterns = np.arange(1 << 16, dtype=np.uint16).view(dtype).astype(np.float32).view(np.uint32)
    near = np.concatenate([patterns + d for d in half_distances(dtype)]).astype(np.uint32)
    x = np.concatenate([bits, near]).view(np.float32).copy()
    x[np.isnan(x)] = 0
    return x


def half_distances(dtype):
    """In units of the last place of float32, from a value on: half of the spacing of normal values, and one less and more."""
    half = 1 << (15 if dtype is ml_dtypes.bfloat16 else 12)
    return [np.uint32(d & 0xFFFFFFFF) for d in (0, half - 1, half, half + 1)]


def make_halves(path):
    sections = []
    for name, dtype in HALVES.items():
        values = np.arange(1 << 16, dtype=np.uint16).view(dtype).astype(np.float32)
        values[np.isnan(values)] = 0
        with np.errstate(over="ignore"):
            codes = half_inputs(dtype).astype(dtype).view(np.uint16)
        sections += [(name + ".values", hashlib.sha256(values.tobytes()).digest()), (name + ".codes", hashlib.sha256(codes.tobytes()).digest())]
    write(path, sections)


# ---- a file of packed weights ----

def packed(name, x, table, code, kind, double):
    codes, absmax = blockwise(x, 64, code)
    state = {"quant_type": kind, "blocksize": 64, "dtype": "bfloat16", "shape": list(x.shape)}
    parts = {name: ("U8", [(x.size + 1) // 2, 1], nibbles(codes)), name + ".quant_map": ("F32", [16], table.tobytes())}
    if double:
        mean, values = np.float32(np.sum(absmax.astype(np.float64)) / len(absmax)), dynamic_map()
        nested, nested_absmax = blockwise(absmax - mean, 256, lambda v: among(values, v))
        state.update(nested_blocksize=256, nested_dtype="float32", nested_offset=float(mean))
        parts[name + ".absmax"] = ("U8", [len(nested)], bytes(nested))
        parts[name + ".nested_absmax"] = ("F32", [len(nested_absmax)], nested_absmax.tobytes())
        parts[name + ".nested_quant_map"] = ("F32", [256], values.tobytes())
    else:
        parts[name + ".absmax"] = ("F32", [len(absmax)], absmax.tobytes())
    text = json.dumps(state).encode()
    parts[name + ".quant_state.bitsandbytes__" + kind] = ("U8", [len(text)], text)
    return parts


def make_packed(path):
    parts = packed("0.weight", numbers(5 * 37).reshape(5, 37), FP4, fp4_code, "fp4", False)
    parts.update(packed("1.weight", numbers(35 * 500).reshape(35, 500), NF4, nf4_code, "nf4", True))
    parts["0.bias"] = ("F32", [5], numbers(5).tobytes())
    header, data = {}, b""
    for name, (dtype, shape, part) in sorted(parts.items(), key=lambda item: item[1][0]):
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


make_packed(sys.argv[1] + "/packed.safetensors")
make_floats(sys.argv[1] + "/floats.golden")
make_halves(sys.argv[1] + "/halves.golden")
make_blocks(sys.argv[1] + "/blocks.golden")
