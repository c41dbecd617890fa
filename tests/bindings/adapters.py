#!/usr/bin/env python3
"""Frozen weights in 4 bits with adapters: the same steps in each language."""

import sys

import gi

gi.require_version("Lp", "1")
from gi.repository import GLib, Lp


def main():
    net = Lp.Sequential()
    for layer in (Lp.Linear(in_features=16, out_features=64), Lp.ReLU(), Lp.Linear(in_features=64, out_features=4)):
        net.append(layer)
    assert Lp.LoraLinear.adapt(net, ["0", "2*"], 4, 8, 0)
    plugin = Lp.QuantizedPrecisionPlugin(precision="nf4", ignore_modules=["2"])
    assert plugin.props.precision == "nf4" and plugin.props.ignore_modules == ["2"]
    assert plugin.convert_module(net)
    weight = net.lookup_parameter("0.base.weight")
    assert weight.get_dtype().get_name() == "nf4" and not weight.get_requires_grad()
    assert net.lookup_parameter("2.base.weight").get_dtype().get_name() == "f32"

    adapters = Lp.LoraLinear.dup_adapters(net)
    assert len(adapters) == 4 and all(tensor.get_requires_grad() for tensor in adapters)
    optimizer = Lp.AdamW.new(adapters, 0.02)
    x, target = Lp.Tensor.ones([8, 16], None, None), Lp.Tensor.ones([8, 4], None, None)
    losses = []
    for _ in range(20):
        loss = net.forward(x).mse_loss(target, Lp.Reduction.MEAN)
        losses.append(loss.get_item())
        optimizer.zero_grad()
        loss.backward(None)
        optimizer.step(None)
    assert losses[-1] < 0.5 * losses[0], losses

    layer = net.lookup_child("0")
    assert layer.merge() and layer.props.merged
    assert net.lookup_parameter("0.base.weight").get_dtype().get_name() == "f32"
    assert layer.unmerge() and net.lookup_parameter("0.base.weight") is weight
    state = Lp.LoraLinear.dup_state(net)
    assert sorted(state.dup_names()) == ["0.lora_a", "0.lora_b", "2.lora_a", "2.lora_b"]
    assert Lp.LoraLinear.load_state(net, state)
    packed = Lp.bitsandbytes_pack(net.dup_state_dict())
    assert packed.lookup("0.base.weight.quant_state.bitsandbytes__nf4") is not None
    assert Lp.bitsandbytes_unpack(packed).lookup("0.base.weight").get_dtype().get_name() == "nf4"
    y = net.forward(x)
    assert Lp.LoraLinear.merge_and_unload(net)
    assert sorted(net.dup_state_dict().dup_names()) == ["0.bias", "0.weight", "2.bias", "2.weight"]
    assert net.forward(x).sub(y).abs().max(None, False).get_item() < 1e-4
    try:
        Lp.QuantizedPrecisionPlugin(precision="int8", compute_dtype="bf16")
    except GLib.Error as error:
        assert error.matches(Lp.precision_error_quark(), Lp.PrecisionError.UNSUPPORTED), error
    else:
        sys.exit("int8 in bf16 was not refused")
    assert Lp.FloatDType.new("e4m3", False).get_name() == "f8e4m3"
    assert Lp.MicroscalingDType.new("e2m1", Lp.ScaleRule.NVIDIA).get_block_size() == 32


main()
