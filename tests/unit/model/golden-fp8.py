#!/usr/bin/env python3
"""Writes golden-fp8.txt: the scales of an input and of a gradient after each of 1,000 steps of delayed scaling.

The rules are those that NVIDIA documents for Transformer Engine's DelayedScaling, written down here from their description in
NumPy's float32, and independent of LP. A line of the file is a case: its name, history length, algorithm, margin, interval, then
a step after each blank: the largest magnitude of the input and of the gradient (bits of float32, exact in bfloat16), and the
bits of both scales after the step.

    golden-fp8.py > golden-fp8.txt
"""

import random
import struct

import numpy as np

CASES = [
    # name, history, algorithm, margin, interval, steps
    ("default", 1024, "max", 0, 1, 400),
    ("short", 16, "max", 0, 1, 300),
    ("most-recent", 4, "most-recent", 2, 1, 200),
    ("interval", 8, "max", -1, 5, 100),
]

LARGEST = {"input": np.float32(448), "gradient": np.float32(57344)}


class Operand:
    def __init__(self, largest, history, algorithm, margin, interval):
        self.largest, self.algorithm, self.margin, self.interval = largest, algorithm, margin, interval
        self.history = np.zeros(history, np.float32)
        self.scale = np.float32(1)
        self.waited = 0

    def step(self, amax):
        self.history[0] = amax
        self.waited += 1
        if self.waited == self.interval:
            self.waited = 0
            self.rescale()
        self.history = np.roll(self.history, -1)
        self.history[0] = 0

    def rescale(self):
        amax = np.max(self.history) if self.algorithm == "max" else self.history[0]
        with np.errstate(all="ignore"):
            scale = np.float32(self.largest / amax) / np.float32(2.0 ** self.margin)
        if not amax > 0 or not np.isfinite(amax):
            return
        self.scale = np.finfo(np.float32).max if np.isinf(scale) else scale


def bits(value):
    return struct.unpack("<I", struct.pack("<f", value))[0]


def draw_amax(draw):
    kind = draw.random()
    if kind < 0.02:
        return np.float32(np.inf)
    if kind < 0.04:
        return np.float32(np.nan)
    if kind < 0.07:
        return np.float32(0)
    value = np.float32(2.0 ** draw.uniform(-30, 30)) if kind < 0.2 else np.float32(draw.uniform(0.5, 8))
    return struct.unpack("<f", struct.pack("<I", bits(value) & 0xFFFF0000))[0]


def main():
    for name, history, algorithm, margin, interval, steps in CASES:
        draw = random.Random(name)
        operands = [Operand(LARGEST[which], history, algorithm, margin, interval) for which in ("input", "gradient")]
        fields = [name, str(history), algorithm, str(margin), str(interval)]
        for _ in range(steps):
            amaxes = [draw_amax(draw) for _ in operands]
            for operand, amax in zip(operands, amaxes):
                operand.step(np.float32(amax))
            fields.append(",".join(f"{bits(value):08x}" for value in amaxes + [operand.scale for operand in operands]))
        print(" ".join(fields))


main()
