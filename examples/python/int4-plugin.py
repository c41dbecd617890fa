#!/usr/bin/python3
"""A 4-bit precision inside a program: a dtype and a plugin, registered at run time.

Prints what the trainer says, how the weights are stored, and the loss before and after some steps.
"""

import struct

import gi

gi.require_version("Lp", "1")
from gi.repository import GLib, Lp

BLOCK = 32


class Int4(Lp.DType):
    """Blocks of 32 codes of 4 bits behind a float32 scale."""

    def __init__(self):
        super().__init__(name="python-int4", bits=4, block_size=BLOCK)

    def do_get_encoded_size(self, shape):
        return shape.get_n_elements() // BLOCK * 20

    def do_encode(self, values, shape, axis):
        encoded = b""
        for block in struct.iter_unpack(f"{BLOCK}f", values.get_data()):
            scale = max(map(abs, block)) / 7 or 1
            codes = [round(value / scale) + 8 for value in block]
            encoded += struct.pack("f", scale) + bytes(low | high << 4 for low, high in zip(codes[::2], codes[1::2]))
        return GLib.Bytes.new(encoded)

    def do_decode(self, data, shape, axis, first_block, n_blocks):
        values = []
        for scale, codes in struct.iter_unpack("f16s", data.get_data()[20 * first_block:20 * (first_block + n_blocks)]):
            values += [scale * (code - 8) for byte in codes for code in (byte & 15, byte >> 4)]
        return GLib.Bytes.new(struct.pack(f"{len(values)}f", *values))


class Int4Plugin(Lp.PrecisionPlugin):
    def do_convert_module(self, module):
        for path in module.dup_module_names():
            if isinstance(module.lookup_child(path), Lp.Linear):
                weight = module.lookup_parameter(path + ".weight").detach().to_dtype(INT4)
                weight.set_requires_grad(True)
                module.set_parameter(path + ".weight", weight)
        return True


class Model(Lp.Model):
    def __init__(self):
        super().__init__()
        self.layers = Lp.Sequential.new_from([Lp.Linear.new(64, 32), Lp.ReLU.new(), Lp.Linear.new(32, 4)])

    def do_training_step(self, batch, batch_idx):
        inputs, targets = batch
        loss = self.layers(inputs).cross_entropy(targets)
        self.losses = getattr(self, "losses", []) + [loss.get_item()]
        return loss

    def do_configure_optimizers(self):
        return Lp.AdamW.new(self.dup_parameters(), 0.01)


INT4 = Int4()
Lp.PrecisionRegistry.get_default().add(Lp.RegistryEntry.new("python-int4", Int4Plugin.__gtype__, None, "4 bits, in Python"))

Lp.seed_everything(1)
inputs = Lp.Tensor.normal([256, 64], 0, 1, None, None)
dataset = Lp.TensorDataset.new_pair(inputs, inputs.narrow(1, 0, 4).argmax(1))
trainer = Lp.Trainer(precision="python-int4", max_epochs=5, enable_progress_bar=False, enable_model_summary=False,
                     enable_checkpointing=False)
model = Model()
trainer.fit(model, Lp.DataLoader.new(dataset, 64, True), None, None, None)
weight = model.lookup_parameter("layers.0.weight")
print(f"trainer={trainer.props.precision} storage={weight.get_dtype().get_name()} "
      f"bytes={weight.get_n_bytes()} of {4 * weight.get_n_elements()} loss={model.losses[0]:.3f}→{model.losses[-1]:.3f}")
