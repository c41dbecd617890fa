"""Runs from Python: exceptions that have no GError to travel with, interrupts of asynchronous runs, scopes, steps that are skipped."""

import contextlib
import io
import math
import os
import tempfile

from gi.repository import GLib, Lp

from contract_util import Net, QUIET, a_loader, expect_error, fit, subclass


def raising(error):
    def override(self, *args):
        raise error

    return override


def _quiet(function, *args):
    with contextlib.redirect_stderr(io.StringIO()):
        return function(*args)


def plain_exceptions():
    """No exception is lost: the run ends with it, and a direct call raises it as it is."""
    error = ValueError('of a plain one')
    recipe = subclass(Lp.Fp8Recipe, do_compute_scale=raising(error))()
    for name, base in (('get_interval', Lp.Fp8Recipe), ('dup_log_dir', Lp.Logger), ('get_length', Lp.Dataset),
                       ('dup_state_id', Lp.MixedPrecisionPlugin), ('dup_state_aliases', Lp.MixedPrecisionPlugin),
                       ('get_state_version', Lp.MixedPrecisionPlugin), ('reset', Lp.Metric), ('scales_gradients', Lp.Optimizer),
                       ('dup_state_key', Lp.Callback)):
        broken = subclass(base, **{f'do_{name}': raising(error)})()
        try:
            getattr(broken, name)()
        except ValueError as raised:
            assert raised is error
        else:
            raise AssertionError(f'{name} raised nothing')
        assert Lp.check_exceptions()
    dataset = subclass(Lp.Dataset, do_get_length=raising(error))()
    heard = expect_error(Lp.Error.SUBCLASS, fit, Net(), Lp.DataLoader(dataset, 2, False), mentions='get_length: ValueError: of a plain')
    assert heard.__cause__ is error
    broken = subclass(Lp.Callback, do_is_checkpoint=raising(error))()
    heard = expect_error(Lp.Error.SUBCLASS, lambda: fit(Net(), callbacks=broken), mentions='is_checkpoint: ValueError')
    assert heard.__cause__ is error
    layers = Lp.Sequential(Lp.Linear(16, 16))
    fabric = Lp.Fabric(precision=Lp.Fp8PrecisionPlugin(recipe=recipe))
    fabric.setup(layers)
    _quiet(expect_error, Lp.Error.SUBCLASS, fabric.forward, layers, Lp.Tensor.normal([8, 16], 0, 1))
    with tempfile.TemporaryDirectory() as folder:
        plugin = subclass(Lp.MixedPrecisionPlugin, do_dup_state_id=raising(error))(precision='16-mixed')
        trainer = fit(Net(), precision=plugin)
        path = os.path.join(folder, 'state')
        _quiet(expect_error, Lp.Error.SUBCLASS, trainer.save_checkpoint, path)
        assert not os.path.exists(path)
    fit(Net())


def plain_results():
    """So it goes with results of a wrong type."""
    for name, base, result in (('get_length', Lp.Dataset, 'two'), ('dup_state_id', Lp.MixedPrecisionPlugin, 3),
                               ('dup_state_aliases', Lp.MixedPrecisionPlugin, 'x'), ('compute_scale', Lp.Fp8Recipe, 'x')):
        broken = subclass(base, **{f'do_{name}': lambda self, *args, result=result: result})()
        try:
            getattr(broken, name)(*(1.0, 2.0, 3.0) if name == 'compute_scale' else ())
        except TypeError as error:
            assert 'this gave a' in str(error)
        else:
            raise AssertionError(f'{name} took {result!r}')
    dataset = subclass(Lp.Dataset, do_get_length=lambda self: None)()
    expect_error(Lp.Error.SUBCLASS, fit, Net(), Lp.DataLoader(dataset, 2, False), mentions='a whole number; this gave a NoneType')


def fit_in_loop(model, **settings):
    """What the finish of an asynchronous fit raised, and its trainer."""
    loop, results = GLib.MainLoop(), []
    trainer = Lp.Trainer(**{'precision': '32-true', **settings})
    trainer.fit_async(model, a_loader(32), None, None, None, lambda source, result: (results.append(result), loop.quit()))
    loop.run()
    try:
        trainer.fit_finish(results[0])
    except BaseException as error:  # what a program would get
        return error, trainer
    return None, trainer


def async_exceptions():
    for error in (KeyboardInterrupt(), SystemExit(4)):
        with contextlib.redirect_stderr(io.StringIO()) as shown:
            for name in ('training_step', 'on_fit_start', 'configure_optimizers'):
                raised, trainer = fit_in_loop(subclass(Net, **{f'do_{name}': raising(error)})(), max_epochs=1, **QUIET)
                assert raised is error, repr(raised)
        assert not shown.getvalue(), shown.getvalue()
        trainer.fit(Net(), a_loader())
    error = ValueError('in a loop')
    raised, _ = fit_in_loop(subclass(Net, do_training_step=raising(error))(), max_epochs=1, **QUIET)
    assert Lp.matches(raised, Lp.Error.SUBCLASS) and raised.__cause__ is error
    assert fit_in_loop(Net(), max_epochs=1, **QUIET)[0] is None


def async_interrupt_resumes():
    """The checkpoint before the interrupt is whole, and a run that goes on from it ends with the bits of one never stopped."""
    def training_step(self, batch, batch_idx):
        if self.stops and batch_idx == 2:
            raise KeyboardInterrupt
        return Net.do_training_step(self, batch, batch_idx)

    cls, weights = subclass(Net, do_training_step=training_step, stops=False), []
    quiet = {**QUIET, 'enable_checkpointing': True}
    for stops in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            Lp.seed_everything(1)
            model = cls()
            model.stops = stops
            callback = Lp.ModelCheckpoint(dirpath=folder, every_n_train_steps=1, save_last=True)
            settings = dict(max_epochs=2, callbacks=callback, **quiet)
            loader = a_loader(32)
            trainer = Lp.Trainer(precision='32-true', **settings)
            loop, results = GLib.MainLoop(), []
            trainer.fit_async(model, loader, None, None, None, lambda source, result: (results.append(result), loop.quit()))
            loop.run()
            if stops:
                try:
                    trainer.fit_finish(results[0])
                except KeyboardInterrupt:
                    pass
                else:
                    raise AssertionError('the interrupt is lost')
                Lp.seed_everything(2)
                model = cls()
                Lp.Trainer(precision='32-true', **settings).fit(model, loader, None, 'last')
            else:
                trainer.fit_finish(results[0])
            weights.append([tensor.tolist() for tensor in model.parameters()])
    assert weights[0] == weights[1]


def stacks():
    """What Python pops without having pushed it is an exception, and no critical; what it detaches in a run, too."""
    plugin = Lp.MixedPrecisionPlugin(precision='bf16-mixed')
    fabric = Lp.Fabric(precision='bf16-mixed')
    pops = (Lp.grad_mode_pop, Lp.default_dtype_pop, Lp.ComputeScope.pop, Lp.Generator.pop, plugin.pop_scope, fabric.end_autocast)
    for pop in pops:
        expect_error(Lp.Error.STATE, pop)
    for misdeed in (*pops[:5], plugin.detach, lambda: Lp.grad_mode_push(False), lambda: Lp.default_dtype_push(Lp.DType.f64())):
        model = subclass(Net, do_training_step=lambda self, *args, misdeed=misdeed: misdeed() and None)()
        expect_error(Lp.Error.STATE, lambda: fit(model, precision=plugin))
        assert Lp.grad_mode_is_enabled() and Lp.default_dtype_get() == Lp.DType.f32()
        assert Lp.ComputeScope.dup_current() is None
        fit(Net(), precision=plugin)

    class Caught(Lp.Model):
        """Goes on after the exception: nothing was popped."""

        def __init__(self):
            super().__init__()
            self.layer = Lp.Linear(4, 2)

        def do_training_step(self, batch, batch_idx):
            for pop in pops[:5]:
                expect_error(Lp.Error.STATE, pop)
            expect_error(Lp.Error.STATE, plugin.detach)
            output = self.layer(batch[0])
            assert output.get_dtype() == Lp.DType.lookup('bf16')
            return output.cross_entropy(batch[1])

        def do_configure_optimizers(self):
            return Lp.SGD(self.parameters())

    fit(Caught(), precision=plugin)
    sloppy = subclass(Lp.HalfPrecisionPlugin, do_begin_init=lambda self: Lp.grad_mode_push(False) or True)(precision='bf16-true')
    sloppy.begin_init()
    expect_error(Lp.Error.STATE, sloppy.end_init, mentions='grad mode')
    assert Lp.grad_mode_is_enabled()


def nothing_applied():
    """A run whose steps are all skipped ends with an error that names the weight."""
    model = Net()
    with Lp.no_grad():
        model.parameters()[0].fill(float('nan'))
    expect_error(Lp.Error.NOT_FINITE, lambda: fit(model, a_loader(32), max_epochs=1, max_steps=-1, precision='16-mixed'),
                 mentions='holds Inf or NaN')


def adapters():
    """A checkpoint of a net with adapters says so."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'adapted')
        model = Net()
        Lp.LoraLinear.adapt(model, None, 2, 4, 0)
        fit(model).save_checkpoint(path)
        expect_error(Lp.Error.FORMAT, lambda: Lp.Trainer(max_steps=4, **QUIET).fit(Net(), a_loader(), None, path),
                     mentions=f'{path}: The state has no')


def rounding():
    """What a fake quantizer needs, with the gradient of a straight-through estimator written by hand."""
    values = Lp.tensor([-2.5, -0.5, 0.4, 1.5, 2.5], requires_grad=True)
    assert round(values).tolist() == [-2, 0, 0, 2, 2] and math.floor(values).tolist() == [-3, -1, 0, 1, 2]
    assert math.ceil(values).tolist() == [-2, 0, 1, 2, 3] and math.trunc(values).tolist() == [-2, 0, 0, 1, 2]
    assert values.sign().tolist() == [-1, -1, 1, 1, 1]
    assert round(Lp.tensor([0.125, 0.375]), 1).tolist() == Lp.tensor([0.1, 0.4]).tolist()
    assert Lp.tensor([3, -3], dtype='i64').round().tolist() == [3, -3]
    values.round().sum(None, False).backward(None)
    assert values.grad.tolist() == [0] * 5
    quantized = values.scale(2).round().clamp(-4, 3).scale(0.5)
    through = values + (quantized - values).detach()
    assert through.tolist() == [-2, -0.5, 0.5, 1.5, 1.5]
    values.set_grad(None)
    through.sum(None, False).backward(None)
    assert values.grad.tolist() == [1] * 5


def own_products():
    """An override that computes the product itself gives it without the bias, which is added to it."""
    def matmul(self, product):
        left, right = product.get_left(), product.get_right()
        x, w = left.get_tensor(), right.get_tensor()
        if x.ndim == 4 or left.get_gemm() != Lp.GemmKind.FORWARD:
            return product.compute(x, w)
        return Lp.tensor([[sum(a * b for a, b in zip(row, column)) for column in w.tolist()] for row in x.tolist()])

    plugin = subclass(Lp.PrecisionPlugin, do_matmul=matmul)(precision='own')
    weight = Lp.tensor([[1.0] * 4] * 2, requires_grad=True)
    bias = Lp.tensor([10.0, 20.0], requires_grad=True)
    kernel, offset = Lp.tensor([[[[1.0]]]]), Lp.tensor([100.0])
    with plugin.scope():
        y = Lp.tensor([[1.0] * 4]).linear(weight, bias)
        image = Lp.tensor([[[[1.0, 2.0]]]]).conv2d(kernel, offset)
    assert y.tolist() == [[14, 24]], y.tolist()
    assert image.tolist() == [[[[101, 102]]]], image.tolist()
    y.sum().backward()
    assert bias.grad.tolist() == [1, 1] and weight.grad.tolist() == [[1] * 4] * 2
