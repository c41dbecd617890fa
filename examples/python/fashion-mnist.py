#!/usr/bin/python3
"""A convolutional net on Fashion-MNIST, in any precision:

  fashion-mnist.py [PRECISION [EPOCHS [SEED [FOLDER [PART]]]]]

PART is the share of the training batches that is used, 1 for all.
"""

import sys
import time

import gi

gi.require_version("Lp", "1")
from gi.repository import GLib, Lp

EPOCH = Lp.LogFlags.ON_EPOCH | Lp.LogFlags.PROG_BAR


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
        loss = self.layers(images).cross_entropy(labels)
        self.log_tensor("loss", loss, EPOCH)
        return loss

    def do_validation_step(self, batch, batch_idx):
        images, labels = batch
        hits = self.layers(images).argmax(1).equal(labels)
        accuracy = hits.mean(None, False)
        self.log_tensor("accuracy", accuracy, EPOCH)
        return accuracy

    do_test_step = do_validation_step

    def do_configure_optimizers(self):
        optimizer = Lp.AdamW.new(self.dup_parameters(), 2e-3)
        config = Lp.OptimizerConfig.new()
        config.add_optimizer(optimizer)
        config.add_scheduler(Lp.CosineLr.new(optimizer, self.get_trainer().get_estimated_stepping_batches(), 0), 1)
        return config


def load(folder, part):
    images = Lp.load_idx(f"{folder}/{part}-images-idx3-ubyte.gz").to_dtype(Lp.DType.f32()).scale(1 / 255)
    labels = Lp.load_idx(f"{folder}/{part}-labels-idx1-ubyte.gz").to_dtype(Lp.DType.i64())
    return Lp.TensorDataset.new_pair(images.unsqueeze(1), labels)


def run(precision="32-true", epochs="6", seed="1", folder="/usr/share/datasets/fashion-mnist", part="1"):
    trainer = Lp.Trainer(precision=precision, max_epochs=int(epochs), limit_train_batches=float(part),
                         enable_checkpointing=False)
    trainer.add_logger(Lp.CsvLogger.new(".", "fashion-mnist", precision))

    train, validation = load(folder, "train").split([55000, 5000], 0)
    train_loader = Lp.DataLoader.new(train, 128, True)
    val_loader = Lp.DataLoader.new(validation, 500, False)
    test_loader = Lp.DataLoader.new(load(folder, "t10k"), 500, False)

    Lp.seed_everything(int(seed))
    model = FashionNet()
    started = time.monotonic()
    trainer.fit(model, train_loader, val_loader, None, None)
    seconds = (time.monotonic() - started) / int(epochs)
    accuracy = trainer.test(model, test_loader, None, None)["accuracy"]

    weight = model.lookup_parameter("layers.6.weight")
    print(f"plugin={trainer.props.precision_plugin.props.precision} trainer={trainer.props.precision} "
          f"storage={weight.get_dtype().get_name()} bytes={weight.get_n_bytes()} accuracy={accuracy:.4f} "
          f"seconds={seconds:.2f}")


try:
    run(*sys.argv[1:])
except GLib.Error as error:
    sys.exit(f"fashion-mnist: {error.message}")
