"""The contract of contract.txt, kept by subclasses in Python."""

import contextlib
import io
import re
import sys

import gi

gi.require_version('Lp', '1')
from gi.repository import Gio, GLib, GObject, Lp  # noqa: E402

import contract_calls  # noqa: E402
import contract_exceptions  # noqa: E402
import contract_runs  # noqa: E402
import contract_family  # noqa: E402
from contract_util import Net, QUIET, Watch, a_loader, expect_error, fit, subclass  # noqa: E402


class Parent:
    """What the plugins of the checks are subclasses of, and how they are made."""
    base = Lp.PrecisionPlugin
    values = {'precision': 'contract'}


def plugin_with(name, function):
    """A plugin whose virtual function NAME is FUNCTION."""
    return subclass(Parent.base, **{f'do_{name}': function})(**Parent.values)


def chain_up(name, plugin, *args):
    return getattr(Parent.base, f'do_{name}')(plugin, *args)


def two_by_two():
    return Lp.tensor([[1.0, 2.0], [3.0, 4.0]])


def an_optimizer():
    weight = Lp.tensor([1.0, 2.0], requires_grad=True)
    weight.grad = Lp.tensor([0.5, 0.5])
    return Lp.SGD([weight], lr=0.1)


def a_loss():
    return Lp.tensor([1.0, 2.0], requires_grad=True).sum()


def product(plugin):
    """A matrix product inside the plugin's scope."""
    with plugin.scope():
        return two_by_two() @ two_by_two()


def init_scope(plugin):
    with plugin.init_scope():
        pass
    return True


def attach_and_detach(plugin):
    return plugin.attach(Lp.PrecisionContext()) and plugin.detach()


INVOKE = {
    'validate': lambda plugin: plugin.validate(Lp.PrecisionContext()),
    'validate_state': lambda plugin: plugin.validate_state(plugin.dup_state()),
    'supports': lambda plugin: plugin.supports(Lp.Device.get_default()),
    'dup_traits': lambda plugin: plugin.dup_traits(),
    'get_default_dtype': lambda plugin: plugin.get_default_dtype(),
    'begin_init': init_scope,
    'end_init': init_scope,
    'convert_module': lambda plugin: plugin.convert_module(Lp.Linear(16, 16)),
    'convert_optimizer': lambda plugin: plugin.convert_optimizer(an_optimizer()),
    'convert_input': lambda plugin: plugin.convert_input(two_by_two()),
    'convert_output': lambda plugin: plugin.convert_output(two_by_two()),
    'get_cast_policy': lambda plugin: plugin.get_cast_policy(),
    'quantize_operand': product,
    'matmul': product,
    'scale_loss': lambda plugin: plugin.scale_loss(a_loss()),
    'backward': lambda plugin: plugin.backward(a_loss(), [an_optimizer()]),
    'unscale_gradients': lambda plugin: plugin.unscale_gradients(an_optimizer()),
    'clip_gradients': lambda plugin: plugin.clip_gradients(an_optimizer(), 0.1, Lp.ClipAlgorithm.NORM),
    'optimizer_step': lambda plugin: plugin.optimizer_step(an_optimizer()),
    'end_step': lambda plugin: plugin.end_step(),
    'save_state': lambda plugin: plugin.save_state(),
    'load_state': lambda plugin: plugin.load_state(Lp.State({'plugin-id': plugin.dup_state_id()})),
    'attach': attach_and_detach,
    'detach': attach_and_detach,
    'dup_state_id': lambda plugin: plugin.dup_state_id(),
    'dup_state_aliases': lambda plugin: plugin.dup_state_aliases(),
    'get_state_version': lambda plugin: plugin.get_state_version(),
}

OBJECTS = ('dup_traits', 'convert_input', 'convert_output', 'quantize_operand', 'matmul', 'scale_loss', 'save_state')


def validating_apart(name):
    """Whether the virtual function runs in the constructor already."""
    return name in ('validate', 'validate_state')


def make_plugin_then(name, function):
    """A plugin whose override is in force only after construction."""
    state = {'on': False}

    def override(self, *args):
        if not state['on']:
            return chain_up(name, self, *args)
        return function(self, *args)

    plugin = plugin_with(name, override)
    state['on'] = True
    return plugin


def outcome(name, plugin):
    """The type of what comes of a call, or the domain and code of its error, which only a built-in plugin may have."""
    try:
        return type(INVOKE[name](plugin))
    except GLib.Error as error:
        if Parent.base is Lp.PrecisionPlugin:
            raise
        return error.domain, error.code


def check_override(name):
    calls = []

    def override(self, *args):
        calls.append(self)
        return chain_up(name, self, *args)

    plugin = plugin_with(name, override)
    calls.clear()
    plain = outcome(name, subclass(Parent.base)(**Parent.values))
    result = outcome(name, plugin)
    assert calls and all(call is plugin for call in calls), 'the override was not called'
    assert result == plain, f'{result} for {plain}'


def check_error(name):
    for code in (Lp.PrecisionError.BAD_SCALER, Lp.Error.NOT_FINITE):
        def override(self, *args):
            raise Lp.new_error(code, 'told by the override')

        plugin = make_plugin_then(name, override)
        expect_error(code, INVOKE[name], plugin, mentions='told by the override')


def check_broken(name):
    result = None if name in OBJECTS else Lp.StepResult.FAILED if name == 'optimizer_step' else False
    plugin = make_plugin_then(name, lambda self, *args: result)
    expect_error(Lp.Error.SUBCLASS, INVOKE[name], plugin, mentions=GObject.type_name(plugin))


NONSENSE = {
    'nothing': lambda: None,
    'shape': lambda: Lp.tensor([1.0, 2.0, 3.0]),
    'dtype': lambda: Lp.tensor([[1, 2], [3, 4]]),
    'failed': lambda: Lp.StepResult.FAILED,
    'number': lambda: 77,
    'type': lambda: Lp.PrecisionTraits('f32'),
}


def check_nonsense(name, what):
    def override(self, *args):
        if name == 'scale_loss' and what == 'dtype':
            return Lp.tensor(1)
        return NONSENSE[what]()

    plugin = plugin_with(name, override)
    expect_error(Lp.Error.SUBCLASS, INVOKE[name], plugin, mentions=type(plugin).__name__)


def check_fallback(name):
    plugin = plugin_with(name, lambda self: None)
    expected = GObject.type_name(plugin) if name == 'dup_state_id' else []
    assert INVOKE[name](plugin) == expected


def check_exception(name):
    def override(self, *args):
        raise KeyError('an ordinary exception')

    plugin = make_plugin_then(name, override)
    with contextlib.redirect_stderr(io.StringIO()) as shown:
        heard = expect_error(Lp.Error.SUBCLASS, INVOKE[name], plugin,
                             mentions=f"{type(plugin).__name__}.{name}: KeyError: 'an ordinary exception'")
    assert isinstance(heard.__cause__, KeyError) and not shown.getvalue(), shown.getvalue()


# Construction

def construct_without_name():
    expect_error(Lp.PrecisionError.UNKNOWN, subclass(Lp.PrecisionPlugin))


def construct_bad_level():
    expect_error(Lp.PrecisionError.BAD_LEVEL, lambda: Lp.MixedPrecisionPlugin('16-mixed', amp_level='O1'))


def construct_unknown_name():
    expect_error(Lp.PrecisionError.UNSUPPORTED, lambda: Lp.MixedPrecisionPlugin('8-mixed'), mentions='16-mixed')


def construct_unknown_precision():
    for make in (Lp.Trainer, Lp.Fabric):
        expect_error(Lp.PrecisionError.UNKNOWN, lambda: make(precision='16-mixd'), mentions='16-mixed')


def construct_name_and_plugin():
    for make in (Lp.Trainer, Lp.Fabric):
        expect_error(Lp.PrecisionError.CONFLICT,
                     lambda: make(precision='16-mixed', precision_plugin=Lp.FullPrecisionPlugin()))


def construct_plugin_in_use():
    plugin = subclass(Lp.PrecisionPlugin)(precision='contract')
    plugin.attach(Lp.PrecisionContext())
    expect_error(Lp.PrecisionError.CONFLICT, plugin.attach, Lp.PrecisionContext())
    plugin.detach()
    assert plugin.attach(Lp.PrecisionContext()) and plugin.detach()


def construct_wrong_types():
    """What a typed property can't hold is Python's error, before anything of the library is called."""
    for settings, kind in (({'gradient_clip_val': '5'}, TypeError), ({'precision': object()}, TypeError), ({'amp_level': 'O2'}, TypeError),
                           ({'gradient_clip_algorithm': 'norm2'}, (ValueError, TypeError)), ({'precision_plugin': Lp.Linear(2, 2)}, TypeError)):
        try:
            Lp.Trainer(**settings)
        except kind:
            continue
        raise AssertionError(f'{settings} was taken')


# Registry

REGISTRY = Lp.PrecisionRegistry.get_default()


class registered:
    """A precision that is known inside a block."""

    def __init__(self, name, *args, **kwargs):
        self.name = name
        Lp.register_precision(name, *args, **kwargs)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        Lp.unregister_precision(self.name)


def registry_add_and_create():
    made = subclass(Lp.PrecisionPlugin)
    with registered('py-one', made, 'a class'):
        plugin = REGISTRY.create('py-one')
        assert isinstance(plugin, made) and plugin.precision == 'py-one'
        assert Lp.Trainer(precision='py-one').precision == 'py-one'
    with registered('py-two', lambda name, config: made(precision=name), 'a function'):
        assert isinstance(REGISTRY.create('py-two'), made)


def registry_config():
    with registered('py-config', subclass(Lp.PrecisionPlugin)):
        values = GLib.Variant('a{sv}', {'amp-backend': GLib.Variant('s', 'mine')})
        assert REGISTRY.create('py-config', values).amp_backend == 'mine'
        wrong = GLib.Variant('a{sv}', {'no-such-thing': GLib.Variant('s', 'x')})
        expect_error(Lp.Error.ARGUMENT, REGISTRY.create, 'py-config', wrong)


def registry_alias():
    with registered('py-alias', subclass(Lp.PrecisionPlugin), aliases=['py-nick']):
        assert Lp.Trainer(precision='py-nick').precision == 'py-alias'


def registry_list():
    with registered('py-list', subclass(Lp.PrecisionPlugin), 'for the list'):
        entry, = [entry for entry in REGISTRY if entry.get_name() == 'py-list']
        assert entry.get_description() == 'for the list' and entry.get_problem() is None
        assert REGISTRY.lookup('py-list').get_name() == 'py-list'
    assert 'py-list' not in [entry.get_name() for entry in REGISTRY]


def registry_lookup_unknown():
    expect_error(Lp.PrecisionError.UNKNOWN, REGISTRY.lookup, '32-tru', mentions='32-true')


def registry_add_twice():
    with registered('py-twice', subclass(Lp.PrecisionPlugin)):
        expect_error(Lp.Error.EXISTS, Lp.register_precision, 'py-twice', subclass(Lp.PrecisionPlugin))


def registry_remove():
    with registered('py-remove', subclass(Lp.PrecisionPlugin)):
        assert Lp.unregister_precision('py-remove')
        assert not Lp.unregister_precision('py-remove')
        expect_error(Lp.PrecisionError.UNKNOWN, REGISTRY.create, 'py-remove')


def registry_not_a_plugin():
    with registered('py-wrong', lambda name, config: Lp.Linear(2, 2)):
        expect_error(Lp.Error.SUBCLASS, REGISTRY.create, 'py-wrong')
    with registered('py-nothing', lambda name, config: None):
        expect_error(Lp.Error.SUBCLASS, REGISTRY.create, 'py-nothing')


# Trainer and plugin

def watched(trainer):
    """The names that the trainer notifies from now on."""
    names = []
    trainer.connect('notify', lambda self, pspec: names.append((pspec.name, self.precision)))
    return names


def trainer_reads_plugin():
    plugin = subclass(Lp.PrecisionPlugin)(precision='contract', amp_backend='mine')
    trainer = Lp.Trainer(precision=plugin)
    assert trainer.precision_plugin is plugin
    assert (trainer.precision, trainer.amp_backend, trainer.amp_level) == ('contract', 'mine', None)
    try:
        trainer.precision = 'other'
    except TypeError:
        return
    raise AssertionError('the property was written')


def trainer_update_notifies():
    plugin = subclass(Lp.PrecisionPlugin)(precision='before')
    trainer = Lp.Trainer(precision=plugin)
    names = watched(trainer)
    plugin.update_state('after', 'mine', None)
    assert (trainer.precision, trainer.amp_backend) == ('after', 'mine')
    assert ('precision', 'after') in names and ('amp-backend', 'after') in names
    plugin.freeze_notify()
    plugin.update_state('frozen', None, None)
    assert trainer.precision == 'frozen', 'stale while notifications are frozen'
    plugin.thaw_notify()
    assert ('precision', 'frozen') in names


def trainer_exchange_notifies():
    trainer = Lp.Trainer(precision='16-mixed')
    names = watched(trainer)
    trainer.set_precision_plugin(subclass(Lp.PrecisionPlugin)(precision='exchanged'))
    assert trainer.precision == 'exchanged' and trainer.amp_backend is None
    assert ('precision', 'exchanged') in names and ('amp-backend', 'exchanged') in names


def trainer_old_plugin_is_not_heard():
    old = subclass(Lp.PrecisionPlugin)(precision='old')
    trainer = Lp.Trainer(precision=old)
    trainer.set_precision_plugin(Lp.FullPrecisionPlugin())
    names = watched(trainer)
    old.update_state('changed', None, None)
    assert trainer.precision == '32-true' and not names


class Label(GObject.Object):
    text = GObject.Property(type=str)


def trainer_fallback_is_seen():
    """A label that is bound shows the change in the very step in which the scale collapses."""
    plugin = Lp.FallbackMixedPrecisionPlugin(min_loss_scale=20000.0)
    label, shown = Label(), []

    class Overflowing(Net):
        def do_on_train_start(self):
            with Lp.no_grad():
                first = next(iter(self.named_parameters().values()))
                first.assign(first * 1e6)

        def do_training_step(self, batch, batch_idx):
            shown.append(label.text)
            return self(batch[0]).cross_entropy(batch[1])

    callback = subclass(Lp.Callback, do_on_train_batch_end=lambda self, trainer, *args: shown.append(label.text))()
    trainer = Lp.Trainer(precision=plugin, max_epochs=1, callbacks=[callback], enable_progress_bar=False,
                         enable_model_summary=False, enable_checkpointing=False)
    trainer.bind_property('precision', label, 'text', GObject.BindingFlags.SYNC_CREATE)
    trainer.fit(Overflowing(), a_loader(40))
    f16, bf16 = '16-mixed', 'bf16-mixed'
    assert shown == [f16, f16, f16] + [bf16] * (len(shown) - 3) and len(shown) == 10, shown
    assert plugin.props.fallen_back and trainer.precision == bf16


def trainer_update_refused():
    plugin = Lp.MixedPrecisionPlugin('16-mixed')
    trainer = Lp.Trainer(precision=plugin)
    names = watched(trainer)
    expect_error(Lp.PrecisionError.UNSUPPORTED, plugin.update_state, '8-mixed', 'native', None)
    assert trainer.precision == '16-mixed' and not names


def trainer_shadowed_property():
    class Shadow(Lp.PrecisionPlugin):
        precision = GObject.Property(type=str, default='shadow')

    plugin = Shadow()
    trainer = Lp.Trainer(precision=plugin)
    assert trainer.precision == 'shadow' == plugin.dup_precision()
    names = watched(trainer)
    plugin.precision = 'cast'
    assert trainer.precision == 'cast' and ('precision', 'cast') in names


# Subclasses

class Square(Lp.Function):
    def do_forward(self, inputs):
        self.input = inputs[0]
        return inputs[0] * inputs[0]

    def do_backward(self, grad_output):
        return [grad_output * self.input * 2]


def subclass_mixed_plugin():
    calls = []

    class Mine(Lp.MixedPrecisionPlugin):
        def do_convert_input(self, tensor):
            calls.append('convert_input')
            return Lp.MixedPrecisionPlugin.do_convert_input(self, tensor)

        def do_end_step(self):
            calls.append('end_step')
            return Lp.MixedPrecisionPlugin.do_end_step(self)

    trainer = fit(Net(), precision=Mine('16-mixed'))
    assert trainer.precision == '16-mixed'
    assert calls == ['convert_input', 'end_step'] * 3, calls


def subclass_function():
    x = Lp.tensor([1.0, -2.0, 3.0], requires_grad=True)
    optimizer = Lp.SGD([x], lr=0.1)
    first = Square()(x).sum()
    first.backward()
    assert x.grad.tolist() == [2.0, -4.0, 6.0]
    optimizer.step()
    assert Square()(x).sum().item() < first.item()
    direct = Square()
    direct(x)
    gradient, = direct.backward(Lp.tensor([1.0, 1.0, 1.0]))
    assert gradient.__grefcount__ == 1 and gradient.shape == (3,)


def subclass_function_wrong_count():
    wrong = subclass(Square, do_backward=lambda self, grad: [grad, grad])
    expect_error(Lp.Error.SUBCLASS, wrong()(Lp.tensor([1.0], requires_grad=True)).backward, mentions='backward')
    wrong = subclass(Square, do_forward=lambda self, inputs: None)
    expect_error(Lp.Error.SUBCLASS, wrong(), Lp.tensor([1.0]), mentions='forward')


class Tenths(Lp.DType):
    """Whole tenths in a byte."""

    def __init__(self, name):
        super().__init__(name=name, bits=8, block_size=1)

    def do_encode(self, values, shape, axis):
        values = memoryview(values.get_data()).cast('f')
        return GLib.Bytes.new(bytes(round(value * 10) + 128 for value in values))

    def do_decode(self, data, shape, axis, first_block, n_blocks):
        import array
        codes = data.get_data()[first_block:first_block + n_blocks]
        return GLib.Bytes.new(array.array('f', [(code - 128) / 10 for code in codes]).tobytes())

    def do_get_encoded_size(self, shape):
        return shape.get_n_elements()


def subclass_dtype():
    tenths = Tenths('py-tenths')
    stored = Lp.tensor([[0.51, -0.29], [1.0, 0.0]]).to_dtype(tenths)
    assert stored.dtype is tenths and stored.nbytes == 4
    back = stored.to_dtype('f32').tolist()
    assert all(abs(a - b) < 1e-6 for a, b in zip(sum(back, []), (0.5, -0.3, 1.0, 0.0))), back


def subclass_dtype_broken():
    short = subclass(Tenths, do_encode=lambda self, *args: GLib.Bytes.new(b'x'))('py-short')
    expect_error(Lp.Error.SUBCLASS, Lp.tensor([1.0, 2.0]).to_dtype, short)
    nothing = subclass(Tenths, do_encode=lambda self, *args: None)('py-nothing')
    expect_error(Lp.Error.SUBCLASS, Lp.tensor([1.0, 2.0]).to_dtype, nothing)


class Squares(Lp.Dataset):
    def do_get_length(self):
        return 5

    def do_get_item(self, index):
        return Lp.Batch(Lp.tensor([float(index), 1.0]), Lp.tensor(index * index))


def subclass_dataset():
    loader = Lp.DataLoader(Squares(), 2, False)
    seen = [(x.tolist(), y.tolist()) for x, y in loader]
    assert seen == [([[0, 1], [1, 1]], [0, 1]), ([[2, 1], [3, 1]], [4, 9]), ([[4, 1]], [16])], seen


def subclass_collate():
    def collate(self, items):
        return Lp.Batch(Lp.Tensor.stack([item[0] for item in items], 0) * 10, named=Lp.tensor(len(items)))

    batch = next(iter(Lp.DataLoader(subclass(Squares, do_collate=collate)(), 2, False)))
    assert batch[0].tolist() == [[0, 10], [10, 10]] and batch['named'].item() == 2


def subclass_dataset_broken():
    nothing = subclass(Squares, do_get_item=lambda self, index: None)
    expect_error(Lp.Error.SUBCLASS, list, Lp.DataLoader(nothing(), 2, False))

    def fail(self, index):
        raise Lp.new_error(Lp.Error.IO, 'no such item')

    expect_error(Lp.Error.IO, list, Lp.DataLoader(subclass(Squares, do_get_item=fail)(), 2, False))


def subclass_model():
    model = Net()
    trainer = fit(model, max_steps=3)
    assert trainer.get_global_step() == 3 and len(model.losses) == 3
    assert model.losses[2] < model.losses[0], model.losses
    assert list(model.named_parameters()) == ['layers.0.weight', 'layers.0.bias', 'layers.2.weight', 'layers.2.bias']


def subclass_model_broken():
    def fail(self, batch, batch_idx):
        raise Lp.new_error(Lp.Error.NOT_FINITE, 'told by the model')

    expect_error(Lp.Error.NOT_FINITE, fit, subclass(Net, do_training_step=fail)(), mentions='told by the model')
    wrong = subclass(Net, do_configure_optimizers=lambda self: Lp.Linear(2, 2))
    expect_error(Lp.Error.SUBCLASS, fit, wrong())


def subclass_model_hooks():
    calls = []
    watch = subclass(Lp.Callback, do_on_train_batch_end=lambda self, *args: calls.append(self.name))

    def before(self, batch):
        calls.append('before')
        return Lp.Batch.new_pair(batch[0] * 0, batch[1])

    def after(self, batch):
        calls.append(f'after {batch[0].abs().sum().item():g}')
        return batch

    def callbacks(self):
        mine = watch()
        mine.name = 'model'
        return [mine]

    trainers = watch()
    trainers.name = 'trainer'
    trainer = fit(subclass(Net, do_on_before_batch_transfer=before, do_on_after_batch_transfer=after,
                           do_configure_callbacks=callbacks)(), max_steps=2, callbacks=[trainers])
    assert calls == ['before', 'after 0', 'model'] * 2, calls
    assert [callback.name for callback in trainer.dup_callbacks() if isinstance(callback, watch)] == ['model']
    for wrong in ({'do_on_before_batch_transfer': lambda self, batch: None},
                  {'do_on_after_batch_transfer': lambda self, batch: None},
                  {'do_configure_callbacks': lambda self: [Lp.Linear(2, 2)]}):
        expect_error(Lp.Error.SUBCLASS, fit, subclass(Net, **wrong)(), mentions=next(iter(wrong))[3:])


def subclass_callback():
    calls = []
    callback = subclass(Lp.Callback,
                        do_on_fit_start=lambda self, trainer, model: calls.append('start'),
                        do_on_train_batch_end=lambda self, trainer, model, outputs, batch, idx: calls.append(idx),
                        do_on_fit_end=lambda self, trainer, model: calls.append('end'))()
    fit(Net(), a_loader(24), max_steps=-1, max_epochs=1, callbacks=[callback])
    assert calls == ['start', 0, 1, 2, 'end'], calls


def subclass_callback_error():
    def fail(self, trainer, model):
        raise Lp.new_error(Lp.Error.STATE, 'told by the callback')

    callback = subclass(Lp.Callback, do_on_train_start=fail)()
    expect_error(Lp.Error.STATE, lambda: fit(Net(), callbacks=callback), mentions='told by the callback')


class PlainDescent(Lp.Optimizer):
    def do_step_group(self, group):
        for weight, master in zip(group.dup_parameters(), group.dup_masters()):
            with Lp.no_grad():
                master.assign(master - weight.grad * group.lr)
        return True


def subclass_optimizer():
    mine, reference = Lp.tensor([1.0, 2.0], requires_grad=True), Lp.tensor([1.0, 2.0], requires_grad=True)
    for weight, optimizer in ((mine, PlainDescent([mine], lr=0.1)), (reference, Lp.SGD([reference], lr=0.1))):
        (weight ** 2).sum().backward()
        assert optimizer.step() == Lp.StepResult.APPLIED
    assert mine.tolist() == reference.tolist() != [1.0, 2.0]


# Memory

def check_memory(what):
    if what == 'family':
        contract_family.memory()
        return
    calls = []

    class Plugin(Lp.PrecisionPlugin):
        def do_convert_input(self, tensor):
            return tensor * 1.0

        def do_quantize_operand(self, operand):
            return operand.get_tensor() * 1.0

        def do_end_step(self):
            calls.append(1)
            return True

    watch = Watch()
    model = subclass(Net, do_training_step=lambda self, batch, batch_idx: self(batch[0]).cross_entropy(batch[1]))()
    fit(model, a_loader(256, 64), max_steps=1000, max_epochs=-1, callbacks=[watch],
        precision=Plugin(precision='contract') if what == 'plugin' else '32-true')
    assert what != 'plugin' or len(calls) == 1000
    grown = (watch.late - watch.early) * 4
    assert grown <= 1024, f'{grown} KiB more after a thousand steps than after a hundred'


def look_up(check, argument):
    return globals()[f'{check}_{argument.replace("-", "_")}']


CHECKS = {
    'override': check_override, 'error': check_error, 'broken': check_broken, 'nonsense': check_nonsense,
    'fallback': check_fallback, 'exception': check_exception, 'memory': check_memory,
    'construct': lambda what: look_up('construct', what)(), 'registry': lambda what: look_up('registry', what)(),
    'trainer': lambda what: look_up('trainer', what)(), 'subclass': lambda what: look_up('subclass', what)(),
    'family': lambda what: getattr(contract_family, what)(),
    'python': lambda what: getattr(contract_exceptions, what.replace('-', '_'))(),
    'calls': lambda what: getattr(contract_calls, what.replace('-', '_'))(),
    'runs': lambda what: getattr(contract_runs, what.replace('-', '_'))(),
}
PLUGIN_CHECKS = ('override', 'error', 'broken', 'nonsense', 'fallback', 'exception')


def cases(lines):
    """The lines, and those about virtual functions again for a subclass of each class of the registry."""
    for line in lines:
        yield line, Parent.base, Parent.values, line
    seen = set()
    for _, base, values in contract_family.entries():
        if base in seen:
            continue
        seen.add(base)
        for line in lines:
            if line.split()[0] in PLUGIN_CHECKS:
                yield f'{base.__name__}: {line}', base, values, line


def main():
    lines = []
    with open(sys.argv[1], encoding='utf-8') as contract:
        for line in contract:
            languages, text = re.fullmatch(r'(?:\[(.*)\] )?(.*)\n', line).groups()
            if text and not text.startswith('#') and (languages is None or 'python' in languages.split(',')):
                lines.append(text)

    found = list(cases(lines))
    print(f'1..{len(found)}', flush=True)
    failed = False
    for number, (title, base, values, line) in enumerate(found, 1):
        Parent.base, Parent.values = base, values
        check, *args = line.split()
        try:
            CHECKS[check](*args)
        except Exception as error:  # whatever it was, the other checks go on
            failed = True
            print(f'not ok {number} - {title}\n# {type(error).__name__}: {error}', flush=True)
        else:
            print(f'ok {number} - {title}', flush=True)
    sys.exit(failed)


main()
