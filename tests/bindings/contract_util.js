// What the files of the contract in JavaScript share.

imports.gi.versions.Lp = '1';
const {GLib, GObject, Lp} = imports.gi;

const QUIET = {enable_progress_bar: false, enable_checkpointing: false, enable_model_summary: false};
const DOMAINS = new Map([[Lp.Error, Lp.error_quark()], [Lp.PrecisionError, Lp.precision_error_quark()]]);

let count = 0;

function assert(condition, message = 'the check does not hold') {
    if (!condition)
        throw new Error(message);
}

function assertEqual(actual, expected) {
    const [left, right] = [actual, expected].map(value => JSON.stringify(value));
    assert(left === right, `${left} is not ${right}`);
}

// A fresh subclass: a type's name can be registered once only.
function subclass(base, members = {}) {
    const klass = class extends base {};
    for (const [name, member] of Object.entries(members))
        klass.prototype[name] = member;
    return GObject.registerClass({GTypeName: `Contract${base.name.replace('_', '')}${++count}`}, klass);
}

// What the plugins of the checks are subclasses of, and how they are made.
var parent = {base: Lp.PrecisionPlugin, values: {precision: 'contract'}};

// Call a function, which has to throw a GError of a code.
function expectError(domain, code, callback, mentions = '') {
    let result;
    try {
        result = callback();
    } catch (error) {
        assert(error instanceof GLib.Error && error.matches(DOMAINS.get(domain), code), `got ${error}`);
        assert(error.message.includes(mentions), `“${mentions}” is not in “${error.message}”`);
        return;
    }
    throw new Error(`no error, but ${result}`);
}

function makeLoader(samples = 8, batchSize = 8) {
    const inputs = Lp.with_generator(1, () => Lp.Tensor.normal([samples, 4], 0, 1));
    const targets = Lp.tensor(Array.from({length: samples}, (_, i) => i % 2), {dtype: 'i64'});
    return Lp.DataLoader.new(Lp.TensorDataset.new_pair(inputs, targets), batchSize, false);
}

function fit(model, {loader = makeLoader(), ...settings} = {}) {
    const made = new Lp.Trainer({max_steps: 3, precision: '32-true', ...settings, ...QUIET});
    Lp.with_generator(1, () => made.fit(model, loader));
    return made;
}
