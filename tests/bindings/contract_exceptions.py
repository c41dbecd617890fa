"""What becomes of exceptions and of results of a wrong type in the Python overrides of virtual functions."""

import contextlib
import io
import os
import signal
import tempfile

from gi.repository import GLib, Lp

from contract_util import Net, QUIET, a_loader, expect_error, fit, subclass


def raising(error):
    def override(self, *args):
        raise error

    return override


def hears(error, function, *args, where):
    """Call FUNCTION: its GError has ERROR as the cause, which nothing shows besides."""
    with contextlib.redirect_stderr(io.StringIO()) as shown:
        heard = expect_error(Lp.Error.SUBCLASS, function, *args, mentions=f'{where}: ValueError: {error}')
    assert heard.__cause__ is error, repr(heard.__cause__)
    assert not shown.getvalue(), shown.getvalue()


def judged(model):
    Lp.Trainer(**QUIET).validate(model, a_loader())


def steps():
    """Nothing is a valid result of these, and so must not come of an exception."""
    for name, run in (('training_step', fit), ('configure_model', fit), ('configure_optimizers', fit), ('on_train_batch_start', fit),
                      ('on_before_zero_grad', fit), ('validation_step', judged), ('on_validation_end', judged)):
        error = ValueError('of a model')
        model = subclass(Net, **{'do_validation_step': Net.do_training_step, f'do_{name}': raising(error)})()
        hears(error, run, model, where=f'{type(model).__name__}.{name}')


def callbacks():
    for name in ('on_fit_start', 'on_train_batch_end', 'on_after_backward', 'on_train_end'):
        error = ValueError('of a callback')
        callback = subclass(Lp.Callback, **{f'do_{name}': raising(error)})()
        hears(error, lambda: fit(Net(), callbacks=callback), where=f'{type(callback).__name__}.{name}')


def every_second_step():
    def training_step(self, batch, batch_idx):
        if batch_idx % 2:
            raise ValueError('odd')
        return Net.do_training_step(self, batch, batch_idx)

    model = subclass(Net, do_training_step=training_step)()
    expect_error(Lp.Error.SUBCLASS, fit, model, a_loader(32), mentions='ValueError: odd')
    assert len(model.losses) == 1


def nested():
    """The exception of a layer is the cause of the error in the step that called it, and of that of the run."""
    error, heard_in_step = ValueError('of a layer'), []

    def training_step(self, *args):
        try:
            return Net.do_training_step(self, *args)
        except GLib.Error as heard:
            heard_in_step.append(heard.__cause__)
            raise

    for catches in (False, True):
        model = subclass(Net, **{'do_training_step': training_step} if catches else {})()
        model.layers.append(subclass(Lp.Module, do_forward=raising(error))())
        heard = expect_error(Lp.Error.SUBCLASS, fit, model, mentions='forward: ValueError: of a layer')
        assert heard.__cause__ is error and error.__cause__ is None
    assert heard_in_step == [error]


def chained():
    """One override calls that of its parent."""
    error = ValueError('of a parent')
    parent = subclass(Net, do_training_step=raising(error))
    model = subclass(parent, do_training_step=lambda self, *args: parent.do_training_step(self, *args))()
    hears(error, fit, model, where=f'{parent.__name__}.training_step')


def outside():
    """Where no call of Python's waits for the exception it is shown, once."""
    model = subclass(Net, do_training_step=raising(ValueError('nobody waits')))()
    trainer, context = Lp.Trainer(max_epochs=1, **QUIET), GLib.MainContext.default()
    with contextlib.redirect_stderr(io.StringIO()) as shown:
        trainer.fit_async(model, a_loader(), None, None, None, None)
        while context.pending():
            context.iteration(False)
    assert shown.getvalue().count('ValueError: nobody waits') == 1, shown.getvalue()


def interrupts():
    """What is meant to end the program ends the run and comes out as it is."""
    for error in (KeyboardInterrupt(), SystemExit(3)):
        model = subclass(Net, do_training_step=raising(error), do_validation_step=raising(error))()
        for run in (fit, judged):
            try:
                run(model)
            except BaseException as raised:
                assert raised is error, repr(raised)
            else:
                raise AssertionError('the run went on')
    fit(Net())


def interrupt_signals():
    """One that Python raises where PyGObject drops it is not forgotten, and the handler is given back."""
    handler = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    model = Net()
    trainer = Lp.Trainer(max_epochs=3, handle_signals=False, **QUIET)
    trainer.connect('train-epoch-start', lambda *args: signal.raise_signal(signal.SIGINT))
    with contextlib.redirect_stderr(io.StringIO()) as shown:
        try:
            trainer.fit(model, a_loader())
        except KeyboardInterrupt:
            pass
        else:
            raise AssertionError('the run went on')
    assert 'KeyboardInterrupt' in shown.getvalue() and not model.losses
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    fit(model)
    signal.signal(signal.SIGINT, handler)


def own_errors():
    """A GError is heard as it is, with where it was raised as the cause."""
    error = Lp.new_error(Lp.Error.IO, 'of its own')
    heard = expect_error(Lp.Error.IO, fit, subclass(Net, do_training_step=raising(error))(), mentions='of its own')
    assert heard.message == 'of its own' and heard.__cause__ is error


def odd_messages():
    """Text that is no UTF-8, and none at all."""
    for error, text in ((ValueError('\udc80'), 'ValueError: ?'), (ValueError(), 'ValueError'), (type('Odd', (Exception,), {
            '__str__': lambda self: 1 / 0})(), 'Odd')):
        expect_error(Lp.Error.SUBCLASS, fit, subclass(Net, do_training_step=raising(error))(), mentions=text)


def wrong_results():
    for name, result, text in (('training_step', 0.5, 'returns the loss as an Lp.Tensor, or None to skip the batch; this gave a float'),
                               ('training_step', {'loss': 1}, 'this gave a dict'),
                               ('configure_optimizers', [Lp.SGD([Lp.tensor([1.0], requires_grad=True)])],
                                'returns an Lp.Optimizer, or an Lp.OptimizerConfig for several or for a schedule; this gave a list'),
                               ('configure_optimizers', 'sgd', 'this gave a str'),
                               ('configure_callbacks', {}, 'returns a list; this gave a dict')):
        model = subclass(Net, **{f'do_{name}': lambda self, *args, result=result: result})()
        expect_error(Lp.Error.SUBCLASS, fit, model, mentions=text)
    policy = subclass(Lp.PrecisionPlugin, do_get_cast_policy=lambda self: 'bf16')(precision='wrong')
    expect_error(Lp.Error.SUBCLASS, policy.get_cast_policy, mentions='returns an Lp.CastPolicy or None; this gave a str')


def no_step():
    """None still skips a batch."""
    def training_step(self, batch, batch_idx):
        return None if batch_idx == 0 else Net.do_training_step(self, batch, batch_idx)

    trainer = fit(subclass(Net, do_training_step=training_step)(), a_loader(24), max_epochs=1, max_steps=-1)
    assert trainer.get_global_step() == 2


def two_optimizers():
    def configure(self):
        config = Lp.OptimizerConfig.new()
        for half in (self.parameters()[:2], self.parameters()[2:]):
            config.add_optimizer(Lp.SGD(half))
        return config

    expect_error(Lp.Error.CONFLICT, fit, subclass(Net, do_configure_optimizers=configure)(), mentions='automatic_optimization')


def makers():
    try:
        Lp.register_precision('py-maker', 'a description')
    except TypeError as error:
        assert 'class of plugins' in str(error) and 'str' in str(error)
    else:
        raise AssertionError('a text makes no plugins')
    Lp.register_precision('py-maker', lambda name, config: 1 / 0)
    with contextlib.redirect_stderr(io.StringIO()):
        expect_error(Lp.Error.SUBCLASS, lambda: Lp.Trainer(precision='py-maker'), mentions='“py-maker”: ZeroDivisionError')
    Lp.unregister_precision('py-maker')


def taken_names():
    plugin = subclass(Lp.PrecisionPlugin)
    for name, aliases in (('32-true', ()), ('bf16', ()), ('py-taken', ('16-mixed',)), ('py-taken', ('bf16',))):
        expect_error(Lp.Error.EXISTS, lambda: Lp.register_precision(name, plugin, aliases=aliases))
    for name in ('', ' ', 'a b', 'a\nb', 'a\x7f', 'a\u00a0'):
        expect_error(Lp.Error.ARGUMENT, lambda: Lp.register_precision(name, plugin))
        expect_error(Lp.Error.ARGUMENT, lambda: Lp.register_precision('py-taken', plugin, aliases=[name]))
    assert Lp.Trainer(precision='bf16').precision == 'bf16-mixed'


def lightning_names():
    """Settings of Lightning that LP lacks are refused with what there is instead."""
    for name, text in (('plugins', 'precision='), ('accelerator', 'Lp.Device'), ('devices', 'Lp.Device'), ('num_nodes', 'one process')):
        for make in (Lp.Trainer, Lp.Fabric):
            try:
                make(**{name: 1})
            except TypeError as error:
                assert text in str(error), error
            else:
                raise AssertionError(f'{name} was taken')


def short_calls():
    """What may be left out, and keywords."""
    loader = a_loader()
    model = subclass(Net, do_validation_step=Net.do_training_step, do_test_step=Net.do_training_step)()
    trainer = Lp.Trainer(max_steps=1, **QUIET)
    trainer.fit(model, loader)
    trainer.fit(model, train_loader=loader, val_loader=loader, ckpt_path=None)
    trainer.validate(model, loader)
    trainer.test(model, loader, ckpt_path=None)
    assert len(trainer.predict(model, loader)) == 1
    with tempfile.TemporaryDirectory() as folder:
        sizes = []
        for name, options in (('all', {}), ('also', {'weights_only': False}), ('weights', {'weights_only': True})):
            path = os.path.join(folder, name)
            assert trainer.save_checkpoint(path, **options)
            sizes.append(os.path.getsize(path))
        assert sizes[2] < min(sizes[:2]) and max(sizes[:2]) < 2 * min(sizes[:2]), sizes
        table = os.path.join(folder, 'table.csv')
        with open(table, 'w', encoding='ascii') as file:
            file.write('1,2\n3,4\n')
        assert Lp.load_csv(table).tolist() == [[1, 2], [3, 4]]
        assert Lp.load_csv(table, has_header=True, dtype='i64').tolist() == [[3, 4]]
        assert Lp.load_csv_columns(table, 'i64')['2'].tolist() == [4]

    fabric, net = Lp.Fabric(precision='32-true'), Net()
    optimizer = net.do_configure_optimizers()
    assert fabric.setup(net, optimizer) == (net, optimizer)
    assert Lp.Fabric().setup(other := Net()) is other
