"""Constructors, modules, batches, data and saved state."""

from gi.repository import GLib

from ._base import *
from ._base import Lp, _dtype, _export, _object_init



# Constructors

def _positional(owner, *names):
    """Let OWNER's properties be given in order, and raise what is wrong with them."""
    def __init__(self, *args, **kwargs):
        if len(args) > len(names):
            raise TypeError(f'{owner.__name__} takes at most {len(names)} arguments, not {len(args)}')
        _object_init(self, **dict(zip(names, args)), **kwargs)
        if isinstance(self, Module):
            self.check()

    owner.__init__ = __init__


_positional(Linear, 'in_features', 'out_features', 'bias')
_positional(Conv2d, 'in_channels', 'out_channels', 'kernel_size', 'stride', 'padding', 'dilation', 'groups', 'bias')
_positional(BatchNorm2d, 'n_features', 'eps', 'momentum', 'affine')
_positional(Flatten, 'start_axis')
_positional(Dropout, 'p')
_positional(GELU, 'approximate')
_positional(DataLoader, 'dataset', 'batch_size', 'shuffle')
_positional(StepLr, 'optimizer', 'step_size', 'gamma')
_positional(CosineLr, 'optimizer', 'n_steps', 'min_factor')
_positional(WarmupLr, 'optimizer', 'n_steps', 'start_factor', 'after')
_positional(CsvLogger, 'save_dir', 'name', 'version')
_positional(TensorBoardLogger, 'save_dir', 'name', 'version')
_positional(PrecisionTraits, 'storage', 'compute', 'gradient', 'master', 'reduce')


def _pooling(owner):
    """A pooling steps by the size of its window if nothing else is asked."""
    def __init__(self, kernel_size, stride=None, padding=0):
        _object_init(self, kernel_size=kernel_size, stride=stride or kernel_size, padding=padding)
        self.check()

    owner.__init__ = __init__


_pooling(MaxPool2d)
_pooling(AvgPool2d)


def _sequential_init(self, *layers):
    _object_init(self)
    for layer in layers:
        self.append(layer)


def _optimizer_init(self, parameters=None, lr=1e-3, weight_decay=0.0, betas=None, **properties):
    """An optimizer of a list of parameters; more groups come with add_group()."""
    if betas is not None:
        properties['beta1'], properties['beta2'] = betas
    _object_init(self, **properties)
    if parameters is not None:
        group = ParamGroup.new(list(parameters), lr)
        group.set_weight_decay(weight_decay)
        self.add_group(group)


def _adamw_init(self, parameters=None, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    _optimizer_init(self, parameters, lr, weight_decay, betas, eps=eps)


def _sgd_init(self, parameters=None, lr=1e-3, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    _optimizer_init(self, parameters, lr, weight_decay, momentum=momentum, dampening=dampening, nesterov=nesterov)


def _replace_constructor(owner, function):
    """Make OWNER (...) call a function that gives the object, errors included."""
    owner.__new__ = lambda cls, *args, **kwargs: function(*args, **kwargs)
    owner.__init__ = lambda self, *args, **kwargs: None


def _new_tensor_dataset(*tensors, **named):
    if len(tensors) == 1 and isinstance(tensors[0], Batch):
        return TensorDataset.new(tensors[0])
    if len(tensors) == 2 and not named:
        return TensorDataset.new_pair(*tensors)
    return TensorDataset.new(Batch(*tensors, **named))


Sequential.__init__ = _sequential_init
Optimizer.__init__ = _optimizer_init
AdamW.__init__ = _adamw_init
Sgd.__init__ = _sgd_init
_replace_constructor(TensorDataset, _new_tensor_dataset)
_replace_constructor(Subset, lambda dataset, indices: Subset.new(dataset, indices if isinstance(indices, Tensor)
                                                                 else tensor(indices, 'i64')))


# Modules and models

def _module_getattr(self, name):
    """A child, parameter or buffer that was registered under NAME."""
    if name.startswith('_'):
        raise AttributeError(name)
    for look in (self.lookup_child, self.lookup_parameter, self.lookup_buffer):
        found = look(name)
        if found is not None:
            return found
    raise AttributeError(f'{type(self).__name__!r} object has no attribute {name!r}')


def _module_setattr(self, name, value):
    """Register modules and parameters that become attributes.

    They are not kept by Python as well: a precision may exchange them.
    """
    if name.startswith('_') or hasattr(type(self), name):
        _plain_setattr(self, name, value)
    elif isinstance(value, Module):
        (self.set_child if self.lookup_child(name) else self.register_child)(name, value)
    elif isinstance(value, Tensor) and value.get_requires_grad() and value.is_leaf():
        (self.set_parameter if self.lookup_parameter(name) else self.register_parameter)(name, value)
    else:
        _plain_setattr(self, name, value)


_plain_setattr = Module.__setattr__
Module.__getattr__ = _module_getattr
Module.__setattr__ = _module_setattr
Module.__call__ = lambda self, *args: self.forward(*args)
Module.parameters = lambda self: self.dup_parameters()
Module.named_parameters = lambda self: dict(zip(self.dup_parameter_names(), self.dup_parameters()))
Module.children = lambda self: self.dup_children()
Module.state_dict = lambda self: self.dup_state_dict()
Module.train = lambda self, mode=True: self.set_training(mode)
Module.eval = lambda self: self.set_training(False)
Linear.weight = property(lambda self: self.get_weight())
Linear.bias = property(lambda self: self.get_bias())
Conv2d.weight = property(lambda self: self.get_weight())
Conv2d.bias = property(lambda self: self.get_bias())
Sequential.__len__ = lambda self: self.get_n_layers()
Sequential.__bool__ = lambda self: True
Sequential.__iter__ = lambda self: (self.get_layer(i) for i in range(self.get_n_layers()))
Sequential.__getitem__ = lambda self, index: self.get_layer(range(self.get_n_layers())[index])
Function.__call__ = lambda self, *inputs: self.apply(list(inputs))

Model.trainer = property(lambda self: self.get_trainer())


def _log(self, name, value, flags=None, *, on_step=False, on_epoch=False, prog_bar=False, logger=True, reduce='mean'):
    """Log a number, a tensor of one element or an Lp.Metric."""
    if flags is None:
        flags = LogFlags(0)
        for chosen, flag in ((on_step, LogFlags.ON_STEP), (on_epoch, LogFlags.ON_EPOCH),
                             (prog_bar, LogFlags.PROG_BAR), (not logger, LogFlags.NO_LOGGER),
                             (reduce == 'sum', LogFlags.SUM), (reduce == 'min', LogFlags.MIN),
                             (reduce == 'max', LogFlags.MAX)):
            if chosen:
                flags |= flag
    if isinstance(value, Tensor):
        return self.log_tensor(name, value, flags)
    if isinstance(value, Metric):
        return self.log_metric(name, value, flags)
    return _log_number(self, name, value, flags)


_log_number = Model.log
Model.log = _log


# Batches, data and state

def _batch_entry(self, index):
    item = self.get_tensor(index)
    return item if item is not None else self.get_batch(index)


def _batch_getitem(self, key):
    if isinstance(key, str):
        found = self.lookup(key)
        found = found if found is not None else self.lookup_batch(key)
        if found is None:
            raise KeyError(key)
        return found
    return _batch_entry(self, range(self.get_size())[key])


def _batch_init(self, *items, **named):
    _object_init(self)
    for name, item in [(None, item) for item in items] + list(named.items()):
        (self.append_batch if isinstance(item, Batch) else self.append)(item, name)


Batch.__init__ = _batch_init
Batch.__len__ = lambda self: self.get_size()
Batch.__bool__ = lambda self: True
Batch.__getitem__ = _batch_getitem
Batch.__iter__ = lambda self: (_batch_entry(self, i) for i in range(self.get_size()))
Batch.names = property(lambda self: [self.get_name(i) for i in range(self.get_size())])

Dataset.__len__ = lambda self: self.get_length()
Dataset.__bool__ = lambda self: True


def _dataset_getitem(self, index):
    length = self.get_length()
    if not -length <= index < length:
        raise IndexError(f'item {index} is out of range for a dataset of {length}')
    return self.get_item(index % length)


def _split(self, lengths, seed=0):
    """Parts of these lengths, in an order that depends on the seed."""
    return _split_original(self, lengths, seed)


_split_original = Dataset.split
Dataset.__getitem__ = _dataset_getitem
Dataset.split = _split


def _batches(self):
    """The batches of the next epoch."""
    self.start_epoch(self.__dict__.setdefault('_next_epoch', 0))
    self._next_epoch += 1
    while (batch := self.next()) is not None:
        yield batch


@_export
def load_csv(path, has_header=False, dtype=None):
    """A tensor [rows, columns] of a file of numbers between commas; without a dtype, of the default one."""
    return Lp.load_csv(path, has_header, _dtype(dtype))


@_export
def load_csv_columns(path, dtype=None):
    """A batch of the columns of a file whose first line names them."""
    return Lp.load_csv_columns(path, _dtype(dtype))


DataLoader.__iter__ = _batches
DataLoader.__len__ = lambda self: self.get_length()
DataLoader.__bool__ = lambda self: True


def _variant(value):
    """A Python value as a GVariant."""
    if isinstance(value, GLib.Variant):
        return value
    for kind, code in ((bool, 'b'), (int, 'x'), (float, 'd'), (str, 's'), (bytes, 'ay')):
        if isinstance(value, kind):
            return GLib.Variant(code, value)
    if isinstance(value, dict):
        return GLib.Variant('a{sv}', {key: _variant(item) for key, item in value.items()})
    if isinstance(value, (list, tuple)):
        return GLib.Variant('av', [_variant(item) for item in value])
    raise TypeError(f'a {type(value).__name__} can not be saved: use numbers, strings, lists and dictionaries')


def _state_init(self, values=None, tensors=None):
    _object_init(self)
    for name, value in (values or {}).items():
        self[name] = value
    for name, value in (tensors or {}).items():
        self.get_tensors().set(name, value)


def _state_getitem(self, name):
    value = self.dup_value(name)
    value = value.unpack() if value is not None else self.get_tensors().lookup(name)
    if value is None:
        raise KeyError(name)
    return value


def _state_setitem(self, name, value):
    if isinstance(value, Tensor):
        self.get_tensors().set(name, value)
    else:
        self.set_value(name, _variant(value))


State.__init__ = _state_init
State.__getitem__ = _state_getitem
State.__setitem__ = _state_setitem
State.__contains__ = lambda self, name: (self.dup_value(name) is not None
                                         or self.get_tensors().lookup(name) is not None)

TensorDict.__len__ = lambda self: self.get_size()
TensorDict.__bool__ = lambda self: True
TensorDict.__iter__ = lambda self: iter(self.dup_names())
TensorDict.__contains__ = lambda self, name: self.lookup(name) is not None
TensorDict.__setitem__ = lambda self, name, value: self.set(name, value)
TensorDict.keys = lambda self: self.dup_names()
TensorDict.items = lambda self: [(name, self.lookup(name)) for name in self.dup_names()]


def _dict_getitem(self, name):
    found = self.lookup(name)
    if found is None:
        raise KeyError(name)
    return found


TensorDict.__getitem__ = _dict_getitem
