"""Lp for Python: operators, numpy, constructors with keywords, scopes as context managers.

Classes are patched, not replaced, so objects that the library makes have all of this too.
"""

import atexit
import functools
import sys

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


# Tensors from and to Python

_NUMPY_TYPES = {'f64': '<f8', 'f32': '<f4', 'f16': '<f2', 'i64': '<i8', 'i32': '<i4', 'i16': '<i2', 'i8': '|i1',
                'u8': '|u1', 'bool': '|b1'}
_BUFFER_TYPES = {'d': 'f64', 'f': 'f32', 'e': 'f16', 'q': 'i64', 'l': 'i64', 'i': 'i32', 'h': 'i16', 'b': 'i8',
                 'B': 'u8', 'c': 'u8', '?': 'bool'}


@functools.lru_cache(maxsize=None)
def _capsules():
    """The C functions that read and make DLPack's capsules."""
    import ctypes

    api = ctypes.pythonapi
    pointer, capsule, name = ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p
    api.PyCapsule_GetPointer.restype, api.PyCapsule_GetPointer.argtypes = pointer, (capsule, name)
    api.PyCapsule_SetName.restype, api.PyCapsule_SetName.argtypes = ctypes.c_int, (capsule, name)
    api.PyCapsule_New.restype, api.PyCapsule_New.argtypes = capsule, (pointer, name, pointer)
    return api


def _from_dlpack(array):
    """A tensor on the memory of ARRAY, or None if that can't be shared."""
    try:
        capsule = array.__dlpack__()
    except (AttributeError, BufferError, RuntimeError, TypeError):
        return None
    api = _capsules()
    try:
        tensor = Tensor.new_from_dlpack(api.PyCapsule_GetPointer(capsule, b'dltensor'))
    except GLib.Error as error:
        if matches(error, Error.SHAPE):
            return None
        raise
    api.PyCapsule_SetName(capsule, b'used_dltensor')
    return tensor


def _from_buffer(data):
    """A tensor with a copy of an object's buffer, or None if there is none that fits."""
    try:
        view = memoryview(data)
    except (TypeError, ValueError):
        return None
    dtype = _BUFFER_TYPES.get(view.format.lstrip('<=@'))
    if dtype is None:
        raise TypeError(f'there is no dtype for elements of format {view.format!r}')
    return Tensor.new_from_bytes(GLib.Bytes.new(view.tobytes()), list(view.shape), dtype)


def _flatten(data, shape, depth, out):
    if depth == len(shape):
        out.append(data.item() if isinstance(data, Tensor) else data)
        return
    if not isinstance(data, (list, tuple, range)) or len(data) != shape[depth]:
        raise ValueError(f'the nested lists differ in length or depth: expected {shape[depth]} elements in axis {depth}')
    for item in data:
        _flatten(item, shape, depth + 1, out)


def _from_nested(data, dtype):
    shape, inner = [], data
    while isinstance(inner, (list, tuple, range)):
        shape.append(len(inner))
        if not inner:
            break
        inner = inner[0]
    values = []
    _flatten(data, shape, 0, values)
    if not all(hasattr(value, '__float__') for value in values):
        raise TypeError('a tensor is made of numbers, nested lists of numbers, or arrays')
    if values and all(isinstance(value, bool) for value in values):
        return Tensor.new_from_int64s(values, shape, dtype or DType.bool())
    if values and all(isinstance(value, int) for value in values):
        return Tensor.new_from_int64s(values, shape, dtype or DType.i64())
    return Tensor.new_from_doubles(values, shape, dtype)


@_export
def tensor(data, dtype=None, requires_grad=False, device=None):
    """A tensor of numbers, nested lists or an array; an array's memory is shared where that is possible."""
    dtype = _dtype(dtype)
    if isinstance(data, Tensor):
        result = data.detach()
    elif isinstance(data, (int, float, list, tuple, range)):
        result = _from_nested(data, dtype)
    else:
        result = _from_dlpack(data)
        if result is None and hasattr(data, '__array_interface__'):
            import numpy

            data = numpy.array(data, order='C')
            result = _from_dlpack(data)
        if result is None:
            result = _from_buffer(data)
        if result is None:
            result = _from_nested(data, dtype)
    if dtype is not None and result.get_dtype() is not dtype:
        result = result.to_dtype(dtype)
    if device is not None:
        result = result.to_device(Device.lookup(device) if isinstance(device, str) else device)
    if requires_grad:
        result.set_requires_grad(True)
    return result


def _array_interface(self):
    name = self.get_dtype().get_name()
    if name not in _NUMPY_TYPES:
        raise TypeError(f'numpy has no {name}: convert the tensor first, with to_dtype("f32")')
    itemsize = int(_NUMPY_TYPES[name][2:])
    axes = range(self.get_n_dims())
    return {'version': 3, 'typestr': _NUMPY_TYPES[name], 'shape': self.shape,
            'strides': tuple(self.get_stride(axis) * itemsize for axis in axes),
            'data': (self.get_address(), self.get_read_only() or self.get_requires_grad())}


def _numpy(self):
    """A numpy array on the tensor's memory, which it keeps alive.

    It is read-only if the tensor is, or needs gradients: those change through assign() and optimizers. After writing
    to the array of another tensor that was used in computations, call mark_changed().
    """
    import numpy

    _array_interface(self)
    return numpy.asarray(self)


@functools.lru_cache(maxsize=None)
def _capsule_destructor():
    """What frees a capsule that nobody took."""
    import ctypes

    api = ctypes.PyDLL(None)
    pointer = ctypes.c_void_p
    api.PyCapsule_IsValid.argtypes = (pointer, ctypes.c_char_p)
    api.PyCapsule_GetPointer.restype, api.PyCapsule_GetPointer.argtypes = pointer, (pointer, ctypes.c_char_p)
    deleter_type = ctypes.CFUNCTYPE(None, pointer)

    @ctypes.PYFUNCTYPE(None, pointer)
    def destroy(capsule):
        if api.PyCapsule_IsValid(capsule, b'dltensor'):
            managed = api.PyCapsule_GetPointer(capsule, b'dltensor')
            # data, device, n_dims, dtype, dims, strides, byte_offset, context: 64 bytes, then the deleter
            deleter_type(pointer.from_address(managed + 56).value)(managed)

    return destroy, ctypes.cast(destroy, pointer)


def _dlpack(self, stream=None, **unused):
    """The tensor as a DLPack capsule, without copying."""
    return _capsules().PyCapsule_New(self.to_dlpack(), b'dltensor', _capsule_destructor()[1])


def _tolist(self):
    """The values as nested lists."""
    values = self.dup_doubles() if self.get_dtype().is_floating() else self.dup_int64s()
    if self.get_dtype().get_name() == 'bool':
        values = [bool(value) for value in values]
    for extent in reversed(self.shape[1:]):
        values = [values[i:i + extent] for i in range(0, len(values), extent)] if extent else [[]] * len(values)
    return values if self.get_n_dims() else values[0]


def _item(self):
    """The only element, as a Python number."""
    dtype = self.get_dtype()
    if dtype.is_floating() or self.get_n_elements() != 1:
        return self.get_item()
    value = self.dup_int64s()[0]
    return bool(value) if dtype.get_name() == 'bool' else value


def _truth(self):
    if self.get_n_elements() != 1:
        raise ValueError(f'a tensor of shape {list(self.shape)} is neither true nor false')
    return bool(self.item())


Tensor.__array_interface__ = property(_array_interface)
Tensor.__array_priority__ = 1000
Tensor.__dlpack__ = _dlpack
Tensor.__dlpack_device__ = lambda self: (1, 0)
Tensor.numpy = _numpy
Tensor.tolist = _tolist
Tensor.item = _item
Tensor.__float__ = lambda self: float(self.get_item())
Tensor.__int__ = lambda self: int(self.item())
Tensor.__bool__ = _truth
Tensor.__repr__ = Tensor.__str__ = lambda self: self.to_string()

Tensor.shape = property(lambda self: tuple(self.get_dim(axis) for axis in range(self.get_n_dims())))
Tensor.ndim = property(lambda self: self.get_n_dims())
Tensor.dtype = property(lambda self: self.get_dtype())
Tensor.device = property(lambda self: self.get_device())
Tensor.nbytes = property(lambda self: self.get_n_bytes())
Tensor.grad = property(lambda self: self.dup_grad(), lambda self, value: self.set_grad(value))
Tensor.requires_grad = property(lambda self: self.get_requires_grad(),
                                lambda self, value: self.set_requires_grad(value))
Tensor.T = property(lambda self: self.transpose(-2, -1))


# Operators

def _operand(value, like):
    """VALUE as a tensor for an operation with LIKE; NotImplemented if it is none."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, (int, float)):
        dtype = like.get_dtype()
        if not dtype.is_native() or (isinstance(value, float) and not dtype.is_floating()):
            dtype = None
        return Tensor.scalar(value, dtype)
    if hasattr(value, '__array_interface__') or hasattr(value, '__dlpack__'):
        return tensor(value)
    return NotImplemented


def _binary(name, reflected=False):
    method = getattr(Tensor, name)

    def operator(self, other):
        other = _operand(other, self)
        if other is NotImplemented:
            return other
        return method(other, self) if reflected else method(self, other)

    return operator


def _scalar_first(name, shortcut, convert=float):
    """An operator that has a faster form for a floating tensor and a number."""
    general = _binary(name)
    fast = getattr(Tensor, shortcut)

    def operator(self, other):
        if isinstance(other, (int, float)) and self.get_dtype().is_floating():
            return fast(self, convert(other))
        return general(self, other)

    return operator


def _power(self, exponent):
    return self.pow(exponent) if isinstance(exponent, (int, float)) else NotImplemented


Tensor.__add__ = Tensor.__radd__ = _scalar_first('add', 'offset')
Tensor.__sub__ = _scalar_first('sub', 'offset', lambda value: -float(value))
Tensor.__rsub__ = _binary('sub', reflected=True)
Tensor.__mul__ = Tensor.__rmul__ = _scalar_first('mul', 'scale')
Tensor.__truediv__ = _binary('div')
Tensor.__rtruediv__ = _binary('div', reflected=True)
Tensor.__matmul__ = _binary('matmul')
Tensor.__rmatmul__ = _binary('matmul', reflected=True)
Tensor.__pow__ = _power
Tensor.__neg__ = lambda self: self.neg()
Tensor.__abs__ = lambda self: self.abs()
Tensor.__eq__ = _binary('equal')
Tensor.__ne__ = _binary('not_equal')
Tensor.__lt__ = _binary('less')
Tensor.__le__ = _binary('less_equal')
Tensor.__gt__ = _binary('greater')
Tensor.__ge__ = _binary('greater_equal')
Tensor.__hash__ = GObject.Object.__hash__


# Indexing

def _expand_index(index, n_dims):
    """INDEX as a tuple without an ellipsis."""
    items = index if isinstance(index, tuple) else (index,)
    used = sum(item is not None and item is not Ellipsis for item in items)
    if used > n_dims or sum(item is Ellipsis for item in items) > 1:
        raise IndexError(f'{len(items)} indices are too many for a tensor of {n_dims} dimensions')
    for i, item in enumerate(items):
        if item is Ellipsis:
            return (*items[:i], *[slice(None)] * (n_dims - used), *items[i + 1:])
    return items


def _select(self, axis, index):
    extent = self.get_dim(axis)
    if not -extent <= index < extent:
        raise IndexError(f'index {index} is out of range for axis {axis} of {extent} elements')
    return self.select(axis, index % extent)


def _slice(self, axis, item):
    extent = self.get_dim(axis)
    start, stop, step = item.indices(extent)
    if step != 1:
        raise ValueError('slices of a tensor have the step 1; index_select takes any others')
    return self if (start, stop) == (0, extent) else self.narrow(axis, start, max(stop - start, 0))


def _pick(self, axis, item):
    item = item if isinstance(item, Tensor) else tensor(item)
    if item.get_dtype().get_name() == 'bool':
        if item.shape != (self.get_dim(axis),):
            raise IndexError(f'a mask of shape {list(item.shape)} does not fit axis {axis} of {self.get_dim(axis)} elements')
        item = tensor([i for i, chosen in enumerate(item.tolist()) if chosen], 'i64')
    return self.index_select(axis, item)


def _getitem(self, index):
    result, axis = self, 0
    for item in _expand_index(index, self.get_n_dims()):
        if item is None:
            result = result.unsqueeze(axis)
        elif isinstance(item, slice):
            result = _slice(result, axis, item)
        elif isinstance(item, int) and not isinstance(item, bool):
            result = _select(result, axis, item)
            continue
        elif isinstance(item, (Tensor, list)) or hasattr(item, '__array_interface__'):
            result = _pick(result, axis, item)
        else:
            raise TypeError(f'a tensor can not be indexed by {type(item).__name__}')
        axis += 1
    return result


def _setitem(self, index, value):
    """Write through a view; not recorded by autograd."""
    if any(not isinstance(item, (int, slice, type(None), type(Ellipsis)))
           for item in (index if isinstance(index, tuple) else (index,))):
        raise TypeError('elements are assigned by integers and slices')
    view = self[index]
    if isinstance(value, (int, float)):
        view.fill(value)
    else:
        value = tensor(value, view.get_dtype())
        view.assign(value if value.shape == view.shape else value.expand(list(view.shape)))


def _length(self):
    if self.get_n_dims() == 0:
        raise TypeError('a tensor without dimensions has no length')
    return self.get_dim(0)


Tensor.__getitem__ = _getitem
Tensor.__setitem__ = _setitem
Tensor.__len__ = _length
Tensor.__iter__ = lambda self: (self.select(0, i) for i in range(len(self)))


# Methods with defaults

def _choice(enum, value):
    """A member of ENUM by its name."""
    if not isinstance(value, str):
        return value
    member = getattr(enum, value.upper().replace('-', '_'), None)
    if member is None:
        raise ValueError(f'{value!r} is no {enum.__name__}')
    return member


def _give_defaults(owner, name, **defaults):
    """Let trailing arguments of a method be left out, and enums be strings."""
    original = getattr(owner, name)
    enums = {key: type(value) for key, value in defaults.items() if isinstance(value, GObject.GEnum)}

    @functools.wraps(original)
    def wrapper(self, *args, **kwargs):
        for position, (key, value) in enumerate(defaults.items()):
            if position >= len(args):
                kwargs.setdefault(key, value)
        for key, enum in enums.items():
            if key in kwargs:
                kwargs[key] = _choice(enum, kwargs[key])
        return original(self, *args, **kwargs)

    setattr(owner, name, wrapper)


def _reduction(name):
    original = getattr(Tensor, name)

    @functools.wraps(original)
    def wrapper(self, axes=None, keep_dims=False):
        return original(self, [axes] if isinstance(axes, int) else axes, keep_dims)

    setattr(Tensor, name, wrapper)


def _spread(name):
    """Let x.reshape(2, 3) be x.reshape([2, 3])."""
    original = getattr(Tensor, name)

    @functools.wraps(original)
    def wrapper(self, *args):
        return original(self, args[0] if len(args) == 1 and not isinstance(args[0], int) else args)

    setattr(Tensor, name, wrapper)


def _loss(name):
    original = getattr(Tensor, name)

    @functools.wraps(original)
    def wrapper(self, target, reduction=Reduction.MEAN):
        return original(self, target, _choice(Reduction, reduction))

    setattr(Tensor, name, wrapper)


for _name in ('sum', 'mean', 'max', 'min'):
    _reduction(_name)
for _name in ('reshape', 'expand', 'permute'):
    _spread(_name)
for _name in ('mse_loss', 'l1_loss', 'bce_with_logits'):
    _loss(_name)
for _name in ('softmax', 'log_softmax', 'argmax'):
    _give_defaults(Tensor, _name, axis=-1)
_give_defaults(Tensor, 'gelu', approximate=False)
_give_defaults(Tensor, 'conv2d', weight=None, bias=None, stride=1, padding=0, dilation=1, groups=1)
_give_defaults(Tensor, 'max_pool2d', kernel=2, stride=2, padding=0)
_give_defaults(Tensor, 'avg_pool2d', kernel=2, stride=2, padding=0)


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


def _plugin_subclass(cls, **kwargs):
    if '__init__' in cls.__dict__:
        cls.__init__ = _init_at_the_end(cls.__init__)


def _request(precision, properties):
    """Turn `precision` into the property that it is: a name or a plugin."""
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


PrecisionPlugin.__init__ = _plugin_init
PrecisionPlugin.__init_subclass__ = classmethod(_plugin_subclass)
Trainer.__init__ = _trainer_init
Fabric.__init__ = _fabric_init
GradScaler.__init__ = _scaler_init
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
    else:
        entry = RegistryEntry.new_factory(name, description, lambda *args: maker(*args[:2]))
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
