// Subclasses of every plugin of the library, in runs.

const {GObject, Lp} = imports.gi;
const {assert, assertEqual, expectError, fit, subclass} = imports.contract_util;

// Class and properties of whatever the registry makes of a class of the library.
function entries() {
    const list = Lp.PrecisionRegistry.get_default();
    return Array.from({length: list.get_n_items()}, (_, i) => list.get_item(i))
        .map(entry => [GObject.type_name(entry.get_gtype()).replace(/^Lp/, ''), entry])
        .filter(([name]) => name in Lp)
        .map(([name, entry]) => [Lp[name], {
            precision: entry.get_name(),
            ...Object.fromEntries(Object.entries(entry.dup_values()?.recursiveUnpack() ?? {})
                .map(([key, value]) => [key.replaceAll('-', '_'), value])),
        }]);
}

// As wide as fp8 wants layers to be.
const Wide = GObject.registerClass(class Wide extends Lp.Model {
    _init() {
        super._init();
        this.layer = Lp.Linear.new(16, 16);
        this.register_child('layer', this.layer);
    }

    vfunc_training_step(batch) {
        return this.layer.forward(batch.get_tensor(0)).cross_entropy(batch.get_tensor(1));
    }

    vfunc_configure_optimizers() {
        return Lp.Sgd.new(this.dup_parameters().filter(item => item.get_requires_grad()), 0.05);
    }
});

function wideLoader() {
    const targets = Lp.tensor(Array.from({length: 16}, (_, i) => i), {dtype: 'i64'});
    return Lp.DataLoader.new(Lp.TensorDataset.new_pair(Lp.Tensor.ones([16, 16]), targets), 8, false);
}

var checks = {
    train() {
        for (const [base, values] of entries()) {
            let calls = 0;
            const plugin = new (subclass(base, {
                vfunc_end_step() {
                    calls++;
                    return base.prototype.vfunc_end_step.call(this);
                },
            }))(values);
            const model = new Wide();
            const sum = () => model.layer.get_bias().to_dtype(Lp.DType.f32()).abs().sum().get_item();
            const before = sum();
            const tested = fit(model, {loader: wideLoader(), precision: plugin, max_steps: 2});
            assertEqual([calls, tested.precision], [2, values.precision]);
            assert(sum() !== before, `${values.precision}: nothing was trained`);
        }
    },
    refuse() {
        for (const [base, values] of entries()) {
            const refusing = subclass(base, {
                vfunc_validate(context) {
                    if (context.get_module())
                        throw new Lp.PrecisionError({code: Lp.PrecisionError.CONFLICT, message: 'not this model'});
                    return base.prototype.vfunc_validate.call(this, context);
                },
            });
            const never = subclass(base, {
                vfunc_validate() {
                    throw new Lp.PrecisionError({code: Lp.PrecisionError.UNSUPPORTED, message: 'never'});
                },
            });
            expectError(Lp.PrecisionError, Lp.PrecisionError.CONFLICT,
                () => fit(new Wide(), {loader: wideLoader(), precision: new refusing(values)}), 'not this model');
            expectError(Lp.PrecisionError, Lp.PrecisionError.CONFLICT,
                () => new Lp.Fabric({precision: new refusing(values)}).setup_module(new Wide()), 'not this model');
            expectError(Lp.PrecisionError, Lp.PrecisionError.UNSUPPORTED,
                () => new Lp.Trainer({precision: new never(values)}), 'never');
        }
    },
};
