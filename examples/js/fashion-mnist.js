#!/usr/bin/gjs -m
/* A convolutional net on Fashion-MNIST, in any precision:
 *   fashion-mnist.js [PRECISION [EPOCHS [SEED [FOLDER [PART]]]]]
 * PART is the share of the training batches that is used, 1 for all. */

import GLib from 'gi://GLib';
import GObject from 'gi://GObject';
import Lp from 'gi://Lp?version=1';
import System from 'system';

const EPOCH = Lp.LogFlags.ON_EPOCH | Lp.LogFlags.PROG_BAR;

const FashionNet = GObject.registerClass(class FashionNet extends Lp.Model {
    _init() {
        super._init();
        this.layers = Lp.Sequential.new_from([
            Lp.Conv2d.new_full(1, 16, 5, 2, 2, 1, 1, true), Lp.ReLU.new(),
            Lp.Conv2d.new_full(16, 32, 3, 1, 1, 1, 1, true), Lp.ReLU.new(), Lp.MaxPool2d.new(2),
            Lp.Flatten.new(), Lp.Linear.new(32 * 7 * 7, 128), Lp.ReLU.new(), Lp.Linear.new(128, 10),
        ]);
        this.register_child('layers', this.layers);
    }

    vfunc_training_step(batch, _batchIdx) {
        const loss = this.layers.forward(batch.get_tensor(0)).cross_entropy(batch.get_tensor(1));
        this.log_tensor('loss', loss, EPOCH);
        return loss;
    }

    vfunc_validation_step(batch, _batchIdx) {
        const hits = this.layers.forward(batch.get_tensor(0)).argmax(1).equal(batch.get_tensor(1));
        const accuracy = hits.mean(null, false);
        this.log_tensor('accuracy', accuracy, EPOCH);
        return accuracy;
    }

    vfunc_test_step(batch, batchIdx) {
        return this.vfunc_validation_step(batch, batchIdx);
    }

    vfunc_configure_optimizers() {
        const optimizer = Lp.AdamW.new(this.dup_parameters(), 2e-3);
        const config = Lp.OptimizerConfig.new();
        config.add_optimizer(optimizer);
        config.add_scheduler(Lp.CosineLr.new(optimizer, this.get_trainer().get_estimated_stepping_batches(), 0), 1);
        return config;
    }
});

function load(folder, part) {
    const images = Lp.load_idx(`${folder}/${part}-images-idx3-ubyte.gz`).to_dtype(Lp.DType.f32()).scale(1 / 255);
    const labels = Lp.load_idx(`${folder}/${part}-labels-idx1-ubyte.gz`).to_dtype(Lp.DType.i64());
    return Lp.TensorDataset.new_pair(images.unsqueeze(1), labels);
}

function run(precision = '32-true', epochs = '6', seed = '1', folder = '/usr/share/datasets/fashion-mnist', part = '1') {
    const trainer = Lp.Trainer.new(precision);
    trainer.max_epochs = Number(epochs);
    trainer.limit_train_batches = Number(part);
    trainer.enable_checkpointing = false;
    trainer.add_logger(Lp.CsvLogger.new('.', 'fashion-mnist', precision));

    const [train, validation] = load(folder, 'train').split([55000, 5000], 0);
    const trainLoader = Lp.DataLoader.new(train, 128, true);
    const valLoader = Lp.DataLoader.new(validation, 500, false);
    const testLoader = Lp.DataLoader.new(load(folder, 't10k'), 500, false);

    Lp.seed_everything(Number(seed));
    const model = new FashionNet();
    const started = GLib.get_monotonic_time();
    trainer.fit(model, trainLoader, valLoader, null, null);
    const seconds = (GLib.get_monotonic_time() - started) / 1e6 / Number(epochs);
    const accuracy = trainer.test(model, testLoader, null, null).lookup_value('accuracy', null).get_double();

    const weight = model.lookup_parameter('layers.6.weight');
    print(`plugin=${trainer.precision_plugin.precision} trainer=${trainer.precision} ` +
        `storage=${weight.get_dtype().get_name()} bytes=${weight.get_n_bytes()} accuracy=${accuracy.toFixed(4)} ` +
        `seconds=${seconds.toFixed(2)}`);
}

try {
    run(...ARGV);
} catch (error) {
    printerr(`fashion-mnist: ${error.message}`);
    System.exit(1);
}
