"""The contract, kept by a subclass of every plugin of the registry."""

import gi

gi.require_version('Lp', '1')
from gi.repository import Lp  # noqa: E402

from contract_util import Watch, expect_error, fit, subclass  # noqa: E402


def entries():
    """Entry, class and properties of whatever the registry makes of a class of the library."""
    for entry in Lp.PrecisionRegistry.get_default():
        base = getattr(Lp, entry.get_gtype().name.removeprefix('Lp'), None)
        if base is not None:
            values = entry.dup_values()
            values = {key.replace('-', '_'): value for key, value in values.unpack().items()} if values else {}
            yield entry, base, {'precision': entry.get_name(), **values}


class Wide(Lp.Model):
    """As wide as fp8 wants layers to be."""

    def __init__(self):
        super().__init__()
        self.layer = Lp.Linear(16, 16)

    def do_training_step(self, batch, batch_idx):
        return self.layer(batch[0]).cross_entropy(batch[1])

    def do_configure_optimizers(self):
        return Lp.SGD([item for item in self.parameters() if item.requires_grad], lr=0.05)


def a_wide_loader():
    return Lp.DataLoader(Lp.TensorDataset(Lp.Tensor.ones([16, 16]), Lp.tensor([i % 16 for i in range(16)])), 8, False)


def train():
    for entry, base, values in entries():
        calls = []

        def end_step(self):
            calls.append(self)
            return base.do_end_step(self)

        plugin, model = subclass(base, do_end_step=end_step)(**values), Wide()
        before = model.layer.bias.tolist()
        trainer = fit(model, a_wide_loader(), precision=plugin, max_steps=2)
        assert calls == [plugin] * 2, f'{entry.get_name()}: {calls}'
        assert trainer.precision == plugin.precision == values['precision'], entry.get_name()
        assert model.layer.bias.tolist() != before, f'{entry.get_name()}: nothing was trained'


def refuse():
    for entry, base, values in entries():
        def validate(self, context):
            if context.get_module() is not None:
                raise Lp.new_error(Lp.PrecisionError.CONFLICT, 'not this model')
            return base.do_validate(self, context)

        refusing = subclass(base, do_validate=validate)
        expect_error(Lp.PrecisionError.CONFLICT, lambda: fit(Wide(), a_wide_loader(), precision=refusing(**values)),
                     mentions='not this model')
        expect_error(Lp.PrecisionError.CONFLICT, Lp.Fabric(precision=refusing(**values)).setup_module, Wide())

        def never(self, context):
            raise Lp.new_error(Lp.PrecisionError.UNSUPPORTED, 'never')

        expect_error(Lp.PrecisionError.UNSUPPORTED, lambda: subclass(base, do_validate=never)(**values), mentions='never')


def memory():
    """A subclass of each class of the registry, whose overrides make objects."""
    seen = set()
    for _, base, values in entries():
        if base in seen:
            continue
        seen.add(base)

        def convert_input(self, tensor):
            return base.do_convert_input(self, tensor * 1.0)

        def end_step(self):
            return base.do_end_step(self)

        watch = Watch()
        fit(Wide(), a_wide_loader(), max_steps=1000, max_epochs=-1, callbacks=[watch],
            precision=subclass(base, do_convert_input=convert_input, do_end_step=end_step)(**values))
        grown = (watch.late - watch.early) * 4
        assert grown <= 512, f'{base.__name__}: {grown} KiB more after a thousand steps than after a hundred'
