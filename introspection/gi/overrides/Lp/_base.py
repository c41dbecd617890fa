"""What all parts of the override use: the exported names, errors, dtypes by name, scopes."""

import functools

from gi.module import get_introspection_module
from gi.repository import GLib, GObject

Lp = get_introspection_module('Lp')

__all__ = []

_object_init = GObject.Object.__init__


def _export(value, name=None):
    """Put VALUE where `from gi.repository import Lp` finds it without a detour."""
    name = name or value.__name__
    globals()[name] = value
    __all__.append(name)
    return value


for _name in ('Tensor', 'DType', 'Device', 'Shape', 'Batch', 'State', 'TensorDict', 'Generator', 'Function',
              'Module', 'Linear', 'Conv2d', 'BatchNorm2d', 'MaxPool2d', 'AvgPool2d', 'Flatten', 'Dropout', 'ReLU',
              'GELU', 'Sequential', 'Optimizer', 'ParamGroup', 'AdamW', 'Sgd', 'LrScheduler', 'CosineLr', 'StepLr',
              'WarmupLr', 'OptimizerConfig', 'Dataset', 'TensorDataset', 'Subset', 'DataLoader', 'Metric', 'Accuracy',
              'PrecisionPlugin', 'FullPrecisionPlugin', 'DoublePrecisionPlugin', 'HalfPrecisionPlugin', 'ApexMixedPrecisionPlugin',
              'FallbackMixedPrecisionPlugin', 'Fp8PrecisionPlugin', 'Fp8Recipe',
              'MixedPrecisionPlugin', 'PrecisionContext', 'PrecisionRegistry', 'PrecisionTraits', 'GradScaler',
              'RegistryEntry', 'CastPolicy', 'ComputeScope', 'Model', 'Trainer', 'Fabric', 'Callback', 'Logger',
              'ModelCheckpoint', 'EarlyStopping', 'CsvLogger', 'TensorBoardLogger', 'ProgressBar', 'Error',
              'PrecisionError', 'StepResult', 'ClipAlgorithm', 'LogFlags', 'Reduction', 'Stage', 'MonitorMode'):
    _export(getattr(Lp, _name), _name)

_export(Lp.Sgd, 'SGD')


# Errors

_QUARKS = {Lp.Error: Lp.error_quark, Lp.PrecisionError: Lp.precision_error_quark}


@_export
def new_error(code, message):
    """A GLib.Error to raise, of the domain that CODE (an Lp.Error or Lp.PrecisionError) belongs to."""
    return GLib.Error.new_literal(_QUARKS[type(code)](), message, code)


@_export
def matches(error, code):
    """Whether the GLib.Error is of CODE, an Lp.Error or Lp.PrecisionError."""
    return isinstance(error, GLib.Error) and error.matches(_QUARKS[type(code)](), code)


# Dtypes by name

def _dtype(value):
    return DType.lookup(value) if isinstance(value, str) else value


def _accept_dtype_names(owner, name, position, keyword='dtype', method=False):
    """Let the function NAME of OWNER take a string at POSITION."""
    original = getattr(owner, name)

    @functools.wraps(original)
    def wrapper(*args, **kwargs):
        if len(args) > position:
            if isinstance(args[position], str):
                args = (*args[:position], DType.lookup(args[position]), *args[position + 1:])
        elif isinstance(kwargs.get(keyword), str):
            kwargs[keyword] = DType.lookup(kwargs[keyword])
        return original(*args, **kwargs)

    setattr(owner, name, wrapper if method else staticmethod(wrapper))


for _name, _position in (('empty', 1), ('zeros', 1), ('ones', 1), ('full', 2), ('scalar', 1), ('arange', 3),
                         ('uniform', 3), ('normal', 3), ('new_from_doubles', 2), ('new_from_int64s', 2),
                         ('new_from_bytes', 2)):
    _accept_dtype_names(Tensor, _name, _position)
_accept_dtype_names(Tensor, 'to_dtype', 1, method=True)
_accept_dtype_names(Module, 'to_dtype', 1, method=True)
_accept_dtype_names(ParamGroup, 'set_master_dtype', 1, method=True)
_accept_dtype_names(CastPolicy, 'new', 0, 'low_dtype')

DType.__str__ = lambda self: self.get_name()
DType.__repr__ = lambda self: f'<{type(self).__name__} {self.get_name()}>'


# Scopes

class _Scope:
    """Something that is pushed on entry and popped on every way out."""

    def __init__(self, push, pop):
        self._push, self._pop = push, pop

    def __enter__(self):
        self._push()
        return self

    def __exit__(self, *unused):
        self._pop()

    def __call__(self, function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            with self:
                return function(*args, **kwargs)

        return wrapper


@_export
def no_grad():
    """A scope, or a decorator, in which nothing is recorded for gradients."""
    return _Scope(lambda: Lp.grad_mode_push(False), Lp.grad_mode_pop)


@_export
def enable_grad():
    """A scope in which gradients are recorded, within one of no_grad()."""
    return _Scope(lambda: Lp.grad_mode_push(True), Lp.grad_mode_pop)


@_export
def default_dtype(dtype):
    """A scope in which tensors made without a dtype have this one."""
    dtype = _dtype(dtype)
    return _Scope(lambda: Lp.default_dtype_push(dtype), Lp.default_dtype_pop)


@_export
def compute_scope(policy=None, quantizer=None):
    """A scope with a cast policy (or a dtype for one), a quantizer, or an Lp.ComputeScope."""
    if isinstance(policy, (str, DType)):
        policy = CastPolicy.new(policy)
    scope = policy if isinstance(policy, ComputeScope) else ComputeScope.new(policy, quantizer)
    return _Scope(scope.push, ComputeScope.pop)


@_export
def generator(seed=0, stream=0):
    """A scope with random numbers of its own: of a seed, or of an Lp.Generator."""
    chosen = seed if isinstance(seed, Generator) else Generator.new(seed, stream)
    return _Scope(chosen.push, Generator.pop)


PrecisionPlugin.scope = lambda self: _Scope(self.push_scope, self.pop_scope)
PrecisionPlugin.init_scope = lambda self: _Scope(self.begin_init, self.end_init)
Fabric.autocast = lambda self: _Scope(self.begin_autocast, self.end_autocast)
Fabric.init_module = lambda self: _Scope(self.begin_init, self.end_init)


# Properties as attributes

def _attribute(name):
    return property(lambda self: self.get_property(name), lambda self, value: self.set_property(name, value))


def _expose_properties(owner):
    for pspec in owner.list_properties():
        name = pspec.name.replace('-', '_')
        if pspec.owner_type == owner.__gtype__ and not hasattr(owner, name):
            setattr(owner, name, _attribute(pspec.name))


for _owner in (DType, Device, Dataset, DataLoader, Optimizer, ParamGroup, LrScheduler, PrecisionPlugin,
               PrecisionContext, PrecisionTraits, GradScaler, RegistryEntry, Trainer, Fabric, Model, ModelCheckpoint,
               EarlyStopping, AdamW, Sgd):
    _expose_properties(_owner)
