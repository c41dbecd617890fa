"""What overrides raise comes out of every call that led there, not of runs alone."""

import contextlib
import io
import os
import signal
import sys
import tempfile

from gi.repository import GLib, Lp

from contract_util import Net, QUIET, a_loader, expect_error, fit, subclass


def raising(error):
    def override(self, *args):
        raise error

    return override


def _comes_out(call, override):
    """Whatever OVERRIDE raises comes out of CALL: what ends programs as it is, others as the cause of a GError."""
    for error in (KeyboardInterrupt(), SystemExit(3), ValueError('of an override')):
        with contextlib.redirect_stderr(io.StringIO()) as shown:
            try:
                call(override(error))
            except GLib.Error as heard:
                assert isinstance(error, ValueError) and heard.__cause__ is error, repr((error, heard.__cause__))
                assert 'ValueError: of an override' in heard.message, heard.message
            except (KeyboardInterrupt, SystemExit) as heard:
                assert heard is error
            else:
                raise AssertionError(f'{error!r} is lost')
        assert not shown.getvalue(), shown.getvalue()
    assert Lp.check_exceptions()


def _plugin(name):
    return lambda error: subclass(Lp.PrecisionPlugin, **{f'do_{name}': raising(error)})(precision='calls')


def a_fabric():
    """A loop of one's own, from the first call to the last."""
    def loop(plugin):
        model = Net()
        optimizer = model.do_configure_optimizers()
        fabric = Lp.Fabric(precision=plugin)
        fabric.setup(model, optimizer)
        loss = fabric.forward(model.layers, Lp.Tensor.ones([2, 4])).sum()
        fabric.backward(loss)
        fabric.clip_gradients(optimizer, 1.0, Lp.ClipAlgorithm.NORM)
        fabric.optimizer_step(optimizer)

    loop(subclass(Lp.PrecisionPlugin)(precision='calls'))
    for name in ('validate', 'convert_module', 'convert_optimizer', 'get_cast_policy', 'convert_input', 'convert_output',
                 'quantize_operand', 'matmul', 'scale_loss', 'backward', 'optimizer_step', 'end_step'):
        _comes_out(loop, lambda error, name=name: _plugin(name)(error))


def checkpoints():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'state')
        saved = fit(Net())
        for name in ('save_state', 'dup_traits', 'dup_state_id'):
            _comes_out(lambda plugin: fit(Net(), precision=plugin).save_checkpoint(path), _plugin(name))
        assert saved.save_checkpoint(path)


def _kept(folder):
    path = os.path.join(folder, 'kept')
    kept = subclass(Lp.PrecisionPlugin, do_save_state=lambda self: Lp.State({'a': 1}), do_dup_state_id=lambda self: 'calls.kept')
    fit(Net(), precision=kept(precision='calls')).save_checkpoint(path)
    return path


def resuming():
    """Functions without a GError, too, are heard before what they gave is used."""
    with tempfile.TemporaryDirectory() as folder:
        path = _kept(folder)
        known = dict(do_load_state=lambda self, state: True, do_dup_state_id=lambda self: 'calls.kept')
        resume = lambda plugin: Lp.Trainer(precision=plugin, max_steps=5, **QUIET).fit(Net(), a_loader(), None, path)  # noqa: E731
        resume(subclass(Lp.PrecisionPlugin, **known)(precision='calls'))
        for name in ('get_state_version', 'dup_state_aliases', 'dup_state_id', 'load_state'):
            _comes_out(resume, lambda error, name=name: subclass(
                Lp.PrecisionPlugin, **{**known, f'do_{name}': raising(error)})(precision='calls'))
        callback = lambda error: subclass(Lp.Callback, do_dup_state_key=raising(error))()  # noqa: E731
        _comes_out(lambda chosen: Lp.Trainer(callbacks=chosen, max_steps=5, **QUIET).fit(Net(), a_loader(), None, path), callback)


def construction():
    for name in ('validate', 'validate_state'):
        _comes_out(lambda error, name=name: _plugin(name)(error), lambda error: error)

    def make(error):
        Lp.register_precision('py-calls', lambda name, config: raising(error)(None))
        try:
            Lp.Trainer(precision='py-calls')
        finally:
            Lp.unregister_precision('py-calls')

    _comes_out(make, lambda error: error)


def operations():
    """Operations on tensors, layers and data, outside of any trainer."""
    def product(plugin):
        with plugin.scope():
            return Lp.Tensor.ones([2, 2]) @ Lp.Tensor.ones([2, 2])

    _comes_out(product, _plugin('matmul'))
    _comes_out(lambda layer: Lp.Sequential(layer)(Lp.Tensor.ones([1])), lambda error: subclass(Lp.Module, do_forward=raising(error))())
    _comes_out(lambda data: list(Lp.DataLoader(data, 1, False)), lambda error: subclass(
        Lp.Dataset, do_get_length=lambda self: 2, do_get_item=raising(error))())


def real_interrupts():
    """Ctrl-C in an override, and where Python raises it before the override is entered."""
    layers, handler = Net().layers, signal.signal(signal.SIGINT, signal.default_int_handler)
    interrupted = subclass(Lp.PrecisionPlugin, do_quantize_operand=lambda self, operand: signal.raise_signal(signal.SIGINT))
    early = subclass(Lp.PrecisionPlugin, do_quantize_operand=lambda self, operand: operand.get_tensor())
    entered = []

    def trace(frame, event, argument):
        if frame.f_code is early.do_quantize_operand.__code__ and not entered:
            sys.settrace(None)
            entered.append(True)
            signal.raise_signal(signal.SIGINT)

    for cls, tracing in ((interrupted, None), (early, trace)):
        fabric = Lp.Fabric(precision=cls(precision='calls'))
        fabric.setup(layers)
        sys.settrace(tracing)
        try:
            with contextlib.redirect_stderr(io.StringIO()):
                fabric.forward(layers, Lp.Tensor.ones([2, 4]))
        except KeyboardInterrupt:
            pass
        else:
            raise AssertionError('the interrupt is lost')
        finally:
            sys.settrace(None)
    assert entered
    fabric.forward(layers, Lp.Tensor.ones([2, 4]))
    signal.signal(signal.SIGINT, handler)


def recursion():
    """One that is too deep is the cause; a quantizer's own products are plain ones, and so no recursion."""
    endless = subclass(Lp.Module, do_forward=lambda self, x: self.forward(x))()
    with contextlib.redirect_stderr(io.StringIO()):
        try:
            endless.forward(Lp.Tensor.ones([1]))
        except GLib.Error as error:
            assert isinstance(error.__cause__, RecursionError), repr(error.__cause__)
        except RecursionError:
            pass
        else:
            raise AssertionError('there was an end')
    layer, asked = Lp.Linear(4, 4), []

    def quantize(self, operand):
        asked.append(operand.get_site())
        layer(Lp.Tensor.ones([1, 4])) @ Lp.Tensor.ones([4, 1])
        return operand.get_tensor()

    fit(Net(), precision=subclass(Lp.PrecisionPlugin, do_quantize_operand=quantize)(precision='calls'), max_steps=1)
    assert len(asked) == 10 and all(asked), asked


def caught():
    """An override that goes on after what its parent's function raised: it is shown, or ends the call if it is to end the program."""
    def matmul(self, product):
        with contextlib.suppress(GLib.Error):
            Lp.PrecisionPlugin.do_matmul(self, product)
        return product.compute(product.get_left().get_tensor(), product.get_right().get_tensor())

    for error in (KeyboardInterrupt(), ValueError('caught')):
        plugin = subclass(Lp.PrecisionPlugin, do_quantize_operand=raising(error), do_matmul=matmul)(precision='calls')
        layers, fabric = Net().layers, Lp.Fabric(precision=plugin)
        fabric.setup(layers)
        with contextlib.redirect_stderr(io.StringIO()) as shown:
            try:
                fabric.forward(layers, Lp.Tensor.ones([2, 4]))
            except KeyboardInterrupt as heard:
                assert heard is error
            else:
                assert isinstance(error, ValueError)
        assert shown.getvalue().count('ValueError: caught') == 2 * isinstance(error, ValueError), shown.getvalue()
