"""Trainer, Fabric, plugins and the registry of precisions."""

import atexit
import functools

from ._base import *
from ._base import _export, _object_init
from ._modules import _variant
from ._tensors import _choice
from ._vfuncs import guard



# Trainer, Fabric and plugins: their init() runs inside the constructor

def _exists(self):
    """Whether the library made the object, and so will call init() itself."""
    try:
        self.__gpointer__
    except ValueError:
        return False
    return True


def _plugin_init(self, precision=None, **properties):
    made_by_library = _exists(self)
    if precision is not None:
        properties['precision'] = str(precision)
    _object_init(self, **properties)
    if not made_by_library and '_lp_constructing' not in self.__dict__:
        self.init(None)


def _init_at_the_end(constructor):
    """CONSTRUCTOR of a subclass, followed by init(): what validates sees what the constructor set."""
    @functools.wraps(constructor)
    def __init__(self, *args, **kwargs):
        if _exists(self) or '_lp_constructing' in self.__dict__:
            constructor(self, *args, **kwargs)
            return
        self._lp_constructing = True
        try:
            constructor(self, *args, **kwargs)
        finally:
            del self._lp_constructing
        self.init(None)

    return __init__


_guard_subclass = PrecisionPlugin.__init_subclass__.__func__


def _plugin_subclass(cls, **kwargs):
    _guard_subclass(cls, **kwargs)
    if '__init__' in cls.__dict__:
        cls.__init__ = _init_at_the_end(cls.__init__)


# What Lightning has, or a user may expect, and what there is instead.
_INSTEAD = {
    'amp_backend': "is what the precision plugin says: give precision a name, such as 'apex-O2', or a plugin",
    'amp_level': "is what the precision plugin says: give precision a name, such as 'apex-O2', or a plugin",
    'plugins': 'is for precision only: give precision the plugin, as in precision=Lp.MixedPrecisionPlugin("16-mixed")',
    'accelerator': 'is no setting: a run is on one device, Lp.Device.get_default(); a strategy may choose another',
    'devices': 'is no setting: a run is on one device, Lp.Device.get_default(); a strategy may choose another',
    'num_nodes': 'is no setting: a run is on one device, in one process',
}


def _request(precision, properties):
    """Turn `precision` into the property that it is: a name or a plugin."""
    for name in _INSTEAD:
        if name in properties:
            raise TypeError(f'{name} {_INSTEAD[name]}')
    if precision is None:
        return
    key = 'precision_plugin' if isinstance(precision, PrecisionPlugin) else 'precision_request'
    if key == 'precision_request' and not isinstance(precision, (str, int)):
        raise TypeError(f'precision is a name or an Lp.PrecisionPlugin, not {type(precision).__name__}')
    if key in properties:
        raise TypeError(f'precision and {key} say the same thing: give one')
    properties[key] = precision if key == 'precision_plugin' else str(precision)


def _trainer_init(self, precision=None, callbacks=(), logger=None, **properties):
    """A trainer; `precision` is a name or a plugin, `logger` one or several, the rest are properties."""
    _request(precision, properties)
    if isinstance(properties.get('gradient_clip_algorithm'), str):
        properties['gradient_clip_algorithm'] = _choice(ClipAlgorithm, properties['gradient_clip_algorithm'])
    _object_init(self, **properties)
    self.init(None)
    for callback in [callbacks] if isinstance(callbacks, Callback) else callbacks:
        self.add_callback(callback)
    for item in [logger] if isinstance(logger, Logger) else logger or ():
        self.add_logger(item)


def _fabric_init(self, precision=None, **properties):
    """Precision for a loop of one's own; `precision` is a name or a plugin."""
    _request(precision, properties)
    _object_init(self, **properties)
    self.init(None)


def _scaler_init(self, **properties):
    _object_init(self, **properties)
    self.check()


def _save_checkpoint(self, path, weights_only=False):
    """Write a checkpoint: of all that a run needs to go on, or of the weights only."""
    return _save_all(self, path, weights_only)


def _fabric_setup(self, module, *optimizers):
    """Set a module up, and optimizers of its parameters; returns what was given."""
    self.setup_module(module)
    for optimizer in optimizers:
        self.setup_optimizer(optimizer)
    return (module, *optimizers) if optimizers else module


_save_all = Trainer.save_checkpoint
PrecisionPlugin.__init__ = _plugin_init
PrecisionPlugin.__init_subclass__ = classmethod(_plugin_subclass)
Trainer.__init__ = _trainer_init
Fabric.__init__ = _fabric_init
Fabric.setup = _fabric_setup
GradScaler.__init__ = _scaler_init
Trainer.save_checkpoint = _save_checkpoint
Trainer.callback_metrics = property(lambda self: self.dup_callback_metrics().unpack())
Trainer.logged_metrics = property(lambda self: self.dup_logged_metrics().unpack())
Trainer.callbacks = property(lambda self: self.dup_callbacks())
Trainer.loggers = property(lambda self: self.dup_loggers())
Trainer.optimizers = property(lambda self: self.dup_optimizers())
Trainer.model = property(lambda self: self.get_model())


# Registering precisions

_registered = []


@_export
def register_precision(name, maker=None, description=None, aliases=(), **values):
    """Add a precision to the registry: a class of plugins, or a function that makes one from name and configuration.

    VALUES are properties of the plugins. Without a maker it is a decorator.
    """
    if maker is None:
        return lambda decorated: register_precision(name, decorated, description, aliases, **values) or decorated
    if isinstance(maker, type):
        properties = _variant(values) if values else None
        entry = RegistryEntry.new(name, maker, properties, description)
    elif callable(maker):
        make = guard(maker, f'the maker of “{name}”')
        entry = RegistryEntry.new_factory(name, description, lambda *args: make(*args[:2]))
    else:
        raise TypeError('the maker of a precision is a class of plugins, or a function of name and configuration that returns a plugin; '
                        f'this is a {type(maker).__name__}')
    for alias in aliases:
        entry.add_alias(alias)
    PrecisionRegistry.get_default().add(entry)
    _registered.append(name)
    return None


@_export
def unregister_precision(name):
    """Take a precision off the registry; whether it was there."""
    if name in _registered:
        _registered.remove(name)
    return PrecisionRegistry.get_default().remove(name)


@atexit.register
def _forget_registered():
    """Nobody may call a class of Python when Python is gone."""
    for name in list(_registered):
        unregister_precision(name)
