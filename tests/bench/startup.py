"""Prints the seconds from the import of LP to the end of a first training step of an MLP."""

import time

started = time.perf_counter()

import gi  # noqa: E402

gi.require_version("Lp", "1")
from gi.repository import Lp  # noqa: E402

imported = time.perf_counter()
net = Lp.Sequential.new_from([Lp.Linear.new(784, 512), Lp.ReLU.new(), Lp.Linear.new(512, 512), Lp.ReLU.new(),
                              Lp.Linear.new(512, 10)])
optimizer = Lp.AdamW.new(net.dup_parameters(), 1e-3)
images = Lp.Tensor.uniform([64, 784], -1, 1, None, None)
labels = Lp.Tensor.new_from_int64s([i % 10 for i in range(64)], [64], Lp.DType.i64())
net.forward(images).cross_entropy(labels).backward(None)
optimizer.step(None)
print(f"{imported - started:.4f} {time.perf_counter() - started:.4f}")
