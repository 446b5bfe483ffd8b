"""A bound is of one function of a row: what mixes its rows, or changes, has none."""

import pytest
import torch
from torch import nn

from rsbounds.torch import (
    CertifiedGenerator,
    Scale,
    SigmaNetwork,
    gradient_lipschitz_upper_bound,
    lipschitz_upper_bound,
    locally_biased,
    value_and_grad,
)
from rsbounds.torch.networks.freeze import freeze, freeze_rows
from rsbounds.torch.networks.operations import POINTWISE, REDUCTIONS
from tests.helpers.exact_layers import line


class Forward(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


ALONE = "module Forward must compute each row of a batch from that row alone"
MIXING = {
    "mean": lambda x: x - x.mean(0),
    "neighbour": lambda x: x + 5 * (x - x.roll(1, 0)),
    "flip": lambda x: x.flip(0),
    "sort": lambda x: x.sort(0).values,
    "shares": lambda x: x.softmax(0),
    "largest": lambda x: x + x.amax(0, keepdim=True),
    "length": lambda x: x if len(x) == 1 else 100 * x,
    "number of rows": lambda x: x * len(x),
    "place": lambda x: x + torch.arange(len(x), dtype=x.dtype)[:, None],
    "a little": lambda x: x + 1e-14 * x.mean(0, keepdim=True),
}


def refused(call, message):
    with pytest.raises(ValueError, match=message) as raised:
        call()
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", MIXING)
def test_a_module_whose_rows_depend_on_each_other_has_no_bound(name):
    refused(lambda: lipschitz_upper_bound(Forward(MIXING[name]), 3), ALONE)


def test_whatever_rests_on_a_bound_refuses_a_module_that_mixes_its_rows():
    mixing = Forward(lambda x: x - x.mean(0) + 0.1 * x.tanh())
    column = nn.Sequential(mixing, line(0.1))
    level = SigmaNetwork(line(0.1), 0.25)
    anchors = [[[-1.0], [1.0]], [-1, 1], 0.5]
    for call in (
        lambda: gradient_lipschitz_upper_bound(mixing, 1),
        lambda: SigmaNetwork(column, 0.25).scheme(1),
        lambda: CertifiedGenerator(mixing, level, torch.ones(1)).noise(),
        lambda: locally_biased(column, *anchors),
        lambda: locally_biased(column, *anchors, lip_grad=1.0),
        lambda: value_and_grad(column, (1,)),
    ):
        refused(call, "must compute each row of a batch from that row alone")


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 1.0

    def forward(self, x):
        self.calls *= 2
        return x * self.calls


def test_a_module_that_changes_from_call_to_call_has_no_bound():
    refused(lambda: lipschitz_upper_bound(Counting(), 3), "called twice it returns two")


def test_a_module_that_is_another_where_it_is_exported_has_no_bound():
    hidden = Forward(lambda x: x if torch.compiler.is_exporting() else 3 * x)
    refused(lambda: lipschitz_upper_bound(hidden, 3), "what torch.export finds in it")


def test_a_module_of_one_row_alone_is_refused_with_its_reason():
    single = Forward(lambda x: x.view(1, 3))
    refused(lambda: lipschitz_upper_bound(single, 3), "with 3 it fails: .*invalid for")
    first = Forward(lambda x: x[:1])
    refused(lambda: lipschitz_upper_bound(first, 3), r"got the shape \(1, 3\) for 3")


@pytest.mark.slow
def test_modules_of_each_row_alone_are_bounded_as_their_lists_are():
    parts = (
        nn.Sequential(nn.Conv1d(2, 3, 3), nn.BatchNorm1d(3), nn.Flatten()),
        nn.Sequential(nn.LayerNorm(6), nn.Dropout(), nn.Linear(6, 4), nn.Softmax(-1)),
        Forward(lambda x: torch.stack([row * 2 for row in x])),
        Forward(lambda x: x.transpose(0, 1).tanh().transpose(0, 1)),
        Scale(1e200),
    )
    for part in parts:
        graph = freeze_rows(part.train(), (2, 6))
        assert graph.digest() == freeze(part, (2, 6)).digest()
        assert part.training


def named(name):
    library, packet, overload = name.split(".")
    return getattr(getattr(getattr(torch.ops, library), packet), overload)


#: Arguments of what does not take a value alone, beside those of the operation.
BESIDE = {
    "aten.clamp.default": (-1.0, 1.0),
    "aten.clip.default": (-1.0, 1.0),
    "aten.clamp_min.default": (0.0,),
    "aten.clamp_max.default": (0.0,),
    "aten.prelu.default": (torch.ones(1, dtype=torch.float64),),
    "aten.max.dim": (0,),
    "aten.min.dim": (0,),
    "aten.mean.dim": ([0],),
    "aten.sum.dim_IntList": ([0],),
    "aten.softmax.int": (0,),
    "aten.topk.default": (1, 0),
    **{
        f"aten.{kind}_pool{axes}d.default": ([2] * axes,)
        for kind in ("avg", "max", "adaptive_avg", "adaptive_max")
        for axes in (1, 2, 3)
    },
}


@pytest.mark.parametrize("name", sorted({**POINTWISE, **REDUCTIONS}))
def test_operations_with_a_bound_carry_nan_over_any_axis(name):
    """The look at three rows shows each dependence by a row that is not a number."""
    x = torch.linspace(-2, 2, 4**4, dtype=torch.float64).reshape((4,) * 4)
    x[0] = torch.nan
    if "pool1d" in name:
        x = x.reshape(4, 4, 16)
    options = {"stable": True} if name.endswith(".stable") else {}
    returned = named(name)(x, *BESIDE.get(name, ()), **options)
    first = returned[0] if isinstance(returned, tuple | list) else returned
    assert first.isnan().any()
