"""What data and a model disagree on is said before the model sees any of them."""

import numpy as np
import pytest
import torch
from torch import nn

from rsbounds.sampling.internal import stream
from rsbounds.torch import TorchSampler

LAYERS = {
    "channels": ([nn.Conv2d(3, 2, 3)], (1, 8, 8), "takes 3 channels before 2 axes"),
    "no channels": ([nn.Conv2d(1, 2, 3)], (8, 8), r"give x\[:, None\]"),
    "batch as channels": ([nn.Conv1d(16, 2, 3)], (9,), "takes 16 channels before 1"),
    "numbers": ([nn.Linear(5, 2)], (4,), "takes 5 numbers"),
    "a picture": ([nn.Linear(12, 2)], (3, 2, 2), r"give x.reshape\(-1, 12\)"),
    "flat": ([nn.Flatten(), nn.Linear(16, 2)], (3, 4, 4), "channels=1"),
}


@pytest.mark.parametrize("case", LAYERS)
def test_what_the_first_layer_cannot_take_is_said_before_a_forward_pass(
    case, monkeypatch
):
    layers, shape, said = LAYERS[case]
    ran = []
    monkeypatch.setattr(nn.Dropout, "forward", lambda _, x: ran.append(1) or x)
    model = nn.Sequential(nn.Identity(), nn.Sequential(nn.Dropout(), *layers))
    sampler = TorchSampler(model)
    with pytest.raises(ValueError, match=said) as refused:
        sampler(np.zeros(shape, np.float32), 0.5, 16, stream(0, 0, 1))
    assert str(shape) in str(refused.value)
    assert not ran


def test_nothing_is_foreseen_of_layers_behind_code_of_ones_own():
    reshaped = nn.Sequential(nn.Unflatten(1, (1, 4)), nn.Flatten(), nn.Linear(4, 2))
    hooked = nn.Sequential(nn.Linear(4, 2))
    hooked.register_forward_pre_hook(lambda _, args: (args[0].reshape(-1, 4),))

    class Own(nn.Linear):
        def forward(self, x):
            return super().forward(x.reshape(-1, 4))

    for model, shape in ((reshaped, (4,)), (hooked, (2, 2)), (Own(4, 2), (2, 2))):
        sampler = TorchSampler(model)
        counts = sampler(np.ones(shape, np.float32), 0.5, 16, stream(0, 0, 1))
        assert int(torch.as_tensor(np.asarray(counts)).sum()) == 16


class Own(nn.Module):
    """A module of one's own: what its layers get only a pass shows."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 4, 3)
        self.norm = nn.BatchNorm2d(4)
        self.last = nn.Linear(4 * 6 * 6, 2)

    def forward(self, x):
        return self.last(self.norm(self.first(x)).flatten(1))


class Viewed(nn.Module):
    def forward(self, x):
        return x.view(len(x), 3, 4, 4).mean((2, 3))


@pytest.mark.parametrize(
    ("model", "shape", "said"),
    [
        (Own(), (1, 8, 8), r"first layer \(Conv2d\) takes 3 channels"),
        (
            Own(),
            (3, 9, 9),
            r"has shape \(3, 9, 9\), and the model failed for it: its layer last "
            r"\(Linear\) takes 144 numbers, not the \(196,\) that it is given; give "
            "inputs of the shape that the model was trained on",
        ),
        (
            Viewed(),
            (3, 5, 5),
            r"has shape \(3, 5, 5\), and the model failed for it: the model's own code "
            "can't take it; give inputs",
        ),
    ],
)
def test_where_a_module_of_ones_own_fails_for_a_shape_is_said(model, shape, said):
    sampler = TorchSampler(model.eval())
    with pytest.raises(ValueError, match=said):
        sampler(np.zeros(shape, np.float32), 0.5, 16, stream(0, 0, 1))
    assert not model._forward_hooks
    assert not any(part._forward_pre_hooks for part in model.modules())


def test_a_failure_that_is_not_of_shapes_is_the_models_own():
    class Failing(nn.Module):
        def forward(self, x):
            raise RuntimeError("no licence")

    sampler = TorchSampler(Failing())
    with pytest.raises(RuntimeError, match="no licence"):
        sampler(np.zeros((3,), np.float32), 0.5, 16, stream(0, 0, 1))
