/* Frozen weights in 4 bits with adapters: the same steps in each language. */

void main () {
    try {
        run ();
    } catch (Error error) {
        GLib.error ("%s", error.message);
    }
}

void run () throws Error {
    var net = new Lp.Sequential ();
    net.append (new Lp.Linear (16, 64));
    net.append (new Lp.ReLU ());
    net.append (new Lp.Linear (64, 4));
    assert (Lp.LoraLinear.adapt (net, { "0", "2*" }, 4, 8, 0));
    var plugin = new Lp.QuantizedPrecisionPlugin ("nf4", { "2" }, null);
    assert (plugin.precision == "nf4" && plugin.dup_ignore_modules ()[0] == "2");
    assert (plugin.convert_module (net));
    var weight = net.lookup_parameter ("0.base.weight");
    assert (weight.get_dtype ().name == "nf4" && !weight.get_requires_grad ());
    assert (net.lookup_parameter ("2.base.weight").get_dtype ().name == "f32");

    var adapters = Lp.LoraLinear.dup_adapters (net);
    assert (adapters.length == 4);
    var optimizer = new Lp.AdamW (adapters, 0.02);
    var x = new Lp.Tensor.ones ({ 8, 16 }, null, null);
    var target = new Lp.Tensor.ones ({ 8, 4 }, null, null);
    double first = 0, last = 0;
    for (var i = 0; i < 20; i++) {
        var loss = net.forward (x).mse_loss (target, Lp.Reduction.MEAN);
        last = loss.get_item ();
        if (i == 0)
            first = last;
        optimizer.zero_grad ();
        loss.backward (null);
        optimizer.step (null);
    }
    assert (last < 0.5 * first);

    var layer = net.lookup_child ("0") as Lp.LoraLinear;
    assert (layer.merge () && layer.merged);
    assert (layer.unmerge () && net.lookup_parameter ("0.base.weight") == weight);
    var state = Lp.LoraLinear.dup_state (net);
    assert (state.get_size () == 4 && Lp.LoraLinear.load_state (net, state));
    var packed = Lp.bitsandbytes_pack (net.dup_state_dict ());
    assert (Lp.bitsandbytes_unpack (packed).lookup ("0.base.weight").get_dtype ().name == "nf4");
    try {
        new Lp.QuantizedPrecisionPlugin ("int8", null, "bf16");
        assert_not_reached ();
    } catch (Lp.PrecisionError error) {
        assert (error is Lp.PrecisionError.UNSUPPORTED);
    }
}
