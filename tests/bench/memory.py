"""memory.py STEPS prints the resident KiB after a tenth of the steps and after all of them, by the trainer."""

import os
import sys

import gi

gi.require_version("Lp", "1")
from gi.repository import Lp  # noqa: E402


class Net(Lp.Model):
    def __init__(self):
        super().__init__()
        self.layers = Lp.Sequential.new_from([Lp.Linear.new(64, 128), Lp.ReLU.new(), Lp.Linear.new(128, 10)])
        self.steps = 0

    def do_training_step(self, batch, batch_idx):
        images, labels = batch
        self.steps += 1
        if self.steps == STEPS // 10:
            print(resident_kib(), end=" ")
        loss = self.layers(images).cross_entropy(labels)
        self.log_tensor("loss", loss, Lp.LogFlags.ON_STEP)
        return loss

    def do_configure_optimizers(self):
        return Lp.AdamW.new(self.dup_parameters(), 1e-3)


def resident_kib():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") // 1024


STEPS = int(sys.argv[1])
images = Lp.Tensor.uniform([1600, 64], -1, 1, None, None)
labels = Lp.Tensor.new_from_int64s([i % 10 for i in range(1600)], [1600], Lp.DType.i64())
trainer = Lp.Trainer(precision="32-true", max_epochs=-1, max_steps=STEPS, enable_progress_bar=False,
                     enable_model_summary=False, enable_checkpointing=False)
trainer.fit(Net(), Lp.DataLoader.new(Lp.TensorDataset.new_pair(images, labels), 32, True), None, None, None)
print(resident_kib())
