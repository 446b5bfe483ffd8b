"""Attacks on what is exported, bounded and run: each once made a bound that a network
does not keep, or could.
"""

import copy
import pickle
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from cases import quick_each
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
from rsbounds.torch.networks.freeze import freeze
from tests.helpers.exact_layers import line


class Forward(nn.Module):
    """A module of a function."""

    def __init__(self, function, **parts):
        super().__init__()
        self.function = function
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, x):
        return self.function(self, x)


def refused(module, message, shape=4):
    with pytest.raises(ValueError, match=message) as raised:
        lipschitz_upper_bound(module, shape)
    assert "\n" not in str(raised.value)


def runs_as(module, shape=4):
    """The frozen graph computes what the module does in eval mode; their bound."""
    graph = freeze(module, shape)
    x = torch.randn(6, *graph.shape, dtype=torch.float64)
    expected = torch.cat([module.double().eval()(row[None].clone()) for row in x])
    assert torch.allclose(graph(x), expected, rtol=1e-12, atol=1e-12)
    return lipschitz_upper_bound(graph, graph.shape)


def louder(kind, method):
    """A subclass whose ``method`` multiplies the outcome by 100."""

    def loud(self, *args):
        return 100 * getattr(kind, method)(self, *args)

    return type("Louder", (kind,), {method: loud})


MAKE = {
    "Scale": lambda change: change(Scale)(0.5),
    "Sequential": lambda change: change(nn.Sequential)(line(0.01)),
    "Linear": lambda change: change(nn.Linear)(1, 1),
    "ReLU": lambda change: change(nn.ReLU)(),
    "Residual": lambda change: change(Residual)(line(0.01)),
}


@pytest.mark.parametrize(
    "method", ["forward", "__call__", "_call_impl", "_wrapped_call_impl"]
)
@pytest.mark.parametrize("name", MAKE)
def test_a_subclass_is_bounded_by_what_it_computes(name, method):
    torch.manual_seed(0)
    plain = MAKE[name](lambda kind: kind)
    torch.manual_seed(0)
    module = nn.Sequential(MAKE[name](lambda kind: louder(kind, method)))
    bound = runs_as(module, 1)
    # torch never looks up the last one
    times = 1 if method == "_wrapped_call_impl" else 100
    assert bound == pytest.approx(times * lipschitz_upper_bound(plain, 1), rel=1e-9)


@pytest.mark.parametrize("kind", ["module", "before", "instance"])
def test_hooks_are_bounded_and_run_as_they_were(kind):
    module = nn.Sequential(line(1.0), Scale(0.5))
    if kind == "module":
        module[1].register_forward_hook(lambda m, i, o: 1000 * o)
    elif kind == "before":
        module[1].register_forward_pre_hook(lambda m, i: (1000 * i[0],))
    else:
        module[1].forward = lambda x: 500 * x
    graph = freeze(module, 1)
    expected = module.double()(torch.ones(1, 1, dtype=torch.float64))
    assert expected.abs() >= 500
    assert graph(torch.ones(1, 1)).item() == expected.item()
    assert lipschitz_upper_bound(graph, 1) == pytest.approx(expected.item(), rel=1e-9)


@pytest.mark.parametrize("kind", ["hook", "pre_hook"])
def test_nothing_is_frozen_while_hooks_are_registered_for_all_modules(kind):
    register = getattr(nn.modules.module, f"register_module_forward_{kind}")
    handle = register(lambda *given: None)
    try:
        refused(line(1.0), "while hooks are registered for all modules", 1)
    finally:
        handle.remove()


def test_hooks_for_all_modules_do_not_reach_a_scheme():
    """Registered after the scheme was made, one multiplied its slope by 100."""
    level = SigmaNetwork(nn.Sequential(line(0.01), Residual(Scale(0.5))), 0.25)
    noise = CertifiedGenerator(Scale(0.1), level, torch.ones(1)).noise()
    biased = locally_biased(
        nn.Sequential(line(1.0), nn.Tanh()), [[-1.0], [1.0]], [-1, 1], 0.5
    )
    schemes = [level.scheme(1), level.scheme(1).on_grid(), noise.scheme()]
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
        finally:
            handle.remove()


def test_later_changes_do_not_reach_what_was_frozen():
    net = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Tanh())
    graph, x = freeze(net, 4), torch.randn(5, 4)
    before, digest = graph(x), graph.digest()
    for tensor in (*net.parameters(), *net.buffers()):
        tensor.data.mul_(3)
    net[2] = nn.Identity()
    assert torch.equal(graph(x), before)
    assert graph.digest() == digest != freeze(net, 4).digest()


REFUSED = {
    "product": (lambda m, x: x * x.relu(), r"aten.mul.Tensor where self and other dep"),
    "attention": (
        lambda m, x: x.view(1, 2, 2).softmax(1) @ x.view(1, 2, 2),
        "aten.matmul.default where self and other depend on the input",
    ),
    "quotient": (lambda m, x: 1 / x, "no record|where other depend"),
    "power": (lambda m, x: x**2, r"the operation aten.pow.Tensor_Scalar has no record"),
    "branch": (lambda m, x: x if x.sum() > 0 else -x, "can't be exported .*data-dep"),
    "branch's line": (
        lambda m, x: x if x.sum() > 0 else -x,
        r"\(test_attacks.py, line \d+: lambda m, x: x if x.sum\(\) > 0 else -x,\)",
    ),
    "item": (lambda m, x: x * x.sum().item(), "can't be exported|depend|record"),
    "numpy": (lambda m, x: torch.from_numpy(x.numpy()), "can't be exported .*numpy"),
    "random": (lambda m, x: x + torch.rand(4), "aten.rand.default has no one value"),
    "memory": (lambda m, x: x + torch.empty(4), "aten.empty.memory_format has no one"),
    "noise": (
        lambda m, x: x + torch.randn_like(x),
        "aten.randn_like.default has no record",
    ),
    "dropout": (
        lambda m, x: nn.functional.dropout(x, training=True),
        "aten.native_dropout.default has no record",
    ),
    "single": (lambda m, x: x.float().double(), "computes in torch.float32"),
    "half": (lambda m, x: x.half(), "computes in torch.float16"),
    "complex": (lambda m, x: torch.complex(x, x).abs(), "computes in torch.complex128"),
    "integers": (lambda m, x: x.argmax(1).double(), "computes in torch.int64"),
    "position": (lambda m, x: x.sort(1).indices.double(), "computes in torch.int64"),
    "rounding": (lambda m, x: x.round(), "aten.round.default has no record"),
    "any order": (
        lambda m, x: x.topk(2, sorted=False).values,
        "aten.topk.default has results in no fixed order",
    ),
    "sign": (lambda m, x: x.sign() * 2, "aten.sign.default has no record"),
    "where": (lambda m, x: torch.where(x > 0, x, -x), "torch.bool"),
    "batch": (lambda m, x: x.mean(), r"must return one row for each input; got the"),
    "several": (lambda m, x: (x, x), "must return one tensor"),
    "nothing": (lambda m, x: None, "must return one tensor|can't be exported"),
    "zero": (lambda m, x: x / torch.zeros(4), "divides by 0"),
    "no numbers": (lambda m, x: torch.cat([x[:, :0] + 1, x], 1), "known before, not 0"),
    "mean of none": (lambda m, x: x + x[:, :0].mean(1), "known before, not 0"),
    "as many as are true": (
        lambda m, x: x[:, torch.tensor([True, False, True, True])],
        "known before, not 0",
    ),
    "padding alone": (
        lambda m, x: nn.functional.max_pool1d(x[:, :1], 2, 1, 1, 2),
        "aten.max_pool1d.default has a window of padding alone",
    ),
    "memory like a constant's": (
        lambda m, x: x + torch.ones(4).new_empty(4),
        "aten.new_empty.default has no one value",
    ),
    "complex constant": (lambda m, x: 1j * torch.ones(1, 4), "finite real numbers"),
    "exponential": (
        lambda m, x: nn.functional.celu(x, -1.0),
        "aten.celu.default grows like an exponential",
    ),
    "infinite": (lambda m, x: x + torch.inf, "other of aten.add.Tensor .*be finite"),
    "not a number": (lambda m, x: torch.nan * x, "other of aten.mul.Tensor .*finite"),
    "moving weights": (
        lambda m, x: nn.functional.linear(x, x.expand(4, 4)),
        "aten.linear.default where input and weight depend on the input",
    ),
}


@pytest.mark.parametrize("name", quick_each(3, REFUSED))
def test_what_has_no_bound_is_refused_in_one_line(name):
    function, message = REFUSED[name]
    refused(Forward(function), message)


def test_a_refusal_names_the_line_of_code():
    def forward(module, x):
        y = module.layer(x)
        return y * y  # here

    refused(
        Forward(forward, layer=nn.Linear(4, 4)), r"test_attacks.py, line \d+: .*# h"
    )
    refused(nn.Sequential(nn.Linear(4, 4), nn.LSTM(4, 4)), "no proven|one tensor")
    refused(nn.MultiheadAttention(4, 2), "can't be exported for an input of shape")


@pytest.mark.slow
def test_buffers_that_change_are_refused():
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("calls", torch.zeros(()))

        def forward(self, x):
            self.calls += 1
            return x * self.calls

    refused(Counting(), "changes its own numbers calls when it runs")
    norm = nn.BatchNorm1d(4, track_running_stats=False)
    refused(norm, "batch_norm|norm.* has no record|exported")
    # statistics of eval mode, whatever mode the module is in
    norm = nn.BatchNorm1d(4).train()
    runs_as(norm)


def aliased(module, x):
    y = x.clone()
    left = y[:, :2]
    left.mul_(3)
    y[:, 3] = -left[:, 0]
    return y


IN_PLACE = {
    "views": (aliased, 3 * 2**0.5),
    "input": (lambda m, x: x.mul_(2) + x, 4.0),
    "branch": (lambda m, x: nn.functional.leaky_relu_(x, -3.0) + x, 6.0),
    "detached": (lambda m, x: x.detach() + x.clone(), 2.0),
    "no_grad": (torch.no_grad()(lambda m, x: 3 * x), 3.0),
    "out of a list": (lambda m, x: torch.stack(list(x.unbind(1)), 1) * 2, 2.0),
    "fill": (lambda m, x: x.clone().fill_diagonal_(0.0), 1.0),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_operations_in_place_and_views_count_as_what_they_compute(name):
    function, expected = IN_PLACE[name]
    if name == "fill":
        refused(Forward(function), "aten.fill_diagonal|no proven|no record")
        return
    bound = runs_as(Forward(function))
    assert expected <= bound * (1 + 1e-12)
    assert bound <= expected * 1.5


@pytest.mark.slow
def test_export_does_not_depend_on_its_surroundings():
    net = nn.Sequential(nn.Linear(4, 4), nn.Dropout(), nn.Tanh(), nn.Linear(4, 1))
    expected = freeze(net, 4).digest()
    with torch.no_grad():
        assert freeze(net, 4).digest() == expected
    with torch.autocast("cpu", dtype=torch.bfloat16):
        graph = freeze(net, 4)
        assert graph.digest() == expected
        inside = graph(torch.ones(1, 4))
    assert torch.equal(inside, graph(torch.ones(1, 4)))
    with torch.inference_mode():
        assert freeze(net, 4).digest() == expected
    torch.set_default_device("meta")
    try:
        assert freeze(net, 4).digest() == expected
        assert lipschitz_upper_bound(net, 4) > 0
    finally:
        torch.set_default_device(None)
    half = torch.autocast("cpu", dtype=torch.bfloat16)
    own = Forward(lambda m, x: half(m.layer)(x), layer=nn.Linear(4, 4))
    runs_as(own)  # float64 stays as it is under autocast
    refused(net.to("meta"), "can't be exported .*meta")


@pytest.mark.slow
def test_compiled_scripted_and_quantised_modules():
    net = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    graph = freeze(net, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of torch's own, on what is deprecated
        compiled = torch.compile(net)
        scripted = torch.jit.script(copy.deepcopy(net))
        quantised = torch.ao.quantization.quantize_dynamic(net, {nn.Linear})
    if torch.__version__.startswith("2.7."):  # whose exporter takes none
        refused(compiled, "can't be exported .*dynamo-optimized")
    else:
        assert freeze(compiled, 4).digest() == graph.digest()
    refused(scripted, "can't be exported .*ScriptModule")
    refused(quantised, "can't be exported|no proven|plain tensor")


def test_where_in_memory_numbers_lie_does_not_matter():
    """A view asks for an order in memory; which order a caller chose moved the sums."""
    shuffled = Forward(lambda m, x: x.permute(0, 2, 1).contiguous().view(1, 6))
    assert runs_as(shuffled, (2, 3)) == 1.0
    inside = Forward(lambda m, x: x.permute(0, 2, 1).tanh().permute(0, 2, 1).view(1, 6))
    assert runs_as(nn.Sequential(inside, nn.Linear(6, 2), nn.Linear(2, 2)), (2, 3)) > 0
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(8, 8, 3), nn.Flatten(), nn.Linear(288, 5))
    for graph, shape in (
        (freeze(net, (8, 8, 8)), (8, 8, 8)),
        (freeze(Forward(lambda m, x: x.sum((1, 2, 3))), (8, 60, 60)), (8, 60, 60)),
    ):
        x = torch.randn(4, *shape, dtype=torch.float64)
        last = x.to(memory_format=torch.channels_last)
        turned = x.transpose(2, 3).contiguous().transpose(2, 3)
        assert torch.equal(graph(last), graph(x))
        assert torch.equal(graph(turned), graph(x))
        assert torch.equal(graph(x[::2]), graph(x)[::2])


def test_what_is_written_into_a_tensor_has_a_derivative():
    def forward(module, x):
        y = torch.zeros(1, 6, dtype=x.dtype)
        y[:, :4] = x.tanh()
        y[:, 4:] = torch.tensor([1, 2])
        return y

    graph = freeze(Forward(forward), 4)
    assert graph(torch.zeros(1, 4)).tolist() == [[0, 0, 0, 0, 1, 2]]
    jacobian = torch.autograd.functional.jacobian(graph, torch.zeros(1, 4).double())
    assert jacobian.sum() == 4
    assert 0.76 < gradient_lipschitz_upper_bound(graph, 4) < 0.77


def test_a_graph_frozen_in_inference_mode_has_derivatives():
    with torch.inference_mode():
        graph = freeze(nn.Linear(2, 1), 2)
    x = torch.zeros(1, 2, dtype=torch.float64)
    assert torch.autograd.functional.jacobian(graph, x).abs().sum() > 0


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16])
def test_the_default_type_of_new_tensors_does_not_reach_a_graph(dtype):
    graph = freeze(nn.Sequential(nn.Linear(4, 4), nn.Softplus()), 4)
    x = torch.ones(1, 4)
    expected = graph(x), lipschitz_upper_bound(graph, 4)
    torch.set_default_dtype(dtype)
    try:
        torch.use_deterministic_algorithms(True)
        assert torch.equal(graph(x), expected[0])
        assert lipschitz_upper_bound(graph, 4) == expected[1]
    finally:
        torch.use_deterministic_algorithms(False)
        torch.set_default_dtype(torch.float32)


class Odd(torch.Tensor):
    pass


class Property(nn.Linear):
    looks = 0

    @property
    def weight(self):
        self.__dict__["looks"] = self.looks + 1
        return torch.full((1, 1), 1.0 if self.looks < 3 else 100.0).double()


def test_tensors_that_are_computed_by_code_count_as_the_numbers_they_were():
    layer = line(1.0).eval()
    del layer._parameters["weight"]
    layer.__class__ = Property
    if torch.__version__.startswith("2.7."):  # whose exporter takes none
        refused(layer, "can't be exported .*arity", 1)
    else:
        graph = freeze(layer, 1)
        bound = lipschitz_upper_bound(graph, 1)
        x = torch.tensor([[0.0], [1.0]])
        for _ in range(5):
            assert (graph(x)[1] - graph(x)[0]).abs() <= bound
    layer = line(0.01)
    layer._parameters["weight"] = layer.weight.detach().as_subclass(Odd)
    refused(layer, "plain tensor; got|can't be exported", 1)


class Times(nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = nn.Parameter(torch.tensor(factor))

    def forward(self, weight):
        return weight * self.factor


def test_what_torch_caches_is_what_runs():
    """``parametrize.cached`` knows the original; its copies were bounded by that."""
    layer = line(1.0)
    nn.utils.parametrize.register_parametrization(layer, "weight", Times(0.0182))
    network = SigmaNetwork(layer, 0.25)
    with nn.utils.parametrize.cached():
        network.h(torch.ones(1, 1))  # fills the cache
        layer.parametrizations.weight[0].factor.data.fill_(0.121)
        scheme = network.scheme(1)
    rate = scheme.parameters["lip"]
    assert rate >= 0.121 * (1 - 1e-6)
    x, y = torch.tensor([0.0]), torch.tensor([1.0])
    assert abs(scheme.sigma(x) - scheme.sigma(y)) <= rate


@pytest.mark.slow
def test_a_parametrised_tensor_that_moves_is_refused():
    class Drop(nn.Module):
        def forward(self, tensor):
            return nn.functional.dropout(tensor, training=True)

    for key in ("weight", "bias"):
        layer = nn.Linear(4, 4)
        nn.utils.parametrize.register_parametrization(layer, key, Drop())
        refused(layer, "dropout.* has no one value")


@pytest.mark.slow
def test_weights_that_are_not_finite_or_not_real_are_refused():
    for value in (torch.inf, torch.nan):
        layer = nn.Linear(4, 2)
        layer.weight.data[0, 0] = value
        refused(layer, "weight of aten.linear.default .* must be finite")
        layer = nn.Linear(4, 2)
        layer.bias.data[0] = value
        refused(layer, "bias of aten.linear.default .* must be finite")
    refused(nn.Linear(4, 4, dtype=torch.complex64), "can't be exported|complex")
    refused(nn.LeakyReLU(float("nan")), "negative_slope of .* must be finite")
    norm = nn.BatchNorm1d(4)
    norm.running_var.fill_(-1.0)
    refused(norm, "needs a running variance >= 0 and eps > 0")
    norm.running_var.fill_(0.0)
    norm.eps = 0.0
    refused(norm, "needs a running variance >= 0 and eps > 0")
    norm.running_var.fill_(torch.nan)
    refused(norm, "running_var of .* must be finite")


def test_batch_norm_keeps_its_weight_whatever_affine_says():
    norm = nn.BatchNorm1d(2)
    norm.weight.data.fill_(50.0)
    norm.affine = False
    assert runs_as(norm, 2) >= 49.9


@pytest.mark.parametrize(
    "factors", [(1e-162, 1e-162, 1e300, 1e24), (1e300, 1e300, 1e-300, 1e-300)]
)
def test_products_that_under_or_overflow_are_refused(factors):
    """Their true constant is 1; it was bounded by 0, or by infinity."""
    refused(nn.Sequential(*map(Scale, factors)), r"2\^-?\d+.*|multiply to", 1)


def double(layer, weight):
    layer = layer.double().eval()
    layer.weight.data.fill_(weight)
    return layer


def test_squares_and_products_of_small_numbers_are_not_0():
    """Columns of 1e-200 had the length 0, and so a derivative the bound 0."""
    line = nn.Linear(1, 1, bias=False)
    net = nn.Sequential(
        nn.Tanh(), double(copy.deepcopy(line), 1e-200), Scale(1e140), Scale(1e60)
    )
    assert 0.769 < gradient_lipschitz_upper_bound(net, 1) < 0.77
    # a weight times the scale of its normalisation was 0
    norm = double(nn.BatchNorm1d(1), 1e-200)
    refused(
        nn.Sequential(double(copy.deepcopy(line), 1e-200), norm, Scale(1e250)),
        "floating-point numbers under- or overflow",
        1,
    )


@pytest.mark.parametrize("flushed", [False, True])
def test_subnormal_numbers_are_refused_even_where_they_are_flushed(flushed):
    """A weight of 1e-310 had the bound 0 after ``torch.set_flush_denormal``."""
    nets = (
        nn.Sequential(double(nn.Linear(1, 1), 1e-310), Scale(1e300), Scale(1e10)),
        nn.Sequential(Scale(1e-310), Scale(1e300), Scale(1e10)),
        # only some digits of 1e-320 are there: the bound was too low
        nn.Sequential(Scale(1e150), double(nn.Linear(1, 1), 1e-320)),
    )
    tiny = torch.tensor(1e-310, dtype=torch.float64)
    torch.set_flush_denormal(flushed)
    try:
        for net in nets:
            refused(net, "must be finite, and 0 or at least 2", 1)
        assert (float(tiny * 1) == 0) == flushed
    finally:
        torch.set_flush_denormal(False)


def test_huge_weights_are_refused_without_a_warning():
    for layer in (nn.Linear(3, 3), nn.Conv1d(3, 3, 2), nn.ConvTranspose1d(3, 3, 2)):
        shape = 3 if isinstance(layer, nn.Linear) else (3, 2000)
        refused(nn.Sequential(Scale(1e-200), double(layer, 1e308)), "finite", shape)
    wide = nn.Sequential(Scale(1e-200), double(nn.Conv1d(1, 1, 3), 1e200))
    assert 3.0 <= lipschitz_upper_bound(wide, (1, 2000)) < 3.1


def test_jump_of_a_softplus_is_refused_and_exact_in_what_is_certified():
    """At beta = 2e-9 torch's linear part begins with a jump of 1; scaled, its slope was
    5e-4.
    """
    jump = nn.Softplus(threshold=0)(torch.tensor([-1e-6, 1e-6]))
    assert jump[0] > jump[1] + 0.6
    refused(nn.Softplus(threshold=0), "must have a threshold >= 20; got 0")
    net = nn.Sequential(line(1.0, 1e10), nn.Softplus(2e-9), line(5e-4, -5e6))
    refused(net, "jumps by 1", 1)
    # where the linear part begins late exp would overflow
    late = freeze(nn.Softplus(threshold=1e6), 1)
    assert late(torch.tensor([[800.0]])).item() == 800.0
    # the jump of the default, enlarged: 2 over an input distance of 1e-3, at a bound of
    # 1
    net = nn.Sequential(line(1e-9, 20.0), nn.Softplus(), line(1e9, -20e9)).double()
    network = SigmaNetwork(net, 0.5)
    step = torch.tensor([[-1e-3], [1e-3]], dtype=torch.float64)
    with torch.no_grad():
        assert (network.eval()(step)[0] - network(step)[1]).abs() > 1.0
        level = network.freeze(1)
        # float64 holds 20 to 4e-15, enlarged to 4e-6
        assert abs(level(step[0]) - level(step[1])) < 0.002 * level.lip + 1e-5


def far(weight=0.01):
    """A line that adds 1e16 and takes it off again."""
    return nn.Sequential(line(1.0, 1e16), line(weight, -weight * 1e16))


def test_a_level_that_drowns_in_rounding_is_refused():
    """Its slope in floating point was 1,000 times the proven one."""
    level = SigmaNetwork(far(1.0), 0.5).freeze(1)
    levels = [level(torch.tensor([x])) for x in (0.999, 1.001)]
    assert levels[1] - levels[0] > 500 * 0.002
    pooled = nn.Sequential(
        nn.Unflatten(1, (1, 1)), nn.AdaptiveAvgPool1d(1), nn.Flatten(), far()
    )
    for h in (far(), pooled):
        with pytest.raises(ValueError, match=r"level.*rounding"):
            SigmaNetwork(h, 0.25).scheme(1)
    level = SigmaNetwork(line(0.01), 0.25)
    with pytest.raises(ValueError, match=r"mean.*rounding"):
        CertifiedGenerator(far(), level, torch.ones(1)).noise().scheme()
    noise = CertifiedGenerator(Scale(0.1), SigmaNetwork(far(), 0.25), torch.ones(1))
    with pytest.raises(ValueError, match=r"level.*rounding"):
        noise.noise().scheme()
    assert level.scheme(1).parameters["lip"] >= 0.01 * (1 - 1e-6)


def test_a_floor_holds_whatever_a_subclass_makes_of_the_level():
    class Lower(SigmaNetwork):
        def forward(self, x):
            return super().forward(x) - 0.4

    scheme = Lower(line(0.01), 0.25).scheme(1)
    assert scheme.sigma(torch.tensor([-5.0])) == 0.25
    loud = louder(SigmaNetwork, "forward")(line(0.01), 0.5).scheme(1)
    assert loud.parameters["lip"] == pytest.approx(1.0, rel=1e-6)


def test_rows_are_computed_alone():
    """In a batch of its own or among others: the same bits."""
    torch.manual_seed(0)
    net = nn.Sequential(
        *(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.SiLU()),
        *(nn.Flatten(), nn.Linear(8 * 64, 33), nn.Tanh(), nn.Linear(33, 5)),
    )
    graph = freeze(net, (3, 8, 8))
    x = torch.randn(64, 3, 8, 8, dtype=torch.float64)
    together = graph(x)
    assert all(torch.equal(graph(x[k : k + 1])[0], together[k]) for k in range(64))
    assert graph(x[:0]).shape == (0, 5)
    # a module that mixes its rows is the function of one row
    mixing = freeze(Forward(lambda m, x: x - x.mean(0)), 4)
    assert torch.equal(mixing(torch.randn(3, 4)), torch.zeros(3, 4).double())


@pytest.mark.slow
def test_graphs_in_threads():
    net = nn.Sequential(nn.Linear(4, 30), nn.Tanh(), nn.Linear(30, 1))

    def call(k):
        graph = freeze(net, 4)
        return graph.digest(), graph(torch.ones(2, 4)).tolist()

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(call, range(12)))
    assert all(result == call(0) for result in results)


@pytest.mark.slow
def test_a_frozen_network_needs_no_code_of_its_author():
    class Mine(nn.Module):
        def forward(self, x):
            return x.tanh() + 2 * x

    level = SigmaNetwork(nn.Sequential(Mine(), nn.Linear(2, 1)), 0.25).freeze(2)
    x = torch.tensor([[0.25, -0.5]])
    sent = pickle.dumps(level)
    assert b"Mine" not in sent.replace(b"return x.tanh() + 2 * x", b"")
    code = (
        "import pickle, sys, torch\n"
        "level = pickle.load(sys.stdin.buffer)\n"
        "print(repr(level(torch.tensor([0.25, -0.5]))), repr(level.lip))\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], input=sent, capture_output=True, check=True
    )
    assert found.stdout.decode().split() == [repr(level(x[0])), repr(level.lip)]


def test_operations_of_other_libraries_do_not_run():
    graph = freeze(nn.ReLU(), 2)
    step = copy.copy(graph.steps[0])
    object.__setattr__(step, "operation", "os.system.default")
    object.__setattr__(graph, "steps", (step,))
    with pytest.raises(ValueError, match=r"record.*os\.system"):
        graph(torch.ones(1, 2))


def test_shapes_that_do_not_fit_are_refused():
    net = nn.Linear(3, 1)
    refused(net, r"can't be exported for an input of shape \(4,\)")
    for wrong in ((), (0, 3), 0, 2.5, "3", [1.5]):
        refused(net, "example must be one input, or its shape", wrong)
    assert lipschitz_upper_bound(net, torch.zeros(3)) == lipschitz_upper_bound(net, 3)
    graph = freeze(net, 3)
    assert freeze(graph, (3,)) is graph
    with pytest.raises(ValueError, match=r"example.*\(3,\)"):
        freeze(graph, 4)
    level = SigmaNetwork(net, 0.25).scheme(3)
    with pytest.raises(ValueError, match=r"^x must.*\(3,\)"):
        level.sigma(torch.zeros(2))


def parts_of_schemes():
    torch.manual_seed(1)
    level = SigmaNetwork(nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 1)), 1)
    mean = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), Scale(0.1))
    generator = CertifiedGenerator(mean, level, torch.tensor([1.0, 0.5, 2.0, 1.0]))
    noise = generator.noise()
    g = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
    biased = locally_biased(g, [[-1.0] * 4, [1.0] * 4], [-1, 1], 0.5)
    calls = [
        level.scheme(4).sigma,
        level.scheme(4).on_grid().sigma,
        noise.scheme().sigma,
        noise.scheme().on_grid().sigma,
        lambda x: noise.centre(x).tolist(),
        lambda x: noise.offset(x.numpy()).tolist(),
        lambda x: [part.tolist() for part in biased.certify(x[None].numpy())],
    ]
    return (level, generator, g), calls, noise


def test_whatever_rests_on_a_bound_calls_the_frozen_list():
    """A level, a generator, a locally biased classifier: later weights reach none."""
    modules, calls, noise = parts_of_schemes()
    x = torch.tensor([102.0, 0.0, 51.0, 255.0]).double() / 255
    before = [call(x) for call in calls]
    for module in modules:
        for parameter in module.parameters():
            parameter.data.mul_(-2)
        module.register_forward_hook(lambda m, i, o: None)
    assert [call(x) for call in calls] == before
    with ThreadPoolExecutor(3) as pool:
        found = pool.map(lambda _: [call(x) for call in calls], range(6))
        assert all(each == before for each in found)
    sent = pickle.loads(pickle.dumps(noise))
    assert sent.law == noise.law
    assert torch.equal(sent.centre(x), noise.centre(x))
    assert sent.scheme().sigma(x) == before[2]


def test_the_exporter_prints_nothing_beside_its_error(capfd):
    """It printed the graph of a module with a branch, twice."""
    refused(Forward(lambda m, x: x if x.sum() > 0 else -x), "data-dependent branch")
    refused(nn.Sequential(nn.LazyLinear(1)), "call the module on an input first")
    assert capfd.readouterr() == ("", "")


def test_a_level_of_two_outputs_is_refused_by_its_shape():
    with pytest.raises(ValueError, match=r"h must return one number.*shape \(1, 2\)"):
        SigmaNetwork(nn.Linear(4, 2), 0.25).scheme(4)
