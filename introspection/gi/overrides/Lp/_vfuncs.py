"""Virtual functions in Python: what they raise and what of a wrong type they return becomes a GError.

PyGObject by itself prints both and goes on with nothing, which for many functions of the library is a valid result.
"""

import functools
import signal
import sys
import threading
import traceback
from typing import SupportsFloat, SupportsIndex

from gi._gi import FunctionInfo, ObjectInfo, Repository, VFuncInfo
from gi.repository import Gio, GLib, GObject

from ._base import *
from ._base import Lp

# What a function promises, where its type says it badly.
_PROMISES = {
    'training_step': 'the loss as an Lp.Tensor, or None to skip the batch',
    'configure_optimizers': 'an Lp.Optimizer, or an Lp.OptimizerConfig for several or for a schedule',
}


# Exceptions kept at once: more are of calls that went on in spite of them.
_MAX_PENDING = 16


class _Raised(threading.local):
    """Exceptions of overrides on their way through C, on this thread."""
    n_async = 0  # runs that are on, whose end somebody waits for
    n_direct = 0  # calls of functions that have no GError
    direct = None

    def __init__(self):
        self.pending = []  # with the message of the GError that stands for each


_raised = _Raised()

# An interrupt of which no override has heard yet: Python raises it anywhere, also where PyGObject drops it.
_interrupts = []

# The code of what turns exceptions into GErrors, and of what waits for those.
_guards, _waiting = set(), set()
_heard = None


def _is_interrupt(error):
    return error is not None and not isinstance(error, Exception)


def _somebody_waits():
    """Whether a call of the library from Python led here, or somebody finishes it later."""
    frame = sys._getframe(2)
    while frame is not None and frame.f_code not in _waiting:
        frame = frame.f_back
    return frame is not None or _raised.n_async > 0


def _remember(error, message, later=False):
    """Keep ERROR for the call that led here, or show it where there is none; LATER: the next call that can fail will."""
    waits = _somebody_waits()
    if waits or later:
        _raised.pending = [*_raised.pending[-_MAX_PENDING:], (error, message)]
    if not waits and not isinstance(error, GLib.Error):
        traceback.print_exception(type(error), error, error.__traceback__)


def _dropped():
    """An exception that came before or after what a guard can catch, so that PyGObject showed it and dropped it."""
    global _heard
    error = getattr(sys, 'last_value', None)
    if error is None or error is _heard or isinstance(error, GLib.Error):
        return None
    trace = error.__traceback__
    # too deep a recursion ends before there is a frame
    if trace.tb_frame.f_code not in _guards if trace is not None else not isinstance(error, RecursionError):
        return None
    _heard = error
    return error


def _cause_of(failure):
    """The exception of an override that the GError FAILURE stands for."""
    known = getattr(failure, 'raised', None)
    if known is not None:
        return known
    for entry in reversed(_raised.pending):
        if entry[1] in failure.message:
            _raised.pending.remove(entry)
            return entry[0]
    return _dropped()


def _as_error(where, error):
    """The GError that stands for the exception ERROR."""
    text = ''.join(traceback.format_exception_only(type(error), error)).strip()
    message = f'{where}: {text}'.encode('utf-8', 'replace').decode()
    _remember(error, message)
    return new_error(Error.SUBCLASS, message)


def _with_article(name):
    return f'{"an" if name[0] in "aeiouAEIOU" else "a"} {name}'


def guard(function, where, kind=object, promise='', nullable=True):
    """FUNCTION, of which C hears what it raises, and what it returns that is no KIND, nor None if NULLABLE."""
    @functools.wraps(function)
    def override(*args, **kwargs):
        try:
            lost = _interrupts[0] if _interrupts else _dropped()
            if lost is not None:
                raise lost
            result = function(*args, **kwargs)
            if isinstance(result, kind) or (result is None and nullable):
                return result
        except GLib.Error as error:
            raised = _cause_of(error)
            _remember(raised if raised is not None else error, error.message)
            raise
        except BaseException as error:
            if _interrupts and error is _interrupts[0]:
                _interrupts.clear()
            raise _as_error(where, error) from error
        raise new_error(Error.SUBCLASS, f'{where} returns {promise}; this gave {_with_article(type(result).__name__)}')

    _guards.add(override.__code__)
    return override


# What C gets, and what a function gives, by the type of its result, where C can't be told of an error.
_PLAIN = {
    'utf8': ('', (str, type(None)), 'a string or None'),
    'array': ([], (list, tuple, type(None)), 'a list or None'),
    'gdouble': (0.0, SupportsFloat, 'a number'),
    'gboolean': (False, object, ''),
    'void': (None, object, ''),
}
_WHOLE = (0, SupportsIndex, 'a whole number')


def guard_plain(function, where, tag):
    """FUNCTION, whose exceptions and results of a wrong type end what goes on in C, though it has no GError to say so with."""
    nothing, kind, promise = _PLAIN.get(tag, _WHOLE)

    @functools.wraps(function)
    def override(*args, **kwargs):
        try:
            result = function(*args, **kwargs)
            if isinstance(result, kind):
                return result
            raise TypeError(f'{where} returns {promise}; this gave {_with_article(type(result).__name__)}')
        except BaseException as error:
            _report(where, error)
        return nothing

    _guards.add(override.__code__)
    return override


def _report(where, error):
    message = f'{where}: {"".join(traceback.format_exception_only(type(error), error)).strip()}'
    message = message.encode('utf-8', 'replace').decode()
    if _raised.n_direct == 0:
        _remember(error, message, later=True)
    elif _raised.direct is None:
        _raised.direct = error
    Lp.report_exception(message)


def _raises(owner, name):
    """Let the method NAME of OWNER, which has no GError, raise what its override raised."""
    original = getattr(owner, name)

    @functools.wraps(original)
    def wrapper(*args, **kwargs):
        _raised.n_direct += 1
        try:
            result = original(*args, **kwargs)
        finally:
            _raised.n_direct -= 1
            error = _raised.direct if _raised.n_direct == 0 else None
        if error is None:
            return result
        _raised.direct = None
        try:
            Lp.check_exceptions()
        except GLib.Error:
            pass
        raise error

    setattr(owner, name, wrapper)


def _result(info):
    """The type that a virtual function returns, how to say so, and whether None gets as far as C, which judges it."""
    tag = info.get_return_type().get_tag_as_string()
    interface = info.get_return_type().get_interface()
    if info.get_name() == 'configure_optimizers':
        return (Optimizer, OptimizerConfig), _PROMISES['configure_optimizers'], True
    if tag == 'array':
        return (list, tuple), 'a list', True
    if tag == 'gdouble':
        return SupportsFloat, 'a number', False
    if interface is None or interface.get_namespace() not in ('Lp', 'GLib'):
        return object, '', True

    namespace, article = (Lp, 'an Lp') if interface.get_namespace() == 'Lp' else (GLib, 'a GLib')
    found, name = getattr(namespace, interface.get_name()), f'{article}.{interface.get_name()}'
    promise = _PROMISES.get(info.get_name(), name + (' or None' if info.may_return_null() else ''))
    return found, promise, not issubclass(found, GObject.GEnum)


def _find(cls, name):
    for base in cls.__mro__:
        found = base.__dict__.get(name)
        if isinstance(found, VFuncInfo):
            return found
    return None


def guard_overrides(cls):
    """Guard what CLS overrides of the virtual functions that can fail, before PyGObject puts it in their place."""
    if '__info__' in cls.__dict__:
        return
    for name, function in list(cls.__dict__.items()):
        info = _find(cls, name) if name.startswith('do_') and callable(function) else None
        if info is None:
            continue
        where = f'{cls.__name__}.{info.get_name()}'
        if info.can_throw_gerror():
            setattr(cls, name, guard(function, where, *_result(info)))
        else:
            setattr(cls, name, guard_plain(function, where, info.get_return_type().get_tag_as_string()))


def _guard_subclasses(root):
    def __init_subclass__(cls, **kwargs):
        super(root, cls).__init_subclass__(**kwargs)
        guard_overrides(cls)

    root.__init_subclass__ = classmethod(__init_subclass__)


for _info in Repository.get_default().get_infos('Lp'):
    if isinstance(_info, ObjectInfo) and _info.get_parent().get_namespace() != 'Lp' and _info.get_vfuncs():
        _guard_subclasses(getattr(Lp, _info.get_name()))
        for _vfunc in _info.get_vfuncs():
            if not _vfunc.can_throw_gerror() and _vfunc.get_name() in getattr(Lp, _info.get_name()).__dict__:
                _raises(getattr(Lp, _info.get_name()), _vfunc.get_name())


def _interrupt(number, frame):
    """Python's handler of SIGINT, which leaves a note."""
    _interrupts[:] = [KeyboardInterrupt()]
    raise _interrupts[0]


def _begin_run():
    """Expect exceptions of a run; what is to be given back at its end."""
    handler = None
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        handler = signal.signal(signal.SIGINT, _interrupt)
    former = handler, _raised.pending
    _raised.pending = []
    return former


def _end_run(former, failure):
    """The interrupt of the run, the exception that FAILURE stands for, and others that nobody has heard of."""
    cause = _cause_of(failure) if failure is not None else None
    others = [error for error, _ in _raised.pending]
    interrupt = next((error for error in (*_interrupts, cause, *others) if _is_interrupt(error)), None)
    handler, _raised.pending = former
    if handler is not None:
        _interrupts.clear()
        if signal.getsignal(signal.SIGINT) is _interrupt:
            signal.signal(signal.SIGINT, handler)
    return interrupt, cause, others


def runs(owner, name):
    """Let the method NAME of OWNER, which runs a trainer, raise what an override raised: as the cause of the GError,
    and KeyboardInterrupt and the like as they are."""
    original = getattr(owner, name)

    @functools.wraps(original)
    def wrapper(*args, **kwargs):
        failure = result = interrupt = cause = None
        former, others = _begin_run(), []
        try:
            result = original(*args, **kwargs)
        except GLib.Error as error:
            failure = error
        finally:
            interrupt, cause, others = _end_run(former, failure)
        if interrupt is not None:
            raise interrupt
        _show(others)
        if failure is not None:
            _raise(failure, cause)
        return result

    _waiting.add(wrapper.__code__)
    setattr(owner, name, wrapper)


def finishes(owner, name):
    """The same for the asynchronous form of the method NAME: its finish raises what an override raised."""
    start, finish = getattr(owner, f'{name}_async'), getattr(owner, f'{name}_finish')

    @functools.wraps(start)
    def starter(*args, **kwargs):
        # without a callback nobody finishes it; a model can be called, too
        _raised.n_async += any(callable(value) and not isinstance(value, GObject.Object) for value in (*args, *kwargs.values()))
        return start(*args, **kwargs)

    @functools.wraps(finish)
    def finisher(*args, **kwargs):
        try:
            return finish(*args, **kwargs)
        except GLib.Error as failure:
            _raise(failure, _cause_of(failure))
        finally:
            _raised.n_async = max(0, _raised.n_async - 1)
            if _raised.n_async == 0:
                _raised.pending = []

    setattr(owner, f'{name}_async', starter)
    setattr(owner, f'{name}_finish', finisher)


def _raise(failure, cause):
    """Raise FAILURE with the exception that it stands for, or that alone if it is to end the program."""
    if _is_interrupt(cause):
        raise cause from None
    if cause is not None:
        failure.raised = cause
    raise failure from cause


def _hears(original):
    """ORIGINAL, a function of the library that may lead to an override, which raises what that raised."""
    @functools.wraps(original, ('__name__', '__module__'), ())
    def wrapper(*args, **kwargs):
        try:
            return original(*args, **kwargs)
        except GLib.Error as failure:
            _raise(failure, _cause_of(failure))

    _waiting.add(wrapper.__code__)
    return wrapper


def _sweeps(original):
    """The same, which also tells of what was raised and yet did not make ORIGINAL fail."""
    @functools.wraps(original, ('__name__', '__module__'), ())
    def wrapper(*args, **kwargs):
        try:
            result = original(*args, **kwargs)
        except GLib.Error as failure:
            _raise(failure, _cause_of(failure))
        if _raised.pending and not _somebody_waits():
            _tell_pending()
        return result

    _waiting.add(wrapper.__code__)
    return wrapper


def _tell_pending():
    others, _raised.pending = [error for error, _ in _raised.pending], []
    _show(others)
    interrupt = next((error for error in others if _is_interrupt(error)), None)
    if interrupt is not None:
        raise interrupt


def _show(errors):
    for error in errors:
        if not isinstance(error, GLib.Error) and not _is_interrupt(error):
            traceback.print_exception(type(error), error, error.__traceback__)


def _hear(owner, info):
    name = info.get_name()
    # operations on tensors are many and short
    hears = _hears if owner is Tensor else _sweeps
    heard = hears(getattr(owner, name))
    setattr(owner, name, heard if info.is_method() else staticmethod(heard))


_RUNS = ('fit', 'validate', 'test', 'predict')
_NOT_HEARD = {'check_exceptions', *(f'{_name}_finish' for _name in _RUNS)}

for _info in Repository.get_default().get_infos('Lp'):
    if isinstance(_info, FunctionInfo):
        if _info.can_throw_gerror() and _info.get_name() not in _NOT_HEARD:
            setattr(Lp, _info.get_name(), _sweeps(getattr(Lp, _info.get_name())))
    if not hasattr(_info, 'get_methods'):
        continue
    _owner = getattr(Lp, _info.get_name())
    for _method in _info.get_methods():
        if _method.can_throw_gerror() and not (_owner is Trainer and _method.get_name() in (*_RUNS, *_NOT_HEARD)):
            _hear(_owner, _method)
    if isinstance(_info, ObjectInfo) and issubclass(_owner, Gio.Initable):
        _owner.init = _sweeps(Gio.Initable.init)

for _name in _RUNS:
    runs(Trainer, _name)
    finishes(Trainer, _name)
