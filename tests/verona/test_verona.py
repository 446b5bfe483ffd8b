"""VERONA's estimator with a stand-in for VERONA: the few attributes that the module
uses, and nothing of what VERONA does.
"""

import dataclasses
import enum
import importlib
import math
import sys
import types

import pytest

import rsbounds

torch = pytest.importorskip("torch")

EPSILONS = [0.3, 0.1, 0.2, 0.6]


class VerificationResult(enum.StrEnum):
    UNSAT = "UNSAT"
    SAT = "SAT"
    TIMEOUT = "TIMEOUT"


@dataclasses.dataclass
class EpsilonStatus:
    value: float
    result: VerificationResult | None
    time: float | None = None
    verifier: str | None = None


@dataclasses.dataclass
class EpsilonValueResult:
    verification_context: object
    epsilon: float
    smallest_sat_value: float
    time: float | None = None
    verifier: str | None = None


class EpsilonValueEstimator:
    def __init__(self, epsilon_value_list, verifier):
        self.epsilon_value_list = epsilon_value_list
        self.verifier = verifier


class OneInput(torch.nn.Module):
    """As VERONA's wrapper: reshapes whatever comes to the shape of one input."""

    def __init__(self, torch_model, shape):
        super().__init__()
        self.torch_model = torch_model
        self.shape = shape

    def forward(self, x):
        return self.torch_model(x.reshape(*self.shape))


class Network:
    """Class 1 where the first of four pixels is above a half."""

    name = "half"

    def get_input_shape(self):
        return [1, 4, 1]

    def load_pytorch_model(self):
        linear = torch.nn.Linear(4, 2)
        with torch.no_grad():
            linear.weight.zero_()
            linear.weight[1, 0] = 1.0
            linear.bias[:] = torch.tensor([0.5, 0.0])
        return OneInput(
            torch.nn.Sequential(torch.nn.Flatten(), linear), self.get_input_shape()
        )


class Context:
    def __init__(self, first, label):
        self.network = Network()
        pixels = torch.tensor([[[first, 0.2], [0.4, 0.9]]])
        self.data_point = types.SimpleNamespace(id="7", label=label, data=pixels)
        self.saved = []

    def save_result(self, status):
        self.saved.append(status)


@pytest.fixture
def verona(monkeypatch):
    """The module, importing the stand-in."""
    names = {
        "database.epsilon_status": EpsilonStatus,
        "database.epsilon_value_result": EpsilonValueResult,
        "database.verification_result": VerificationResult,
        "epsilon_value_estimator.epsilon_value_estimator": EpsilonValueEstimator,
    }
    for path, thing in names.items():
        module = types.ModuleType(f"ada_verona.{path}")
        setattr(module, thing.__name__, thing)
        monkeypatch.setitem(sys.modules, f"ada_verona.{path}", module)
    for package in ("", ".database", ".epsilon_value_estimator"):
        module = types.ModuleType(f"ada_verona{package}")
        monkeypatch.setitem(sys.modules, f"ada_verona{package}", module)
    monkeypatch.delitem(sys.modules, "rsbounds.verona", raising=False)
    yield importlib.import_module("rsbounds.verona")
    sys.modules.pop("rsbounds.verona", None)  # it knows the stand-in
    vars(rsbounds).pop("verona", None)


def test_epsilons_within_the_certified_radius(verona):
    """The truth at .5 above the boundary: .5 in l2, .25 for the corners of boxes that
    the certificate allows for.
    """
    context = Context(first=1.0, label=1)
    boxes = verona.SmoothedEpsilon(EPSILONS, 0.5, n=10_000)
    result = boxes.compute_epsilon_value(context)
    assert result.epsilon == 0.2
    assert result.smallest_sat_value == 0.6
    assert result.verification_context is context
    assert [status.value for status in context.saved] == [0.1, 0.2, 0.3, 0.6]
    assert [status.result.value for status in context.saved] == [
        "UNSAT",
        "UNSAT",
        "TIMEOUT",
        "TIMEOUT",
    ]
    balls = verona.SmoothedEpsilon(EPSILONS, 0.5, n=10_000, norm=2)
    assert balls.compute_epsilon_value(Context(1.0, 1)).epsilon == 0.3


def test_one_epsilon_is_decided_by_a_sequential_test(verona):
    drawn = []
    network = verona.Batches(Network())
    network.register_forward_hook(lambda module, args, out: drawn.append(len(args[0])))
    verona.Batches = lambda network_of_context: network
    easy = verona.SmoothedEpsilon([0.1], 0.5, n=100_000)
    assert easy.compute_epsilon_value(Context(1.0, 1)).epsilon == 0.1
    assert sum(drawn) < 10_000
    beyond = verona.SmoothedEpsilon([0.3], 0.5, n=100_000)
    assert beyond.compute_epsilon_value(Context(1.0, 1)).epsilon == 0.0


def test_another_class_is_a_counterexample_and_abstention_none(verona):
    estimator = verona.SmoothedEpsilon(EPSILONS, 0.5, n=1000)
    wrong = Context(first=1.0, label=0)
    result = estimator.compute_epsilon_value(wrong)
    assert (result.epsilon, result.smallest_sat_value) == (0.0, 0.0)
    assert {status.result.value for status in wrong.saved} == {"SAT"}
    undecided = Context(first=0.5, label=1)
    result = estimator.compute_epsilon_value(undecided)
    assert (result.epsilon, result.smallest_sat_value) == (0.0, 0.6)
    assert {status.result.value for status in undecided.saved} == {"TIMEOUT"}


def test_other_norms_are_refused(verona):
    with pytest.raises(ValueError, match=r"norm must.*1"):
        verona.SmoothedEpsilon(EPSILONS, 0.5, norm=1)
    assert verona.SmoothedEpsilon(EPSILONS, 0.5).norm == math.inf
