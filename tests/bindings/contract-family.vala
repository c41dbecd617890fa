/* A subclass of each plugin of the registry. A class needs its own text in Vala: one that is missing here fails the check. */

int family_steps = 0;
unowned string family_mode;

void family_refuse (Lp.PrecisionContext context) throws GLib.Error {
    if (family_mode == "never")
        throw new Lp.PrecisionError.UNSUPPORTED ("never");
    if (family_mode == "model" && context.get_module () != null)
        throw new Lp.PrecisionError.CONFLICT ("not this model");
}

class FullChild : Lp.FullPrecisionPlugin {
    public override bool end_step () throws GLib.Error {
        family_steps++;
        return base.end_step ();
    }

    public override bool validate (Lp.PrecisionContext context) throws GLib.Error {
        family_refuse (context);
        return base.validate (context);
    }
}

class DoubleChild : Lp.DoublePrecisionPlugin {
    public override bool end_step () throws GLib.Error {
        family_steps++;
        return base.end_step ();
    }

    public override bool validate (Lp.PrecisionContext context) throws GLib.Error {
        family_refuse (context);
        return base.validate (context);
    }
}

class HalfChild : Lp.HalfPrecisionPlugin {
    public override bool end_step () throws GLib.Error {
        family_steps++;
        return base.end_step ();
    }

    public override bool validate (Lp.PrecisionContext context) throws GLib.Error {
        family_refuse (context);
        return base.validate (context);
    }
}

class MixedChild : Lp.MixedPrecisionPlugin {
    public override bool end_step () throws GLib.Error {
        family_steps++;
        return base.end_step ();
    }

    public override bool validate (Lp.PrecisionContext context) throws GLib.Error {
        family_refuse (context);
        return base.validate (context);
    }
}

class ApexMixedChild : Lp.ApexMixedPrecisionPlugin {
    public override bool end_step () throws GLib.Error {
        family_steps++;
        return base.end_step ();
    }

    public override bool validate (Lp.PrecisionContext context) throws GLib.Error {
        family_refuse (context);
        return base.validate (context);
    }
}

class FallbackMixedChild : Lp.FallbackMixedPrecisionPlugin {
    public override bool end_step () throws GLib.Error {
        family_steps++;
        return base.end_step ();
    }

    public override bool validate (Lp.PrecisionContext context) throws GLib.Error {
        family_refuse (context);
        return base.validate (context);
    }
}

class Fp8Child : Lp.Fp8PrecisionPlugin {
    public override bool end_step () throws GLib.Error {
        family_steps++;
        return base.end_step ();
    }

    public override bool validate (Lp.PrecisionContext context) throws GLib.Error {
        family_refuse (context);
        return base.validate (context);
    }
}

class QuantizedChild : Lp.QuantizedPrecisionPlugin {
    public override bool end_step () throws GLib.Error {
        family_steps++;
        return base.end_step ();
    }

    public override bool validate (Lp.PrecisionContext context) throws GLib.Error {
        family_refuse (context);
        return base.validate (context);
    }
}

/* As wide as fp8 wants layers to be. */
class Wide : Lp.Model {
    public Lp.Linear layer = new Lp.Linear (16, 16);

    construct {
        try {
            register_child ("layer", layer);
        } catch (GLib.Error error) {
            assert_not_reached ();
        }
    }

    public override Lp.Tensor? training_step (Lp.Batch batch, int64 batch_idx) throws GLib.Error {
        return layer.forward (batch.get_tensor (0)).cross_entropy (batch.get_tensor (1));
    }

    public override Object configure_optimizers () throws GLib.Error {
        var all = dup_parameters ();
        var trained = new GenericArray<Lp.Tensor> ();
        for (int i = 0; i < all.length; i++)
            if (all[i].get_requires_grad ())
                trained.add (all[i]);
        return new Lp.Sgd (trained, 0.05);
    }

    public double sum () throws GLib.Error {
        return layer.get_bias ().detach ().to_dtype (Lp.DType.f32 ()).abs ().sum (null, false).get_item ();
    }
}

Lp.Trainer family_fit (Wide model, Lp.PrecisionPlugin plugin) throws GLib.Error {
    var trainer = new Lp.Trainer.with_plugin (plugin);
    int64[] labels = new int64[16];
    for (int i = 0; i < 16; i++)
        labels[i] = i;
    trainer.max_steps = 2;
    trainer.enable_progress_bar = false;
    trainer.enable_checkpointing = false;
    trainer.enable_model_summary = false;
    var data = new Lp.TensorDataset.pair (new Lp.Tensor.ones ({ 16, 16 }, null, null),
                                          new Lp.Tensor.from_int64s (labels, { 16 }, Lp.DType.i64 ()));
    trainer.fit (model, new Lp.DataLoader (data, 8, false), null, null);
    return trainer;
}

Type child_of (Type parent) throws GLib.Error {
    Type[] children = {
        typeof (FullChild),
        typeof (DoubleChild),
        typeof (HalfChild),
        typeof (MixedChild),
        typeof (ApexMixedChild),
        typeof (FallbackMixedChild),
        typeof (Fp8Child),
        typeof (QuantizedChild)
    };
    foreach (var child in children)
        if (child.parent () == parent)
            return child;
    throw new CheckError.FAILED (@"there is no subclass of $(parent.name ())");
}

Lp.PrecisionPlugin family_plugin (Lp.RegistryEntry entry) throws GLib.Error {
    string precision = entry.get_name ();
    string? level = null;
    var values = entry.dup_values ();
    if (values != null) {
        values.lookup ("precision", "s", out precision);
        values.lookup ("amp-level", "s", out level);
    }
    var plugin = (Lp.PrecisionPlugin) Object.new (child_of (entry.get_gtype ()), "precision", precision, "amp-level", level);
    plugin.init (null);
    return plugin;
}

void family_check (string what) throws GLib.Error {
    var registry = Lp.PrecisionRegistry.get_default ();

    for (uint i = 0; i < registry.get_n_items (); i++) {
        var entry = (Lp.RegistryEntry) registry.get_item (i);
        if (entry.get_origin () != "built-in" || entry.get_gtype () == Type.NONE)
            continue;
        var model = new Wide ();
        family_mode = "";
        var plugin = family_plugin (entry);
        family_steps = 0;
        switch (what) {
        case "train":
            double before = model.sum ();
            var trainer = family_fit (model, plugin);
            ensure (family_steps == 2, @"$(entry.get_name ()): $family_steps steps");
            ensure (trainer.precision == plugin.precision);
            ensure (model.sum () != before, @"$(entry.get_name ()): nothing was trained");
            break;
        case "refuse":
            family_mode = "model";
            expect (new Lp.PrecisionError.CONFLICT (""), "not this model", () => family_fit (model, plugin));
            expect (new Lp.PrecisionError.CONFLICT (""), "not this model",
                    () => new Lp.Fabric.with_plugin (plugin).setup_module (model));
            family_mode = "never";
            expect (new Lp.PrecisionError.UNSUPPORTED (""), "never", () => family_plugin (entry));
            break;
        default:
            throw new CheckError.FAILED ("not checked");
        }
    }
    family_mode = "";
}
