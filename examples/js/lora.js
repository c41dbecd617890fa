#!/usr/bin/gjs -m
/* A trained net goes on in 4 bits:
 *   lora.js [PRECISION [EPOCHS [SEED [FOLDER [PART [TUNING_EPOCHS]]]]]]
 * The net of fashion-mnist.js is trained in 32-true; its linear layers get adapters and are stored as PRECISION says, nf4
 * unless told; then the adapters are trained. PART is the share of the training batches that is used, 1 for all. */

import GObject from 'gi://GObject';
import Lp from 'gi://Lp?version=1';
import System from 'system';

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
        return this.layers.forward(batch.get_tensor(0)).cross_entropy(batch.get_tensor(1));
    }

    vfunc_test_step(batch, _batchIdx) {
        const hits = this.layers.forward(batch.get_tensor(0)).argmax(1).equal(batch.get_tensor(1));
        const accuracy = hits.mean(null, false);
        this.log_tensor('accuracy', accuracy, Lp.LogFlags.ON_EPOCH);
        return accuracy;
    }

    vfunc_configure_optimizers() {
        const adapters = Lp.LoraLinear.dup_adapters(this);
        const optimizer = Lp.AdamW.new(adapters.length > 0 ? adapters : this.dup_parameters(), 2e-3);
        const config = Lp.OptimizerConfig.new();
        config.add_optimizer(optimizer);
        config.add_scheduler(Lp.CosineLr.new(optimizer, this.get_trainer().get_estimated_stepping_batches(), 0), 1);
        return config;
    }
});

function load(folder, part, batchSize, shuffle) {
    const images = Lp.load_idx(`${folder}/${part}-images-idx3-ubyte.gz`).to_dtype(Lp.DType.f32()).scale(1 / 255);
    const labels = Lp.load_idx(`${folder}/${part}-labels-idx1-ubyte.gz`).to_dtype(Lp.DType.i64());
    return Lp.DataLoader.new(Lp.TensorDataset.new_pair(images.unsqueeze(1), labels), batchSize, shuffle);
}

function trainerFor(precision, epochs, part) {
    const trainer = Lp.Trainer.new(precision);
    trainer.max_epochs = Number(epochs);
    trainer.limit_train_batches = Number(part);
    trainer.enable_checkpointing = false;
    return trainer;
}

function test(trainer, model, loader) {
    return trainer.test(model, loader, null, null).lookup_value('accuracy', null).get_double();
}

function run(precision = 'nf4', epochs = '6', seed = '1', folder = '/usr/share/datasets/fashion-mnist', part = '1', tuningEpochs = '2') {
    const trainer = trainerFor('32-true', epochs, part), tuner = trainerFor(precision, tuningEpochs, part);
    const train = load(folder, 'train', 128, true), heldBack = load(folder, 't10k', 500, false);

    Lp.seed_everything(Number(seed));
    const model = new FashionNet();
    trainer.fit(model, train, null, null, null);
    const trained = test(trainer, model, heldBack);

    const plainBytes = model.lookup_parameter('layers.6.weight').get_n_bytes();
    Lp.LoraLinear.adapt(model, null, 16, 32, 0);
    const stored = test(tuner, model, heldBack);
    tuner.fit(model, train, null, null, null);
    const tuned = test(tuner, model, heldBack);

    const weight = model.lookup_parameter('layers.6.base.weight');
    const [a, b] = ['lora_a', 'lora_b'].map(name => model.lookup_parameter(`layers.6.${name}`).get_n_bytes());
    print(`storage=${weight.get_dtype().get_name()} bytes=${weight.get_n_bytes()} of=${plainBytes} adapters=${a + b} ` +
        `trained=${trained.toFixed(4)} stored=${stored.toFixed(4)} tuned=${tuned.toFixed(4)}`);
}

try {
    run(...ARGV);
} catch (error) {
    printerr(`lora: ${error.message}`);
    System.exit(1);
}
