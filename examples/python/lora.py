#!/usr/bin/python3
"""A trained net goes on in 4 bits:

  lora.py [PRECISION [EPOCHS [SEED [FOLDER [PART [TUNING_EPOCHS]]]]]]

The net of fashion-mnist.py is trained in 32-true; its linear layers get adapters and are stored as PRECISION says, nf4 unless
told; then the adapters are trained. PART is the share of the training batches that is used, 1 for all.
"""

import sys

import gi

gi.require_version("Lp", "1")
from gi.repository import GLib, Lp


class FashionNet(Lp.Model):
    def __init__(self):
        super().__init__()
        self.layers = Lp.Sequential.new_from([
            Lp.Conv2d.new_full(1, 16, 5, 2, 2, 1, 1, True), Lp.ReLU.new(),
            Lp.Conv2d.new_full(16, 32, 3, 1, 1, 1, 1, True), Lp.ReLU.new(), Lp.MaxPool2d.new(2),
            Lp.Flatten.new(), Lp.Linear.new(32 * 7 * 7, 128), Lp.ReLU.new(), Lp.Linear.new(128, 10),
        ])

    def do_training_step(self, batch, batch_idx):
        images, labels = batch
        return self.layers(images).cross_entropy(labels)

    def do_test_step(self, batch, batch_idx):
        images, labels = batch
        accuracy = self.layers(images).argmax(1).equal(labels).mean(None, False)
        self.log_tensor("accuracy", accuracy, Lp.LogFlags.ON_EPOCH)
        return accuracy

    def do_configure_optimizers(self):
        """The adapters, if there are some."""
        optimizer = Lp.AdamW.new(Lp.LoraLinear.dup_adapters(self) or self.dup_parameters(), 2e-3)
        config = Lp.OptimizerConfig.new()
        config.add_optimizer(optimizer)
        config.add_scheduler(Lp.CosineLr.new(optimizer, self.get_trainer().get_estimated_stepping_batches(), 0), 1)
        return config


def load(folder, part, batch_size, shuffle):
    images = Lp.load_idx(f"{folder}/{part}-images-idx3-ubyte.gz").to_dtype(Lp.DType.f32()).scale(1 / 255)
    labels = Lp.load_idx(f"{folder}/{part}-labels-idx1-ubyte.gz").to_dtype(Lp.DType.i64())
    return Lp.DataLoader.new(Lp.TensorDataset.new_pair(images.unsqueeze(1), labels), batch_size, shuffle)


def trainer_for(precision, epochs, part):
    return Lp.Trainer(precision=precision, max_epochs=int(epochs), limit_train_batches=float(part), enable_checkpointing=False)


def run(precision="nf4", epochs="6", seed="1", folder="/usr/share/datasets/fashion-mnist", part="1", tuning_epochs="2"):
    trainer, tuner = trainer_for("32-true", epochs, part), trainer_for(precision, tuning_epochs, part)
    train, held_back = load(folder, "train", 128, True), load(folder, "t10k", 500, False)

    Lp.seed_everything(int(seed))
    model = FashionNet()
    trainer.fit(model, train, None, None, None)
    trained = trainer.test(model, held_back, None, None)["accuracy"]

    plain_bytes = model.lookup_parameter("layers.6.weight").get_n_bytes()
    Lp.LoraLinear.adapt(model, None, 16, 32, 0)
    stored = tuner.test(model, held_back, None, None)["accuracy"]
    tuner.fit(model, train, None, None, None)
    tuned = tuner.test(model, held_back, None, None)["accuracy"]

    weight = model.lookup_parameter("layers.6.base.weight")
    adapters = sum(model.lookup_parameter(f"layers.6.{name}").get_n_bytes() for name in ("lora_a", "lora_b"))
    print(f"storage={weight.get_dtype().get_name()} bytes={weight.get_n_bytes()} of={plain_bytes} adapters={adapters} "
          f"trained={trained:.4f} stored={stored:.4f} tuned={tuned:.4f}")


try:
    run(*sys.argv[1:])
except GLib.Error as error:
    sys.exit(f"lora: {error.message}")
