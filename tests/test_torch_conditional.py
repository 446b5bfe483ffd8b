"""One network for every level."""

import copy
import pickle

import pytest
import torch
from torch import nn

from rsbounds.torch.networks.conditional import NoiseConditional


def small():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 3, 3), nn.ReLU(), nn.Flatten(), nn.Linear(108, 5), nn.Tanh(), nn.Linear(5, 4)
    )


def test_film_is_the_identity_before_training_and_then_knows_the_level():
    base, x = small(), torch.randn(6, 1, 8, 8)
    expected = base(x)
    net = NoiseConditional(base, 0.25, 1.0)
    levels = torch.tensor([0.25, 0.5, 1.0] * 2)
    assert torch.equal(net(x, levels), expected)
    assert torch.equal(net.at(0.3)(x), expected)
    for name, parameter in net.named_parameters():
        if ".net." in name:
            nn.init.normal_(parameter, generator=torch.Generator().manual_seed(1))
    mixed = net(x, levels)
    for row, level in enumerate(levels.tolist()):
        assert torch.allclose(mixed[row], net.at(level)(x)[row], atol=1e-5)
    assert not torch.allclose(net.at(0.25)(x), net.at(1.0)(x), atol=1e-2)
    # beyond the range: its end
    assert torch.equal(net.at(5.0)(x), net.at(1.0)(x))
    for again in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert torch.equal(again(x, levels), mixed)
    other = NoiseConditional(small(), 0.25, 1.0)
    other.load_state_dict(net.state_dict())
    assert torch.equal(other(x, levels), mixed)


def test_levels_drawn_are_log_uniform():
    net = NoiseConditional(small(), 0.25, 4.0)
    torch.manual_seed(0)
    levels = net.draw(4000)
    assert 0.25 <= levels.min() < 0.26
    assert 3.9 < levels.max() <= 4.0
    assert levels.log().mean().item() == pytest.approx(0.0, abs=0.05)


def test_refusals():
    with pytest.raises(ValueError, match="must have at least two linear or convolutional layers"):
        NoiseConditional(nn.Linear(2, 2), 0.25, 1.0)
    with pytest.raises(ValueError, match="high must be in"):
        NoiseConditional(small(), 1.0, 0.25)
    net = NoiseConditional(small(), 0.25, 1.0)
    with pytest.raises(ValueError, match="sigma must be > 0; got 0"):
        net(torch.zeros(2, 1, 8, 8), torch.tensor([0.5, 0.0]))
    with pytest.raises(RuntimeError, match="call the NoiseConditional module, with a level"):
        net.module(torch.zeros(2, 1, 8, 8))
