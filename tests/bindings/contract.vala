/* The contract of contract.txt, kept by subclasses in Vala. */

errordomain CheckError { FAILED }

void ensure (bool condition, string message = "the check does not hold") throws CheckError {
    if (!condition)
        throw new CheckError.FAILED (message);
}

/* Overrides every virtual function; what the one called `target` does is up to `mode`. */
class Recorder : Lp.PrecisionPlugin {
    public string target = "";
    public string mode = "";
    public int calls = 0;

    public Recorder (string? precision = "contract", string? amp_backend = null, string? amp_level = null) {
        Object (precision: precision, amp_backend: amp_backend, amp_level: amp_level);
    }

    /* Whether the override has to misbehave. */
    bool hit (string name) throws GLib.Error {
        if (name != target)
            return false;
        calls++;
        if (mode == "lp-error")
            throw new Lp.Error.NOT_FINITE ("told by the override");
        if (mode == "precision-error")
            throw new Lp.PrecisionError.BAD_SCALER ("told by the override");
        return mode != "override";
    }

    bool hit_quietly (string name) {
        if (name != target)
            return false;
        calls++;
        return mode != "override";
    }

    Lp.Tensor? nonsense (string name) throws GLib.Error {
        if (mode == "shape")
            return vector ({ 1, 2, 3 });
        if (mode == "dtype")
            return name == "scale_loss" ? new Lp.Tensor.scalar (1, Lp.DType.i64 (), null) : two_by_two ().to_dtype (Lp.DType.i64 ());
        return null;
    }

    public override bool validate (Lp.PrecisionContext c) throws GLib.Error {
        return hit ("validate") ? false : base.validate (c);
    }

    public override bool validate_state (Lp.PrecisionState c) throws GLib.Error {
        return hit ("validate_state") ? false : base.validate_state (c);
    }

    public override bool supports (Lp.Device c) throws GLib.Error {
        return hit ("supports") ? false : base.supports (c);
    }

    public override bool begin_init () throws GLib.Error {
        return hit ("begin_init") ? false : base.begin_init ();
    }

    public override bool end_init () throws GLib.Error {
        return hit ("end_init") ? false : base.end_init ();
    }

    public override bool convert_module (Lp.Module c) throws GLib.Error {
        return hit ("convert_module") ? false : base.convert_module (c);
    }

    public override bool convert_optimizer (Lp.Optimizer c) throws GLib.Error {
        return hit ("convert_optimizer") ? false : base.convert_optimizer (c);
    }

    public override bool backward (Lp.Tensor c, GLib.GenericArray<Lp.Optimizer> d) throws GLib.Error {
        return hit ("backward") ? false : base.backward (c, d);
    }

    public override bool unscale_gradients (Lp.Optimizer c) throws GLib.Error {
        return hit ("unscale_gradients") ? false : base.unscale_gradients (c);
    }

    public override bool clip_gradients (Lp.Optimizer c, double d, Lp.ClipAlgorithm e) throws GLib.Error {
        return hit ("clip_gradients") ? false : base.clip_gradients (c, d, e);
    }

    public override bool end_step () throws GLib.Error {
        return hit ("end_step") ? false : base.end_step ();
    }

    public override bool load_state (Lp.State c) throws GLib.Error {
        return hit ("load_state") ? false : base.load_state (c);
    }

    public override bool attach (Lp.PrecisionContext c) throws GLib.Error {
        return hit ("attach") ? false : base.attach (c);
    }

    public override bool detach () throws GLib.Error {
        return hit ("detach") ? false : base.detach ();
    }

    public override Lp.Tensor convert_input (Lp.Tensor c) throws GLib.Error {
        return hit ("convert_input") ? nonsense ("convert_input") : base.convert_input (c);
    }

    public override Lp.Tensor convert_output (Lp.Tensor c) throws GLib.Error {
        return hit ("convert_output") ? nonsense ("convert_output") : base.convert_output (c);
    }

    public override Lp.Tensor quantize_operand (Lp.Operand c) throws GLib.Error {
        return hit ("quantize_operand") ? nonsense ("quantize_operand") : base.quantize_operand (c);
    }

    public override Lp.Tensor matmul (Lp.Matmul c) throws GLib.Error {
        return hit ("matmul") ? nonsense ("matmul") : base.matmul (c);
    }

    public override Lp.Tensor scale_loss (Lp.Tensor c) throws GLib.Error {
        return hit ("scale_loss") ? nonsense ("scale_loss") : base.scale_loss (c);
    }

    public override Lp.PrecisionTraits dup_traits () throws GLib.Error {
        return hit ("dup_traits") ? null : base.dup_traits ();
    }

    public override Lp.State save_state () throws GLib.Error {
        return hit ("save_state") ? null : base.save_state ();
    }

    public override Lp.DType? get_default_dtype () throws GLib.Error {
        return hit ("get_default_dtype") ? null : base.get_default_dtype ();
    }

    public override Lp.CastPolicy? get_cast_policy () throws GLib.Error {
        return hit ("get_cast_policy") ? null : base.get_cast_policy ();
    }

    public override Lp.StepResult optimizer_step (Lp.Optimizer c, Lp.StepClosure? d) throws GLib.Error {
        return hit ("optimizer_step") ? (Lp.StepResult) (mode == "number" ? 77 : 0) : base.optimizer_step (c, d);
    }

    public override string dup_state_id () {
        return hit_quietly ("dup_state_id") ? null : base.dup_state_id ();
    }

    public override string[] dup_state_aliases () {
        return hit_quietly ("dup_state_aliases") ? null : base.dup_state_aliases ();
    }

    public override uint get_state_version () {
        return hit_quietly ("get_state_version") ? 0 : base.get_state_version ();
    }
}

class Plain : Lp.PrecisionPlugin {
}

Lp.Tensor vector (double[] values) throws GLib.Error {
    return new Lp.Tensor.from_doubles (values, { values.length }, null);
}

Lp.Tensor two_by_two () throws GLib.Error {
    return new Lp.Tensor.from_doubles ({ 1, 2, 3, 4 }, { 2, 2 }, null);
}

Lp.Tensor parameter (double[] values) throws GLib.Error {
    var weight = vector (values);
    weight.set_requires_grad (true);
    return weight;
}

Lp.Tensor make_loss () throws GLib.Error {
    return parameter ({ 1, 2 }).sum (null, false);
}

GenericArray<Lp.Tensor> list_of (Lp.Tensor tensor) {
    var list = new GenericArray<Lp.Tensor> ();
    list.add (tensor);
    return list;
}

Lp.Optimizer make_optimizer () throws GLib.Error {
    var weight = parameter ({ 1, 2 });
    weight.set_grad (vector ({ 0.5, 0.5 }));
    return new Lp.Sgd (list_of (weight), 0.1);
}

void invoke (string name, Lp.PrecisionPlugin plugin) throws GLib.Error {
    var context = new Lp.PrecisionContext ();
    switch (name) {
    case "validate": plugin.validate (context); break;
    case "validate_state": plugin.validate_state (plugin.dup_state ()); break;
    case "supports": plugin.supports (Lp.Device.get_default ()); break;
    case "dup_traits": plugin.dup_traits (); break;
    case "get_default_dtype": plugin.get_default_dtype (); break;
    case "begin_init":
    case "end_init":
        plugin.begin_init ();
        plugin.end_init ();
        break;
    case "convert_module": plugin.convert_module (new Lp.Linear (2, 2)); break;
    case "convert_optimizer": plugin.convert_optimizer (make_optimizer ()); break;
    case "convert_input": plugin.convert_input (two_by_two ()); break;
    case "convert_output": plugin.convert_output (two_by_two ()); break;
    case "get_cast_policy": plugin.get_cast_policy (); break;
    case "quantize_operand":
    case "matmul":
        plugin.push_scope ();
        try {
            two_by_two ().matmul (two_by_two ());
        } finally {
            plugin.pop_scope ();
        }
        break;
    case "scale_loss": plugin.scale_loss (make_loss ()); break;
    case "backward": plugin.backward (make_loss (), new GenericArray<Lp.Optimizer> ()); break;
    case "unscale_gradients": plugin.unscale_gradients (make_optimizer ()); break;
    case "clip_gradients": plugin.clip_gradients (make_optimizer (), 0.1, Lp.ClipAlgorithm.NORM); break;
    case "optimizer_step": plugin.optimizer_step (make_optimizer (), null); break;
    case "end_step": plugin.end_step (); break;
    case "save_state": plugin.save_state (); break;
    case "load_state":
        var state = new Lp.State ();
        state.set_value ("plugin-id", new Variant.string (plugin.dup_state_id ()));
        plugin.load_state (state);
        break;
    case "attach":
    case "detach":
        plugin.attach (context);
        plugin.detach ();
        break;
    case "dup_state_id": plugin.dup_state_id (); break;
    case "dup_state_aliases": plugin.dup_state_aliases (); break;
    case "get_state_version": plugin.get_state_version (); break;
    default: throw new CheckError.FAILED ("no way to invoke " + name);
    }
}

Recorder recorder (string target, string mode) throws GLib.Error {
    var plugin = new Recorder ();
    plugin.init (null);
    plugin.target = target;
    plugin.mode = mode;
    return plugin;
}

delegate void Action () throws GLib.Error;

void expect (GLib.Error wanted, string mentions, Action action) throws CheckError {
    try {
        action ();
    } catch (GLib.Error error) {
        ensure (error.matches (wanted.domain, wanted.code), @"got $(error.domain) $(error.code): $(error.message)");
        ensure (mentions in error.message, @"“$mentions” is not in “$(error.message)”");
        return;
    }
    throw new CheckError.FAILED ("no error");
}

void expect_subclass (string name, Recorder plugin) throws CheckError {
    expect (new Lp.Error.SUBCLASS (""), "Recorder", () => invoke (name, plugin));
}

/* Construction */

void construct_check (string what) throws GLib.Error {
    switch (what) {
    case "without-name":
        expect (new Lp.PrecisionError.UNKNOWN (""), "Recorder", () => new Recorder (null).init (null));
        break;
    case "bad-level":
        expect (new Lp.PrecisionError.BAD_LEVEL (""), "O1", () => new Recorder ("contract", null, "O1").init (null));
        break;
    case "unknown-name":
        expect (new Lp.PrecisionError.UNSUPPORTED (""), "16-mixed", () => new Lp.MixedPrecisionPlugin ("8-mixed", null));
        break;
    case "unknown-precision":
        expect (new Lp.PrecisionError.UNKNOWN (""), "16-mixed", () => new Lp.Trainer ("16-mixd"));
        expect (new Lp.PrecisionError.UNKNOWN (""), "16-mixed", () => new Lp.Fabric ("16-mixd"));
        break;
    case "name-and-plugin":
        var both = (Lp.Trainer) Object.new (typeof (Lp.Trainer), "precision-request", "16-mixed",
                                            "precision-plugin", new Recorder ());
        expect (new Lp.PrecisionError.CONFLICT (""), "", () => both.init (null));
        break;
    case "plugin-in-use":
        var plugin = recorder ("", "");
        plugin.attach (new Lp.PrecisionContext ());
        expect (new Lp.PrecisionError.CONFLICT (""), "in use", () => plugin.attach (new Lp.PrecisionContext ()));
        plugin.detach ();
        invoke ("attach", plugin);
        break;
    default:
        throw new CheckError.FAILED ("not checked");
    }
}

/* Registry */

void registry_check (string what) throws GLib.Error {
    var registry = Lp.PrecisionRegistry.get_default ();
    var entry = new Lp.RegistryEntry ("vala-" + what, typeof (Plain), null, "for people");

    if (what == "lookup-unknown") {
        expect (new Lp.PrecisionError.UNKNOWN (""), "32-true", () => registry.lookup ("32-tru"));
        return;
    }
    if (what == "not-a-plugin")
        entry = new Lp.RegistryEntry.factory ("vala-" + what, null, (name, config) => { return new Lp.Linear (2, 2); });
    entry.add_alias ("vala-nick");
    registry.add (entry);
    try {
        registry_check_added (what, registry);
    } finally {
        registry.remove ("vala-" + what);
    }
    expect (new Lp.PrecisionError.UNKNOWN (""), "vala-" + what, () => registry.create ("vala-" + what, null));
}

void registry_check_added (string what, Lp.PrecisionRegistry registry) throws GLib.Error {
    switch (what) {
    case "add-and-create":
        ensure (registry.create ("vala-add-and-create", null) is Plain);
        ensure (new Lp.Trainer ("vala-add-and-create").precision == "vala-add-and-create");
        break;
    case "config":
        var builder = new VariantBuilder (VariantType.VARDICT);
        builder.add ("{sv}", "amp-backend", new Variant.string ("mine"));
        ensure (registry.create ("vala-config", builder.end ()).amp_backend == "mine");
        builder = new VariantBuilder (VariantType.VARDICT);
        builder.add ("{sv}", "no-such-thing", new Variant.string ("x"));
        expect (new Lp.Error.ARGUMENT (""), "", () => registry.create ("vala-config", builder.end ()));
        break;
    case "alias":
        ensure (new Lp.Trainer ("vala-nick").precision == "vala-alias");
        break;
    case "list":
        bool found = false;
        for (uint i = 0; i < registry.get_n_items (); i++) {
            var entry = (Lp.RegistryEntry) registry.get_item (i);
            found |= entry.get_name () == "vala-list" && entry.get_description () == "for people";
        }
        ensure (found, "not listed");
        break;
    case "add-twice":
        expect (new Lp.Error.EXISTS (""), "vala-add-twice",
                () => registry.add (new Lp.RegistryEntry ("vala-add-twice", typeof (Plain), null, null)));
        break;
    case "remove":
        ensure (registry.remove ("vala-remove") && !registry.remove ("vala-remove"));
        break;
    case "not-a-plugin":
        expect (new Lp.Error.SUBCLASS (""), "", () => registry.create ("vala-not-a-plugin", null));
        break;
    default:
        throw new CheckError.FAILED ("not checked");
    }
}

/* Trainer and plugin */

class Shadow : Lp.PrecisionPlugin {
    string _precision = "shadow";

    public new string precision {
        get { return _precision; }
        set { _precision = value; }
    }
}

void trainer_check (string what) throws GLib.Error {
    Lp.PrecisionPlugin plugin;

    if (what == "update-refused")
        plugin = new Lp.MixedPrecisionPlugin ("16-mixed", null);
    else if (what == "shadowed-property")
        plugin = new Shadow ();
    else
        plugin = new Recorder ("before", "mine");
    var trainer = new Lp.Trainer.with_plugin (plugin);
    string seen = "";

    if (what == "old-plugin-is-not-heard")
        trainer.set_precision_plugin (new Lp.FullPrecisionPlugin ());
    trainer.notify.connect ((pspec) => { seen += @"$(pspec.name)=$(trainer.precision) "; });
    switch (what) {
    case "reads-plugin":
        ensure (trainer.precision == "before" && trainer.amp_backend == "mine" && trainer.amp_level == null);
        ensure (trainer.dup_precision_plugin () == plugin);
        break;
    case "update-notifies":
        plugin.update_state ("after", null, null);
        ensure (trainer.precision == "after" && trainer.amp_backend == null);
        ensure ("precision=after" in seen && "amp-backend=after" in seen, seen);
        plugin.freeze_notify ();
        plugin.update_state ("frozen", null, null);
        ensure (trainer.precision == "frozen", "stale while notifications are frozen");
        plugin.thaw_notify ();
        ensure ("precision=frozen" in seen, seen);
        break;
    case "exchange-notifies":
        trainer.set_precision_plugin (new Recorder ("exchanged"));
        ensure (trainer.precision == "exchanged" && "precision=exchanged" in seen, seen);
        break;
    case "old-plugin-is-not-heard":
        plugin.update_state ("changed", null, null);
        ensure (trainer.precision == "32-true" && seen == "", seen);
        break;
    case "update-refused":
        expect (new Lp.PrecisionError.UNSUPPORTED (""), "8-mixed", () => plugin.update_state ("8-mixed", "native", null));
        ensure (trainer.precision == "16-mixed" && seen == "", seen);
        break;
    case "shadowed-property":
        ensure (trainer.precision == "shadow" && plugin.dup_precision () == "shadow", trainer.precision);
        ((Shadow) plugin).precision = "cast";
        ensure (trainer.precision == "cast" && "precision=cast" in seen, seen);
        break;
    default:
        throw new CheckError.FAILED ("not checked");
    }
}

/* Subclasses */

class Square : Lp.Function {
    Lp.Tensor input;
    public string mode = "";

    public override Lp.Tensor forward (GenericArray<Lp.Tensor> inputs) throws GLib.Error {
        input = inputs[0];
        return mode == "nothing" ? null : input.mul (input);
    }

    public override GenericArray<Lp.Tensor> backward (Lp.Tensor grad_output) throws GLib.Error {
        var result = list_of (grad_output.mul (input).scale (2));
        if (mode == "two")
            result.add (grad_output);
        return result;
    }
}

class Tenths : Lp.DType {
    public string mode = "";

    public Tenths () {
        Object (name: "vala-tenths", bits: 8, block_size: 1);
    }

    public override int64 get_encoded_size (Lp.Shape shape) {
        return shape.get_n_elements ();
    }

    public override Bytes encode (Bytes values, Lp.Shape shape, int axis) throws GLib.Error {
        var codes = new uint8[shape.get_n_elements ()];
        unowned float[] floats = (float[]) values.get_data ();
        for (int i = 0; i < codes.length; i++)
            codes[i] = (uint8) (Math.round (floats[i] * 10) + 128);
        return mode == "nothing" ? null : new Bytes (codes[0:mode == "short" ? 1 : codes.length]);
    }

    public override Bytes decode (Bytes data, Lp.Shape shape, int axis, int64 first_block, int64 n_blocks) throws GLib.Error {
        var floats = new float[n_blocks];
        for (int i = 0; i < floats.length; i++)
            floats[i] = (data[(int) first_block + i] - 128) / 10.0f;
        unowned uint8[] raw = (uint8[]) floats;
        raw.length = floats.length * (int) sizeof (float);
        return new Bytes (raw);
    }
}

class Squares : Lp.Dataset {
    public string mode = "";

    public override int64 get_length () {
        return 5;
    }

    public override Lp.Batch get_item (int64 index) throws GLib.Error {
        if (mode == "error")
            throw new Lp.Error.IO ("no such item");
        return mode == "nothing" ? null : new Lp.Batch.pair (vector ({ index, 1 }), new Lp.Tensor.scalar (index * index, null, null));
    }

    public override Lp.Batch collate (GenericArray<Lp.Batch> items) throws GLib.Error {
        if (mode != "collate")
            return base.collate (items);
        var batch = new Lp.Batch ();
        batch.append (new Lp.Tensor.scalar (items.length, null, null), "named");
        return batch;
    }
}

class Net : Lp.Model {
    public double[] losses = {};
    public string calls = "";
    public string mode = "";
    Lp.Module layer = new Lp.Linear (4, 2);

    construct {
        try {
            register_child ("layer", layer);
        } catch (GLib.Error error) {
            assert_not_reached ();
        }
    }

    public override Lp.Tensor forward (Lp.Tensor input) throws GLib.Error {
        return layer.forward (input);
    }

    public override Lp.Tensor? training_step (Lp.Batch batch, int64 batch_idx) throws GLib.Error {
        if (mode == "error")
            throw new Lp.Error.NOT_FINITE ("told by the model");
        var loss = forward (batch.get_tensor (0)).cross_entropy (batch.get_tensor (1));
        losses += loss.get_item ();
        return loss;
    }

    public override Lp.Batch on_before_batch_transfer (Lp.Batch batch) throws GLib.Error {
        if (mode != "hooks")
            return base.on_before_batch_transfer (batch);
        calls += "before ";
        return new Lp.Batch.pair (batch.get_tensor (0).scale (0), batch.get_tensor (1));
    }

    public override Lp.Batch on_after_batch_transfer (Lp.Batch batch) throws GLib.Error {
        if (mode == "hooks")
            calls += "after %g ".printf (batch.get_tensor (0).select (0, 0).select (0, 0).get_item ());
        return batch;
    }

    public override GenericArray<Lp.Callback> configure_callbacks () throws GLib.Error {
        var callbacks = new GenericArray<Lp.Callback> ();
        if (mode == "hooks")
            callbacks.add (new Watch () { mode = "model" });
        return callbacks;
    }

    public override Object configure_optimizers () throws GLib.Error {
        if (mode == "optimizer")
            return layer;
        return new Lp.AdamW (dup_parameters (), 0.05);
    }
}

class Watch : Lp.Callback {
    public string calls = "";
    public string mode = "";

    public override void on_train_start (Lp.Trainer trainer, Lp.Model model) throws GLib.Error {
        if (mode == "error")
            throw new Lp.Error.STATE ("told by the callback");
        calls += "start ";
    }

    public override void on_train_batch_end (Lp.Trainer trainer, Lp.Model model, Lp.Tensor? outputs, Lp.Batch batch,
                                             int64 batch_idx) throws GLib.Error {
        calls += @"$batch_idx ";
    }
}

class PlainDescent : Lp.Optimizer {
    public override bool step_group (Lp.ParamGroup group) throws GLib.Error {
        var weights = group.dup_parameters ();
        var masters = group.dup_masters ();
        for (int i = 0; i < weights.length; i++)
            masters[i].assign (masters[i].detach ().sub (weights[i].dup_grad ().scale (group.lr)));
        return true;
    }
}

class MyMixed : Lp.MixedPrecisionPlugin {
    public int calls = 0;

    public MyMixed () {
        Object (precision: "16-mixed");
    }

    public override bool end_step () throws GLib.Error {
        calls++;
        return base.end_step ();
    }
}

void fit (Net model, Lp.PrecisionPlugin? plugin = null, Lp.Callback? callback = null) throws GLib.Error {
    var trainer = new Lp.Trainer.with_plugin (plugin ?? new Lp.FullPrecisionPlugin ());
    trainer.max_steps = 3;
    trainer.enable_progress_bar = false;
    trainer.enable_checkpointing = false;
    trainer.enable_model_summary = false;
    if (callback != null)
        trainer.add_callback (callback);
    var inputs = new Lp.Tensor.from_doubles ({ 1, 2, 3, 4, -1, -2, -3, -4 }, { 2, 4 }, null);
    var targets = new Lp.Tensor.from_int64s ({ 0, 1 }, { 2 }, Lp.DType.i64 ());
    trainer.fit (model, new Lp.DataLoader (new Lp.TensorDataset.pair (inputs, targets), 2, false), null, null);
}

Lp.Batch? first_batch (Squares dataset) throws GLib.Error {
    var loader = new Lp.DataLoader (dataset, 2, false);
    loader.start_epoch (0);
    return loader.next ();
}

void subclass_check (string what) throws GLib.Error {
    var net = new Net ();
    var watch = new Watch ();
    var squares = new Squares ();
    var x = parameter ({ 1, -2, 3 });

    switch (what) {
    case "mixed-plugin":
        var mixed = new MyMixed ();
        fit (net, mixed);
        ensure (mixed.calls == 3);
        break;
    case "function":
        new Square ().apply (list_of (x)).sum (null, false).backward (null);
        ensure (x.dup_grad ().select (0, 1).get_item () == -4);
        break;
    case "function-wrong-count":
        var two = (new Square () { mode = "two" }).apply (list_of (x)).sum (null, false);
        expect (new Lp.Error.SUBCLASS (""), "backward", () => two.backward (null));
        expect (new Lp.Error.SUBCLASS (""), "forward", () => (new Square () { mode = "nothing" }).apply (list_of (x)));
        break;
    case "dtype":
        var stored = vector ({ 0.51, -0.29 }).to_dtype (new Tenths ());
        ensure (stored.get_n_bytes () == 2);
        ensure (Math.fabs (stored.to_dtype (Lp.DType.f32 ()).select (0, 1).get_item () + 0.3) < 1e-6);
        break;
    case "dtype-broken":
        expect (new Lp.Error.SUBCLASS (""), "", () => vector ({ 1, 2 }).to_dtype (new Tenths () { mode = "short" }));
        expect (new Lp.Error.SUBCLASS (""), "", () => vector ({ 1, 2 }).to_dtype (new Tenths () { mode = "nothing" }));
        break;
    case "dataset":
        ensure (first_batch (squares).get_tensor (0).get_dim (0) == 2);
        break;
    case "collate":
        squares.mode = "collate";
        ensure (first_batch (squares).lookup ("named").get_item () == 2);
        break;
    case "dataset-broken":
        squares.mode = "nothing";
        expect (new Lp.Error.SUBCLASS (""), "Squares", () => first_batch (squares));
        squares.mode = "error";
        expect (new Lp.Error.IO (""), "no such item", () => first_batch (squares));
        break;
    case "model":
        fit (net);
        ensure (net.losses.length == 3 && net.losses[2] < net.losses[0]);
        break;
    case "model-broken":
        net.mode = "error";
        expect (new Lp.Error.NOT_FINITE (""), "told by the model", () => fit (net));
        net.mode = "optimizer";
        expect (new Lp.Error.SUBCLASS (""), "Net", () => fit (net));
        break;
    case "model-hooks":
        net.mode = "hooks";
        fit (net, null, watch);
        ensure (net.calls == "before after 0 before after 0 before after 0 ", net.calls);
        ensure (watch.calls == "", watch.calls);
        break;
    case "callback":
        fit (net, null, watch);
        ensure (watch.calls.has_prefix ("start 0 "), watch.calls);
        break;
    case "callback-error":
        watch.mode = "error";
        expect (new Lp.Error.STATE (""), "told by the callback", () => fit (net, null, watch));
        break;
    case "optimizer":
        x.set_grad (vector ({ 1, 1, 1 }));
        var optimizer = new PlainDescent ();
        optimizer.add_group (new Lp.ParamGroup (list_of (x), 0.5));
        ensure (optimizer.step (null) == Lp.StepResult.APPLIED);
        ensure (x.select (0, 0).get_item () == 0.5);
        break;
    default:
        throw new CheckError.FAILED ("not checked");
    }
}

void check (string[] words) throws GLib.Error {
    string name = words[1];
    Recorder plugin;

    switch (words[0]) {
    case "override":
        plugin = recorder (name, "override");
        invoke (name, plugin);
        ensure (plugin.calls > 0, "the override was not called");
        break;
    case "error":
        expect (new Lp.Error.NOT_FINITE (""), "told by the override", () => invoke (name, recorder (name, "lp-error")));
        expect (new Lp.PrecisionError.BAD_SCALER (""), "told by the override",
                () => invoke (name, recorder (name, "precision-error")));
        break;
    case "broken":
        expect_subclass (name, recorder (name, "broken"));
        break;
    case "nonsense":
        expect_subclass (name, recorder (name, words[2]));
        break;
    case "fallback":
        plugin = recorder (name, "nothing");
        if (name == "dup_state_id")
            ensure (plugin.dup_state_id () == "Recorder");
        else
            ensure (plugin.dup_state_aliases ().length == 0);
        break;
    case "construct": construct_check (name); break;
    case "registry": registry_check (name); break;
    case "trainer": trainer_check (name); break;
    case "subclass": subclass_check (name); break;
    case "family": family_check (name); break;
    default: throw new CheckError.FAILED ("not checked");
    }
}

int main (string[] args) {
    string text;
    string[] lines = {};
    int failed = 0;

    try {
        FileUtils.get_contents (args[1], out text);
    } catch (FileError error) {
        printerr ("%s\n", error.message);
        return 1;
    }
    foreach (var line in text.split ("\n")) {
        string text_of = line;
        if (line.has_prefix ("[") && "vala" in line[0:line.index_of ("]")])
            text_of = line.substring (line.index_of ("]") + 2);
        if (text_of != "" && text_of[0] != '#' && text_of[0] != '[')
            lines += text_of;
    }

    print ("1..%d\n", lines.length);
    for (int i = 0; i < lines.length; i++) {
        try {
            check (lines[i].split (" "));
            print ("ok %d - %s\n", i + 1, lines[i]);
        } catch (GLib.Error error) {
            failed = 1;
            print ("not ok %d - %s\n# %s\n", i + 1, lines[i], error.message);
        }
    }

    return failed;
}
