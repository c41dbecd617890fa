#!/usr/bin/gjs -m
/* A 4-bit precision inside a program: a dtype and a plugin, registered at run time.
 * Prints what the trainer says, how the weights are stored, and the loss before and after some steps. */

import GLib from 'gi://GLib';
import GObject from 'gi://GObject';
import Lp from 'gi://Lp?version=1';

const BLOCK = 32;
const BYTES = 20; /* a float32 scale and 32 codes of 4 bits */

const Int4 = GObject.registerClass(class Int4 extends Lp.DType {
    _init() {
        super._init({name: 'js-int4', bits: 4, block_size: BLOCK});
    }

    vfunc_get_encoded_size(shape) {
        return shape.get_n_elements() / BLOCK * BYTES;
    }

    vfunc_encode(values, _shape, _axis) {
        const floats = new Float32Array(values.toArray().slice().buffer);
        const encoded = new DataView(new ArrayBuffer(floats.length / BLOCK * BYTES));
        for (let block = 0; block < floats.length / BLOCK; block++) {
            const part = floats.subarray(block * BLOCK, (block + 1) * BLOCK);
            const scale = Math.max(...part.map(Math.abs)) / 7 || 1;
            const code = i => Math.round(part[i] / scale) + 8;
            encoded.setFloat32(block * BYTES, scale, true);
            for (let i = 0; i < BLOCK; i += 2)
                encoded.setUint8(block * BYTES + 4 + i / 2, code(i) | code(i + 1) << 4);
        }
        return new GLib.Bytes(new Uint8Array(encoded.buffer));
    }

    vfunc_decode(data, _shape, _axis, firstBlock, nBlocks) {
        const bytes = data.toArray().slice();
        const encoded = new DataView(bytes.buffer, firstBlock * BYTES);
        const floats = new Float32Array(nBlocks * BLOCK);
        for (let i = 0; i < floats.length; i++) {
            const block = Math.floor(i / BLOCK) * BYTES;
            const byte = encoded.getUint8(block + 4 + Math.floor(i % BLOCK / 2));
            floats[i] = encoded.getFloat32(block, true) * ((i % 2 ? byte >> 4 : byte & 15) - 8);
        }
        return new GLib.Bytes(new Uint8Array(floats.buffer));
    }
});

const int4 = new Int4();

const Int4Plugin = GObject.registerClass(class Int4Plugin extends Lp.PrecisionPlugin {
    vfunc_convert_module(module) {
        for (const path of module.dup_module_names()) {
            if (!(module.lookup_child(path) instanceof Lp.Linear))
                continue;
            const weight = module.lookup_parameter(`${path}.weight`).detach().to_dtype(int4);
            weight.set_requires_grad(true);
            module.set_parameter(`${path}.weight`, weight);
        }
        return true;
    }
});

const Model = GObject.registerClass(class Model extends Lp.Model {
    _init() {
        super._init();
        this.losses = [];
        this.layers = Lp.Sequential.new_from([Lp.Linear.new(64, 32), Lp.ReLU.new(), Lp.Linear.new(32, 4)]);
        this.register_child('layers', this.layers);
    }

    vfunc_training_step(batch, _batchIdx) {
        const loss = this.layers.forward(batch.get_tensor(0)).cross_entropy(batch.get_tensor(1));
        this.losses.push(loss.get_item());
        return loss;
    }

    vfunc_configure_optimizers() {
        return Lp.AdamW.new(this.dup_parameters(), 0.01);
    }
});

Lp.PrecisionRegistry.get_default().add(Lp.RegistryEntry.new('js-int4', Int4Plugin.$gtype, null, '4 bits, in JavaScript'));

Lp.seed_everything(1);
const inputs = Lp.Tensor.normal([256, 64], 0, 1, null, null);
const dataset = Lp.TensorDataset.new_pair(inputs, inputs.narrow(1, 0, 4).argmax(1));
const trainer = Lp.Trainer.new('js-int4');
Object.assign(trainer, {max_epochs: 5, enable_progress_bar: false, enable_model_summary: false, enable_checkpointing: false});
const model = new Model();
trainer.fit(model, Lp.DataLoader.new(dataset, 64, true), null, null, null);
const weight = model.lookup_parameter('layers.0.weight');
print(`trainer=${trainer.precision} storage=${weight.get_dtype().get_name()} ` +
    `bytes=${weight.get_n_bytes()} of ${4 * weight.get_n_elements()} ` +
    `loss=${model.losses[0].toFixed(3)}→${model.losses.at(-1).toFixed(3)}`);
