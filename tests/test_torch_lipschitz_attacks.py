"""Attacks on the proven bounds: each made a bound that the network does not keep."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch
from exact_layers import line
from torch import nn

from rsbounds.torch import (
    Residual,
    Scale,
    SigmaNetwork,
    gradient_lipschitz_upper_bound,
    lipschitz_upper_bound,
)

pytestmark = pytest.mark.usefixtures("one_thread")


def louder(kind: type[nn.Module], method: str) -> type[nn.Module]:
    """A subclass whose ``method`` multiplies the outcome by 100."""

    def loud(self, *args):
        return 100 * getattr(kind, method)(self, *args)

    return type("Louder", (kind,), {method: loud})


@pytest.mark.parametrize("method", ["forward", "__call__", "_call_impl", "_wrapped_call_impl"])
@pytest.mark.parametrize(
    "make",
    [
        lambda change: change(Scale)(0.5),
        lambda change: change(SigmaNetwork)(line(0.01), 0.5),
        lambda change: change(nn.Sequential)(line(0.01)),
        lambda change: change(nn.Linear)(1, 1),
        lambda change: change(nn.ReLU)(),
        lambda change: change(Residual)(line(0.01)),
    ],
    ids=["Scale", "SigmaNetwork", "Sequential", "Linear", "ReLU", "Residual"],
)
def test_subclasses_that_compute_something_else_are_refused(make, method):
    module = make(lambda kind: louder(kind, method)).eval()
    for bound in (lipschitz_upper_bound, gradient_lipschitz_upper_bound):
        with pytest.raises(ValueError, match=r"no proven|overrides"):
            bound(module)
        with pytest.raises(ValueError, match=r"no proven|overrides"):
            bound(nn.Sequential(module).eval())


def test_mixin_before_a_proven_kind_is_refused():
    class Loud:
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return 100 * x

    class Mixed(Loud, Scale):
        pass

    with pytest.raises(ValueError, match="Mixed: it overrides forward of Scale"):
        lipschitz_upper_bound(Mixed(0.5))


def test_scheme_of_an_overridden_sigma_network_is_refused():
    network = louder(SigmaNetwork, "forward")(line(0.01), 0.5)
    with pytest.raises(ValueError, match="it overrides forward of SigmaNetwork"):
        network.scheme(1)
    with pytest.raises(ValueError, match="it overrides forward of SigmaNetwork"):
        _ = network.lip


def test_subclass_that_iterates_over_other_modules_is_refused():
    class Hidden(nn.Sequential):
        def __iter__(self):
            return iter([Scale(1e-3)])

    with pytest.raises(ValueError, match="no proven"):
        lipschitz_upper_bound(Hidden(line(5.0)).eval())


def test_subclasses_that_add_something_are_not_refused():
    class Named(nn.Linear):
        def __init__(self, size: int) -> None:
            super().__init__(size, size)

        def extra_repr(self) -> str:
            return "named"

        def loss(self) -> int:
            return 0

    class Still(nn.BatchNorm1d):
        def train(self, mode: bool = True):
            return super().train(False)

    class Own(Scale):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return 7 * x

        def lipschitz_upper_bound(self) -> float:
            return 7.0

    assert lipschitz_upper_bound(Named(2).eval()) > 0
    assert lipschitz_upper_bound(Own(0.5)) == 7.0
    assert lipschitz_upper_bound(Still(2).train()) == pytest.approx(1.0, rel=1e-4)


def test_compiled_call_is_refused():
    layer = line(0.5).eval()
    layer._compiled_call_impl = lambda x: 100 * x
    assert layer(torch.ones(1)).item() == 100.0
    with pytest.raises(ValueError, match="hooks of its own in _compiled_call_impl"):
        lipschitz_upper_bound(layer)


def test_batch_norm_keeps_its_weight_whatever_affine_says():
    norm = nn.BatchNorm1d(2).eval()
    norm.weight.data.fill_(50.0)
    norm.affine = False
    x = torch.eye(2)
    assert (norm(x) - norm(0 * x)).abs().max() > 49
    assert lipschitz_upper_bound(norm) >= 49.9
    norm.eps = -1.0  # the running variance: a division by 0
    with pytest.raises(ValueError, match="eps of the module BatchNorm1d must be > 0"):
        lipschitz_upper_bound(norm)


def test_parametrisation_in_training_mode_is_refused():
    layer = nn.utils.parametrizations.spectral_norm(nn.Linear(20, 20).eval())
    layer.weight.detach()
    assert not layer.training
    with pytest.raises(ValueError, match=r"_SpectralNorm must be in eval mode|ModuleDict must be"):
        lipschitz_upper_bound(layer)
    assert lipschitz_upper_bound(layer.eval()) > 0


def test_parametrisation_with_chance_is_refused():
    class Random(nn.Module):
        def forward(self, weight: torch.Tensor) -> torch.Tensor:
            return weight * torch.rand(())

    layer = nn.Linear(2, 2)
    nn.utils.parametrize.register_parametrization(layer, "weight", Random())
    with pytest.raises(ValueError, match="change from one look to the next"):
        lipschitz_upper_bound(layer.eval())


@pytest.mark.parametrize("factors", [(1e-162, 1e-162, 1e300, 1e24), (1e300, 1e300, 1e-300, 1e-300)])
def test_products_that_under_or_overflow_are_refused(factors):
    """Their true constant is 1; it was bounded by 0, or by infinity."""
    net = nn.Sequential(*map(Scale, factors)).eval()
    for bound in (lipschitz_upper_bound, gradient_lipschitz_upper_bound):
        with pytest.raises(ValueError, match=r"multiply to 2\^-?\d+: floating-point"):
            bound(net)


def test_small_products_are_rounded_up():
    third = Fraction(1 / 3)
    for parts in (1, 2, 3, 10):
        bound = Fraction(lipschitz_upper_bound(nn.Sequential(*[Scale(1 / 3)] * parts).eval()))
        assert third**parts <= bound <= third**parts * (1 + Fraction(1, 2**51))
    assert lipschitz_upper_bound(nn.Sequential(Scale(1e-20), Scale(0.0)).eval()) == 0.0
    nested = Scale(1e-28)
    for _ in range(9):  # 1e-280 in the innermost branch: still no subnormal number
        nested = nn.Sequential(Scale(1e-28), Residual(nested), Scale(1e28))
    assert lipschitz_upper_bound(nested.eval()) > 0


def test_jump_of_a_softplus_is_refused_and_exact_in_what_is_certified():
    """At beta = 2e-9 torch's linear part begins with a jump of 1; scaled, its slope was 5e-4."""
    net = nn.Sequential(line(1.0, 1e10), nn.Softplus(2e-9), line(5e-4, -5e6)).double().eval()
    x = torch.tensor([[-0.1], [0.1]], dtype=torch.float64)
    with torch.no_grad():
        assert (net(x)[0] - net(x)[1]).abs() > 3e-4  # 5e-4 of slope and .2 of distance: 1e-4
    for bound in (lipschitz_upper_bound, gradient_lipschitz_upper_bound):
        with pytest.raises(ValueError, match="jumps by 1"):
            bound(net)
    # the jump of the default, enlarged: 2 over an input distance of 1e-3, at a bound of 1
    net = nn.Sequential(line(1e-9, 20.0), nn.Softplus(), line(1e9, -20e9)).double()
    network = SigmaNetwork(net, 0.5)
    step = torch.tensor([[-1e-3], [1e-3]], dtype=torch.float64)
    with torch.no_grad():
        assert (network.eval()(step)[0] - network(step)[1]).abs() > 1.0
        frozen = network.frozen()
        # float64 holds 20 to 4e-15, enlarged to 4e-6
        assert (frozen(step)[0] - frozen(step)[1]).abs() < 0.002 * network.lip + 1e-5
