/* Frozen weights in 4 bits with adapters: the same steps in each language. */

import Lp from 'gi://Lp?version=1';

function ensure(condition, message = 'the check does not hold') {
    if (!condition)
        throw new Error(message);
}

const net = new Lp.Sequential();
for (const layer of [Lp.Linear.new(16, 64), Lp.ReLU.new(), Lp.Linear.new(64, 4)])
    net.append(layer);
ensure(Lp.LoraLinear.adapt(net, ['0', '2*'], 4, 8, 0));
const plugin = Lp.QuantizedPrecisionPlugin.new('nf4', ['2'], null);
ensure(plugin.precision === 'nf4' && plugin.ignore_modules[0] === '2');
ensure(plugin.convert_module(net));
const weight = net.lookup_parameter('0.base.weight');
ensure(weight.get_dtype().get_name() === 'nf4' && !weight.get_requires_grad());
ensure(net.lookup_parameter('2.base.weight').get_dtype().get_name() === 'f32');

const adapters = Lp.LoraLinear.dup_adapters(net);
ensure(adapters.length === 4 && adapters.every(tensor => tensor.get_requires_grad()));
const optimizer = Lp.AdamW.new(adapters, 0.02);
const x = Lp.Tensor.ones([8, 16], null, null), target = Lp.Tensor.ones([8, 4], null, null);
const losses = [];
for (let i = 0; i < 20; i++) {
    const loss = net.forward(x).mse_loss(target, Lp.Reduction.MEAN);
    losses.push(loss.get_item());
    optimizer.zero_grad();
    loss.backward(null);
    optimizer.step(null);
}
ensure(losses.at(-1) < 0.5 * losses[0], losses);

const layer = net.lookup_child('0');
ensure(layer.merge() && layer.merged);
ensure(net.lookup_parameter('0.base.weight').get_dtype().get_name() === 'f32');
ensure(layer.unmerge() && net.lookup_parameter('0.base.weight') === weight);
const state = Lp.LoraLinear.dup_state(net);
ensure(state.dup_names().sort().join() === '0.lora_a,0.lora_b,2.lora_a,2.lora_b');
ensure(Lp.LoraLinear.load_state(net, state));
const packed = Lp.bitsandbytes_pack(net.dup_state_dict());
ensure(Lp.bitsandbytes_unpack(packed).lookup('0.base.weight').get_dtype().get_name() === 'nf4');
let refused = false;
try {
    Lp.QuantizedPrecisionPlugin.new('int8', null, 'bf16');
} catch (error) {
    refused = error.matches(Lp.PrecisionError, Lp.PrecisionError.UNSUPPORTED);
}
ensure(refused, 'int8 in bf16 was not refused');
