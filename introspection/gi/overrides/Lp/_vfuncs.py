"""Virtual functions in Python: what they raise and what of a wrong type they return becomes a GError.

PyGObject by itself prints both and goes on with nothing, which for many functions of the library is a valid result.
"""

import functools
import signal
import threading
import traceback
from typing import SupportsFloat, SupportsIndex

from gi._gi import ObjectInfo, Repository, VFuncInfo
from gi.repository import GLib, GObject

from ._base import *
from ._base import Lp

# What a function promises, where its type says it badly.
_PROMISES = {
    'training_step': 'the loss as an Lp.Tensor, or None to skip the batch',
    'configure_optimizers': 'an Lp.Optimizer, or an Lp.OptimizerConfig for several or for a schedule',
}


class _Raised(threading.local):
    """The exception of an override on its way through C, while a trainer runs on this thread."""
    n_runs = 0
    error = None
    message = ''
    n_async = 0  # runs that are on, whose end somebody waits for
    n_direct = 0  # calls of functions that have no GError
    direct = None

    def __init__(self):
        self.waiting = []  # exceptions of these runs, with their messages


_raised = _Raised()

# An interrupt of which no override has heard yet: Python raises it anywhere, also where PyGObject drops it.
_interrupts = []


def _is_interrupt(error):
    return error is not None and not isinstance(error, Exception)


def _remember(error, message):
    """Keep ERROR for the call that ran the trainer, or show it where there is none."""
    if _raised.n_runs == 0 and _raised.n_async > 0:
        earlier = _waiting_for(message)
        if not _is_interrupt(earlier):
            if error.__cause__ is None and earlier is not error:
                error.__cause__ = earlier
            _raised.waiting.append((error, message))
        return
    if _raised.n_runs == 0:
        if not isinstance(error, GLib.Error):
            traceback.print_exception(type(error), error, error.__traceback__)
        return
    if _is_interrupt(_raised.error) or (error.__cause__ is not None and error.__cause__ is _raised.error):
        return
    if error.__cause__ is None:
        error.__cause__ = _cause_of(message)
    _raised.error, _raised.message = error, message


def _waiting_for(message):
    """The exception of an asynchronous run that the GError with MESSAGE stands for."""
    return next((error for error, text in reversed(_raised.waiting) if text in message), None)


def _cause_of(message):
    """The exception that the GError with MESSAGE stands for."""
    return _raised.error if _raised.error is not None and _raised.message in message else None


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
            if _interrupts:
                raise _interrupts[0]
            result = function(*args, **kwargs)
        except GLib.Error as error:
            _remember(error, error.message)
            raise
        except BaseException as error:
            if _interrupts and error is _interrupts[0]:
                _interrupts.clear()
            raise _as_error(where, error) from error
        if isinstance(result, kind) or (result is None and nullable):
            return result
        raise new_error(Error.SUBCLASS, f'{where} returns {promise}; this gave {_with_article(type(result).__name__)}')

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

    return override


def _report(where, error):
    message = f'{where}: {"".join(traceback.format_exception_only(type(error), error)).strip()}'
    message = message.encode('utf-8', 'replace').decode()
    if _raised.n_direct == 0:
        _remember(error, message)
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
    former = handler, _raised.error, _raised.message
    _raised.error, _raised.message = None, ''
    _raised.n_runs += 1
    return former


def _end_run(former, failure):
    """The exception of the run, and whether it is the one that FAILURE stands for."""
    raised = _interrupts[0] if _interrupts else _raised.error
    is_cause = failure is not None and _cause_of(failure.message) is raised
    handler, _raised.error, _raised.message = former
    _raised.n_runs -= 1
    if handler is not None:
        _interrupts.clear()
        if signal.getsignal(signal.SIGINT) is _interrupt:
            signal.signal(signal.SIGINT, handler)
    return raised, is_cause


def runs(owner, name):
    """Let the method NAME of OWNER, which runs a trainer, raise what an override raised: as the cause of the GError,
    and KeyboardInterrupt and the like as they are."""
    original = getattr(owner, name)

    @functools.wraps(original)
    def wrapper(*args, **kwargs):
        failure = result = raised = None
        former = _begin_run()
        try:
            result = original(*args, **kwargs)
        except GLib.Error as error:
            failure = error
        finally:
            raised, is_cause = _end_run(former, failure)
        if _is_interrupt(raised):
            raise raised
        if raised is not None and not is_cause and not isinstance(raised, GLib.Error):
            traceback.print_exception(type(raised), raised, raised.__traceback__)
        if failure is not None:
            raise failure from (raised if is_cause else None)
        return result

    setattr(owner, name, wrapper)


def finishes(owner, name):
    """The same for the asynchronous form of the method NAME: its finish raises what an override raised."""
    start, finish = getattr(owner, f'{name}_async'), getattr(owner, f'{name}_finish')

    @functools.wraps(start)
    def starter(*args, **kwargs):
        # without a callback nobody finishes it
        _raised.n_async += any(callable(value) for value in (*args[1:], *kwargs.values()))
        return start(*args, **kwargs)

    @functools.wraps(finish)
    def finisher(*args, **kwargs):
        try:
            return finish(*args, **kwargs)
        except GLib.Error as failure:
            raised = _waiting_for(failure.message)
            if _is_interrupt(raised):
                raise raised from None
            raise failure from raised
        finally:
            _raised.n_async = max(0, _raised.n_async - 1)
            if _raised.n_async == 0:
                _raised.waiting.clear()

    setattr(owner, f'{name}_async', starter)
    setattr(owner, f'{name}_finish', finisher)


for _name in ('fit', 'validate', 'test', 'predict'):
    runs(Trainer, _name)
    finishes(Trainer, _name)
