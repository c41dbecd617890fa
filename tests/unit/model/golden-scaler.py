#!/usr/bin/env python3
"""Writes golden-scaler.txt: the scale (bits of a float32) and the growth tracker after each of 1,000 steps.

The rules are those that PyTorch documents for torch.cuda.amp.GradScaler, and apex for its hysteresis: written down here from
their descriptions, in NumPy's float32, and independent of LP. A line of the file is a case: its name, init scale, growth
factor, backoff factor, growth interval, hysteresis, then a step after each blank: o or x (overflow), scale, tracker.

    golden-scaler.py > golden-scaler.txt
"""

import random
import struct

import numpy as np

CASES = [
    # name, init, growth, backoff, interval, hysteresis, chance of overflow
    ("default", 65536.0, 2.0, 0.5, 2000, 1, 0.01),
    ("short", 65536.0, 2.0, 0.5, 7, 1, 0.08),
    ("odd-factors", 1000.0, 1.7, 0.3, 5, 1, 0.12),
    ("to-the-top", 3e38, 1.5, 0.9, 3, 1, 0.05),
    ("hysteresis", 4096.0, 2.0, 0.5, 6, 3, 0.15),
]


class Scaler:
    def __init__(self, scale, growth, backoff, interval, hysteresis):
        self.scale = np.float32(scale)
        self.growth, self.backoff, self.interval, self.hysteresis = growth, backoff, interval, hysteresis
        self.tracker, self.left = 0, hysteresis

    def update(self, overflow):
        if overflow:
            self.tracker = 0
            self.left -= 1
            if self.left <= 0:
                self.scale = np.float32(float(self.scale) * self.backoff)
            return
        self.left = self.hysteresis
        self.tracker += 1
        if self.tracker == self.interval:
            with np.errstate(over="ignore"):
                grown = np.float32(float(self.scale) * self.growth)
            if np.isfinite(grown):
                self.scale = grown
            self.tracker = 0


def main():
    for name, init, growth, backoff, interval, hysteresis, chance in CASES:
        draw = random.Random(name)
        scaler = Scaler(init, growth, backoff, interval, hysteresis)
        fields = [name, repr(init), repr(growth), repr(backoff), str(interval), str(hysteresis)]
        for _ in range(1000):
            overflow = draw.random() < chance
            scaler.update(overflow)
            bits = struct.unpack("<I", struct.pack("<f", scaler.scale))[0]
            fields.append(f"{'x' if overflow else 'o'}{bits:08x},{scaler.tracker}")
        print(" ".join(fields))


main()
