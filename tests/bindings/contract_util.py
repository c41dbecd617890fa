"""What the checks of the contract share."""

import gi

gi.require_version('Lp', '1')
from gi.repository import GLib, Lp  # noqa: E402

QUIET = dict(enable_progress_bar=False, enable_checkpointing=False, enable_model_summary=False)

_count = 0


def subclass(base, **members):
    """A fresh subclass: a type's name can be registered once only."""
    global _count
    _count += 1
    return type(f'Contract{base.__name__}{_count}', (base,), members)


def expect_error(code, function, *args, mentions=''):
    """Call FUNCTION, which has to raise a GError of CODE."""
    try:
        result = function(*args)
    except GLib.Error as error:
        assert Lp.matches(error, code), f'got {error.domain} {error.code}: {error.message}'
        assert mentions in error.message, f'{mentions!r} is not in {error.message!r}'
        return error
    raise AssertionError(f'no error, but {result}')


class Net(Lp.Model):
    def __init__(self):
        super().__init__()
        self.layers = Lp.Sequential(Lp.Linear(4, 8), Lp.ReLU(), Lp.Linear(8, 2))
        self.losses = []

    def do_forward(self, x):
        return self.layers(x)

    def do_training_step(self, batch, batch_idx):
        inputs, targets = batch
        loss = self(inputs).cross_entropy(targets)
        self.losses.append(loss.item())
        return loss

    def do_configure_optimizers(self):
        return Lp.AdamW(self.parameters(), lr=0.05)


def a_loader(samples=8, batch_size=8):
    with Lp.generator(1):
        inputs = Lp.Tensor.normal([samples, 4], 0, 1)
    return Lp.DataLoader(Lp.TensorDataset(inputs, Lp.tensor([i % 2 for i in range(samples)])), batch_size, False)


def fit(model, loader=None, **settings):
    settings = {'max_steps': 3, 'precision': '32-true', **settings}
    trainer = Lp.Trainer(**settings, **QUIET)
    with Lp.generator(1):
        trainer.fit(model, loader or a_loader())
    return trainer


def resident_pages():
    with open('/proc/self/statm', encoding='ascii') as statm:
        return int(statm.read().split()[1])


class Watch(Lp.Callback):
    """Notes the resident memory after a hundred steps and at the end."""

    def do_on_train_batch_end(self, trainer, model, outputs, batch, batch_idx):
        if trainer.get_global_step() == 100:
            self.early = resident_pages()
        self.late = resident_pages()
