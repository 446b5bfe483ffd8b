"""Every public object of rsbounds.torch can be pickled and copied."""

import inspect

import pytest
import torch
from copies import COPIES
from torch import nn

from rsbounds import torch as adapter
from rsbounds.torch import CertifiedGenerator, FixedNoise, Scale, SigmaNetwork, Smooth

SHAPE = torch.tensor([0.8, 1.2])


def level():
    return SigmaNetwork(nn.Sequential(nn.Linear(2, 1), Scale(0.01)), 0.25)


def generator():
    mean = nn.Sequential(nn.Linear(2, 2), Scale(0.05))
    return CertifiedGenerator(mean, level(), SHAPE)


def smooth():
    return Smooth(nn.Linear(2, 2), 2, 0.5)


MADE = {
    "Adaptive": lambda: adapter.Adaptive(nn.Identity(), nn.Linear(2, 2), 0.48, 0.64),
    "CertifiedGenerator": generator,
    "CertifiedNoise": lambda: generator().noise(),
    "Concatenation": lambda: adapter.Concatenation(nn.Linear(2, 2), nn.Identity()),
    "FixedNoise": lambda: FixedNoise(torch.zeros(2), SHAPE),
    "GroupSort": adapter.GroupSort,
    "LogVotes": lambda: adapter.LogVotes(smooth(), seed=1),
    "DenseMaps": lambda: adapter.DenseMaps(1),
    "NoiseGenerator": lambda: adapter.NoiseGenerator(nn.Linear(2, 4), 0.1),
    "NoiseMaps": lambda: adapter.NoiseMaps((2,), 0.5),
    "Residual": lambda: adapter.Residual(nn.Linear(2, 2)),
    "Scale": lambda: Scale(0.05),
    "SigmaNetwork": level,
    "Smooth": smooth,
    "TorchSampler": lambda: adapter.TorchSampler(nn.Linear(2, 2)),
}


def test_each_public_class_has_an_object_here():
    public = {name: getattr(adapter, name) for name in adapter.__all__}
    assert {name for name, value in public.items() if inspect.isclass(value)} == {*MADE}


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("name", MADE)
def test_a_public_object_can_be_copied(name, way):
    made = MADE[name]()
    again = COPIES[way](made)
    assert type(again) is type(made)
    if isinstance(made, nn.Module):
        assert [*again.state_dict()] == [*made.state_dict()]
        for old, new in zip(made.parameters(), again.parameters(), strict=True):
            assert torch.equal(old, new)
