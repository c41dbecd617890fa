/* memory.js STEPS prints the resident KiB after a tenth of the steps and after all of them, by the trainer. */

import GLib from 'gi://GLib';
import GObject from 'gi://GObject';
import Lp from 'gi://Lp?version=1';

const STEPS = Number(ARGV[0]);
const figures = [];

function residentKib() {
    const [, bytes] = GLib.file_get_contents('/proc/self/statm');
    return Number(new TextDecoder().decode(bytes).split(' ')[1]) * 4;
}

const Net = GObject.registerClass(class Net extends Lp.Model {
    _init() {
        super._init();
        this.layers = Lp.Sequential.new_from([Lp.Linear.new(64, 128), Lp.ReLU.new(), Lp.Linear.new(128, 10)]);
        this.register_child('layers', this.layers);
        this.steps = 0;
    }

    vfunc_training_step(batch, _batchIdx) {
        if (++this.steps === Math.floor(STEPS / 10))
            figures.push(residentKib());
        const loss = this.layers.forward(batch.get_tensor(0)).cross_entropy(batch.get_tensor(1));
        this.log_tensor('loss', loss, Lp.LogFlags.ON_STEP);
        return loss;
    }

    vfunc_configure_optimizers() {
        return Lp.AdamW.new(this.dup_parameters(), 1e-3);
    }
});

const classes = Array.from({ length: 1600 }, (_, i) => i % 10);
const images = Lp.Tensor.uniform([1600, 64], -1, 1, null, null);
const labels = Lp.Tensor.new_from_int64s(classes, [1600], Lp.DType.i64());
const trainer = Lp.Trainer.new('32-true');
Object.assign(trainer, {
    max_epochs: -1, max_steps: STEPS, enable_progress_bar: false, enable_model_summary: false, enable_checkpointing: false,
});
trainer.fit(new Net(), Lp.DataLoader.new(Lp.TensorDataset.new_pair(images, labels), 32, true), null, null, null);
figures.push(residentKib());
print(figures.join(' '));
