// The contract of contract.txt, kept by subclasses in JavaScript.

imports.gi.versions.Lp = '1';
const {GLib, GObject, Lp} = imports.gi;
const System = imports.system;

imports.searchPath.unshift(GLib.path_get_dirname(System.programPath));
const {assert, assertEqual, expectError, fit, makeLoader, parent, subclass} = imports.contract_util;
const family = imports.contract_family;

// A plugin whose virtual function is in force only after construction.
function pluginWith(name, override) {
    let on = false;
    const {base, values} = parent;
    const klass = subclass(base, {
        [`vfunc_${name}`](...args) {
            return on ? override.apply(this, args) : base.prototype[`vfunc_${name}`].apply(this, args);
        },
    });
    const plugin = new klass(values);
    plugin.init(null);
    on = true;
    return plugin;
}

function plainPlugin(properties = {}) {
    return new (subclass(Lp.PrecisionPlugin))({precision: 'contract', ...properties});
}

function twoByTwo() {
    return Lp.tensor([[1, 2], [3, 4]]);
}

function makeOptimizer() {
    const weight = Lp.tensor([1, 2], {requires_grad: true});
    weight.set_grad(Lp.tensor([0.5, 0.5]));
    return Lp.Sgd.new([weight], 0.1);
}

function makeLoss() {
    return Lp.tensor([1, 2], {requires_grad: true}).sum();
}

// A matrix product inside the plugin's scope.
function product(plugin) {
    plugin.push_scope();
    try {
        return twoByTwo().matmul(twoByTwo());
    } finally {
        plugin.pop_scope();
    }
}

function initScope(plugin) {
    plugin.begin_init();
    plugin.end_init();
    return true;
}

function attachAndDetach(plugin) {
    return plugin.attach(new Lp.PrecisionContext()) && plugin.detach();
}

function ownState(plugin) {
    const state = Lp.State.new();
    state.set_value('plugin-id', GLib.Variant.new_string(plugin.dup_state_id()));
    return state;
}

const INVOKE = {
    validate: plugin => plugin.validate(new Lp.PrecisionContext()),
    validate_state: plugin => plugin.validate_state(plugin.dup_state()),
    supports: plugin => plugin.supports(Lp.Device.get_default()),
    dup_traits: plugin => plugin.dup_traits(),
    get_default_dtype: plugin => plugin.get_default_dtype(),
    begin_init: initScope,
    end_init: initScope,
    convert_module: plugin => plugin.convert_module(Lp.Linear.new(16, 16)),
    convert_optimizer: plugin => plugin.convert_optimizer(makeOptimizer()),
    convert_input: plugin => plugin.convert_input(twoByTwo()),
    convert_output: plugin => plugin.convert_output(twoByTwo()),
    get_cast_policy: plugin => plugin.get_cast_policy(),
    quantize_operand: product,
    matmul: product,
    scale_loss: plugin => plugin.scale_loss(makeLoss()),
    backward: plugin => plugin.backward(makeLoss(), [makeOptimizer()]),
    unscale_gradients: plugin => plugin.unscale_gradients(makeOptimizer()),
    clip_gradients: plugin => plugin.clip_gradients(makeOptimizer(), 0.1, Lp.ClipAlgorithm.NORM),
    optimizer_step: plugin => plugin.optimizer_step(makeOptimizer(), null),
    end_step: plugin => plugin.end_step(),
    save_state: plugin => plugin.save_state(),
    load_state: plugin => plugin.load_state(ownState(plugin)),
    attach: attachAndDetach,
    detach: attachAndDetach,
    dup_state_id: plugin => plugin.dup_state_id(),
    dup_state_aliases: plugin => plugin.dup_state_aliases(),
    get_state_version: plugin => plugin.get_state_version(),
};

const OBJECTS = ['dup_traits', 'convert_input', 'convert_output', 'quantize_operand', 'matmul', 'scale_loss',
    'save_state'];

function expectException(callback) {
    let result;
    try {
        result = callback();
    } catch {
        return;
    }
    throw new Error(`no error, but ${result}`);
}

function expectBroken(name, plugin) {
    expectError(Lp.Error, Lp.Error.SUBCLASS, () => INVOKE[name](plugin), GObject.type_name(plugin.constructor.$gtype));
}

const NONSENSE = {
    nothing: () => null,
    shape: () => Lp.tensor([1, 2, 3]),
    dtype: () => Lp.tensor([[1, 2], [3, 4]], {dtype: 'i64'}),
    failed: () => Lp.StepResult.FAILED,
    number: () => 77,
    type: () => new Lp.PrecisionTraits({storage: 'f32'}),
};

// Construction

const construct = {
    'without-name': () => expectError(Lp.PrecisionError, Lp.PrecisionError.UNKNOWN,
        () => new (subclass(Lp.PrecisionPlugin))()),
    'bad-level': () => expectError(Lp.PrecisionError, Lp.PrecisionError.BAD_LEVEL,
        () => new Lp.MixedPrecisionPlugin({precision: '16-mixed', amp_level: 'O1'})),
    'unknown-name': () => expectError(Lp.PrecisionError, Lp.PrecisionError.UNSUPPORTED,
        () => new Lp.MixedPrecisionPlugin({precision: '8-mixed'}), '16-mixed'),
    'unknown-precision'() {
        for (const klass of [Lp.Trainer, Lp.Fabric])
            expectError(Lp.PrecisionError, Lp.PrecisionError.UNKNOWN, () => new klass({precision: '16-mixd'}), '16-mixed');
    },
    'name-and-plugin'() {
        for (const klass of [Lp.Trainer, Lp.Fabric]) {
            expectError(Lp.PrecisionError, Lp.PrecisionError.CONFLICT,
                () => new klass({precision: '16-mixed', precision_plugin: new Lp.FullPrecisionPlugin()}));
        }
    },
    'plugin-in-use'() {
        const plugin = plainPlugin();
        plugin.attach(new Lp.PrecisionContext());
        expectError(Lp.PrecisionError, Lp.PrecisionError.CONFLICT, () => plugin.attach(new Lp.PrecisionContext()));
        plugin.detach();
        assert(attachAndDetach(plugin));
    },
};

// Registry

const REGISTRY = Lp.PrecisionRegistry.get_default();

// A precision that is known while a function runs.
function registered(name, maker, options, callback) {
    Lp.register_precision(name, maker, options);
    try {
        return callback();
    } finally {
        Lp.unregister_precision(name);
    }
}

function entryNames() {
    return Array.from({length: REGISTRY.get_n_items()}, (_, i) => REGISTRY.get_item(i).get_name());
}

function vardict(values) {
    return new GLib.Variant('a{sv}', Object.fromEntries(
        Object.entries(values).map(([key, value]) => [key, GLib.Variant.new_string(value)])));
}

const registry = {
    'add-and-create'() {
        const klass = subclass(Lp.PrecisionPlugin);
        registered('js-one', klass, {description: 'a class'}, () => {
            const plugin = REGISTRY.create('js-one');
            assert(plugin instanceof klass && plugin.precision === 'js-one');
            assertEqual(new Lp.Trainer({precision: 'js-one'}).precision, 'js-one');
        });
        registered('js-two', name => new klass({precision: name}), {}, () => assert(REGISTRY.create('js-two') instanceof klass));
    },
    'config'() {
        registered('js-config', subclass(Lp.PrecisionPlugin), {}, () => {
            assertEqual(REGISTRY.create('js-config', vardict({'amp-backend': 'mine'})).amp_backend, 'mine');
            expectError(Lp.Error, Lp.Error.ARGUMENT, () => REGISTRY.create('js-config', vardict({'no-such-thing': 'x'})));
        });
    },
    'alias'() {
        registered('js-alias', subclass(Lp.PrecisionPlugin), {aliases: ['js-nick']},
            () => assertEqual(new Lp.Trainer({precision: 'js-nick'}).precision, 'js-alias'));
    },
    'list'() {
        registered('js-list', subclass(Lp.PrecisionPlugin), {description: 'for the list'}, () => {
            const entry = REGISTRY.lookup('js-list');
            assertEqual([entry.get_name(), entry.get_description(), entry.get_problem()], ['js-list', 'for the list', null]);
            assert(entryNames().includes('js-list'));
        });
        assert(!entryNames().includes('js-list'));
    },
    'lookup-unknown': () => expectError(Lp.PrecisionError, Lp.PrecisionError.UNKNOWN, () => REGISTRY.lookup('32-tru'), '32-true'),
    'add-twice'() {
        registered('js-twice', subclass(Lp.PrecisionPlugin), {}, () => expectError(Lp.Error, Lp.Error.EXISTS,
            () => Lp.register_precision('js-twice', subclass(Lp.PrecisionPlugin))));
    },
    'remove'() {
        Lp.register_precision('js-remove', subclass(Lp.PrecisionPlugin));
        assert(Lp.unregister_precision('js-remove'));
        assert(!Lp.unregister_precision('js-remove'));
        expectError(Lp.PrecisionError, Lp.PrecisionError.UNKNOWN, () => REGISTRY.create('js-remove'));
    },
    'not-a-plugin'() {
        registered('js-wrong', () => Lp.Linear.new(2, 2), {},
            () => expectError(Lp.Error, Lp.Error.SUBCLASS, () => REGISTRY.create('js-wrong')));
        registered('js-nothing', () => null, {},
            () => expectError(Lp.Error, Lp.Error.SUBCLASS, () => REGISTRY.create('js-nothing')));
    },
};

// Trainer and plugin

// What the trainer notifies from now on, with the precision that it then says.
function watched(trainer) {
    const seen = [];
    trainer.connect('notify', (self, pspec) => seen.push(`${pspec.name}=${self.precision}`));
    return seen;
}

const trainer = {
    'reads-plugin'() {
        const plugin = plainPlugin({amp_backend: 'mine'});
        const tested = new Lp.Trainer({precision: plugin});
        assert(tested.precision_plugin === plugin);
        assertEqual([tested.precision, tested.amp_backend, tested.amp_level], ['contract', 'mine', null]);
        try {
            tested.precision = 'other';
        } catch {
            // refused loudly is as good as refused
        }
        assertEqual(tested.precision, 'contract');
    },
    'update-notifies'() {
        const plugin = plainPlugin();
        const tested = new Lp.Trainer({precision: plugin});
        const seen = watched(tested);
        plugin.update_state('after', 'mine', null);
        assertEqual([tested.precision, tested.amp_backend], ['after', 'mine']);
        assert(seen.includes('precision=after') && seen.includes('amp-backend=after'));
        plugin.freeze_notify();
        plugin.update_state('frozen', null, null);
        assertEqual(tested.precision, 'frozen');
        plugin.thaw_notify();
        assert(seen.includes('precision=frozen'));
    },
    'exchange-notifies'() {
        const tested = new Lp.Trainer({precision: '16-mixed'});
        const seen = watched(tested);
        tested.set_precision_plugin(plainPlugin());
        assertEqual([tested.precision, tested.amp_backend], ['contract', null]);
        assert(seen.includes('precision=contract') && seen.includes('amp-backend=contract'));
    },
    'old-plugin-is-not-heard'() {
        const old = plainPlugin();
        const tested = new Lp.Trainer({precision: old});
        tested.set_precision_plugin(new Lp.FullPrecisionPlugin());
        const seen = watched(tested);
        old.update_state('changed', null, null);
        assertEqual([tested.precision, seen], ['32-true', []]);
    },
    'update-refused'() {
        const plugin = new Lp.MixedPrecisionPlugin({precision: '16-mixed'});
        const tested = new Lp.Trainer({precision: plugin});
        const seen = watched(tested);
        expectError(Lp.PrecisionError, Lp.PrecisionError.UNSUPPORTED, () => plugin.update_state('8-mixed', 'native', null));
        assertEqual([tested.precision, seen], ['16-mixed', []]);
    },
    'shadowed-property'() {
        const Shadow = GObject.registerClass({
            GTypeName: 'ContractShadow',
            Properties: {
                precision: GObject.ParamSpec.string('precision', '', '', GObject.ParamFlags.READWRITE, null),
            },
        }, class extends Lp.PrecisionPlugin {
            get precision() {
                return this._precision ?? 'shadow';
            }

            set precision(value) {
                this._precision = value;
                this.notify('precision');
            }
        });
        const plugin = new Shadow();
        const tested = new Lp.Trainer({precision: plugin});
        assertEqual([tested.precision, plugin.dup_precision()], ['shadow', 'shadow']);
        const seen = watched(tested);
        plugin.precision = 'cast';
        assertEqual(tested.precision, 'cast');
        assert(seen.includes('precision=cast'));
    },
};

// Subclasses

const SQUARE = {
    vfunc_forward(inputs) {
        this.input = inputs[0];
        return inputs[0].mul(inputs[0]);
    },
    vfunc_backward(gradOutput) {
        return [gradOutput.mul(this.input).mul(2)];
    },
};

const Net = GObject.registerClass({GTypeName: 'ContractNet'}, class extends Lp.Model {
    constructor() {
        super();
        this.register({layers: Lp.Sequential.of(Lp.Linear.new(4, 8), Lp.ReLU.new(), Lp.Linear.new(8, 2))});
        this.losses = [];
    }

    vfunc_forward(x) {
        return this.layers.forward(x);
    }

    vfunc_training_step(batch, _batchIdx) {
        const [inputs, targets] = batch;
        const loss = this.forward(inputs).cross_entropy(targets);
        this.losses.push(loss.item());
        return loss;
    }

    vfunc_configure_optimizers() {
        return Lp.AdamW.new(this.parameters(), 0.05);
    }
});

const TENTHS = {
    vfunc_encode(values, _shape, _axis) {
        const floats = new Float32Array(values.toArray().slice().buffer);
        return new GLib.Bytes(Uint8Array.from(floats, value => Math.round(value * 10) + 128));
    },
    vfunc_decode(data, _shape, _axis, firstBlock, nBlocks) {
        const codes = data.toArray().slice(firstBlock, firstBlock + nBlocks);
        return new GLib.Bytes(new Uint8Array(Float32Array.from(codes, code => (code - 128) / 10).buffer));
    },
    vfunc_get_encoded_size(shape) {
        return shape.get_n_elements();
    },
};

function makeDtype(name, members = {}) {
    return new (subclass(Lp.DType, {...TENTHS, ...members}))({name, bits: 8, block_size: 1});
}

const SQUARES = {
    vfunc_get_length() {
        return 5;
    },
    vfunc_get_item(index) {
        return Lp.Batch.from(Lp.tensor([index, 1]), Lp.tensor(index * index, {dtype: 'i64'}));
    },
};

function loaderOf(members = {}) {
    return Lp.DataLoader.new(new (subclass(Lp.Dataset, {...SQUARES, ...members}))(), 2, false);
}

function lpError(code, message) {
    return new Lp.Error({code, message});
}

const subclasses = {
    'mixed-plugin'() {
        const calls = [];
        const base = Lp.MixedPrecisionPlugin.prototype;
        const klass = subclass(Lp.MixedPrecisionPlugin, {
            vfunc_convert_input(tensor) {
                calls.push('convert_input');
                return base.vfunc_convert_input.call(this, tensor);
            },
            vfunc_end_step() {
                calls.push('end_step');
                return base.vfunc_end_step.call(this);
            },
        });
        const made = fit(new Net(), {precision: new klass({precision: '16-mixed'})});
        assertEqual(made.precision, '16-mixed');
        assertEqual(calls, Array(3).fill(['convert_input', 'end_step']).flat());
    },
    'function'() {
        const x = Lp.tensor([1, -2, 3], {requires_grad: true});
        const optimizer = Lp.Sgd.new([x], 0.1);
        const Square = subclass(Lp.Function, SQUARE);
        const first = new Square().apply([x]).sum();
        first.backward();
        assertEqual(x.grad.toArray(), [2, -4, 6]);
        optimizer.step(null);
        assert(new Square().apply([x]).sum().item() < first.item());
    },
    'function-wrong-count'() {
        const two = subclass(Lp.Function, {...SQUARE, vfunc_backward: grad => [grad, grad]});
        const result = new two().apply([Lp.tensor([1], {requires_grad: true})]);
        expectError(Lp.Error, Lp.Error.SUBCLASS, () => result.backward(), 'backward');
        const nothing = subclass(Lp.Function, {...SQUARE, vfunc_forward: () => null});
        expectError(Lp.Error, Lp.Error.SUBCLASS, () => new nothing().apply([Lp.tensor([1])]), 'forward');
    },
    'dtype'() {
        const tenths = makeDtype('js-tenths');
        const stored = Lp.tensor([[0.51, -0.29], [1, 0]]).to_dtype(tenths);
        assert(stored.dtype === tenths && stored.get_n_bytes() === 4);
        assertEqual(stored.to('f32').toArray().flat().map(value => Math.round(value * 1e5)), [50000, -30000, 100000, 0]);
    },
    'dtype-broken'() {
        const short = makeDtype('js-short', {vfunc_encode: () => new GLib.Bytes(new Uint8Array(1))});
        expectError(Lp.Error, Lp.Error.SUBCLASS, () => Lp.tensor([1, 2]).to_dtype(short));
        const nothing = makeDtype('js-nothing', {vfunc_encode: () => null});
        expectError(Lp.Error, Lp.Error.SUBCLASS, () => Lp.tensor([1, 2]).to_dtype(nothing));
    },
    'dataset'() {
        const seen = [...loaderOf()].map(batch => [...batch].map(tensor => tensor.toArray()));
        assertEqual(seen, [[[[0, 1], [1, 1]], [0, 1]], [[[2, 1], [3, 1]], [4, 9]], [[[4, 1]], [16]]]);
    },
    'collate'() {
        const loader = loaderOf({
            vfunc_collate(items) {
                const batch = Lp.Batch.from(Lp.Tensor.stack(items.map(item => item.get_tensor(0)), 0).mul(10));
                batch.append(Lp.tensor(items.length), 'named');
                return batch;
            },
        });
        const [batch] = loader;
        assertEqual([batch.get_tensor(0).toArray(), batch.lookup('named').item()], [[[0, 10], [10, 10]], 2]);
    },
    'dataset-broken'() {
        expectError(Lp.Error, Lp.Error.SUBCLASS, () => [...loaderOf({vfunc_get_item: () => null})]);
        expectError(Lp.Error, Lp.Error.IO, () => [...loaderOf({
            vfunc_get_item() {
                throw lpError(Lp.Error.IO, 'no such item');
            },
        })]);
    },
    'rounding'() {
        const values = Lp.tensor([-2.5, -0.5, 0.4, 1.5]);
        assertEqual([values.round().toArray(), values.floor().toArray(), values.ceil().toArray(), values.trunc().toArray(),
            values.sign().toArray()].map(row => row.map(value => value + 0)),
        [[-2, 0, 0, 2], [-3, -1, 0, 1], [-2, 0, 1, 2], [-2, 0, 0, 1], [-1, -1, 1, 1]]);
    },
    'plain-exceptions'() {
        const thrower = () => {
            throw new Error('of a plain one');
        };
        expectError(Lp.Error, Lp.Error.SUBCLASS, () => fit(new Net(), {loader: loaderOf({vfunc_get_length: thrower})}), 'of a plain one');
        expectError(Lp.Error, Lp.Error.SUBCLASS,
            () => fit(new Net(), {callbacks: [new (subclass(Lp.Callback, {vfunc_is_checkpoint: thrower}))()]}), 'is_checkpoint');
        const plugin = new (subclass(Lp.MixedPrecisionPlugin, {vfunc_dup_state_id: thrower}))({precision: '16-mixed'});
        expectError(Lp.Error, Lp.Error.SUBCLASS, () => plugin.save_state(), 'dup_state_id');
        fit(new Net());
    },
    'stacks'() {
        const plugin = new Lp.MixedPrecisionPlugin({precision: 'bf16-mixed'});
        const pops = [() => Lp.grad_mode_pop(), () => Lp.default_dtype_pop(), () => Lp.ComputeScope.pop(), () => Lp.Generator.pop(),
            () => plugin.pop_scope()];
        for (const misdeed of [...pops, () => plugin.detach(), () => Lp.grad_mode_push(false)]) {
            const model = new (subclass(Net, {
                vfunc_training_step() {
                    misdeed();
                    return null;
                },
            }))();
            expectError(Lp.Error, Lp.Error.STATE, () => fit(model, {precision: plugin}));
            assert(Lp.grad_mode_is_enabled() && Lp.ComputeScope.dup_current() === null);
        }
        pops.forEach(pop => expectError(Lp.Error, Lp.Error.STATE, pop));
        fit(new Net(), {precision: plugin});
    },
    'model'() {
        const model = new Net();
        const made = fit(model);
        assertEqual([made.get_global_step(), model.losses.length], [3, 3]);
        assert(model.losses[2] < model.losses[0], `${model.losses}`);
        assertEqual(model.dup_parameter_names(), ['layers.0.weight', 'layers.0.bias', 'layers.2.weight', 'layers.2.bias']);
    },
    'model-broken'() {
        const fails = subclass(Net, {
            vfunc_training_step() {
                throw lpError(Lp.Error.NOT_FINITE, 'told by the model');
            },
        });
        expectError(Lp.Error, Lp.Error.NOT_FINITE, () => fit(new fails()), 'told by the model');
        const wrong = subclass(Net, {vfunc_configure_optimizers: () => Lp.Linear.new(2, 2)});
        expectError(Lp.Error, Lp.Error.SUBCLASS, () => fit(new wrong()));
    },
    'model-hooks'() {
        const calls = [];
        const Watch = subclass(Lp.Callback, {vfunc_on_train_batch_end: () => calls.push('watched')});
        const hooks = subclass(Net, {
            vfunc_on_before_batch_transfer(batch) {
                calls.push('before');
                return Lp.Batch.new_pair(batch.get_tensor(0).mul(0), batch.get_tensor(1));
            },
            vfunc_on_after_batch_transfer(batch) {
                calls.push(`after ${batch.get_tensor(0).abs().sum().item()}`);
                return batch;
            },
            vfunc_configure_callbacks: () => [new Watch()],
        });
        fit(new hooks(), {max_steps: 2, callbacks: [new Watch()]});
        assertEqual(calls, ['before', 'after 0', 'watched', 'before', 'after 0', 'watched']);
        const wrong = subclass(Net, {vfunc_on_before_batch_transfer: () => null});
        expectError(Lp.Error, Lp.Error.SUBCLASS, () => fit(new wrong()), 'on_before_batch_transfer');
    },
    'callback'() {
        const calls = [];
        const callback = new (subclass(Lp.Callback, {
            vfunc_on_fit_start: () => calls.push('start'),
            vfunc_on_train_batch_end: (_trainer, _model, _outputs, _batch, batchIdx) => calls.push(batchIdx),
            vfunc_on_fit_end: () => calls.push('end'),
        }))();
        fit(new Net(), {loader: makeLoader(24), max_steps: -1, max_epochs: 1, callbacks: [callback]});
        assertEqual(calls, ['start', 0, 1, 2, 'end']);
    },
    'callback-error'() {
        const callback = new (subclass(Lp.Callback, {
            vfunc_on_train_start() {
                throw lpError(Lp.Error.STATE, 'told by the callback');
            },
        }))();
        expectError(Lp.Error, Lp.Error.STATE, () => fit(new Net(), {callbacks: callback}), 'told by the callback');
    },
    'optimizer'() {
        const klass = subclass(Lp.Optimizer, {
            vfunc_step_group(group) {
                const masters = group.dup_masters();
                group.dup_parameters().forEach((weight, i) => Lp.no_grad(
                    () => masters[i].assign(masters[i].sub(weight.grad.mul(group.lr)))));
                return true;
            },
        });
        const [mine, reference] = [0, 1].map(() => Lp.tensor([1, 2], {requires_grad: true}));
        const optimizer = new klass();
        optimizer.add_group(Lp.ParamGroup.new([mine], 0.1));
        for (const [weight, stepped] of [[mine, optimizer], [reference, Lp.Sgd.new([reference], 0.1)]]) {
            weight.square().sum().backward();
            assertEqual(stepped.step(null), Lp.StepResult.APPLIED);
        }
        assertEqual(mine.toArray(), reference.toArray());
        assert(mine.toArray()[0] !== 1);
    },
};

// Memory

function residentPages() {
    return Number(new TextDecoder().decode(GLib.file_get_contents('/proc/self/statm')[1]).split(' ')[1]);
}

function checkMemory(what) {
    let early = 0;
    const Watch = subclass(Lp.Callback, {
        vfunc_on_train_batch_end(runner) {
            if (runner.get_global_step() === 200)
                early = residentPages();
        },
    });
    const plugin = new (subclass(Lp.PrecisionPlugin, {
        vfunc_convert_input: tensor => tensor.mul(1),
        vfunc_quantize_operand: operand => operand.get_tensor().mul(1),
    }))({precision: 'contract'});
    const model = new (subclass(Net, {
        vfunc_training_step([inputs, targets]) {
            return this.forward(inputs).cross_entropy(targets);
        },
    }))();
    // A step leaves a third of a megabyte, so a thousand that nobody frees would be seen.
    const wide = Lp.DataLoader.new(Lp.TensorDataset.new_pair(Lp.Tensor.ones([1 << 14, 4]),
        Lp.Tensor.zeros([1 << 14], 'i64')), 1 << 12, false);
    fit(model, {loader: wide, max_steps: 1000, max_epochs: -1, callbacks: [new Watch()],
        precision: what === 'plugin' ? plugin : '32-true'});
    const grown = (residentPages() - early) * 4;
    assert(grown <= 32 * 1024, `${grown} KiB more after a thousand steps than after two hundred`);
}

// The type of what comes of a call, or the code of its error, which only a built-in plugin may have.
function outcome(name, plugin) {
    try {
        return INVOKE[name](plugin)?.constructor.name;
    } catch (error) {
        if (parent.base === Lp.PrecisionPlugin)
            throw error;
        return [error.domain, error.code];
    }
}

const CHECKS = {
    override(name) {
        let calls = 0;
        const plugin = pluginWith(name, function (...args) {
            calls++;
            return parent.base.prototype[`vfunc_${name}`].apply(this, args);
        });
        const plain = outcome(name, new (subclass(parent.base))(parent.values));
        const result = outcome(name, plugin);
        assert(calls > 0, 'the override was not called');
        assertEqual(result, plain);
    },
    error(name) {
        for (const [domain, code] of [[Lp.PrecisionError, Lp.PrecisionError.BAD_SCALER], [Lp.Error, Lp.Error.NOT_FINITE]]) {
            const plugin = pluginWith(name, () => {
                throw new domain({code, message: 'told by the override'});
            });
            expectError(domain, code, () => INVOKE[name](plugin), 'told by the override');
        }
    },
    broken(name) {
        const result = OBJECTS.includes(name) ? null : name === 'optimizer_step' ? Lp.StepResult.FAILED : false;
        expectBroken(name, pluginWith(name, () => result));
    },
    nonsense(name, what) {
        // GJS itself refuses these, and throws an error of its own to whoever asked for the value.
        if (what === 'type' || what === 'number') {
            expectException(() => INVOKE[name](pluginWith(name, NONSENSE[what])));
            return;
        }
        const scalar = name === 'scale_loss' && what === 'dtype';
        expectBroken(name, pluginWith(name, () => scalar ? Lp.tensor(1, {dtype: 'i64'}) : NONSENSE[what]()));
    },
    fallback(name) {
        const plugin = pluginWith(name, () => null);
        assertEqual(INVOKE[name](plugin), name === 'dup_state_id' ? GObject.type_name(plugin.constructor.$gtype) : []);
    },
    memory: checkMemory,
    construct: what => construct[what](),
    registry: what => registry[what](),
    trainer: what => trainer[what](),
    subclass: what => subclasses[what](),
    family: what => family.checks[what](),
};
const PLUGIN_CHECKS = ['override', 'error', 'broken', 'nonsense', 'fallback'];

// The lines, and those about virtual functions again for a subclass of each class of the registry.
function cases(lines) {
    const made = lines.map(line => ({...parent, line, title: line}));
    const seen = new Set();
    for (const [base, values] of family.entries()) {
        if (seen.has(base))
            continue;
        seen.add(base);
        made.push(...lines.filter(line => PLUGIN_CHECKS.includes(line.split(' ')[0]))
            .map(line => ({base, values, line, title: `${base.name}: ${line}`})));
    }
    return made;
}

function main() {
    const text = new TextDecoder().decode(GLib.file_get_contents(ARGV[0])[1]);
    const lines = text.split('\n').map(line => line.match(/^(?:\[(.*)\] )?(.*)$/))
        .filter(([, languages, line]) => line !== '' && !line.startsWith('#') &&
            (languages === undefined || languages.split(',').includes('js')))
        .map(([, , line]) => line);
    const found = cases(lines);
    let failed = 0;
    print(`1..${found.length}`);
    found.forEach(({base, values, line, title}, i) => {
        const [check, ...args] = line.split(' ');
        Object.assign(parent, {base, values});
        try {
            CHECKS[check](...args);
            print(`ok ${i + 1} - ${title}`);
        } catch (error) {
            failed = 1;
            print(`not ok ${i + 1} - ${title}`);
            print(`# ${error}`.replaceAll('\n', '\n# '));
        }
    });
    System.exit(failed);
}

main();
