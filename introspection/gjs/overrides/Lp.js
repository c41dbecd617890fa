// Lp for GJS: tensors from and to arrays, iterators, constructors that raise what is wrong, and a collector that is
// called at the ends of steps, since GJS frees tensors only when it collects.

const System = imports.system;
const {GLib, GObject} = imports.gi;

// Calls of the collector: after so many steps, or when tensors hold so much more memory than after the last one.
const COLLECT_STEPS = 200;
const COLLECT_BYTES = 16 * 1024 * 1024;

const TYPED_ARRAYS = {
    f64: Float64Array, f32: Float32Array, i64: BigInt64Array, i32: Int32Array, i16: Int16Array, i8: Int8Array,
    u8: Uint8Array, bool: Uint8Array,
};

let Lp;
let stepsSinceCollection = 0;
let bytesAfterCollection = 0;

// How many calls of the library that may make plugins are on: it initialises these itself.
let libraryCalls = 0;

function defineGetters(klass, getters) {
    for (const [name, get] of Object.entries(getters))
        Object.defineProperty(klass.prototype, name, {get, configurable: true, enumerable: false});
}

function lookupDtype(dtype) {
    return typeof dtype === 'string' ? Lp.DType.lookup(dtype) : dtype ?? null;
}

function lookupChoice(choices, value) {
    if (typeof value !== 'string')
        return value;
    const found = choices[value.toUpperCase().replaceAll('-', '_')];
    if (found === undefined)
        throw new TypeError(`There is no choice “${value}”`);
    return found;
}

// Memory

function collect() {
    System.gc();
    stepsSinceCollection = 0;
    bytesAfterCollection = Lp.Device.get_default().get_used_bytes();
}

function stepDone() {
    stepsSinceCollection++;
    const grown = Lp.Device.get_default().get_used_bytes() - bytesAfterCollection;
    if (stepsSinceCollection >= COLLECT_STEPS || grown >= COLLECT_BYTES)
        collect();
}

// Run stepDone() after each call of a method.
function collectAfter(klass, name) {
    const original = klass.prototype[name];
    klass.prototype[name] = function (...args) {
        const result = original.apply(this, args);
        stepDone();
        return result;
    };
}

// Tensors

function shapeOf(data) {
    const shape = [];
    for (let inner = data; Array.isArray(inner); inner = inner[0]) {
        shape.push(inner.length);
        if (inner.length === 0)
            break;
    }
    return shape;
}

function flattenInto(data, shape, depth, out) {
    if (depth === shape.length) {
        if (!['number', 'bigint', 'boolean'].includes(typeof data))
            throw new TypeError(`A tensor is made of numbers, not of ${data === null ? 'null' : typeof data}`);
        out.push(Number(data));
        return;
    }
    if (!Array.isArray(data) || data.length !== shape[depth])
        throw new RangeError(`The nested arrays differ in length: expected ${shape[depth]} elements in axis ${depth}`);
    for (const item of data)
        flattenInto(item, shape, depth + 1, out);
}

function tensorFromTypedArray(data, shape) {
    const name = Object.keys(TYPED_ARRAYS).find(key => data instanceof TYPED_ARRAYS[key]) ??
        (data instanceof Uint8ClampedArray ? 'u8' : null);
    if (name === null)
        throw new TypeError(`There is no dtype for the elements of a ${data.constructor.name}`);
    const bytes = new GLib.Bytes(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
    return Lp.Tensor.new_from_bytes(bytes, shape ?? [data.length], Lp.DType.lookup(name));
}

function tensorFromArrays(data, dtype, shape) {
    const values = [];
    const found = shapeOf(data);
    flattenInto(data, found, 0, values);
    if (dtype === null) {
        let first = data;
        while (Array.isArray(first))
            first = first[0];
        if (typeof first === 'boolean')
            dtype = Lp.DType.bool();
    }
    return Lp.Tensor.new_from_doubles(values, shape ?? found, dtype);
}

// A tensor of a number, nested arrays or a typed array. Numbers have the default dtype unless one is given: JavaScript
// doesn't tell 1 from 1.0.
function tensor(data, {dtype = null, shape = null, requires_grad = false} = {}) {
    dtype = lookupDtype(dtype);
    let result;
    if (data instanceof Lp.Tensor)
        result = data.detach();
    else if (ArrayBuffer.isView(data))
        result = tensorFromTypedArray(data, shape);
    else
        result = tensorFromArrays(data, dtype, shape);
    if (dtype !== null && result.get_dtype() !== dtype)
        result = result.to_dtype(dtype);
    if (requires_grad)
        result.set_requires_grad(true);
    return result;
}

// A copy of the values, row-major. Formats that JavaScript has no array for come as Float32Array.
function toTypedArray() {
    const name = this.get_dtype().get_name();
    const source = name in TYPED_ARRAYS ? this : this.to_dtype(Lp.DType.f32());
    const bytes = source.contiguous().dup_bytes().toArray();
    const ArrayType = TYPED_ARRAYS[name] ?? Float32Array;
    return new ArrayType(bytes.slice().buffer);
}

// The values as nested arrays of numbers.
function toArray() {
    const isBool = this.get_dtype().get_name() === 'bool';
    let values = Array.from(this.toTypedArray(), value => isBool ? value !== 0 : Number(value));
    const shape = this.shape;
    for (const extent of shape.slice(1).reverse()) {
        const rows = [];
        for (let i = 0; extent > 0 && i < values.length; i += extent)
            rows.push(values.slice(i, i + extent));
        values = rows;
    }
    return shape.length > 0 ? values : values[0];
}

function asOperand(value, like) {
    if (typeof value !== 'number')
        return value;
    const dtype = like.get_dtype();
    const fits = dtype.is_native() && (dtype.is_floating() || Number.isInteger(value));
    return Lp.Tensor.scalar(value, fits ? dtype : null, null);
}

function acceptNumbers(name) {
    const original = Lp.Tensor.prototype[name];
    Lp.Tensor.prototype[name] = function (other) {
        return original.call(this, asOperand(other, this));
    };
}

function defaultArguments(klass, name, defaults) {
    const original = klass.prototype[name];
    klass.prototype[name] = function (...args) {
        return original.call(this, ...args, ...defaults.slice(args.length));
    };
}

function reduceOver(name) {
    const original = Lp.Tensor.prototype[name];
    Lp.Tensor.prototype[name] = function (axes = null, keepDims = false) {
        return original.call(this, typeof axes === 'number' ? [axes] : axes, keepDims);
    };
}

function acceptDtypeNames(target, name, position) {
    const original = target[name];
    target[name] = function (...args) {
        while (args.length <= position)
            args.push(null);
        args[position] = lookupDtype(args[position]);
        return original.apply(this, args);
    };
}

function overrideTensor() {
    Lp.tensor = tensor;
    Object.assign(Lp.Tensor.prototype, {
        toTypedArray,
        toArray,
        item() {
            return this.get_item();
        },
        to(dtype) {
            return this.to_dtype(lookupDtype(dtype));
        },
        toString() {
            return this.to_string();
        },
        * [Symbol.iterator]() {
            for (let i = 0; i < this.get_dim(0); i++)
                yield this.select(0, i);
        },
    });
    defineGetters(Lp.Tensor, {
        shape() {
            return Array.from({length: this.get_n_dims()}, (_, axis) => this.get_dim(axis));
        },
        dtype() {
            return this.get_dtype();
        },
        device() {
            return this.get_device();
        },
        grad() {
            return this.dup_grad();
        },
    });
    Object.defineProperty(Lp.Tensor.prototype, 'requires_grad', {
        get() {
            return this.get_requires_grad();
        },
        set(value) {
            this.set_requires_grad(value);
        },
        configurable: true,
    });
    for (const name of ['add', 'sub', 'mul', 'div', 'maximum', 'minimum', 'equal', 'not_equal', 'less', 'less_equal',
        'greater', 'greater_equal'])
        acceptNumbers(name);
    for (const name of ['sum', 'mean', 'max', 'min'])
        reduceOver(name);
    for (const name of ['softmax', 'log_softmax', 'argmax'])
        defaultArguments(Lp.Tensor, name, [-1]);
    for (const name of ['mse_loss', 'l1_loss', 'bce_with_logits'])
        defaultArguments(Lp.Tensor, name, [null, Lp.Reduction.MEAN]);
    defaultArguments(Lp.Tensor, 'backward', [null]);
    for (const [name, position] of [['empty', 1], ['zeros', 1], ['ones', 1], ['full', 2], ['scalar', 1], ['arange', 3],
        ['uniform', 3], ['normal', 3]]) {
        acceptDtypeNames(Lp.Tensor, name, position);
        acceptDefaultDevice(name, position + 1);
    }
    acceptDtypeNames(Lp.Tensor.prototype, 'to_dtype', 0);
    acceptDtypeNames(Lp.Module.prototype, 'to_dtype', 0);
    Lp.DType.prototype.toString = function () {
        return this.get_name();
    };
}

// The device is the last argument, and may be left out.
function acceptDefaultDevice(name, position) {
    const original = Lp.Tensor[name];
    Lp.Tensor[name] = function (...args) {
        return original.call(this, ...args, ...new Array(Math.max(position + 1 - args.length, 0)).fill(null));
    };
}

// Batches, data and state

function entryOf(batch, index) {
    return batch.get_tensor(index) ?? batch.get_batch(index);
}

function overrideData() {
    Lp.Batch.prototype[Symbol.iterator] = function* () {
        for (let i = 0; i < this.get_size(); i++)
            yield entryOf(this, i);
    };
    Lp.Batch.from = (...items) => {
        const batch = Lp.Batch.new();
        for (const item of items) {
            if (item instanceof Lp.Batch)
                batch.append_batch(item, null);
            else
                batch.append(item, null);
        }
        return batch;
    };
    defaultArguments(Lp.Batch, 'append', [null, null]);
    defaultArguments(Lp.Batch, 'append_batch', [null, null]);

    const nextEpochs = new WeakMap();
    Lp.DataLoader.prototype[Symbol.iterator] = function* () {
        const epoch = nextEpochs.get(this) ?? 0;
        nextEpochs.set(this, epoch + 1);
        this.start_epoch(epoch);
        for (let batch = this.next(); batch !== null; batch = this.next()) {
            yield batch;
            stepDone();
        }
    };
    Lp.Sequential.prototype[Symbol.iterator] = function* () {
        for (let i = 0; i < this.get_n_layers(); i++)
            yield this.get_layer(i);
    };
    Lp.TensorDict.prototype[Symbol.iterator] = function* () {
        for (const name of this.dup_names())
            yield [name, this.lookup(name)];
    };
}

// Modules and models

// Register modules and parameters, and make each a property that follows exchanges by a precision.
function register(members) {
    for (const [name, member] of Object.entries(members)) {
        const isModule = member instanceof Lp.Module;
        if (isModule)
            this.register_child(name, member);
        else
            this.register_parameter(name, member);
        Object.defineProperty(this, name, {
            get() {
                return isModule ? this.lookup_child(name) : this.lookup_parameter(name);
            },
            configurable: true,
            enumerable: true,
        });
    }
    return this;
}

function logFlags({on_step = false, on_epoch = false, prog_bar = false, logger = true, reduce = 'mean'}) {
    const {LogFlags} = Lp;
    return (on_step ? LogFlags.ON_STEP : 0) | (on_epoch ? LogFlags.ON_EPOCH : 0) | (prog_bar ? LogFlags.PROG_BAR : 0) |
        (logger ? 0 : LogFlags.NO_LOGGER) | ({sum: LogFlags.SUM, min: LogFlags.MIN, max: LogFlags.MAX}[reduce] ?? 0);
}

function overrideModules() {
    Object.assign(Lp.Module.prototype, {
        register,
        parameters() {
            return this.dup_parameters();
        },
        children() {
            return this.dup_children();
        },
    });
    Lp.Sequential.of = (...layers) => Lp.Sequential.new_from(layers);

    const logNumber = Lp.Model.prototype.log;
    Lp.Model.prototype.log = function (name, value, flags = {}) {
        flags = typeof flags === 'number' ? flags : logFlags(flags);
        if (value instanceof Lp.Tensor)
            return this.log_tensor(name, value, flags);
        if (value instanceof Lp.Metric)
            return this.log_metric(name, value, flags);
        return logNumber.call(this, name, value, flags);
    };
    defineGetters(Lp.Model, {
        trainer() {
            return this.get_trainer();
        },
    });
}

// Scopes

function within(push, pop, callback) {
    push();
    try {
        return callback();
    } finally {
        pop();
    }
}

function overrideScopes() {
    // Each calls a function inside a scope that ends on every way out, and gives back what it gave.
    Object.assign(Lp, {
        no_grad: callback => within(() => Lp.grad_mode_push(false), () => Lp.grad_mode_pop(), callback),
        with_default_dtype: (dtype, callback) => within(() => Lp.default_dtype_push(lookupDtype(dtype)),
            () => Lp.default_dtype_pop(), callback),
        with_compute_scope: (scope, callback) => {
            if (!(scope instanceof Lp.ComputeScope))
                scope = Lp.ComputeScope.new(Lp.CastPolicy.new(lookupDtype(scope)), null);
            return within(() => scope.push(), () => Lp.ComputeScope.pop(), callback);
        },
        with_generator: (generator, callback) => {
            if (!(generator instanceof Lp.Generator))
                generator = Lp.Generator.new(generator, 0);
            return within(() => generator.push(), () => Lp.Generator.pop(), callback);
        },
    });
    Lp.Fabric.prototype.autocast = function (callback) {
        return within(() => this.begin_autocast(), () => this.end_autocast(), callback);
    };
}

// Trainer, Fabric and plugins: init() runs inside the constructor

function inLibrary(callback) {
    return within(() => libraryCalls++, () => libraryCalls--, callback);
}

// Turn `precision` into the property that it is: a name or a plugin.
function requestOf({precision, ...properties}) {
    if (precision === undefined || precision === null)
        return properties;
    if (precision instanceof Lp.PrecisionPlugin)
        return {...properties, precision_plugin: precision};
    if (!['string', 'number'].includes(typeof precision))
        throw new TypeError('precision is a name or an Lp.PrecisionPlugin');
    return {...properties, precision_request: `${precision}`};
}

function listOf(value) {
    return Array.isArray(value) ? value : [value];
}

// A subclass that validates in JavaScript does so when it is first used: its fields don't exist before.
function validatesInScript(plugin) {
    for (let proto = Object.getPrototypeOf(plugin); proto !== null; proto = Object.getPrototypeOf(proto)) {
        if (proto.constructor.$gtype?.name.startsWith('Lp'))
            return false;
        if (Object.hasOwn(proto, 'vfunc_validate') || Object.hasOwn(proto, 'vfunc_validate_state'))
            return true;
    }
    return false;
}

function initObject(object, properties) {
    GObject.Object.prototype._init.call(object, properties);
}

function overrideTrainer() {
    Lp.Trainer.prototype._init = function (properties = {}) {
        const {callbacks = [], logger = [], ...rest} = requestOf(properties);
        if ('gradient_clip_algorithm' in rest)
            rest.gradient_clip_algorithm = lookupChoice(Lp.ClipAlgorithm, rest.gradient_clip_algorithm);
        initObject(this, rest);
        inLibrary(() => this.init(null));
        for (const callback of listOf(callbacks))
            this.add_callback(callback);
        for (const item of listOf(logger ?? []))
            this.add_logger(item);
        this.connect('train-batch-end', stepDone);
        this.connect('eval-batch-end', stepDone);
    };
    // The ones from C would go past all of this.
    Lp.Trainer.new = precision => new Lp.Trainer({precision});
    Lp.Trainer.new_with_plugin = plugin => new Lp.Trainer({precision: plugin});
    defaultArguments(Lp.Trainer, 'fit', [null, null, null, null, null]);
    for (const name of ['validate', 'test', 'predict'])
        defaultArguments(Lp.Trainer, name, [null, null, null, null]);
    defineGetters(Lp.Trainer, {
        callback_metrics() {
            return this.dup_callback_metrics().recursiveUnpack();
        },
        logged_metrics() {
            return this.dup_logged_metrics().recursiveUnpack();
        },
    });
    Lp.Fabric.prototype._init = function (properties = {}) {
        initObject(this, requestOf(properties));
        inLibrary(() => this.init(null));
    };
    collectAfter(Lp.Fabric, 'optimizer_step');
}

// Virtual functions that have no GError, and what C gets in place of a result. An exception in one of them ends what goes on in C.
const PLAIN_VFUNCS = {
    Callback: {dup_state_key: '', is_checkpoint: false},
    DType: {get_encoded_size: 0},
    Dataset: {get_length: 0},
    Fp8Recipe: {compute_scale: 0, get_history_length: 0, get_interval: 0, reduce_history: 0},
    Logger: {dup_log_dir: null},
    Metric: {reset: undefined},
    Optimizer: {scales_gradients: false},
    PrecisionPlugin: {dup_state_aliases: [], dup_state_id: '', get_state_version: 0},
    Strategy: {get_rank: 0, get_world_size: 0},
};

function guardPlain(name, vfunc, nothing) {
    return function (...args) {
        try {
            return vfunc.apply(this, args);
        } catch (error) {
            printerr(`${error}\n${error.stack}`);
            Lp.report_exception(`${this.constructor.name}.${name}: ${error}`);
            return nothing;
        }
    };
}

function overrideVfuncs() {
    for (const [klass, vfuncs] of Object.entries(PLAIN_VFUNCS)) {
        const classInit = Lp[klass]._classInit;
        Lp[klass]._classInit = function (subclass) {
            for (const [name, nothing] of Object.entries(vfuncs)) {
                const vfunc = Object.getOwnPropertyDescriptor(subclass.prototype, `vfunc_${name}`)?.value;
                if (vfunc !== undefined)
                    subclass.prototype[`vfunc_${name}`] = guardPlain(name, vfunc, nothing);
            }
            return classInit.call(this, subclass);
        };
    }
}

function overridePlugins() {
    Lp.PrecisionPlugin.prototype._init = function (properties = {}) {
        initObject(this, properties);
        if (libraryCalls === 0 && !validatesInScript(this))
            this.init(null);
    };
    for (const klass of [Lp.Registry, Lp.PrecisionRegistry]) {
        const create = klass.prototype.create;
        klass.prototype.create = function (name, config = null) {
            return inLibrary(() => create.call(this, name, config));
        };
    }
    // Add a precision: a class of plugins, or a function that makes one from name and configuration.
    Lp.register_precision = (name, maker, {description = null, aliases = [], values = null} = {}) => {
        const entry = maker.$gtype
            ? Lp.RegistryEntry.new(name, maker.$gtype, values, description)
            : Lp.RegistryEntry.new_factory(name, description, maker);
        aliases.forEach(alias => entry.add_alias(alias));
        Lp.PrecisionRegistry.get_default().add(entry);
    };
    Lp.unregister_precision = name => Lp.PrecisionRegistry.get_default().remove(name);
}

// eslint-disable-next-line no-unused-vars
function _init() {
    Lp = this;
    // Free what a step left behind; runs and loaders call it on their own.
    Lp.collect = collect;
    overrideTensor();
    overrideData();
    overrideModules();
    overrideScopes();
    overrideTrainer();
    overridePlugins();
    overrideVfuncs();
    collectAfter(Lp.Optimizer, 'step');
}
