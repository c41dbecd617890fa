"""The table of refusals.json, by each way in, from Python."""

import json
import sys

import gi

gi.require_version('Lp', '1')
from gi.repository import GLib, GObject, Lp  # noqa: E402

REGISTRY = Lp.PrecisionRegistry.get_default()


class OneLayer(Lp.Model):
    def __init__(self, kind=None):
        super().__init__()
        self.layer = Lp.BatchNorm2d.new(2) if kind == 'no-linear' else Lp.Linear(2, 2)
        if kind == 'f16':
            self.to_dtype(Lp.DType.f16())

    def do_training_step(self, batch, batch_idx):
        return self.layer(batch[0]).sum()

    def do_configure_optimizers(self):
        return Lp.SGD(self.parameters(), lr=0.1)


def fit(trainer, model):
    data = Lp.TensorDataset(Lp.tensor([[1.0, 1.0]] * 4), Lp.tensor([1.0] * 4))
    trainer.fit(model, Lp.DataLoader(data, 2, False))


def a_trainer(**settings):
    return Lp.Trainer(max_epochs=1, enable_progress_bar=False, enable_model_summary=False, enable_checkpointing=False, **settings)


def class_of(name):
    return getattr(Lp, name.removeprefix('Lp'))


def value_of(pspec, value):
    if isinstance(value, dict):
        return GObject.new(pspec.value_type, **{key.replace('-', '_'): item for key, item in value.items()})
    if GObject.type_is_a(pspec.value_type, GObject.TYPE_ENUM):
        return {item.value_nick: item for item in pspec.enum_class.__enum_values__.values()}[value]
    return value


def properties_of(row):
    made = class_of(row['type'])
    return {name.replace('-', '_'): value_of(made.find_property(name), value) for name, value in row['properties'].items()}


def raw_plugin(row):
    """The plugin as C makes it: not yet initialised."""
    return GObject.new(class_of(row['type']), **properties_of(row))


def good_plugin(row, context=None):
    plugin = class_of(row['type'])(**properties_of(row))
    if row.get('attached'):
        plugin.attach(context)
    return plugin


def context_with(model):
    context = Lp.PrecisionContext()
    context.set_module(model)
    return context


def by_constructor(row):
    class_of(row['type'])(**properties_of(row))


def by_registry(row):
    if 'entry' not in row:
        REGISTRY.create(str(row['request']), None)
        return
    config = {name: GLib.Variant('s' if isinstance(value, str) else 'd', value) for name, value in row['properties'].items()}
    REGISTRY.create(row['entry'], GLib.Variant('a{sv}', config))


def by_owner(make):
    def way(row):
        arguments = {}
        if 'request' in row:
            arguments['precision'] = row['request']
        if 'type' in row:
            arguments['precision_plugin' if 'request' in row else 'precision'] = raw_plugin(row)
        make(**arguments)
    return way


def run_plugin(row):
    model = OneLayer(row.get('model'))
    context = context_with(model)
    plugin = good_plugin(row, context)
    plugin.attach(context)
    plugin.convert_module(model)


def run_trainer(row):
    model = OneLayer(row.get('model'))
    fit(a_trainer(precision=good_plugin(row, context_with(model))), model)


def run_fabric(row):
    model = OneLayer(row.get('model'))
    Lp.Fabric(precision=good_plugin(row, context_with(model))).setup_module(model)


class Closure(Lp.StepClosure):
    def do_run(self):
        raise AssertionError('the closure was called')


def run_closure(row):
    good_plugin(row).optimizer_step(OneLayer().do_configure_optimizers(), Closure())


def call_register(row):
    Lp.register_precision('a-layer', Lp.Linear)


def call_fabric_clip(row):
    fabric, model = Lp.Fabric(), OneLayer()
    optimizer = model.do_configure_optimizers()
    fabric.setup_module(model)
    fabric.setup_optimizer(optimizer)
    fabric.clip_gradients(optimizer, row['argument'], Lp.ClipAlgorithm.NORM)


def call_fabric_clip_infinite(row):
    fabric, model = Lp.Fabric(), OneLayer()
    optimizer = model.do_configure_optimizers()
    fabric.setup_module(model)
    fabric.setup_optimizer(optimizer)
    model.layer.weight.grad = Lp.tensor([[float('inf')] * 2] * 2)
    fabric.clip_gradients(optimizer, 1, Lp.ClipAlgorithm.NORM)


def call_manual(row):
    model = OneLayer()
    model.set_automatic_optimization(False)
    fit(a_trainer(**{row['argument'].replace('-', '_'): 2}), model)


CALLS = {
    'register-a-layer': call_register, 'fabric-clip': call_fabric_clip, 'fabric-clip-infinite': call_fabric_clip_infinite, 'manual': call_manual,
    'device': lambda row: Lp.Device.lookup(row['argument']),
    'strategy': lambda row: Lp.StrategyRegistry.get_default().create(row['argument'], None),
}


def ways(row):
    if 'call' in row:
        return {'call': CALLS[row['call']]}
    if 'closure' in row:
        return {'plugin': run_closure}
    if 'model' in row or 'attached' in row:
        return {'plugin': run_plugin, 'trainer': run_trainer, 'fabric': run_fabric}
    found = {'trainer': by_owner(Lp.Trainer), 'fabric': by_owner(Lp.Fabric)}
    if 'type' not in row:
        found['registry'] = by_registry
    elif 'request' not in row:
        found['constructor'] = by_constructor
        if not any(isinstance(value, dict) for value in row['properties'].values()):
            found['registry'] = by_registry
    return found


def check(row, way):
    domain, nick = row['error'].split()
    codes = Lp.PrecisionError if domain == 'precision' else Lp.Error
    code = getattr(codes, nick.upper().replace('-', '_'))
    try:
        way(row)
    except GLib.Error as error:
        assert Lp.matches(error, code), f'{error.domain} {error.code}: {error.message}'
        for name in row['names']:
            assert name in error.message, f'{name} is not in: {error.message}'
        return
    raise AssertionError('no error')


def main():
    with open(sys.argv[1], encoding='utf-8') as table:
        cases = [(f"{row['id']}/{name}", row, way) for row in json.load(table)['rows'] for name, way in ways(row).items()]
    print(f'1..{len(cases)}', flush=True)
    failed = False
    for number, (name, row, way) in enumerate(cases, 1):
        try:
            check(row, way)
        except Exception as error:  # whatever it was, the other rows go on
            failed = True
            print(f'not ok {number} - {name}\n# {type(error).__name__}: {error}', flush=True)
        else:
            print(f'ok {number} - {name}', flush=True)
    sys.exit(failed)


main()
