"""Attacks on the proven bounds: each made a bound that the network does not keep."""

import copy

import pytest
import torch
from exact_layers import line
from torch import nn

from rsbounds.torch import (
    CertifiedGenerator,
    Residual,
    Scale,
    SigmaNetwork,
    gradient_lipschitz_upper_bound,
    lipschitz_upper_bound,
    locally_biased,
)
from rsbounds.torch.networks import _layers
from rsbounds.torch.networks._trust import frozen

BOTH = (lipschitz_upper_bound, gradient_lipschitz_upper_bound)


def refused(module, message, bounds=BOTH):
    for bound in bounds:
        with pytest.raises(ValueError, match=message):
            bound(module)


def louder(kind, method):
    """A subclass whose ``method`` multiplies the outcome by 100."""

    def loud(self, *args):
        return 100 * getattr(kind, method)(self, *args)

    return type("Louder", (kind,), {method: loud})


MAKE = {
    "Scale": lambda change: change(Scale)(0.5),
    "SigmaNetwork": lambda change: change(SigmaNetwork)(line(0.01), 0.5),
    "Sequential": lambda change: change(nn.Sequential)(line(0.01)),
    "Linear": lambda change: change(nn.Linear)(1, 1),
    "ReLU": lambda change: change(nn.ReLU)(),
    "Residual": lambda change: change(Residual)(line(0.01)),
}


@pytest.mark.parametrize(
    "method", ["forward", "__call__", "_call_impl", "_wrapped_call_impl"]
)
@pytest.mark.parametrize("name", MAKE)
def test_subclasses_that_compute_something_else_are_refused(name, method):
    module = MAKE[name](lambda kind: louder(kind, method)).eval()
    refused(module, r"no proven|overrides")
    refused(nn.Sequential(module).eval(), r"no proven|overrides")


class Mixed(louder(nn.Module, "forward"), Scale):
    pass


class Hidden(nn.Sequential):
    def __iter__(self):
        return iter([Scale(1e-3)])


class Unknown(nn.Module):
    def forward(self, x):
        return 3 * x


def test_other_ways_to_compute_something_else_are_refused():
    refused(Mixed(0.5), "Mixed: it overrides forward of Scale", BOTH[:1])
    refused(Hidden(line(5.0)).eval(), "no proven")
    refused(louder(nn.Conv2d, "_conv_forward")(1, 1, 3).eval(), "no proven")
    refused(Unknown().eval(), "no proven Lipschitz bound for the module Unknown")
    network = louder(SigmaNetwork, "forward")(line(0.01), 0.5)
    with pytest.raises(ValueError, match="it overrides forward of SigmaNetwork"):
        network.scheme(1)


class Own(Scale):
    def extra_repr(self):
        return "own"

    def forward(self, x):
        return 7 * x

    def lipschitz_upper_bound(self):
        return 7.0


class Named(nn.Linear):
    def loss(self):
        return 0


def test_subclasses_that_add_something_or_bound_themselves_are_not_refused():
    assert lipschitz_upper_bound(Named(2, 2).eval()) > 0
    assert lipschitz_upper_bound(nn.Sequential(Own(0.5), Own(0.5)).eval()) == 49.0


@pytest.mark.parametrize("kind", ["module", "before", "global", "instance", "compiled"])
def test_hooks_are_refused_wherever_they_sit(kind):
    module = nn.Sequential(line(1.0), Scale(0.5)).eval()
    handle = None
    if kind == "module":
        module[1].register_forward_hook(lambda m, i, o: 1000 * o)
    elif kind == "before":
        module[1].register_forward_pre_hook(lambda m, i: (1000 * i[0],))
    elif kind == "global":
        handle = nn.modules.module.register_module_forward_hook(
            lambda m, i, o: 1000 * o
        )
    elif kind == "instance":
        module[1].forward = lambda x: 1000 * x
    else:
        module[1]._compiled_call_impl = lambda x: 1000 * x
    try:
        assert module(torch.ones(1, 1)).abs() > 100
        refused(module, "has hooks")
    finally:
        if handle is not None:
            handle.remove()


def test_hook_of_a_sigma_network_is_refused():
    network = SigmaNetwork(line(0.01), 0.5)
    network.register_forward_hook(lambda m, i, o: 100 * o)
    with pytest.raises(ValueError, match="SigmaNetwork has hooks"):
        network.scheme(2)


def test_weights_that_move_are_refused():
    refused(nn.Linear(2, 2), "must be in eval mode", BOTH[:1])
    layer = nn.utils.parametrizations.spectral_norm(nn.Linear(20, 20).eval())
    layer.weight.detach()
    assert not layer.training
    refused(layer, r"_SpectralNorm must be in eval mode|ModuleDict must be", BOTH[:1])
    assert lipschitz_upper_bound(layer.eval()) > 0

    class Random(nn.Module):
        def forward(self, weight):
            return weight * torch.rand(())

    layer = nn.Linear(2, 2)
    nn.utils.parametrize.register_parametrization(layer, "weight", Random())
    refused(layer.eval(), "change from one look to the next", BOTH[:1])


def test_layers_without_a_bound_are_refused():
    infinite = nn.Linear(2, 2).eval()
    infinite.weight.data[0, 0] = torch.inf
    for module, message in [
        (infinite, "must be finite"),
        (nn.AvgPool2d(3, ceil_mode=True).eval(), "ceil_mode"),
        (nn.AvgPool2d(3, divisor_override=1).eval(), "divisor_override"),
        (nn.BatchNorm1d(2, track_running_stats=False).eval(), "running statistics"),
        (
            nn.Conv2d(1, 1, 1, padding=1, padding_mode="circular").eval(),
            "repeats outputs",
        ),
        (
            nn.LeakyReLU(float("nan")).eval(),
            "negative_slope of the module LeakyReLU must be",
        ),
        (nn.Linear(2, 2, dtype=torch.complex64).eval(), "must be real; got torch"),
    ]:
        refused(module, message, BOTH[:1])
    norm = nn.BatchNorm1d(2).eval()
    for wrong in (torch.nan, -1.0, torch.inf):
        norm.running_var.fill_(wrong)
        refused(norm, "running variance of the module BatchNorm1d", BOTH[:1])


def test_batch_norm_keeps_its_weight_whatever_affine_says():
    norm = nn.BatchNorm1d(2).eval()
    norm.weight.data.fill_(50.0)
    norm.affine = False
    x = torch.eye(2)
    assert (norm(x) - norm(0 * x)).abs().max() > 49
    assert lipschitz_upper_bound(norm) >= 49.9
    norm.eps = -1.0  # the running variance: a division by 0
    refused(norm, "eps of the module BatchNorm1d must be > 0", BOTH[:1])


@pytest.mark.parametrize(
    "factors", [(1e-162, 1e-162, 1e300, 1e24), (1e300, 1e300, 1e-300, 1e-300)]
)
def test_products_that_under_or_overflow_are_refused(factors):
    """Their true constant is 1; it was bounded by 0, or by infinity."""
    refused(
        nn.Sequential(*map(Scale, factors)).eval(),
        r"multiply to 2\^-?\d+: floating-point",
    )


def test_jump_of_a_softplus_is_refused_and_exact_in_what_is_certified():
    """At beta = 2e-9 torch's linear part begins with a jump of 1; scaled, its slope was
    5e-4.
    """
    jump = nn.Softplus(threshold=0)(torch.tensor([-1e-6, 1e-6]))
    assert jump[0] > jump[1] + 0.6
    refused(
        nn.Softplus(threshold=0).eval(), "threshold of Softplus must be >= 20; got 0"
    )
    net = (
        nn.Sequential(line(1.0, 1e10), nn.Softplus(2e-9), line(5e-4, -5e6))
        .double()
        .eval()
    )
    x = torch.tensor([[-0.1], [0.1]], dtype=torch.float64)
    with torch.no_grad():
        assert (
            net(x)[0] - net(x)[1]
        ).abs() > 3e-4  # 5e-4 of slope and .2 of distance: 1e-4
    refused(net, "jumps by 1")
    # the jump of the default, enlarged: 2 over an input distance of 1e-3, at a bound of
    # 1
    net = nn.Sequential(line(1e-9, 20.0), nn.Softplus(), line(1e9, -20e9)).double()
    network = SigmaNetwork(net, 0.5)
    step = torch.tensor([[-1e-3], [1e-3]], dtype=torch.float64)
    with torch.no_grad():
        assert (network.eval()(step)[0] - network(step)[1]).abs() > 1.0
        copied = frozen(network)
        # float64 holds 20 to 4e-15, enlarged to 4e-6
        assert (copied(step)[0] - copied(step)[1]).abs() < 0.002 * network.lip + 1e-5


def slope_of(scheme, x, y):
    x, y = torch.tensor([x]), torch.tensor([y])
    return abs(scheme.sigma(x) - scheme.sigma(y)) / (x - y).abs().item()


def narrow():
    """A layer of slope at most .0182 under a parametrisation, and that of its copy."""
    layer = line(1.0)
    nn.utils.parametrize.register_parametrization(layer, "weight", Times(0.0182))
    return layer


class Times(nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = nn.Parameter(torch.tensor(factor))

    def forward(self, weight):
        return weight * self.factor


def test_what_torch_caches_is_not_what_is_bounded():
    """``parametrize.cached`` knows the original; its copies were bounded by that."""
    network = SigmaNetwork(narrow(), 0.25)
    with nn.utils.parametrize.cached():
        network.h(torch.ones(1, 1))  # fills the cache
        network.h.parametrizations.weight[0].factor.data.fill_(0.121)
        scheme = network.scheme(1)
        lip = network.lip
        refused(network.h.eval(), "change from one look to the next", BOTH[:1])
    rate = scheme.parameters["lip"]
    assert rate == lip >= 0.121 * (1 - 1e-6)
    assert slope_of(scheme, 0.0, 1.0) <= rate
    trained = copy.deepcopy(network)
    with nn.utils.parametrize.cached():
        network.h(torch.ones(1, 1))
        trained.h.parametrizations.weight[0].factor.data.fill_(1.0)
        scheme = trained.scheme(1)
        assert slope_of(scheme, 0.0, 1.0) <= scheme.parameters["lip"]


def test_a_parametrised_tensor_that_moves_is_refused_whichever_it_is():
    class Drop(nn.Module):
        def forward(self, tensor):
            return nn.functional.dropout(tensor, training=True)

    for key in ("weight", "bias"):
        layer = nn.Linear(40, 40)
        layer.bias.data.fill_(1.0)
        nn.utils.parametrize.register_parametrization(layer, key, Drop())
        refused(layer.eval(), f"numbers {key} of the module .* change from", BOTH[:1])
        with pytest.raises(ValueError, match="change from one look to the next"):
            SigmaNetwork(nn.Sequential(layer, nn.Linear(40, 1)), 0.5).scheme(40)


class Property(nn.Linear):
    looks = 0

    @property
    def weight(self):
        self.__dict__["looks"] = self.looks + 1
        return torch.full((1, 1), 1.0 if self.looks < 3 else 100.0)


class Lower(SigmaNetwork):
    @property
    def sigma_min(self):
        return 0.5

    @sigma_min.setter
    def sigma_min(self, value):
        pass


class Odd(torch.Tensor):
    pass


def test_tensors_that_are_computed_by_a_subclass_are_refused():
    layer = line(1.0).eval()
    del layer._parameters["weight"]
    layer.__class__ = Property
    assert [layer(torch.ones(1, 1)).item() for _ in range(3)] == [1.0, 1.0, 100.0]
    refused(layer, "no proven Lipschitz bound", BOTH[:1])
    with pytest.raises(ValueError, match="overrides sigma_min of SigmaNetwork"):
        Lower(line(0.01), 0.25).scheme(1)
    layer = line(0.01)
    layer._parameters["weight"] = layer.weight.detach().as_subclass(Odd)
    with pytest.raises(ValueError, match="must be a plain tensor; got Odd"):
        SigmaNetwork(layer, 0.25).scheme(1)


def far(weight=0.01):
    """A line that adds 1e16 and takes it off again."""
    return nn.Sequential(line(1.0, 1e16), line(weight, -weight * 1e16))


def test_a_level_that_drowns_in_rounding_is_refused():
    """Its slope in floating point was 1,000 times the proven one."""
    copied = frozen(SigmaNetwork(nn.Sequential(line(1.0, 1e16), line(1.0, -1e16)), 0.5))
    levels = [copied.level_at(torch.tensor([x])) for x in (0.999, 1.001)]
    assert levels[1] - levels[0] > 500 * 0.002
    pooled = nn.Sequential(
        nn.Unflatten(1, (1, 1)), nn.AdaptiveAvgPool1d(1), nn.Flatten(), far()
    )
    for h in (far(), pooled):
        with pytest.raises(ValueError, match="level must not drown in rounding"):
            SigmaNetwork(h, 0.25).scheme(1)
    level = SigmaNetwork(line(0.01), 0.25)
    with pytest.raises(ValueError, match="mean must not drown in rounding"):
        CertifiedGenerator(far(), level, torch.ones(1)).noise().scheme()
    noise = CertifiedGenerator(Scale(0.1), SigmaNetwork(far(), 0.25), torch.ones(1))
    noise = noise.noise()
    with pytest.raises(ValueError, match="level must not drown in rounding"):
        noise.scheme()
    assert level.scheme(1).parameters["lip"] >= 0.01 * (1 - 1e-6)


def test_hooks_for_all_modules_do_not_reach_a_scheme():
    """Registered after the scheme was made, one multiplied its slope by 100."""
    level = SigmaNetwork(nn.Sequential(line(0.01), Residual(Scale(0.5))), 0.25)
    noise = CertifiedGenerator(Scale(0.1), level, torch.ones(1)).noise()
    biased = locally_biased(
        nn.Sequential(line(1.0), nn.Tanh()), [[-1.0], [1.0]], [-1, 1], 0.5
    )

    class Supplied(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = line(0.01)

        def forward(self, x):
            return self.inner(x)

        def lipschitz_upper_bound(self):
            return lipschitz_upper_bound(self.inner)

    schemes = [level.scheme(1), level.scheme(1, sound=True), noise.scheme()]
    supplied = SigmaNetwork(Supplied(), 0.25).scheme(1)
    x = torch.ones(1)
    before = [scheme.sigma(x) for scheme in schemes], noise.centre(x.double())
    labels = biased.certify([[0.5]])
    for kind in ("hook", "pre_hook"):
        register = getattr(nn.modules.module, f"register_module_forward_{kind}")
        handle = register(
            (lambda m, i, o: 100 * o) if kind == "hook" else lambda m, i: (100 * i[0],)
        )
        try:
            assert ([s.sigma(x) for s in schemes], noise.centre(x.double())) == before
            assert biased.certify([[0.5]]) == labels
            with pytest.raises(ValueError, match="hooks are registered for all"):
                supplied.sigma(x)
        finally:
            handle.remove()


def test_bounds_stay_on_the_cpu_whatever_the_default_device():
    """Elsewhere it is not LAPACK that computes, whose error is quoted."""
    net = nn.Sequential(nn.Linear(3, 3), nn.Unflatten(1, (1, 3)), nn.Conv1d(1, 2, 2))
    expected = lipschitz_upper_bound(net.eval())
    _layers._norms.clear()
    torch.set_default_device("meta")
    try:
        assert lipschitz_upper_bound(net) == expected
    finally:
        torch.set_default_device(None)


def test_norms_of_dense_layers_are_kept_until_a_weight_changes():
    layer = nn.Linear(5, 4).eval()
    first = lipschitz_upper_bound(layer)
    count = len(_layers._norms)
    assert lipschitz_upper_bound(layer) == first
    assert len(_layers._norms) == count
    layer.weight.data[0, 0] += 10
    assert lipschitz_upper_bound(layer) > first + 5
