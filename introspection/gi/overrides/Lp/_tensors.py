"""Tensors: from and to Python, operators, indexing, methods with defaults."""

import functools
import sys

from gi.repository import GLib, GObject

from ._base import *
from ._base import Lp, _dtype, _export



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
Tensor.__round__ = lambda self, digits=0: self.scale(10.0 ** digits).round().scale(10.0 ** -digits) if digits else self.round()
Tensor.__floor__ = lambda self: self.floor()
Tensor.__ceil__ = lambda self: self.ceil()
Tensor.__trunc__ = lambda self: self.trunc()
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
